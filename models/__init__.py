"""The golden model in NumPy, and the exact definition against which it is checked."""

from .arrays.block_array import BlockArray, Quantized
from .arrays.bridge import bridge, survives
from .arrays.packing import pack, unpack
from .arrays.stored_bytes import swizzled, unswizzled
from .fast.cast import cast, uncast
from .fast.decode import dequantize
from .fast.encode import quantize, quantize_blocks
from .fast.hadamard import rotate
from .fast.nvfp4_decode import dequantize_nvfp4
from .fast.nvfp4_encode import quantize_nvfp4, tensor_amax
from .fast.philox import philox_random
from .fast.random_source import source_numbers
from .fast.tile import BothWays, quantize_both_ways
from .statistics import Statistics, error_statistics

__all__ = [
    "BlockArray",
    "BothWays",
    "Quantized",
    "Statistics",
    "bridge",
    "cast",
    "dequantize",
    "dequantize_nvfp4",
    "error_statistics",
    "pack",
    "philox_random",
    "quantize",
    "quantize_blocks",
    "quantize_both_ways",
    "quantize_nvfp4",
    "rotate",
    "source_numbers",
    "survives",
    "swizzled",
    "tensor_amax",
    "uncast",
    "unpack",
    "unswizzled",
]
