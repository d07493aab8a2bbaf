"""How hardware computes it: Amaranth components, and emission to Verilog."""

from .amax import AmaxTree
from .block import BlockConverter
from .element import ElementQuantizer
from .emit import default_name, describe, emit, verilog
from .random_source import RandomSource
from .scale import ScaleUnit

__all__ = [
    "AmaxTree",
    "BlockConverter",
    "ElementQuantizer",
    "RandomSource",
    "ScaleUnit",
    "default_name",
    "describe",
    "emit",
    "verilog",
]
