"""One block or number, step by step, for each operation."""

from .cast import CastExplanation, explain_cast
from .decode import DecodeExplanation, explain_decoder
from .encode import explain
from .nvfp4_decode import Nvfp4DecodeExplanation, explain_nvfp4_decoder
from .nvfp4_encode import Nvfp4Explanation, explain_nvfp4

__all__ = [
    "CastExplanation",
    "DecodeExplanation",
    "Nvfp4DecodeExplanation",
    "Nvfp4Explanation",
    "explain",
    "explain_cast",
    "explain_decoder",
    "explain_nvfp4",
    "explain_nvfp4_decoder",
]
