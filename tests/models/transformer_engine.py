"""NVFP4 quantization as Transformer Engine's kernels describe it, written for the tests: binary64 arithmetic that is
rounded to binary32 after every operation, which is as if it were binary32 (Figueroa, 1995), and casts of ml_dtypes.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

MOST = float(np.finfo(np.float32).max)


def fl(value: np.ndarray | float) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.asarray(value, np.float64).astype(np.float32).astype(np.float64)


def quantize(x: np.ndarray, amax: float, folded: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """E4M3 bytes (n,) and codes (n, 16) of blocks (n, 16) in a tensor whose largest magnitude is ``amax``.

    ``folded`` is the arithmetic since 2.15, in which 1/6 belongs to the scale of the tensor.
    """
    with np.errstate(all="ignore"):
        amax = np.float64(np.float32(amax))
        encode = np.fmin(fl(448 * 6 / amax), MOST)
        encode = 1.0 if amax == 0 or encode == 0 else encode
        decode = fl(1 / encode)
        wide = x.astype(np.float64)
        largest = np.fmax.reduce(np.abs(wide), axis=1, initial=0.0)  # fmaxf leaves NaN out
        if folded:
            ratio = np.fmin(fl(largest * fl(encode * fl(1 / 6))), MOST)
        else:
            ratio = fl(fl(largest / 6) * encode)
        scales = np.minimum(ratio, 448).astype(np.float32).astype(ml_dtypes.float8_e4m3fn)
        factor = np.fmin(fl(1 / fl(scales.astype(np.float64) * decode)), MOST)
        y = fl(wide * factor[:, None])
        codes = np.clip(y, -6, 6).astype(np.float32).astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    codes[np.isnan(x)] = 7  # cvt.rn.satfinite.e2m1x2 gives the largest positive number
    return scales.view(np.uint8), codes
