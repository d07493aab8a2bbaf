"""What the right answer is: the golden model in NumPy, and the exact definition that it is held against."""

from .block import Quantized, dequantize, quantize, quantize_blocks
from .compare import Certificate, compare
from .explain import explain
from .statistics import Statistics, error_statistics

__all__ = ["Quantized", "dequantize", "quantize", "quantize_blocks", "Certificate", "compare", "explain", "Statistics",
           "error_statistics"]
