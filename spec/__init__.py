"""What is converted to what: formats, rules, profiles and configurations, as data."""

from .blocks import BLOCK_SIZES, BLOCKS, OTHER_BLOCKS, BlockFormat, Convention, SubScale, TensorScale
from .catalogue import Rule
from .config import CHOICES, GOALS, Amax, AmaxKey, ConverterConfig, Microarchitecture, Quantizer, Structure, converter_config
from .formats import (BF16, E2M1, E2M3, E3M2, E4M3, E5M2, E8M0, ELEMENTS, FP16, FP32, INT8, SCALES, SOURCES, TF32, UE4M3, UE5M3, FixedFormat,
                      FloatFormat, Kind, Negatives, Number, NumberFormat, SpecialCodes)
from .names import block_format, element_format, source_format
from .numerics import RULES, Numerics, Overflow, Rounding, ScaleRule, Specials, Subnormals, signal_codes
from .ports import Port, Role, ports
from .profiles import PROFILES, Profile, numerics, profile_of
from .stages import stages

__all__ = [
    "Rule", "Amax", "AmaxKey", "CHOICES", "ConverterConfig", "GOALS", "Microarchitecture", "Quantizer", "Structure", "converter_config",
    "BF16", "BLOCK_SIZES", "BLOCKS", "E2M1", "E2M3", "E3M2", "E4M3", "E5M2", "E8M0", "ELEMENTS", "FP16", "FP32", "INT8",
    "OTHER_BLOCKS", "SCALES", "SOURCES", "TF32", "UE4M3", "UE5M3", "BlockFormat", "Convention", "FixedFormat", "FloatFormat", "Kind", "Negatives",
    "Number", "NumberFormat", "SpecialCodes", "SubScale", "TensorScale",
    "block_format", "element_format", "source_format",
    "RULES", "Numerics", "Overflow", "Rounding", "ScaleRule", "Specials", "Subnormals", "signal_codes",
    "Port", "Role", "ports", "PROFILES", "Profile", "numerics", "profile_of", "stages",
]
