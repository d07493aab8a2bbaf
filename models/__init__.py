"""What the right answer is: the golden model in NumPy, and the exact definition against which it is checked."""

from .block import quantize, quantize_blocks
from .block_array import BlockArray, Quantized
from .both_ways import BothWays, quantize_both_ways
from .bridge import bridge, survives
from .cast import cast, uncast
from .compare import Certificate, compare
from .compare_cast import CastCertificate, compare_casts
from .compare_decode import DecodeCertificate, compare_decoders
from .compare_two_level import TwoLevelCertificate, compare_two_levels
from .compare_two_level_decode import TwoLevelDecodeCertificate, compare_two_level_decoders
from .decode import dequantize
from .explain import explain
from .explain_cast import CastExplanation, explain_cast
from .explain_decode import DecodeExplanation, explain_decoder
from .explain_two_level import TwoLevelExplanation, explain_two_levels
from .explain_two_level_decode import TwoLevelDecodeExplanation, explain_two_level_decoder
from .hadamard import rotate
from .packing import pack, swizzled, unpack, unswizzled
from .philox import philox_random
from .random_source import source_numbers
from .statistics import Statistics, error_statistics
from .two_level import quantize_two_level, tensor_amax
from .two_level_decode import dequantize_two_level

__all__ = [
    "BlockArray",
    "BothWays",
    "CastCertificate",
    "CastExplanation",
    "Certificate",
    "DecodeCertificate",
    "DecodeExplanation",
    "Quantized",
    "Statistics",
    "TwoLevelCertificate",
    "TwoLevelDecodeCertificate",
    "TwoLevelDecodeExplanation",
    "TwoLevelExplanation",
    "bridge",
    "cast",
    "compare",
    "compare_casts",
    "compare_decoders",
    "compare_two_level_decoders",
    "compare_two_levels",
    "dequantize",
    "dequantize_two_level",
    "error_statistics",
    "explain",
    "explain_cast",
    "explain_decoder",
    "explain_two_level_decoder",
    "explain_two_levels",
    "pack",
    "philox_random",
    "quantize",
    "quantize_blocks",
    "quantize_both_ways",
    "quantize_two_level",
    "rotate",
    "source_numbers",
    "survives",
    "swizzled",
    "tensor_amax",
    "uncast",
    "unpack",
    "unswizzled",
]
