"""Conversions as data: formats, rules, profiles and operations."""

import warnings
from typing import TYPE_CHECKING

from .catalogue import Rule
from .formats.block import BLOCK_SIZES, BLOCKS, OTHER_BLOCKS, BlockFormat, Convention, SubScale, TensorScale
from .formats.names import block_format, element_format, source_format
from .formats.number import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    E8M0,
    ELEMENTS,
    FP16,
    FP32,
    FP64,
    INT8,
    SCALES,
    SOURCES,
    TF32,
    UE4M3,
    UE5M3,
    FixedFormat,
    FloatFormat,
    Kind,
    Negatives,
    Number,
    NumberFormat,
    SpecialCodes,
)
from .layouts.catalogue import LAYOUTS, Layout, Packing, ScaleOrder, ScalePlace, layout_named, stored_ports
from .operations.block_operation import BlockOperation
from .operations.cast import (
    CAST_RULES,
    CAST_SOURCES,
    SCALARS,
    Cast,
    CastFields,
    CastNan,
    CastNegative,
    CastOverflow,
    CastRounding,
    CastUnderflow,
    NanSubstitute,
)
from .operations.decode import (
    DECODE_RULES,
    Decode,
    DecodedNan,
    DecodedOverflow,
    DecodedRounding,
    DecodedZero,
    DecodeFields,
    ScaleReading,
)
from .operations.encode import (
    RULES,
    Encode,
    EncodedZero,
    EncodeFields,
    Overflow,
    Rounding,
    ScaleRule,
    Specials,
    Subnormals,
    signal_codes,
)
from .operations.hadamard import TRANSFORMER_ENGINE_SIGNS, Hadamard
from .operations.nvfp4 import is_nvfp4
from .operations.nvfp4_decode import NVFP4_DECODE_RULES, Nvfp4Decode, Nvfp4DecodeFields
from .operations.nvfp4_encode import NVFP4_RULES, TENSOR_SCALES, FourOverSix, Nvfp4Encode, Nvfp4Fields, Order
from .operations.operation import OPERATIONS, Operation, operation_of, short_id
from .operations.ports import Port, Role
from .operations.ptx import INSTRUCTIONS
from .operations.tile import (
    NVFP4_TILE_RULES,
    TILE_RULES,
    ColumnOrder,
    Nvfp4TileEncode,
    Nvfp4TileFields,
    Tiled,
    TileEncode,
    TileFields,
)
from .profiles.casts import CASTS
from .profiles.decoders import DECODERS
from .profiles.encoders import PROFILES
from .profiles.nvfp4 import NVFP4_DECODERS, NVFP4_ENCODERS
from .profiles.profile import Profile
from .profiles.resolve import (
    NVFP4_OPERATIONS,
    PROFILES_OF,
    casting,
    decoding,
    encoding,
    numerics,
    nvfp4_decoding,
    nvfp4_encoding,
    nvfp4_tile_encoding,
    profile_named,
    profile_of,
    tile_encoding,
)

__all__ = [
    "BF16",
    "BLOCKS",
    "BLOCK_SIZES",
    "CASTS",
    "CAST_RULES",
    "CAST_SOURCES",
    "DECODERS",
    "DECODE_RULES",
    "E2M1",
    "E2M3",
    "E3M2",
    "E4M3",
    "E4M3FNUZ",
    "E5M2",
    "E5M2FNUZ",
    "E8M0",
    "ELEMENTS",
    "FP16",
    "FP32",
    "FP64",
    "INSTRUCTIONS",
    "INT8",
    "LAYOUTS",
    "NVFP4_DECODERS",
    "NVFP4_DECODE_RULES",
    "NVFP4_ENCODERS",
    "NVFP4_OPERATIONS",
    "NVFP4_RULES",
    "NVFP4_TILE_RULES",
    "OPERATIONS",
    "OTHER_BLOCKS",
    "PROFILES",
    "PROFILES_OF",
    "RULES",
    "SCALARS",
    "SCALES",
    "SOURCES",
    "TENSOR_SCALES",
    "TF32",
    "TILE_RULES",
    "TRANSFORMER_ENGINE_SIGNS",
    "UE4M3",
    "UE5M3",
    "BlockFormat",
    "BlockOperation",
    "Cast",
    "CastFields",
    "CastNan",
    "CastNegative",
    "CastOverflow",
    "CastRounding",
    "CastUnderflow",
    "ColumnOrder",
    "Convention",
    "Decode",
    "DecodeFields",
    "DecodedNan",
    "DecodedOverflow",
    "DecodedRounding",
    "DecodedZero",
    "Encode",
    "EncodeFields",
    "EncodedZero",
    "FixedFormat",
    "FloatFormat",
    "FourOverSix",
    "Hadamard",
    "Kind",
    "Layout",
    "NanSubstitute",
    "Negatives",
    "Number",
    "NumberFormat",
    "Nvfp4Decode",
    "Nvfp4DecodeFields",
    "Nvfp4Encode",
    "Nvfp4Fields",
    "Nvfp4TileEncode",
    "Nvfp4TileFields",
    "Operation",
    "Order",
    "Overflow",
    "Packing",
    "Port",
    "Profile",
    "Role",
    "Rounding",
    "Rule",
    "ScaleOrder",
    "ScalePlace",
    "ScaleReading",
    "ScaleRule",
    "SpecialCodes",
    "Specials",
    "SubScale",
    "Subnormals",
    "TensorScale",
    "TileEncode",
    "TileFields",
    "Tiled",
    "block_format",
    "casting",
    "decoding",
    "element_format",
    "encoding",
    "is_nvfp4",
    "layout_named",
    "numerics",
    "nvfp4_decoding",
    "nvfp4_encoding",
    "nvfp4_tile_encoding",
    "operation_of",
    "profile_named",
    "profile_of",
    "short_id",
    "signal_codes",
    "source_format",
    "stored_ports",
    "tile_encoding",
]

FORMERLY = {"Numerics": "Encode"}
"""Current names by their names in version 0.1."""

if not TYPE_CHECKING:  # type checkers report former names

    def __getattr__(name: str) -> object:
        if name in FORMERLY:
            warnings.warn(f"mxcast.spec.{name} is called {FORMERLY[name]} now", FutureWarning, stacklevel=2)
            return globals()[FORMERLY[name]]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
