"""NaN patterns of decoders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...spec import DecodedNan, FloatFormat, NumberFormat


def _canonical(codes: np.ndarray, source: NumberFormat, to: FloatFormat) -> np.ndarray:
    return np.full(codes.shape, to.inf_field + (1 << to.man_bits >> 1))


def _all_ones(codes: np.ndarray, source: NumberFormat, to: FloatFormat) -> np.ndarray:
    return np.full(codes.shape, to.magnitude_mask)


def _payload(codes: np.ndarray, source: NumberFormat, to: FloatFormat) -> np.ndarray:
    if source.nan_code is None:
        return _canonical(codes, source, to)
    codes, shift = codes.astype(np.int64), to.man_bits - source.man_bits
    fractions = codes & ((1 << source.man_bits) - 1)
    fractions = fractions << shift if shift >= 0 else fractions >> -shift
    signs = np.where(codes & source.sign_mask, to.sign_mask, 0)
    is_nan = (codes & source.magnitude_mask) > max(source.max_code, source.inf_code or 0)
    return _canonical(codes, source, to) | np.where(is_nan, signs | fractions, 0)


NANS: dict[DecodedNan, Callable[[np.ndarray, NumberFormat, FloatFormat], np.ndarray]] = {
    DecodedNan.CANONICAL: _canonical,
    DecodedNan.ALL_ONES: _all_ones,
    DecodedNan.PAYLOAD: _payload,
}
"""Patterns of NaN results in a destination, from the codes of a source format that can be NaN."""
