"""What the right answer is: the golden model in NumPy, and the exact definition against which it is checked."""

from .block import quantize, quantize_blocks
from .block_array import BlockArray, Quantized
from .cast import cast, uncast
from .compare import Certificate, compare
from .decode import dequantize
from .explain import explain
from .random_source import source_numbers
from .statistics import Statistics, error_statistics

__all__ = [
    "BlockArray",
    "Certificate",
    "Quantized",
    "Statistics",
    "cast",
    "compare",
    "dequantize",
    "error_statistics",
    "explain",
    "quantize",
    "quantize_blocks",
    "source_numbers",
    "uncast",
]
