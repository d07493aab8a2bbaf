"""What is converted to what: formats, rules, profiles and operations, as data."""

import warnings
from typing import TYPE_CHECKING

from .block_operation import BlockOperation
from .blocks import BLOCK_SIZES, BLOCKS, OTHER_BLOCKS, BlockFormat, Convention, SubScale, TensorScale
from .cast import (
    CAST_RULES,
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
from .catalogue import Rule
from .decode import (
    DECODE_RULES,
    Decode,
    DecodedNan,
    DecodedOverflow,
    DecodedRounding,
    DecodedZero,
    DecodeFields,
    ScaleReading,
)
from .encode import RULES, Encode, EncodeFields, Overflow, Rounding, ScaleRule, Specials, Subnormals, signal_codes
from .formats import (
    BF16,
    E2M1,
    E2M3,
    E3M2,
    E4M3,
    E5M2,
    E8M0,
    ELEMENTS,
    FP16,
    FP32,
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
from .hadamard import TRANSFORMER_ENGINE_SIGNS, Hadamard
from .layouts import LAYOUTS, Layout, Packing, ScaleOrder, ScalePlace, layout_named, stored_ports
from .names import block_format, element_format, source_format
from .operation import OPERATIONS, Operation, operation_of, short_id
from .ports import Port, Role
from .profiles import (
    CASTS,
    DECODERS,
    PROFILES,
    PROFILES_OF,
    TWO_LEVEL,
    TWO_LEVEL_DECODERS,
    Profile,
    casting,
    decoding,
    encoding,
    numerics,
    profile_named,
    profile_of,
    two_level,
    two_level_decoding,
)
from .ptx import INSTRUCTIONS
from .two_level import TENSOR_SCALES, TWO_LEVEL_RULES, FourOverSix, Order, TwoLevelEncode, TwoLevelFields
from .two_level_decode import TWO_LEVEL_DECODE_RULES, TwoLevelDecode, TwoLevelDecodeFields
from .two_level_operation import is_two_level

__all__ = [
    "BF16",
    "BLOCKS",
    "BLOCK_SIZES",
    "CASTS",
    "CAST_RULES",
    "DECODERS",
    "DECODE_RULES",
    "E2M1",
    "E2M3",
    "E3M2",
    "E4M3",
    "E5M2",
    "E8M0",
    "ELEMENTS",
    "FP16",
    "FP32",
    "INSTRUCTIONS",
    "INT8",
    "LAYOUTS",
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
    "TRANSFORMER_ENGINE_SIGNS",
    "TWO_LEVEL",
    "TWO_LEVEL_DECODERS",
    "TWO_LEVEL_DECODE_RULES",
    "TWO_LEVEL_RULES",
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
    "Convention",
    "Decode",
    "DecodeFields",
    "DecodedNan",
    "DecodedOverflow",
    "DecodedRounding",
    "DecodedZero",
    "Encode",
    "EncodeFields",
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
    "TwoLevelDecode",
    "TwoLevelDecodeFields",
    "TwoLevelEncode",
    "TwoLevelFields",
    "block_format",
    "casting",
    "decoding",
    "element_format",
    "encoding",
    "is_two_level",
    "layout_named",
    "numerics",
    "operation_of",
    "profile_named",
    "profile_of",
    "short_id",
    "signal_codes",
    "source_format",
    "stored_ports",
    "two_level",
    "two_level_decoding",
]

FORMERLY = {"Numerics": "Encode"}
"""Names of version 0.1, which older scripts import."""

if not TYPE_CHECKING:  # a type checker is to report a name of old

    def __getattr__(name: str) -> object:
        if name in FORMERLY:
            warnings.warn(f"mxcast.spec.{name} is called {FORMERLY[name]} now", FutureWarning, stacklevel=2)
            return globals()[FORMERLY[name]]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
