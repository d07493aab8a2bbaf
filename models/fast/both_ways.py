"""A matrix quantized along its rows and along its columns, for training.

The rows enter one matrix product. The columns, often after a Hadamard transform, enter another.
"""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np

from ...spec import BF16, BlockFormat, Hadamard, Nvfp4Encode, Nvfp4Fields, nvfp4_encoding
from ..arrays.block_array import Quantized
from ..arrays.source import Random
from .encode import source_numbers
from .hadamard import rotate
from .nvfp4_encode import TensorAmax, quantize_nvfp4


class BothWays(NamedTuple):
    """A matrix (m, k) in blocks along its rows, and its transpose (k, m) in blocks along the rows of the transpose."""

    rowwise: Quantized
    columnwise: Quantized


def quantize_both_ways(
    x: object,
    format: str | BlockFormat | Nvfp4Encode,
    profile: str | None = None,
    *,
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
    x : matrix (m, k), as for `quantize_nvfp4`; m and k are multiples of the block size
    format, profile, rules : the operation; with ``nvfp4_2d`` both results have the same numbers
    rotation : transforms each 16 neighbouring numbers of a column before the columns are quantized; x is then bfloat16
    tensor_amax : the largest magnitude of the matrix, as for `quantize_nvfp4`
    columnwise_amax : the largest magnitude of the transformed matrix; without a rotation ``tensor_amax`` by default
    random : under the rounding ``sr``, the random bits of each result, in its shape
    jobs : number of threads that share the blocks

    Returns
    -------
    BothWays
        ``rowwise`` (m, k) and ``columnwise`` (k, m), which is transposed, as Transformer Engine stores it

    Raises
    ------
    TypeError, ValueError, RuntimeError
        as `quantize_nvfp4`, and ValueError for an array that is not a matrix

    >>> x = np.eye(16, 32, dtype=np.float32)
    >>> both = quantize_both_ways(x, "nvfp4")
    >>> both.rowwise.codes.shape, both.columnwise.codes.shape
    ((16, 32), (32, 16))
    """
    numerics = nvfp4_encoding(format, profile, **rules)
    numbers = source_numbers(x, numerics.source if rotation is None else BF16, None)
    if numbers.ndim != 2:
        raise ValueError(f"x must be a matrix, not of the shape {numbers.shape}")
    rows = _of_source(numbers, numerics)
    rowwise = quantize_nvfp4(rows, numerics, tensor_amax=tensor_amax, random=random[0], jobs=jobs)
    columns, a = np.ascontiguousarray(numbers.T), columnwise_amax
    if rotation is not None:
        columns = rotate(columns, rotation)
    elif a is None and rowwise.tensor_scale is not None:
        a = tensor_amax
    lines = _of_source(columns, numerics)
    columnwise = quantize_nvfp4(lines, numerics, tensor_amax=a, random=random[1], jobs=jobs)
    return BothWays(rowwise=rowwise, columnwise=columnwise)


def _of_source(numbers: np.ndarray, numerics: Nvfp4Encode) -> np.ndarray:
    """Patterns of bfloat16 as float32, unless the source of the operation is BF16."""
    if numbers.dtype != np.uint16 or numerics.source == BF16:
        return numbers
    return (numbers.astype(np.uint32) << np.uint32(16)).view(np.float32)
