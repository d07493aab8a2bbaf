"""Arguments as NumPy arrays: numbers and their exact widening to FP32 patterns, random bits, and dtypes of formats."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import DTypeLike

from ...spec import BF16, FP16, FP32, FP64, FloatFormat, NumberFormat, Rule
from ...spec.catalogue import excerpt
from ..native import kernels
from .dlpack import Exporter, from_dlpack

FORMATS: dict[np.dtype, FloatFormat] = {
    np.dtype(np.float32): FP32,
    np.dtype(np.uint16): BF16,
    np.dtype(np.float16): FP16,
    np.dtype(np.float64): FP64,
}
"""Formats by dtype. NumPy has no BF16; arrays contain its bit patterns."""

TAKEN: dict[FloatFormat, tuple[str, tuple[FloatFormat, ...]]] = {
    FP64: ("float64, float32, float16 or bfloat16", (FP64, FP32, BF16, FP16)),
    FP32: ("float32, float16 or bfloat16", (FP32, BF16, FP16)),
    BF16: ("bfloat16 (or its patterns as uint16)", (BF16,)),
    FP16: ("float16", (FP16,)),
}
"""Formats whose numbers are all numbers of a source, in words and as formats."""

DTYPES: dict[str, np.dtype] = {source.name: dtype for dtype, source in FORMATS.items()}

HALF_EXPONENT = np.uint16(0x7C00)
"""The exponent field of an FP16 pattern."""

MAGNITUDE = np.uint32(0x7FFFFFFF)
"""All bits of an FP32 pattern except the sign."""
INFINITY = np.uint32(0x7F800000)
"""FP32 pattern of +Inf, also the mask of the exponent field. Magnitudes from here on are Inf and NaN."""
FRACTION = np.uint32(0x007FFFFF)
"""The fraction of an FP32 pattern."""
SMALLEST_NORMAL = np.uint32(0x00800000)
"""FP32 pattern of the smallest normal number."""
SIGN = np.uint32(0x80000000)


Random: TypeAlias = "np.ndarray | np.random.Generator | Any | None"
"""Random bits; Any is a generator of PyTorch. The text is not evaluated: the import of numpy.random takes its time."""


def code_dtype(format: NumberFormat) -> np.dtype:
    """The dtype of right-aligned codes: uint8, or uint16 above eight bits."""
    return np.dtype(np.uint8 if format.bits <= 8 else np.uint16)


def require_whole(name: str, value: object) -> None:
    """Raise TypeError unless an argument is an integer."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {excerpt(value)}")


FLOAT_MODES = {1: "flushes subnormal numbers to zero", 2: "does not round to nearest"}
"""How a thread changes results."""


def float_mode() -> int:
    """The key of `FLOAT_MODES` that describes this thread, or 0.

    The check compares patterns, because a comparison of numbers may also flush subnormals. The sums lie half a step
    and 3/4 of a step above 1: upward rounding raises the first one, and the other directions lower the second one.
    """
    smallest = np.array([1], np.uint32).view(np.float32)
    sums = np.float32(1) + np.array([2, 3], np.float32) * np.float32(2.0**-25)
    if (smallest * np.float32(2)).view(np.uint32)[0] != 2:
        return 1
    return 0 if sums.view(np.uint32).tolist() == [0x3F800000, 0x3F800001] else 2


def require_float_mode() -> None:
    """Raise RuntimeError if this thread flushes subnormal numbers to zero or does not round to nearest, as some
    libraries set the processor.

    The compiled module checks as `float_mode` does.
    """
    found = (float_mode if kernels is None else kernels.float_mode)()
    if found:
        raise RuntimeError(
            f"this thread {FLOAT_MODES[found]} (a library has changed the processor's floating-point mode), so exact "
            "results are impossible"
        )


def as_numbers(x: object, source: FloatFormat, *, patterns: bool = False, hint: str = "") -> np.ndarray:
    """``x`` as an array of one of the dtypes of `FORMATS`, in native byte order, without a copy if possible.

    ``x`` is an array, or anything on the CPU with ``__dlpack__`` or ``__array__``, such as a PyTorch tensor or a JAX
    array. BF16 numbers become bit patterns. uint16 is read as such patterns only if the source is BF16 or
    ``patterns`` is true. Raises TypeError unless every number of the array's format is a number of ``source``
    (`TAKEN`); ``hint`` ends the sentence about float64.
    """
    array = from_dlpack(x) if _is_dlpack(x) else as_array(x, "x")
    given = array.dtype.name
    if given == "bfloat16":  # the view must keep the byte order
        array = array.view(np.dtype(np.uint16).newbyteorder(array.dtype.byteorder))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    is_number = given != "uint16" or patterns or source is BF16 or _is_dlpack(x)
    wanted, formats = TAKEN[source]
    if FORMATS.get(array.dtype) not in formats or not is_number:
        found = "bfloat16" if given == "uint16" and _is_dlpack(x) else given
        raise TypeError(f"x must be {wanted}, not {found}" + (hint if given == "float64" else ""))
    return array


def rounded_to(x: object, dtype: DTypeLike | None) -> np.ndarray:
    """``x``, an array or nested lists of real numbers, rounded to the nearest float32 or float16, ties to even.

    Raises ValueError for other dtypes, TypeError unless ``x`` contains real numbers.
    """
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = None
    if wanted not in (np.float32, np.float16):
        raise ValueError(f"dtype must be float32 or float16, not {excerpt(dtype)}")
    array = as_array(x, "x")
    if not np.can_cast(array.dtype, wanted, "same_kind"):
        raise TypeError(f"x must be real numbers, not {array.dtype}")
    with np.errstate(over="ignore"):
        return array.astype(wanted)


def as_array(x: object, name: str) -> np.ndarray:
    """``x`` as a plain NumPy array, without a copy if possible.

    Raises TypeError, which names the argument, for objects that are not arrays and for masked arrays, also inside a
    list or from ``__array__``.
    """
    if type(x) is np.ndarray:
        return x
    try:
        array = np.asanyarray(x)  # once: __array__ can return other numbers each time
        is_masked = isinstance(array, np.ma.MaskedArray) or _has_masked_parts(x)
    except MemoryError:
        raise
    except Exception as error:  # __array__ can raise anything
        raise TypeError(f"{name} cannot be read: {' '.join(str(error).split())}") from error
    if is_masked:
        raise TypeError(
            f"{name} must not be a masked array, whose mask would be lost: give {name}.filled(...) with the number "
            "for masked elements"
        )
    return np.asarray(array)


def _has_masked_parts(x: object) -> bool:
    """Does a sequence contain a masked array? NumPy would drop its mask."""
    return isinstance(x, Sequence) and not isinstance(x, str | bytes) and any(map(_is_masked, x))


def _is_masked(x: object) -> bool:
    if isinstance(x, Sequence):
        return _has_masked_parts(x)
    plain = isinstance(x, np.ndarray | np.generic | int | float) and not isinstance(x, np.ma.MaskedArray)
    return not plain and isinstance(np.asanyarray(x), np.ma.MaskedArray)


def _is_dlpack(x: object) -> TypeGuard[Exporter]:
    """Does `from_dlpack` read the array? Then uint16 is always bfloat16."""
    return hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray)


def widen(numbers: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Exact FP32 patterns of numbers of any supported dtype: uint32 of the same shape, a view or ``out``."""
    if numbers.dtype == np.float32:
        return numbers.view(np.uint32)
    if numbers.dtype == np.uint16:
        np.copyto(out, numbers)
        return np.left_shift(out, np.uint32(16), out=out)
    patterns = numbers.view(np.uint16)
    if ((patterns & HALF_EXPONENT) == HALF_EXPONENT).any():  # Inf or NaN: NumPy's own conversion, several times slower
        np.copyto(out.view(np.float32), numbers)
        return out
    np.copyto(out.view(np.int32), patterns.view(np.int16))  # the sign fills the upper half
    np.left_shift(out, np.uint32(13), out=out)
    np.bitwise_and(out, np.uint32(0x8FFFFFFF), out=out)
    np.multiply(
        out.view(np.float32), np.float32(2.0**112), out=out.view(np.float32)
    )  # from the bias 127 to the bias of FP16
    return out


def narrow(patterns: np.ndarray, source: FloatFormat) -> np.ndarray:
    """Numbers of a source from their FP32 patterns, (n,) uint32 -> (n,) of its dtype: the inverse of `widen`.

    Other numbers are rounded in an unspecified way. The bits of NaN are kept, except in FP64.
    """
    if source == FP32:
        return patterns.view(np.float32)
    if source == FP64:
        with np.errstate(invalid="ignore"):  # of signalling NaN
            return patterns.view(np.float32).astype(np.float64)
    if source == BF16:
        return (patterns >> np.uint32(16)).astype(np.uint16)
    special = patterns & INFINITY == INFINITY
    halves = np.where(special, np.uint32(0), patterns).view(np.float32).astype(np.float16).view(np.uint16)
    sign_and_fraction = (patterns >> np.uint32(16) & np.uint32(0x8000)) | (patterns >> np.uint32(13) & np.uint32(0x3FF))
    return np.where(special, np.uint32(HALF_EXPONENT) | sign_and_fraction, halves).astype(np.uint16).view(np.float16)


def random_bits(random: Random, shape: tuple[int, ...], bits: int, rounding: Rule) -> np.ndarray | None:
    """``bits`` random bits for each number of an array of this shape: uint16, or None without random bits."""
    if bits and random is None:
        raise ValueError(
            "the rounding sr needs random bits: give random= an array, a numpy.random.Generator or a torch.Generator"
        )
    if not bits and random is not None:
        raise ValueError(f"random bits are for the rounding sr, not for {rounding}")
    if random is None:
        return None
    if isinstance(random, np.random.Generator):
        return random.integers(0, 1 << bits, shape, np.uint16)
    if _is_torch_generator(random):
        torch = sys.modules["torch"]  # imported, because the generator exists
        drawn = torch.randint(1 << bits, shape, generator=random, device=random.device, dtype=torch.int32)
        return drawn.cpu().numpy().astype(np.uint16)
    random = as_array(random, "random")
    if random.dtype.kind not in "ui":
        raise TypeError(f"random must be unsigned numbers, not {random.dtype}")
    if random.shape != shape:
        raise ValueError(f"random must have the shape of x, {shape}, not {random.shape}")
    if random.size and (int(random.min()) < 0 or int(random.max()) >> bits):
        raise ValueError(f"random must be numbers of {bits} bits, not {int(random.min())} to {int(random.max())}")
    return random.astype(np.uint16)


def _is_torch_generator(random: object) -> bool:
    return type(random).__name__ == "Generator" and type(random).__module__.partition(".")[0] == "torch"
