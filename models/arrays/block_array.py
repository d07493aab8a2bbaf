"""An array in a block format: what encoding makes and decoding takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from ...spec import FP32, BlockFormat, Encode, NumberFormat, Nvfp4Encode
from ...spec.catalogue import excerpt


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BlockArray:
    """An array of numbers in a block format.

    Codes are right-aligned in uint8, or in uint16 where they have more than eight bits. The arrays are those that were
    given, not copies, and can be written to. Two are equal if all codes, scales and fields are. ``np.asarray`` gives
    the numbers.

    >>> from mxcast.models import quantize
    >>> q = quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> q
    <Quantized (2, 32) mxfp4_e2m1>
    >>> q == quantize(np.asarray(q), "e2m1"), q.shape
    (True, (2, 32))
    """

    scales: np.ndarray
    """Scale codes, (..., n / block_size, ...) unsigned."""
    codes: np.ndarray
    """Element codes, (..., n, ...) unsigned."""
    block: BlockFormat
    axis: int = -1
    """The axis that is cut into blocks."""
    length: int | None = None
    """Length of this axis before its last block was completed with zeros; None where nothing was added."""
    tensor_scale: np.ndarray | None = None
    """The scale of the tensor, float32 (), or that of each line along the axis, (..., 1, ...); None without one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of numbers."""
        shape = list(self.codes.shape)
        if self.length is not None:
            shape[self.axis] = self.length
        return tuple(shape)

    def dequantize(self) -> np.ndarray:
        """The numbers, as `models.dequantize` gives them."""
        from ..fast.decode import dequantize  # which takes a value of this class

        return dequantize(self)

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the numbers of a block array are made when they are asked for: copy cannot be False")
        return self.dequantize().astype(dtype or np.float32, copy=False)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = (vars(one) | {"axis": one.axis % (one.codes.ndim or 1)} for one in (self, other))
        arrays = ("codes", "scales", "tensor_scale")
        return all(np.array_equal(mine[name], others[name]) for name in arrays) and all(
            mine[name] == others[name] for name in mine if name not in arrays
        )

    def __hash__(self) -> int:
        raise TypeError(f"a {type(self).__name__} has no hash, as its arrays can be written to")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.shape} {self.block.name}>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Quantized(BlockArray):
    """A `BlockArray` with the numerics that made it, whose block format is that of the array."""

    block: BlockFormat = field(init=False)
    numerics: Encode | Nvfp4Encode

    def __post_init__(self) -> None:
        if not isinstance(self.numerics, Encode | Nvfp4Encode):
            raise TypeError(f"numerics must be of the class Encode or Nvfp4Encode, not {excerpt(self.numerics)}")
        object.__setattr__(self, "block", self.numerics.block)


def axis_last(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """A shape with one of its axes moved to the end, as `np.moveaxis` moves it, in a tenth of the time."""
    rest = list(shape)
    count = rest.pop(axis)
    return *rest, count


def as_blocks(x: np.ndarray, axis: int, size: int) -> np.ndarray:
    """Blocks (n, size) along an axis, the last of each row completed with zeros."""
    x = np.moveaxis(x, axis, -1)
    if x.shape[-1] % size:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], -x.shape[-1] % size), x.dtype)], axis=-1)
    return np.ascontiguousarray(x).reshape(-1, size)


def shortened(x: np.ndarray, axis: int, length: int | None) -> np.ndarray:
    """The first of an axis, up to ``length``; all of it where that is None."""
    return np.moveaxis(np.moveaxis(x, axis, -1)[..., :length], -1, axis)


def code_dtype(format: NumberFormat) -> np.dtype:
    """The dtype of right-aligned codes: uint8, or uint16 where they have more than eight bits."""
    return np.dtype(np.uint8 if format.bits <= 8 else np.uint16)


@lru_cache(maxsize=64)
def code_values(format: NumberFormat) -> np.ndarray:
    """The value of every code: (2**bits,) float32, read-only, from the definition of the format.

    Raises ValueError for codes of more than 16 bits, and for values that float32 does not have.
    """
    if format.bits > 16:
        raise ValueError(f"a table of values is for codes of at most 16 bits, not for {format.name}")
    exact = np.empty(1 << format.bits, np.float64)
    for code in range(exact.size):
        number = format.decode(code)
        magnitude = float(number.magnitude if number.kind == "finite" else number.kind)
        exact[code] = -magnitude if number.negative else magnitude
    with np.errstate(over="ignore"):
        values = exact.astype(np.float32)
    if not np.array_equal(values, exact, equal_nan=True):
        raise ValueError(f"{format.name} has values that float32 does not have")
    values.flags.writeable = False
    return values


def numbers_of(format: NumberFormat, codes: np.ndarray) -> np.ndarray:
    """The values of codes, float32; codes of FP32 are its bit patterns."""
    if format == FP32:
        return np.ascontiguousarray(codes, np.uint32).view(np.float32)
    return code_values(format)[codes]


def check_codes(q: BlockArray) -> None:
    """Raise TypeError or ValueError unless codes and scales are those of the block format, and their shapes and the
    length agree.
    """
    element, size = q.block.element, q.block.shape[-1]
    require_range("codes", q.codes, element.bits, f"codes of {element.name}")
    require_range("scales", q.scales, q.block.scale.bits, "scales")
    require_whole("axis", q.axis)
    if q.codes.ndim != q.scales.ndim or not -q.codes.ndim <= q.axis < q.codes.ndim:
        raise ValueError(
            f"codes and scales must have the same axes and axis must be one of them, not {excerpt(q.axis)} "
            f"for the shapes {q.codes.shape} and {q.scales.shape}"
        )
    codes, scales = (axis_last(array.shape, q.axis) for array in (q.codes, q.scales))
    if codes != (*scales[:-1], scales[-1] * size):
        raise ValueError(f"codes of shape {q.codes.shape} must have {size} elements for each scale of {q.scales.shape}")
    count = codes[-1]
    if q.length is not None:
        require_whole("length", q.length)
    if q.length is not None and not 0 <= count - int(q.length) < size:
        raise ValueError(
            f"length must be that of the axis before its last block of {count} was completed, not {excerpt(q.length)}"
        )


def require_range(name: str, array: object, bits: int, what: str) -> None:
    """Raise TypeError or ValueError unless an array holds unsigned integers of so many bits."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or array.dtype.kind not in "ui":
        kind = array.dtype if type(array) is np.ndarray else type(array).__name__
        raise TypeError(f"{name} must be a NumPy array of whole numbers, not {kind}")
    if not array.size or (array.dtype.kind == "u" and 8 * array.itemsize <= bits):
        return  # the dtype has no other values
    low, high = 0 if array.dtype.kind == "u" else int(array.min()), int(array.max())
    if low < 0 or high >> bits:
        raise ValueError(f"{what} must be 0 to {(1 << bits) - 1}, not {low if low < 0 else high}")


def require_whole(name: str, value: object) -> None:
    """Raise TypeError unless an argument is an integer."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {excerpt(value)}")
