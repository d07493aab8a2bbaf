"""A matrix quantized along its rows and along its columns, for training.

The rows enter one matrix product. The columns, often after a Hadamard transform, enter another.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Unpack

import numpy as np

from ...spec import (
    BF16,
    BlockFormat,
    ColumnOrder,
    Encode,
    Hadamard,
    NumberFormat,
    Nvfp4Encode,
    Nvfp4Fields,
    Nvfp4TileEncode,
    TileEncode,
)
from ...spec.catalogue import constructed
from ...spec.profiles.resolve import encoding
from ..arrays.block_array import Quantized
from ..arrays.source import DTYPES, Random, widen
from .encode import quantize, source_numbers
from .hadamard import rotate
from .nvfp4_encode import STORED, Constants, TensorAmax, amax_of, quantize_nvfp4, tensor_constants

TileFunction = Callable[[np.ndarray, Constants | None], tuple[np.ndarray, ...]]


class BothWays(NamedTuple):
    """A matrix (m, k) in blocks along its rows, and in blocks along its columns: its transpose (k, m) in blocks along
    the rows of the transpose, or the matrix (m, k) with scales (m / block size, k).
    """

    rowwise: Quantized
    columnwise: Quantized


def quantize_both_ways(
    x: object,
    format: str | BlockFormat | NumberFormat | Encode | Nvfp4Encode,
    profile: str | None = None,
    *,
    columns: str | ColumnOrder = ColumnOrder.TRANSPOSED,
    rotation: Hadamard | None = None,
    tensor_amax: TensorAmax = None,
    columnwise_amax: TensorAmax = None,
    random: tuple[Random, Random] = (None, None),
    jobs: int = 1,
    **rules: Unpack[Nvfp4Fields],
) -> BothWays:
    """Quantize a matrix along its rows and along its columns.

    Parameters
    ----------
    x : matrix (m, k), as for `quantize` or `quantize_nvfp4`; m and k are multiples of the block size
    format, profile, rules : the operation; with ``nvfp4_2d`` both results have the same numbers
    columns : ``transposed``, as Transformer Engine stores NVFP4, or ``in_place``, as it stores MXFP8 (`ColumnOrder`)
    rotation : transforms each 16 neighbouring numbers of a column before the columns are quantized; x is then bfloat16
    tensor_amax : under NVFP4 the largest magnitude of the matrix, as for `quantize_nvfp4`
    columnwise_amax : the largest magnitude of the transformed matrix; without a rotation ``tensor_amax`` by default
    random : under the rounding ``sr``, the random bits of each result, in its shape
    jobs : number of threads that share the blocks

    Returns
    -------
    BothWays
        ``rowwise`` (m, k) and ``columnwise`` (k, m), or (m, k) if it is in place

    Raises
    ------
    TypeError, ValueError, RuntimeError
        as `quantize` and `quantize_nvfp4`, and ValueError for an array that is not a matrix, and for a largest
        magnitude of an MX format

    >>> x = np.eye(16, 32, dtype=np.float32)
    >>> both = quantize_both_ways(x, "nvfp4")
    >>> both.rowwise.codes.shape, both.columnwise.codes.shape
    ((16, 32), (32, 16))
    >>> quantize_both_ways(np.eye(64, dtype=np.float32), "e4m3", columns="in_place").columnwise.scales.shape
    (2, 64)
    """
    order = ColumnOrder.named("columns", columns)
    numerics = constructed(encoding, {"block": format, "profile": profile, **rules})
    numbers = source_numbers(x, numerics.source if rotation is None else BF16, None)
    if numbers.ndim != 2:
        raise ValueError(f"x must be a matrix, not of the shape {numbers.shape}")
    rows, a = _of_source(numbers, numerics), columnwise_amax
    if isinstance(numerics, Encode):
        _refuse_amax(numerics.block, tensor_amax, columnwise_amax)
        rowwise = quantize(rows, numerics, random=random[0], jobs=jobs)
        of_columns: Callable[..., Quantized] = partial(quantize, format=numerics, jobs=jobs)
    else:
        rowwise = quantize_nvfp4(rows, numerics, tensor_amax=tensor_amax, random=random[0], jobs=jobs)
        if rotation is None and a is None and rowwise.tensor_scale is not None:
            a = tensor_amax
        of_columns = partial(quantize_nvfp4, format=numerics, tensor_amax=a, jobs=jobs)
    lines = numbers if rotation is None else rotate(np.ascontiguousarray(numbers.T), rotation).T
    columnwise = _of_source(lines, numerics)
    if order is ColumnOrder.IN_PLACE:
        return BothWays(rowwise, of_columns(columnwise, axis=0, random=random[1]))
    return BothWays(rowwise, of_columns(np.ascontiguousarray(columnwise.T), random=random[1]))


def both_ways(
    x: object, rules: TileEncode | Nvfp4TileEncode, convert: TileFunction, *, tensor_amax: TensorAmax = None
) -> BothWays:
    """Encode a matrix in both directions, tile by tile, by ``convert``. Raises as `quantize_both_ways`.

    ``convert`` turns tiles (n, side * side) of numbers and, to NVFP4, the constants of their tensor into scales
    (n, side) and codes (n, side * side) of their rows, and scales and codes of their columns.
    """
    numbers, side = source_numbers(x, rules.source, None), rules.block_size
    if numbers.ndim != 2 or numbers.shape[0] % side or numbers.shape[1] % side:
        raise ValueError(f"x must be a matrix of {side} x {side} tiles, not of the shape {numbers.shape}")
    high, wide = numbers.shape[0] // side, numbers.shape[1] // side
    constants, tensor_scale = None, None
    if isinstance(rules, TileEncode):
        _refuse_amax(rules.block, tensor_amax)
    else:
        constants = tensor_constants(amax_of(numbers, rules.rows, tensor_amax, None), rules.rows)
        tensor_scale = STORED[rules.block.convention](constants)
    if numbers.dtype != DTYPES[rules.source.name]:
        numbers = widen(numbers, np.empty(numbers.shape, np.uint32))
    tiles = numbers.reshape(high, side, wide, side).swapaxes(1, 2)
    found = convert(np.ascontiguousarray(tiles).reshape(-1, side * side), constants)
    scales, codes, column_scales, column_codes = (part.reshape(high, wide, -1, side) for part in found)
    is_turned = rules.columns is ColumnOrder.TRANSPOSED
    quantized = partial(Quantized, numerics=rules.rows, tensor_scale=tensor_scale)

    def joined(parts: np.ndarray) -> np.ndarray:
        """One matrix of the parts of each tile."""
        return np.ascontiguousarray(parts.swapaxes(1, 2)).reshape(-1, parts.shape[1] * parts.shape[3])

    def of_rows(scales: np.ndarray, codes: np.ndarray) -> Quantized:
        lines = joined(scales.swapaxes(2, 3))
        length = lines.shape[1] * side
        return quantized(scales=lines, codes=joined(codes), axis=-1, length=length)

    if is_turned:
        columns = of_rows(column_scales.swapaxes(0, 1), column_codes.swapaxes(0, 1))
    else:
        columns = quantized(scales=joined(column_scales), codes=joined(column_codes), axis=0, length=high * side)
    return BothWays(rowwise=of_rows(scales, codes), columnwise=columns)


def _refuse_amax(block: BlockFormat, *given: TensorAmax) -> None:
    if any(one is not None for one in given):
        raise ValueError(f"{block.name} has no scale of the tensor: leave out its largest magnitude")


def _of_source(numbers: np.ndarray, numerics: Encode | Nvfp4Encode) -> np.ndarray:
    """Patterns of bfloat16 as float32, unless the source of the operation is BF16."""
    if numbers.dtype != np.uint16 or numerics.source == BF16:
        return numbers
    return (numbers.astype(np.uint32) << np.uint32(16)).view(np.float32)
