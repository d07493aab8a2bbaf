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


def four_over_six(
    x: np.ndarray, amax: float, metric: str, most: int, rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E4M3 bytes (n,), codes (n, 16) and whether 4 was taken (n,), of finite blocks (n, 16), where each ``rows`` rows
    share a scale. The candidates and their errors follow the NVFP4 4over6 kernel without fast math.
    """
    with np.errstate(all="ignore"):
        amax, wide = np.float64(np.float32(amax)), x.astype(np.float64)
        encode = np.fmin(fl(most * 6 / amax), MOST)
        encode = 1.0 if amax == 0 or encode == 0 else encode
        largest = np.abs(wide).reshape(-1, rows * 16).max(axis=1).repeat(rows)
        base = fl(fl(largest / 6) * encode)
        found = [_candidate(wide, scale, fl(1 / encode), amax, metric, most) for scale in (fl(base * 1.5), base)]
        errors = [_over_rows(error, rows) for _, _, error in found]
    is_four = (errors[0] < errors[1]).repeat(rows)
    scales = np.where(is_four, found[0][0], found[1][0])
    return scales, np.where(is_four[:, None], found[0][1], found[1][1]), is_four


def _candidate(wide, scale, decode, amax, metric, most):
    """Byte, codes and the error of each row, whose elements are summed one after another."""
    bytes_ = np.minimum(scale, 448).astype(np.float32).astype(ml_dtypes.float8_e4m3fn)
    s = bytes_.astype(np.float64)[:, None]
    factor = np.fmin(fl(1 / fl(s * decode)), MOST)
    q = np.clip(fl(wide * factor), -6, 6).astype(np.float32).astype(ml_dtypes.float4_e2m1fn)
    difference = fl(fl(fl(fl(q.astype(np.float64) * s) * amax) / (6 * most)) - wide)
    terms = np.abs(difference) if metric == "mae" else fl(difference * difference)
    error = np.zeros(len(wide))
    for i in range(16):
        error = fl(error + terms[:, i])
    return bytes_.view(np.uint8), q.view(np.uint8) & 15, error


def _over_rows(errors: np.ndarray, rows: int) -> np.ndarray:
    """The sum over the rows that share a scale, as a reduction by shuffles over 16 lanes adds them."""
    sums = errors.reshape(-1, rows)
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = fl(sums[:, :half] + sums[:, half:])
    return sums[:, 0]
