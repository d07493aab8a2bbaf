"""ggml's MXFP4 in C: `quantize_row_mxfp4_ref` and `dequantize_row_mxfp4`, compiled from a checkout.

The environment variable GGML names the checkout (github.com/ggml-org/ggml). Its functions of one row are compiled by
gcc -O3 -march=native into a temporary library.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

BYTES = 17
"""Bytes of a block of 32 numbers."""


def is_there() -> bool:
    return "GGML" in os.environ


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    sources = Path(os.environ["GGML"]).resolve()
    folders = [f"-I{sources / folder}" for folder in ("include", "src", "src/ggml-cpu")]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "quants.so")
        options = ["-O3", "-march=native", "-fPIC", "-shared", *folders, "-o", made]
        subprocess.run(["gcc", *options, sources / "src" / "ggml-quants.c", "-lm"], check=True)
        # the functions of one row call nothing else of ggml, so that the rest need not be there
        return ctypes.CDLL(str(made), mode=os.RTLD_LAZY)


def quantize(x: np.ndarray) -> np.ndarray:
    """Blocks (n, 17) of float32 numbers (n, 32)."""
    made = np.empty((len(x), BYTES), np.uint8)
    _library().quantize_row_mxfp4_ref(*(ctypes.c_void_p(a.ctypes.data) for a in (x, made)), ctypes.c_int64(x.size))
    return made


def dequantize(blocks: np.ndarray) -> np.ndarray:
    """Float32 numbers (n, 32) of blocks (n, 17)."""
    made = np.empty((len(blocks), 32), np.float32)
    _library().dequantize_row_mxfp4(
        *(ctypes.c_void_p(a.ctypes.data) for a in (blocks, made)), ctypes.c_int64(made.size)
    )
    return made
