"""The golden model of decoding: arrays of scales and codes to numbers."""

from __future__ import annotations

import numpy as np

from ..spec import BlockFormat
from ..spec.catalogue import excerpt
from .block_array import BlockArray, check_codes, code_values
from .source import require_subnormals

__all__ = ["dequantize"]


def dequantize(q: BlockArray) -> np.ndarray:
    """The numbers that scales and codes stand for: the value of each code times the value of its block's scale.

    The products of the OCP MX formats are exact. A product that float32 does not have is rounded to nearest, ties to
    even: beyond its range it becomes Inf, which blocks that `quantize` made reach only under `Specials.INF_SCALE`.
    If the scale is NaN (0xFF as E8M0), the whole block is NaN.

    Parameters
    ----------
    q : scales, codes and block format, as `quantize` returns them or made from arrays; the format has one scale a
        block and blocks along one axis

    Returns
    -------
    array of float32
        (..., n, ...), where ``q.codes`` are (..., n, ...); what completed the last block is cut off

    Raises
    ------
    TypeError
        where q is no `BlockArray`, and where scales or codes are no NumPy array of integers
    ValueError
        where scales or codes are outside their format or do not fit each other, and for block formats with a tensor
        scale, with sub-blocks or with blocks of more than one axis
    RuntimeError
        where this thread flushes subnormal numbers to zero

    >>> from mxcast.models import quantize
    >>> dequantize(quantize(np.full(32, 1.5, np.float32), "int8"))[0]
    np.float32(1.5)
    """
    require_subnormals()
    if not isinstance(q, BlockArray):
        raise TypeError(f"dequantize takes a BlockArray, such as quantize returns, not {excerpt(q)}")
    _check_block(q.block)
    check_codes(q)
    codes, scales = np.moveaxis(q.codes, q.axis, -1), np.moveaxis(q.scales, q.axis, -1)
    y = _products(codes, scales, q.block)[..., : q.length]
    return np.moveaxis(y, -1, q.axis)


def _check_block(block: BlockFormat) -> None:
    """Raise TypeError or ValueError for a block format that scales and codes alone do not decode."""
    if not isinstance(block, BlockFormat):
        raise TypeError(f"the block format of a BlockArray must be a BlockFormat, not {excerpt(block)}")
    refused = {
        f"{block.name} has a scale of the whole tensor, which dequantize does not take yet": block.tensor_scale,
        f"{block.name} has a field for each sub-block, which dequantize does not take yet": block.sub_scale,
        f"{block.name} has blocks of shape {block.shape}: dequantize takes blocks along one axis": block.shape[1:],
    }
    for sentence, is_refused in refused.items():
        if is_refused:
            raise ValueError(sentence)


def _products(codes: np.ndarray, scales: np.ndarray, block: BlockFormat) -> np.ndarray:
    """Element times scale: codes (..., n) and scales (..., n / block_size) -> (..., n) float32.

    Every later step, such as a destination format of fewer bits, starts from these products: it rounds only once,
    because they are exact wherever float32 has them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.take(code_values(block.element), codes).reshape(-1, block.block_size)
        y *= np.take(code_values(block.scale), scales).reshape(-1, 1)
    return y.reshape(codes.shape)
