"""How hardware computes it: configurations, Amaranth components, and emission to Verilog.

A configuration is data. What needs Amaranth is imported when it is used first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .config.architecture import (
    CHOICES,
    DECODER_CHOICES,
    HADAMARD_CHOICES,
    NVFP4_CHOICES,
    Amax,
    AmaxKey,
    DecoderArchitecture,
    Lane,
    Microarchitecture,
    MicroarchitectureFields,
    Nvfp4Architecture,
    Nvfp4DecoderArchitecture,
    Nvfp4Form,
    Quantizer,
    Structure,
    supports,
)
from .config.build import (
    CONFIGURATIONS,
    CONSTRAINTS,
    AnyBuildFields,
    AnyFields,
    AnyFormat,
    ConstraintFields,
    config_of,
    configuration,
)
from .config.cast import CastConfig, CastHardwareFields, cast_config
from .config.decode import DecoderConfig, DecoderFields, decoder_config
from .config.encode import ConverterConfig, ConverterFields, Format, converter_config
from .config.goals import BEST, BEST_DECODERS, GENERIC, Goal, fields_of
from .config.hadamard import HadamardConfig, HadamardFields, hadamard_config
from .config.hardware import HardwareConfig
from .config.nvfp4_decode import Nvfp4DecoderConfig, Nvfp4DecoderFields, nvfp4_decoder_config
from .config.nvfp4_encode import Nvfp4Config, Nvfp4HardwareFields, nvfp4_config
from .config.tile import (
    Nvfp4TileConfig,
    Nvfp4TileHardwareFields,
    TileConfig,
    TiledConfig,
    TileHardwareFields,
    nvfp4_tile_config,
    tile_config,
)
from .nvfp4.threshold_row import Row, threshold_table

if TYPE_CHECKING:
    from .cast.block import Caster
    from .decode.block import BlockDecoder
    from .emission.emit import default_name, describe, verilog
    from .emission.folder import emit, emitted, intact
    from .encode.block import BlockConverter
    from .encode.element import ElementQuantizer
    from .encode.scale import ScaleUnit
    from .hadamard.transform import HadamardTransform
    from .handshake.stream import StreamConverter
    from .nvfp4.decoder import Nvfp4Decoder
    from .nvfp4.encoder import Nvfp4Converter
    from .primitives.amax import AmaxTree
    from .primitives.random_source import RandomSource
    from .tile.encoder import TileEncoder
    from .tile.nvfp4 import Nvfp4TileEncoder

__all__ = [
    "BEST",
    "BEST_DECODERS",
    "CHOICES",
    "CONFIGURATIONS",
    "CONSTRAINTS",
    "DECODER_CHOICES",
    "GENERIC",
    "HADAMARD_CHOICES",
    "NVFP4_CHOICES",
    "Amax",
    "AmaxKey",
    "AmaxTree",
    "AnyBuildFields",
    "AnyFields",
    "AnyFormat",
    "BlockConverter",
    "BlockDecoder",
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
    "Nvfp4Architecture",
    "Nvfp4Config",
    "Nvfp4Converter",
    "Nvfp4Decoder",
    "Nvfp4DecoderArchitecture",
    "Nvfp4DecoderConfig",
    "Nvfp4DecoderFields",
    "Nvfp4Form",
    "Nvfp4HardwareFields",
    "Nvfp4TileConfig",
    "Nvfp4TileEncoder",
    "Nvfp4TileHardwareFields",
    "Quantizer",
    "RandomSource",
    "Row",
    "ScaleUnit",
    "StreamConverter",
    "Structure",
    "TileConfig",
    "TileEncoder",
    "TileHardwareFields",
    "TiledConfig",
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
    "nvfp4_config",
    "nvfp4_decoder_config",
    "nvfp4_tile_config",
    "supports",
    "threshold_table",
    "tile_config",
    "verilog",
]

MODULES = {
    "AmaxTree": "primitives.amax",
    "BlockConverter": "encode.block",
    "BlockDecoder": "decode.block",
    "Caster": "cast.block",
    "ElementQuantizer": "encode.element",
    "HadamardTransform": "hadamard.transform",
    "RandomSource": "primitives.random_source",
    "ScaleUnit": "encode.scale",
    "StreamConverter": "handshake.stream",
    "TileEncoder": "tile.encoder",
    "Nvfp4TileEncoder": "tile.nvfp4",
    "Nvfp4Converter": "nvfp4.encoder",
    "Nvfp4Decoder": "nvfp4.decoder",
    **dict.fromkeys(("default_name", "describe", "verilog"), "emission.emit"),
    **dict.fromkeys(("emit", "emitted", "intact"), "emission.folder"),
}
"""Where the names are that need Amaranth."""


def __getattr__(name: str) -> object:
    if name not in MODULES:
        raise AttributeError(f"module 'mxcast.hdl' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{MODULES[name]}", __name__), name)
    return value
