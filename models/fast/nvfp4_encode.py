"""The golden model of encoding to NVFP4 and its relatives. NumPy's float32 does the binary32 operations.

Each element takes one product or quotient, and the rounding to E2M1 of `element.encode`. The other operations of an
order are once per block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias, Unpack

import numpy as np
from numpy.typing import DTypeLike

from ...spec import (
    E2M1,
    FP32,
    BlockFormat,
    Convention,
    Encode,
    FloatFormat,
    FourOverSix,
    NumberFormat,
    Nvfp4Encode,
    Nvfp4Fields,
    Order,
    block_format,
)
from ...spec import nvfp4_encoding as numerics_of
from ...spec.catalogue import excerpt
from ..arrays.block_array import Quantized
from ..arrays.block_layout import BlockLayout
from ..arrays.codes import code_values
from ..arrays.parallel import in_chunks
from ..arrays.scratch_buffers import CHUNK, ScratchBuffers, scratch_buffers
from ..arrays.source import INFINITY, MAGNITUDE, Random, as_array, as_numbers, code_dtype, random_bits, widen
from ..native import kernels, made_by_module
from ..native.encode import ZERO_OF_PRODUCT, struct_of
from .element import encode
from .encode import source_numbers
from .scale import block_amax, broadcast

TensorAmax: TypeAlias = "float | np.ndarray | Callable[[np.ndarray], object] | None"
"""The largest magnitude of a tensor or of each row. None computes it. A function maps the computed value of a shard to
the one of the tensor, as a reduction over shards does."""

LARGEST = np.finfo(np.float32).max
ONE, SIXTH = np.float32(1), np.float32(1) / np.float32(6)


@dataclass(frozen=True)
class Constants:
    """The constants of a tensor (`spec.Nvfp4Encode.ports`): float32, () or one for each block (n,)."""

    k: np.ndarray
    d: np.ndarray
    a: np.ndarray

    def each(self, change: Callable[[np.ndarray], np.ndarray]) -> Constants:
        return Constants(change(self.k), change(self.d), change(self.a))

    def rows(self, part: slice) -> Constants:
        """The constants of a slice of the blocks."""
        return self.each(lambda one: one[part] if one.ndim else one)


@dataclass(frozen=True)
class Arithmetic:
    """One order on float32 arrays, in the letters of `spec.Order`."""

    constants: Callable[[np.ndarray, np.float32], tuple[np.ndarray, np.ndarray]]
    """(a, C) -> k, d"""
    ratio: Callable[[np.ndarray, np.ndarray, FloatFormat], np.ndarray]
    """(b, k, scale format) -> t"""
    factor: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """(s, d) -> factor of the numbers"""
    scaled: np.ufunc = np.multiply
    """(x, factor) -> y"""
    zero_scale: float = 0.0
    """Replacement for a scale that is rounded to 0."""
    ignores_nan: bool = False
    """Does the largest magnitude ignore NaN?"""
    nan_codes: tuple[int, int, int] = (0, 0, 0)
    """Codes for NaN y: under a NaN scale, under a negative NaN scale, and under any other scale."""
    signed_zero: bool = True
    """Does y of zero give its sign to the element?"""


def _global_scale(a: np.ndarray, c: np.float32) -> np.ndarray:
    """S of Transformer Engine."""
    s = np.minimum(c / a, LARGEST)
    return np.where((a == 0) | (s == 0), ONE, s)


def _te_constants(a: np.ndarray, c: np.float32) -> tuple[np.ndarray, np.ndarray]:
    s = _global_scale(a, c)
    return s * SIXTH, ONE / s


def _paper_constants(a: np.ndarray, c: np.float32) -> tuple[np.ndarray, np.ndarray]:
    s = _global_scale(a, c)
    return s, ONE / s


def _te_factor(s: np.ndarray, d: np.ndarray) -> np.ndarray:
    return np.minimum(ONE / (s * d), LARGEST)


def _ao_constants(a: np.ndarray, c: np.float32) -> tuple[np.ndarray, np.ndarray]:
    g = a / c
    return g, ONE / g


def _ao_ratio(b: np.ndarray, k: np.ndarray, scale: FloatFormat) -> np.ndarray:
    return np.clip(b / np.float32(6) / k, np.float32(2.0**scale.emin), np.float32(scale.max_value))


def _modelopt_constants(a: np.ndarray, c: np.float32) -> tuple[np.ndarray, np.ndarray]:
    return a / c, a / c


def _modelopt_ratio(b: np.ndarray, k: np.ndarray, scale: FloatFormat) -> np.ndarray:
    t = b / (np.float32(6) * k)
    return np.clip(np.where(t == 0, ONE, t), np.float32(2.0**scale.lowest_exponent), np.float32(scale.max_value))


def _compressed_tensors_constants(a: np.ndarray, c: np.float32) -> tuple[np.ndarray, np.ndarray]:
    g = c * (ONE / np.maximum(a, np.finfo(np.float32).tiny))
    g = np.where(np.isfinite(g), g, ONE)
    return g, g


AO = Arithmetic(constants=_ao_constants, ratio=_ao_ratio, factor=lambda s, d: d / s, nan_codes=(4, 12, 11))

ORDERS: dict[Order, Arithmetic] = {
    Order.TE: Arithmetic(
        constants=_te_constants,
        ratio=lambda b, k, scale: np.minimum(b * k, LARGEST),
        factor=_te_factor,
        ignores_nan=True,
        nan_codes=(7, 7, 7),
    ),
    Order.PAPER: Arithmetic(
        constants=_paper_constants,
        ratio=lambda b, k, scale: b / np.float32(6) * k,
        factor=_te_factor,
        ignores_nan=True,
        nan_codes=(7, 7, 7),
    ),
    Order.AO: AO,
    Order.AO_SINGLE: AO,
    Order.MODELOPT: Arithmetic(
        constants=_modelopt_constants,
        ratio=_modelopt_ratio,
        factor=lambda s, d: s * d,
        scaled=np.divide,
        nan_codes=(7, 7, 7),
        signed_zero=False,
    ),
    Order.COMPRESSED_TENSORS: Arithmetic(
        constants=_compressed_tensors_constants,
        ratio=lambda b, k, scale: k * (b / np.float32(6)),
        factor=lambda s, d: s / d,
        scaled=np.divide,
        zero_scale=0.125,
        signed_zero=False,
    ),
}

POWERS: dict[FourOverSix, Callable[[np.ndarray], np.ndarray]] = {FourOverSix.MAE: np.abs, FourOverSix.MSE: np.square}
"""Terms of the error, from v - x."""


def quantize_nvfp4(
    x: object,
    format: str | BlockFormat | NumberFormat | Nvfp4Encode,
    profile: str | None = None,
    *,
    tensor_amax: TensorAmax = None,
    row_scaled: bool = False,
    axis: int = -1,
    pad: bool = False,
    random: Random = None,
    dtype: DTypeLike | None = None,
    jobs: int = 1,
    **rules: Unpack[Nvfp4Fields],
) -> Quantized:
    """Quantize an array into blocks with block scales and a scale of the tensor.

    Parameters
    ----------
    x : array (..., n, ...) of float32, float16 or bfloat16 numbers, as for `quantize`
    format : ``nvfp4``, ``nvfp4_2d`` with blocks of 16 x 16 along the last two axes, ``fp4_ue5m3``, or a
        `Nvfp4Encode`
    profile : the name of the profile (`spec.NVFP4_ENCODERS`); ``nvfp4_te`` by default
    tensor_amax : the largest magnitude of the tensor, by default of ``x``. If ``x`` is one of several shards, it can be
        a function that maps the largest magnitude of ``x`` to the one of the tensor
    row_scaled : compute one tensor scale for each line along the axis; ``tensor_amax`` then has one number for each
        line, (..., 1, ...)
    axis, pad, random, dtype, jobs : as for `quantize`
    rules : fields of `Nvfp4Encode` that override the profile

    Returns
    -------
    Quantized
        ``scales`` (..., n / block_size, ...) uint8, ``codes`` (..., n, ...) uint8, and ``tensor_scale`` float32 (), or
        (..., 1, ...) if ``row_scaled``; None if the order has no tensor scale. The scale of a block of 16 x 16 is
        repeated for each of its rows.

    Raises
    ------
    TypeError
        for other dtypes, masked arrays, and tensors on a GPU or with a gradient
    ValueError
        for an incomplete block, an unknown name, random bits without the rounding ``sr``, and a ``tensor_amax`` that is
        negative, NaN, of another shape or unused
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> q = quantize_nvfp4(np.linspace(-2, 2, 16, dtype=np.float32), "nvfp4", tensor_amax=4.0)
    >>> q.scales, q.codes[:4], q.tensor_scale
    (array([118], dtype=uint8), array([15, 15, 14, 14], dtype=uint8), array(4., dtype=float32))
    """
    numerics = numerics_of(format, profile, **rules)
    convert = partial(encode_blocks, jobs=jobs)
    return nvfp4_array(
        x,
        numerics,
        convert,
        amax=tensor_amax,
        row_scaled=row_scaled,
        axis=axis,
        pad=pad,
        random=random,
        dtype=dtype,
        made_by=made_by_module(_compiled_rules(numerics) is not None),
    )


def nvfp4_array(
    x: object,
    numerics: Nvfp4Encode,
    convert: Callable[..., None],
    *,
    amax: TensorAmax = None,
    row_scaled: bool = False,
    axis: int = -1,
    pad: bool = False,
    random: Random = None,
    dtype: DTypeLike | None = None,
    made_by: str | None = None,
) -> Quantized:
    """Encode an array by ``convert``, a function like `encode_blocks`. Raises as `quantize_nvfp4`."""
    numbers = source_numbers(x, numerics.source, dtype)
    bits = random_bits(random, numbers.shape, numerics.random_bits, numerics.rounding)
    layout = BlockLayout(numbers.shape, numerics.block.shape, axis, pad)
    if row_scaled and layout.rows > 1:
        raise ValueError("row_scaled is for blocks along one axis, not for blocks of 16 x 16")
    constants = tensor_constants(amax_of(numbers, numerics, amax, axis if row_scaled else None), numerics)
    of_blocks = constants.each(layout.of_lines) if row_scaled else constants
    blocks = layout.blocks(numbers)
    scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, code_dtype(numerics.block.element))
    convert(blocks, numerics, of_blocks, scales, codes, None if bits is None else layout.blocks(bits))
    return Quantized(
        scales=layout.scales(scales),
        codes=layout.codes(codes),
        numerics=numerics,
        axis=axis,
        length=numbers.shape[axis],
        tensor_scale=STORED[numerics.block.convention](constants),
        made_by=made_by,
    )


def amax_of(numbers: np.ndarray, numerics: Nvfp4Encode, given: TensorAmax, axis: int | None) -> np.ndarray:
    """The largest magnitude of a tensor or, with an axis, of each of its lines: float32."""
    if numerics.block.tensor_scale is None:
        if given is not None or axis is not None:
            raise ValueError(
                f"the order {numerics.order} has no scale of the tensor: leave out tensor_amax and row_scaled"
            )
        return np.array(1, np.float32)
    found: object = given
    if given is None or callable(given):
        found = tensor_amax(numbers, numerics.order, axis)
        found = found if given is None else given(found)
    shape = () if axis is None else tuple(1 if i == axis % numbers.ndim else n for i, n in enumerate(numbers.shape))
    a = as_array(found, "tensor_amax")
    if a.dtype.kind not in "fiu" or a.shape != shape:
        raise ValueError(
            f"tensor_amax must be a number{f' for each line, {shape}' if shape else ''}, not {excerpt(found)}"
        )
    with np.errstate(over="ignore"):
        a = a.astype(np.float32)
    is_wrong = (a < 0) | (np.isnan(a) & ORDERS[numerics.order].ignores_nan)
    if is_wrong.any():
        raise ValueError(f"tensor_amax must be a magnitude, not {excerpt(float(a[is_wrong].flat[0]))}")
    return a


def tensor_amax(x: object, order: Order | str = Order.TE, axis: int | None = None) -> np.ndarray:
    """The largest magnitude of a tensor under an order: float32 () or, with an axis, (..., 1, ...) for each line along
    it.

    ``te`` and ``paper`` ignore NaN; the other orders return NaN if the tensor contains one. Raises TypeError for
    dtypes that `quantize_nvfp4` does not support, ValueError for an unknown order.

    >>> float(tensor_amax(np.array([1, -3, np.nan], np.float32)))
    3.0
    """
    numbers, is_left_out = as_numbers(x, FP32, patterns=True), ORDERS[Order.named("order", order)].ignores_nan
    lines = numbers.reshape(1, -1) if axis is None else np.moveaxis(numbers, axis, -1)
    found = np.empty(lines.shape[:-1], np.uint32)
    for place in np.ndindex(found.shape):
        found[place] = max((_largest(part, is_left_out) for part in _parts(lines[place])), default=0)
    values = found.view(np.float32)
    return values.reshape(()) if axis is None else np.expand_dims(values, axis)


def _parts(line: np.ndarray) -> Iterator[np.ndarray]:
    return (line[start : start + CHUNK] for start in range(0, line.size, CHUNK))


def _largest(numbers: np.ndarray, ignores_nan: bool) -> int:
    """The largest magnitude pattern; NaN is above Inf."""
    numbers = np.ascontiguousarray(numbers)
    magnitudes = widen(numbers, np.empty(numbers.shape, np.uint32)) & MAGNITUDE
    largest = magnitudes.max()
    if largest > INFINITY and ignores_nan:
        return int(magnitudes[magnitudes <= INFINITY].max(initial=0))
    return int(largest)


def tensor_constants(a: np.ndarray, numerics: Nvfp4Encode) -> Constants:
    """The constants of a tensor, or of its rows, from the largest magnitudes: float32 of any shape."""
    a = np.asarray(a, np.float32)
    if numerics.block.tensor_scale is None:
        return Constants(np.array(ONE), np.array(ONE), a)
    with np.errstate(all="ignore"):
        k, d = ORDERS[numerics.order].constants(a, _largest_product(numerics))
    return Constants(np.asarray(k, np.float32), np.asarray(d, np.float32), a)


def _largest_product(numerics: Nvfp4Encode) -> np.float32:
    """C."""
    return np.float32(numerics.scale_max * int(E2M1.max_value))


STORED: dict[Convention, Callable[[Constants], np.ndarray | None]] = {
    Convention.AMAX: lambda constants: constants.a,
    Convention.MULTIPLIER: lambda constants: constants.k,
    Convention.DIVISOR: lambda constants: constants.k,
    Convention.NONE: lambda constants: None,
}
"""The stored scale of the tensor."""


def encode_blocks(
    blocks: np.ndarray,
    numerics: Nvfp4Encode,
    constants: Constants,
    scales: np.ndarray,
    codes: np.ndarray,
    random: np.ndarray | None = None,
    *,
    jobs: int = 1,
) -> None:
    """Encode whole blocks into given arrays: (n, block_size) numbers -> (n,) uint8 and (n, block_size) uint8.

    Numbers are float32, float16, or bfloat16 as bit patterns in uint16. Only `Rounding.SR` takes ``random``, which is
    (n, block_size) uint16. All arrays are C-contiguous. ``jobs`` is a number of threads, which changes no bit.
    """

    def work(part: slice) -> None:
        buffers, numbers = scratch_buffers(min(CHUNK, blocks.size), _element_rules(numerics)), blocks[part].reshape(-1)
        chunk = Chunk(
            bits=widen(numbers, buffers.wide[: numbers.size]),
            numerics=numerics,
            constants=constants.rows(part),
            buffers=buffers,
            random=None if random is None else random[part].reshape(-1),
        )
        with np.errstate(all="ignore"):
            chunk.encode(scales[part], codes[part].reshape(-1))

    in_chunks(work, len(blocks), max(CHUNK // numerics.block_size, 1), jobs)


@lru_cache(maxsize=16)
def _element_rules(numerics: Nvfp4Encode) -> Encode:
    """The rules for the rounding to an element."""
    return Encode(
        block=block_format(numerics.block.element), rounding=numerics.rounding, random_bits=numerics.random_bits
    )


def _compiled_rules(numerics: Nvfp4Encode) -> tuple[float, ...] | None:
    """The rules for the compiled module, or None without it."""
    order = ORDERS[numerics.order]
    zero = None if order.signed_zero else ZERO_OF_PRODUCT
    return struct_of(_element_rules(numerics), FP32, numerics.block_size, divides=order.scaled is np.divide, zero=zero)


@dataclass(frozen=True)
class Chunk:
    """A chunk of blocks: (n * block_size,) FP32 patterns."""

    bits: np.ndarray
    numerics: Nvfp4Encode
    constants: Constants
    buffers: ScratchBuffers
    random: np.ndarray | None

    def encode(self, scales: np.ndarray, codes: np.ndarray) -> None:
        """Write (n,) scales and (n * block_size,) codes."""
        t, is_special = self._ratio()
        np.copyto(scales, self._scale_codes(t))
        self._encode_under(scales, is_special, codes)
        if self.numerics.four_over_six is FourOverSix.OFF:
            return
        larger, others = self._scale_codes(t * np.float32(1.5)), np.empty_like(codes)
        self._encode_under(larger, is_special, others)
        better = self._is_better(self._error(larger, others), self._error(scales, codes))
        scales[better] = larger[better]
        codes.reshape(len(scales), -1)[better] = others.reshape(len(scales), -1)[better]

    def _magnitudes(self) -> np.ndarray:
        return np.bitwise_and(self.bits, MAGNITUDE, out=self.buffers.magnitudes[: self.bits.size])

    def _amax(self) -> np.ndarray:
        """The largest magnitude of each block, (n,) uint32 patterns."""
        size, rules = self.numerics.block_size, _compiled_rules(self.numerics)
        if rules is None:
            return block_amax(self._magnitudes(), size)
        amax = np.empty(self.bits.size // size, np.uint32)
        kernels.maxima(rules, self.bits, amax)
        return amax

    def _ratio(self) -> tuple[np.ndarray, bool]:
        """t of each block, and whether any block contains NaN or Inf."""
        order, size = ORDERS[self.numerics.order], self.numerics.block_size
        amax = self._amax()
        is_special = bool((amax >= INFINITY).any())
        has_nan = np.flatnonzero(amax > INFINITY)
        if has_nan.size and order.ignores_nan:
            rows = self.bits.reshape(-1, size)[has_nan] & MAGNITUDE
            amax[has_nan] = np.where(rows > INFINITY, np.uint32(0), rows).max(axis=1)
        return order.ratio(amax.view(np.float32), self.constants.k, self.numerics.scale_format), is_special

    def _scale_codes(self, t: np.ndarray) -> np.ndarray:
        scale, zero = self.numerics.scale_format, ORDERS[self.numerics.order].zero_scale
        codes = nearest_codes(t, scale)
        return np.where(codes == 0, nearest_codes(np.array([zero], np.float32), scale), codes) if zero else codes

    def _encode_under(self, scales: np.ndarray, is_special: bool, codes: np.ndarray) -> None:
        """Write the codes of all blocks under these scales."""
        order, size = ORDERS[self.numerics.order], self.numerics.block_size
        factors = order.factor(np.take(code_values(self.numerics.block.scale), scales), self.constants.d)
        makes_nan = is_special or not (np.isfinite(factors) & (factors > 0)).all()
        rules = _compiled_rules(self.numerics)
        if rules is not None and not makes_nan:
            kernels.encode_under(rules, factors, self.bits, self.random, codes)
            return
        y = self._magnitudes().view(np.float32)
        order.scaled(y, broadcast(factors, size, self.buffers.factors[: y.size]), out=y)
        is_nan = np.isnan(y) if makes_nan else None
        is_zero = None if order.signed_zero else y == 0
        encode(y, self.bits, _element_rules(self.numerics), self.buffers, codes, self.random)
        if is_zero is not None:
            codes[is_zero] = 0
        if is_nan is not None:
            values = np.take(code_values(self.numerics.block.scale), scales)
            cases = np.where(np.isnan(values), self.numerics.scale_format.sign_mask & scales != 0, 2)
            codes[is_nan] = np.repeat(np.array(order.nan_codes, codes.dtype)[cases], size)[is_nan]

    def _is_better(self, four: np.ndarray, six: np.ndarray) -> np.ndarray:
        """Mask of the blocks that take the larger scale. Ties and NaN errors keep the smaller one."""
        return four < six

    def _error(self, scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """The error of each block (n,), summed in binary32: element after element, then rows of a block pairwise."""
        values = np.take(code_values(self.numerics.block.element), codes).reshape(len(scales), -1)
        values *= np.take(code_values(self.numerics.block.scale), scales)[:, None]
        values *= self.constants.a if self.constants.a.ndim == 0 else self.constants.a[:, None]
        values /= _largest_product(self.numerics)
        values -= self.bits.view(np.float32).reshape(values.shape)
        terms = POWERS[self.numerics.four_over_six](values).reshape(len(scales), -1, 16)
        rows = terms[..., 0]
        for i in range(1, 16):
            rows = rows + terms[..., i]
        while rows.shape[1] > 1:  # first half plus second half, like a reduction over 16 threads
            half = rows.shape[1] // 2
            rows = rows[:, :half] + rows[:, half:]
        return rows[:, 0]


def nearest_codes(values: np.ndarray, format: FloatFormat) -> np.ndarray:
    """The codes of float32 values >= 0, to nearest, ties to even, saturating: (n,) -> (n,) uint8. NaN keeps its sign.

    The sum of a value and the power of two whose last place is one step of the format contains the steps in its low
    bits.
    """
    y = np.minimum(values, np.float32(format.max_value))
    shift = FP32.man_bits - format.man_bits
    field = np.maximum(y.view(np.uint32) & INFINITY, np.uint32((format.emin + FP32.bias) << FP32.man_bits))
    steps = (y + (field + np.uint32(shift << FP32.man_bits)).view(np.float32)).view(np.uint32)
    binade = (field >> np.uint32(FP32.man_bits)) - np.uint32(format.emin + FP32.bias)
    codes = ((steps & np.uint32((4 << format.man_bits) - 1)) + (binade << np.uint32(format.man_bits))).astype(np.uint8)
    is_nan = np.isnan(values)
    if is_nan.any():
        assert format.nan_code is not None
        signs = np.where(np.signbit(values[is_nan]), format.sign_mask, 0)
        codes[is_nan] = format.nan_code | signs
    return codes
