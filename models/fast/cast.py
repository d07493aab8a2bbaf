"""The golden model of casting: arrays of numbers to codes of a scalar format, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Unpack

import numpy as np
from numpy.typing import DTypeLike

from ...spec import (
    SCALARS,
    Cast,
    CastFields,
    CastNan,
    CastNegative,
    CastOverflow,
    CastRounding,
    CastUnderflow,
    EncodedZero,
    FloatFormat,
    NanSubstitute,
    SpecialCodes,
    casting,
)
from ...spec.operations.ptx import is_instruction
from ..arrays.codes import code_values, require_range
from ..arrays.parallel import in_chunks
from ..arrays.scratch_buffers import CHUNK
from ..arrays.source import DTYPES, Random, as_numbers, random_bits, require_float_mode, rounded_to, widen
from ..native import AT_ONCE, kernels


def cast(
    x: object,
    format: str | FloatFormat | Cast,
    profile: str | None = None,
    *,
    random: Random = None,
    dtype: DTypeLike | None = None,
    jobs: int = 1,
    **rules: Unpack[CastFields],
) -> np.ndarray:
    """Cast every number of an array to a code of a scalar format.

    Parameters
    ----------
    x : array of float32, float16 or bfloat16, with ``source="fp64"`` also of float64, or anything on the CPU that gives
        one by DLPack or ``__array__``
    format : ``e4m3``, ``e5m2``, ``e3m2``, ``e2m3``, ``e2m1``, ``ue8m0``, ``ue4m3``, ``ue5m3``, ``e4m3fnuz`` or
        ``e5m2fnuz``, an instruction of PTX (``cvt.rp.satfinite.ue8m0x2.f32``), or a `Cast`
    profile : the name of the profile (`spec.CASTS`); ``ocp`` by default
    random : under the rounding ``sr``, random bits of each number: an array of unsigned integers of the shape of x, or
        a generator, of NumPy or PyTorch, that draws them
    dtype : float32 or float16: round to it first; integers and lists need it, and float64 unless it is the source
    jobs : number of threads that share the work; the bits do not depend on it
    rules : fields of `Cast` that override the profile, such as ``rounding``

    Returns
    -------
    array of uint8
        codes, right-aligned, in the shape of x

    Raises
    ------
    TypeError
        for other dtypes, masked arrays, and tensors on a GPU or with a gradient
    ValueError
        for an unknown name, an impossible cast, and random bits without the rounding ``sr``
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> x = np.array([1, 1.5, 3, 0, np.inf], np.float32)
    >>> cast(x, "ue8m0", rounding="rp", overflow="satfinite").tolist(), cast(x, "e4m3").tolist()
    ([127, 128, 129, 0, 254], [56, 60, 68, 0, 126])
    """
    require_float_mode()
    made = casting(format, profile, **rules)
    if made.is_back:
        raise ValueError(f"cast makes codes: take uncast from {made.source.name} to {made.destination.name}")
    return cast_array(x if dtype is None else rounded_to(x, dtype), made, partial(cast_patterns, jobs=jobs), random)


def uncast(
    c: np.ndarray,
    format: str | FloatFormat | Cast,
    profile: str | None = None,
    *,
    random: Random = None,
    jobs: int = 1,
    **rules: Unpack[CastFields],
) -> np.ndarray:
    """The numbers of codes of a scalar format: the way back from `cast`.

    Parameters
    ----------
    c : array of codes, right-aligned unsigned integers
    format, profile, random, jobs, rules : as for `cast`; ``destination`` is ``fp32`` by default. FP32 and BF16
        contain all numbers of all formats, FP16 all except the numbers of E8M0

    Returns
    -------
    array of float32 or float16, or of uint16 patterns of bfloat16
        in the shape of c

    Raises
    ------
    TypeError
        if c is not a NumPy array of integers
    ValueError
        for codes outside the format, an unknown name, and an impossible cast
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> uncast(np.array([0, 127, 255], np.uint8), "ue8m0")
    array([5.877472e-39, 1.000000e+00,          nan], dtype=float32)
    """
    if not isinstance(format, Cast) and not is_instruction(format):
        rules.setdefault("destination", "fp32")
    made = casting(format, profile, **rules)
    if not made.is_back:
        raise ValueError(f"uncast makes numbers: take cast from {made.source.name} to {made.destination.name}")
    return uncast_array(c, made, partial(cast_patterns, jobs=jobs), random)


PatternFunction = Callable[[np.ndarray, Cast, np.ndarray, np.ndarray | None], None]
"""A function with the arguments of `cast_patterns`."""


def cast_array(x: object, rules: Cast, convert: PatternFunction, random: Random = None) -> np.ndarray:
    """Cast the numbers of an array by ``convert``. Raises as `cast`."""
    numbers = as_numbers(x, rules.source, hint=": source='fp64' casts it, or dtype='float32' rounds it first")
    if numbers.dtype != (wanted := DTYPES[rules.source.name]):
        with np.errstate(invalid="ignore"):  # of signalling NaN
            numbers = widen(numbers, np.empty(numbers.shape, np.uint32)).view(np.float32).astype(wanted, copy=False)
    patterns = np.ascontiguousarray(numbers).view(f"u{numbers.itemsize}")
    codes = np.empty(patterns.shape, np.uint8)
    convert(patterns, rules, codes, random_bits(random, codes.shape, rules.random_bits, rules.rounding))
    return codes


def uncast_array(c: np.ndarray, rules: Cast, convert: PatternFunction, random: Random = None) -> np.ndarray:
    """Cast the codes of an array back by ``convert``. Raises as `uncast`."""
    require_range("codes", c, rules.source.bits, f"codes of {rules.source.name}")
    codes = np.ascontiguousarray(c)
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    convert(codes, rules, y.view(f"u{y.itemsize}"), random_bits(random, y.shape, rules.random_bits, rules.rounding))
    return y


def cast_patterns(
    patterns: np.ndarray, rules: Cast, results: np.ndarray, random: np.ndarray | None = None, *, jobs: int = 1
) -> None:
    """Cast C-contiguous patterns of the source to patterns of the destination, in a given array of the same shape.

    ``random``, under `CastRounding.SR` only, has the same shape. ``jobs`` threads share the work.
    """
    flat, out = np.ascontiguousarray(patterns).reshape(-1), results.reshape(-1)
    is_compiled = kernels is not None and random is None and out.flags.c_contiguous
    drawn = None if random is None else np.ascontiguousarray(random).reshape(-1)

    def work(part: slice) -> None:
        if is_compiled:
            kernels.look_up(_table(rules), flat[part], out[part], max(rules.source.bits - SHORT, 0))
        elif drawn is None:
            np.take(_table(rules), _places(flat[part], rules), out=out[part], mode="clip")
        else:
            out[part] = _by_rules(flat[part], rules, drawn[part])

    in_chunks(work, flat.size, CHUNK, jobs, at_once=AT_ONCE if is_compiled else 1)


SHORT = 16
"""Leading bits of a pattern that decide its result together with the OR of the rest: sign, exponent and at least four
bits of the fraction. No code has more than three.
"""


def _places(patterns: np.ndarray, rules: Cast) -> np.ndarray:
    """Indices of the results of patterns in `_table`."""
    rest = rules.source.bits - SHORT
    if rest <= 0:
        return patterns
    word = patterns.dtype.type
    places = patterns >> word(rest - 1)
    np.bitwise_and(places, ~word(1), out=places)
    np.bitwise_or(places, (patterns & word((1 << rest) - 1)) != 0, out=places)
    return places if rest < 32 else places.astype(np.intp)


def representatives(source: FloatFormat) -> tuple[np.ndarray, np.ndarray]:
    """The smallest pattern of each class in ascending order, and the number of patterns in its class, (n,) each.

    Patterns of a class share their index in every table of results: they have the same first 16 bits and the same OR of
    the other bits.

    >>> from mxcast.spec import FP32
    >>> patterns, counts = representatives(FP32)
    >>> patterns[:3].tolist(), counts[:3].tolist(), int(counts.sum()) == 2**32
    ([0, 1, 65536], [1, 65535, 1], True)
    """
    rest = source.bits - SHORT
    if rest <= 0:
        return np.arange(1 << source.bits), np.ones(1 << source.bits, np.int64)
    patterns = (
        np.arange(1 << SHORT, dtype=np.uint64)[:, None] << np.uint64(rest) | np.arange(2, dtype=np.uint64)
    ).ravel()
    return patterns, np.tile([1, (1 << rest) - 1], 1 << SHORT)


@lru_cache(maxsize=32)
def _table(rules: Cast) -> np.ndarray:
    """The result of every class of patterns (`representatives`)."""
    patterns, _ = representatives(rules.source)
    return _by_rules(patterns, rules, None).astype(f"u{-(-rules.destination.bits // 8)}")


# All arithmetic is on integers, the fields of float64. Every source number except zero is normal there, or far below
# the numbers of all codes.
FRACTION = (1 << 52) - 1
BIAS = 1023
MOST_PLACES = 62
"""Largest shift of int64; it removes a significand of 53 bits completely."""


def _by_rules(patterns: np.ndarray, rules: Cast, random: np.ndarray | None) -> np.ndarray:
    """Patterns (n,) of the source to patterns (n,) int64 of the destination."""
    source, to = rules.source, rules.destination
    values = pattern_values(patterns, source)
    negative = (patterns & patterns.dtype.type(source.sign_mask)) != 0
    magnitudes = np.abs(values)
    is_zero, is_nan, is_inf = magnitudes == 0, np.isnan(values), np.isinf(values)
    codes = _rounded(np.where(np.isfinite(values) & ~is_zero, magnitudes, 1.0), rules, random)
    codes[is_zero] = 0 if to.subnormals else -1
    is_over = is_inf | (codes > to.max_code)
    becomes_inf = is_over & OVERFLOWS[rules.overflow](is_inf, rules.rounding)
    codes[is_over] = to.max_code
    codes[becomes_inf] = to.inf_field
    gone = codes < 0
    codes[gone] = 0
    is_nan |= UNDERFLOWS[rules.underflow](gone, is_zero) | (becomes_inf & (to.inf_code is None))
    if to.signed:
        signs = ZEROS[rules.zero](negative, is_zero, codes == 0) & ((codes != 0) | to.signed_zero)
        codes |= np.where(signs, to.sign_mask, 0)
    else:
        is_nan |= NEGATIVES[rules.negative](negative)
    which = is_nan.nonzero()[0]
    if to.nan_code is None:
        codes[which] = SUBSTITUTES[rules.nan_substitute](negative[which], to)
    elif to.specials is SpecialCodes.FNUZ:
        codes[which] = to.nan_code
    else:
        codes[which] = NANS[rules.nan](negative[which], _fractions(patterns[which], rules), to)
    return codes


def pattern_values(patterns: np.ndarray, source: FloatFormat) -> np.ndarray:
    """The exact values of patterns of a source or of codes: (n,) float64."""
    if source.name in SCALARS:
        return code_values(source).astype(np.float64)[patterns]
    numbers = patterns.astype(f"u{source.bits // 8}").view(DTYPES[source.name])
    if numbers.dtype == np.float64:
        return numbers
    with np.errstate(invalid="ignore"):  # of signalling NaN
        return widen(numbers, np.empty(numbers.shape, np.uint32)).view(np.float32).astype(np.float64)


def _rounded(magnitudes: np.ndarray, rules: Cast, random: np.ndarray | None) -> np.ndarray:
    """Magnitude codes of magnitudes > 0, (n,) float64 to (n,) int64.

    They continue beyond the largest number. Below the smallest number of a format without a zero they are negative.
    """
    to, bits = rules.destination, magnitudes.view(np.int64)
    exponents, significands = (bits >> 52) - BIAS, (bits & FRACTION) | 1 << 52
    grid = np.maximum(exponents, to.emin) if to.subnormals else exponents
    places = 52 - to.man_bits + grid - exponents
    shift = np.minimum(places, MOST_PLACES)
    whole = significands >> shift
    part = significands - (whole << shift)
    codes = ((grid - to.emin) << to.man_bits) + whole - (0 if to.subnormals else 1 << to.man_bits)
    carry = _carries(part, places, rules, random)
    return codes + ROUNDINGS[rules.rounding](codes, part, np.int64(1) << (shift - 1), carry)


def _carries(part: np.ndarray, places: np.ndarray, rules: Cast, random: np.ndarray | None) -> np.ndarray:
    """Mask of the sums of random bits and the first bits cut off that carry."""
    if random is None:
        return np.zeros(part.shape, bool)
    first = part >> np.clip(places - rules.random_bits, 0, MOST_PLACES)
    return (first + random.astype(np.int64)) >> rules.random_bits != 0


ROUNDINGS: dict[CastRounding, Callable[..., np.ndarray]] = {
    CastRounding.RNE: lambda codes, part, half, carry: (part > half) | ((part == half) & (codes & 1 == 1)),
    CastRounding.RNA: lambda codes, part, half, carry: part >= half,
    CastRounding.RNZ: lambda codes, part, half, carry: part > half,
    CastRounding.RTZ: lambda codes, part, half, carry: np.zeros(codes.shape, bool),
    CastRounding.RP: lambda codes, part, half, carry: part > 0,
    CastRounding.SR: lambda codes, part, half, carry: carry,
}
"""Mask of the codes that go up, from the part cut off, half a step, and the carry of the random bits."""

OVERFLOWS: dict[CastOverflow, Callable[[np.ndarray, CastRounding], np.ndarray]] = {
    CastOverflow.SATURATE: lambda is_inf, rounding: np.zeros_like(is_inf),
    CastOverflow.INF: lambda is_inf, rounding: np.ones_like(is_inf),
    CastOverflow.IEEE: lambda is_inf, rounding: is_inf if rounding is CastRounding.RTZ else np.ones_like(is_inf),
}
"""Mask of the numbers beyond the largest that become Inf; the others become the largest."""

ZEROS: dict[EncodedZero, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    EncodedZero.SIGNED: lambda negative, was_zero, is_zero: negative,
    EncodedZero.POSITIVE: lambda negative, was_zero, is_zero: negative & ~is_zero,
    EncodedZero.TAKEN_POSITIVE: lambda negative, was_zero, is_zero: negative & ~was_zero,
    EncodedZero.TAKEN_NEGATIVE: lambda negative, was_zero, is_zero: negative | was_zero,
}
"""Mask of the negative results, from the signs of the sources, and masks of zero sources and zero results."""

NEGATIVES: dict[CastNegative, Callable[[np.ndarray], np.ndarray]] = {
    CastNegative.MAGNITUDE: np.zeros_like,
    CastNegative.NAN: np.copy,
}
"""Mask of the negative numbers that become NaN."""

UNDERFLOWS: dict[CastUnderflow, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    CastUnderflow.SMALLEST: lambda gone, is_zero: np.zeros_like(gone),
    CastUnderflow.NAN_ZERO: lambda gone, is_zero: gone & is_zero,
    CastUnderflow.NAN: lambda gone, is_zero: gone,
}
"""Mask of the numbers that become NaN because they are zero or below the smallest number of a format without a zero."""

SUBSTITUTES: dict[NanSubstitute, Callable[[np.ndarray, FloatFormat], np.ndarray | int]] = {
    NanSubstitute.LARGEST: lambda negative, to: to.max_code,
    NanSubstitute.ZERO: lambda negative, to: np.where(negative, 0, to.sign_mask),
}
"""Codes for NaN in a format without NaN."""


def _quiet(to: FloatFormat) -> int:
    return to.magnitude_mask & ~(((1 << to.man_bits) >> 1) - 1) if to.inf_code is not None else to.magnitude_mask


def _sign(negative: np.ndarray, to: FloatFormat) -> np.ndarray:
    return np.where(negative, to.sign_mask, 0)


def _fractions(patterns: np.ndarray, rules: Cast) -> np.ndarray | None:
    """The fractions of NaN sources, aligned to the top of the destination's fraction, (n,) int64; -1 for other sources.
    None if the source has no fraction.
    """
    source, shift = rules.source, rules.destination.man_bits - rules.source.man_bits
    if source.man_bits == 0:
        return None
    magnitudes = patterns.astype(np.int64) & source.magnitude_mask
    is_nan = magnitudes > max(source.max_code, source.inf_code or 0)
    fractions = np.where(is_nan, magnitudes & ((1 << source.man_bits) - 1), 0)
    return np.where(is_nan, fractions << shift if shift >= 0 else fractions >> -shift, -1)


def _payload(negative: np.ndarray, fractions: np.ndarray | None, to: FloatFormat) -> np.ndarray | int:
    if fractions is None:
        return _quiet(to)
    return np.where(fractions < 0, _quiet(to), _sign(negative, to) | _quiet(to) | fractions)


NANS: dict[CastNan, Callable[[np.ndarray, np.ndarray | None, FloatFormat], np.ndarray | int]] = {
    CastNan.CANONICAL: lambda negative, fractions, to: _quiet(to),
    CastNan.SIGNED: lambda negative, fractions, to: _sign(negative, to) | _quiet(to),
    CastNan.ALL_ONES: lambda negative, fractions, to: to.magnitude_mask,
    CastNan.SIGNED_ALL_ONES: lambda negative, fractions, to: _sign(negative, to) | to.magnitude_mask,
    CastNan.NEGATIVE: lambda negative, fractions, to: (1 << to.bits) - 1,
    CastNan.PAYLOAD: _payload,
}
"""Codes of NaN results, from the signs and the fractions of the sources."""
