"""How hardware computes it: configurations, Amaranth components, and emission to Verilog.

A configuration is data. What needs Amaranth is imported when it is used first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .architecture import (
    CHOICES,
    DECODER_CHOICES,
    TWO_LEVEL_CHOICES,
    Amax,
    AmaxKey,
    DecoderArchitecture,
    Lane,
    Microarchitecture,
    MicroarchitectureFields,
    Quantizer,
    Structure,
    TwoLevelArchitecture,
    TwoLevelDecoderArchitecture,
    TwoLevelForm,
    supports,
)
from .boundaries import stages
from .config import (
    CONFIGURATIONS,
    CONSTRAINTS,
    UNDER_TWO_LEVELS,
    AnyBuildFields,
    AnyFields,
    AnyFormat,
    BuildFields,
    CastConfig,
    CastHardwareFields,
    ConstraintFields,
    ConverterConfig,
    ConverterFields,
    DecoderConfig,
    DecoderFields,
    Format,
    HadamardConfig,
    HadamardFields,
    HardwareConfig,
    TwoLevelConfig,
    TwoLevelDecoderConfig,
    TwoLevelDecoderFields,
    TwoLevelHardwareFields,
    cast_config,
    config_of,
    configuration,
    converter_config,
    decoder_config,
    hadamard_config,
    two_level_config,
    two_level_decoder_config,
)
from .goals import BEST, BEST_DECODERS, GENERIC, Goal, fields_of
from .threshold_row import Row, threshold_table

if TYPE_CHECKING:
    from .amax import AmaxTree
    from .block import BlockConverter
    from .caster import Caster
    from .decoder import BlockDecoder
    from .element import ElementQuantizer
    from .emission import default_name, describe, verilog
    from .folder import emit, emitted, intact
    from .hadamard import HadamardTransform
    from .random_source import RandomSource
    from .scale import ScaleUnit
    from .stream import StreamConverter
    from .two_level import TwoLevelConverter
    from .two_level_decoder import TwoLevelDecoder

__all__ = [
    "BEST",
    "BEST_DECODERS",
    "CHOICES",
    "CONFIGURATIONS",
    "CONSTRAINTS",
    "DECODER_CHOICES",
    "GENERIC",
    "TWO_LEVEL_CHOICES",
    "UNDER_TWO_LEVELS",
    "Amax",
    "AmaxKey",
    "AmaxTree",
    "AnyBuildFields",
    "AnyFields",
    "AnyFormat",
    "BlockConverter",
    "BlockDecoder",
    "BuildFields",
    "CastConfig",
    "CastHardwareFields",
    "Caster",
    "ConstraintFields",
    "ConverterConfig",
    "ConverterFields",
    "DecoderArchitecture",
    "DecoderConfig",
    "DecoderFields",
    "ElementQuantizer",
    "Format",
    "Goal",
    "HadamardConfig",
    "HadamardFields",
    "HadamardTransform",
    "HardwareConfig",
    "Lane",
    "Microarchitecture",
    "MicroarchitectureFields",
    "Quantizer",
    "RandomSource",
    "Row",
    "ScaleUnit",
    "StreamConverter",
    "Structure",
    "TwoLevelArchitecture",
    "TwoLevelConfig",
    "TwoLevelConverter",
    "TwoLevelDecoder",
    "TwoLevelDecoderArchitecture",
    "TwoLevelDecoderConfig",
    "TwoLevelDecoderFields",
    "TwoLevelForm",
    "TwoLevelHardwareFields",
    "cast_config",
    "config_of",
    "configuration",
    "converter_config",
    "decoder_config",
    "default_name",
    "describe",
    "emit",
    "emitted",
    "fields_of",
    "hadamard_config",
    "intact",
    "stages",
    "supports",
    "threshold_table",
    "two_level_config",
    "two_level_decoder_config",
    "verilog",
]

MODULES = {
    "AmaxTree": "amax",
    "BlockConverter": "block",
    "BlockDecoder": "decoder",
    "Caster": "caster",
    "ElementQuantizer": "element",
    "HadamardTransform": "hadamard",
    "RandomSource": "random_source",
    "ScaleUnit": "scale",
    "StreamConverter": "stream",
    "TwoLevelConverter": "two_level",
    "TwoLevelDecoder": "two_level_decoder",
    **dict.fromkeys(("default_name", "describe", "verilog"), "emission"),
    **dict.fromkeys(("emit", "emitted", "intact"), "folder"),
}
"""Where the names are that need Amaranth."""


def __getattr__(name: str) -> object:
    if name not in MODULES:
        raise AttributeError(f"module 'mxcast.hdl' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{MODULES[name]}", __name__), name)
    return value
