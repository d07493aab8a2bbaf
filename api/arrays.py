"""Quantization of arrays to blocks of any format: `quantize` of the stable interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from .models.arrays.source import Random
from .models.fast.encode import quantize as quantize_mx
from .models.fast.nvfp4_encode import TensorAmax, quantize_nvfp4
from .spec import PROFILES, BlockFormat, Encode, EncodeFields, NumberFormat, Nvfp4Encode, Nvfp4Fields, encoding
from .spec.formats.names import named_blocks

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .models.arrays.block_array import Quantized

formats = named_blocks()
"""The block formats of the catalogue by name. Names spell many more: ``e3m3``, ``int4``."""

profiles = PROFILES
"""The profiles of encoding to MX formats by name."""


class QuantizingRules(EncodeFields, Nvfp4Fields, total=False):
    """Fields of `spec.Encode` and, for NVFP4, of `spec.Nvfp4Encode`."""


def quantize(
    x: object,
    format: str | BlockFormat | NumberFormat | Encode | Nvfp4Encode,
    profile: str | None = None,
    *,
    tensor_amax: TensorAmax = None,
    row_scaled: bool = False,
    axis: int = -1,
    pad: bool = False,
    random: Random = None,
    dtype: DTypeLike | None = None,
    jobs: int = 1,
    **rules: Unpack[QuantizingRules],
) -> Quantized:
    """Quantize an array into blocks along an axis, by the golden model.

    Parameters
    ----------
    x : array of float32, float16 or bfloat16, or any object on the CPU that exports one by DLPack or ``__array__``
    format : a block format: ``e4m3``, ``e5m2``, ``e3m2``, ``e2m3``, ``e2m1``, ``int8``, ``nvfp4``, or any other that a
        name spells (`mxcast.formats`)
    profile : the standard or library whose rules apply (``mxcast list profiles``): by default ``ocp``, for ``nvfp4``
        ``nvfp4_te``
    tensor_amax : for ``nvfp4`` only, the largest magnitude of the whole tensor, from which its FP32 scale is computed.
        The default is the largest magnitude of ``x``. If ``x`` is one shard of a tensor, give the number, or a function
        that maps the largest magnitude of ``x`` to the one of the tensor (an all-reduce)
    row_scaled : for ``nvfp4`` only, compute one FP32 scale for each line along the axis instead of one for the tensor
    axis : the axis that is cut into blocks; its length must be a multiple of the block size unless ``pad``
    pad : complete the last block of each row with zeros
    random : for the rounding ``sr``, the random bits of each element, or a generator of NumPy or PyTorch
    dtype : float32 or float16: round ``x`` to it first; float64, integers and lists need it
    jobs : number of threads; the bits do not depend on it
    rules : fields that override the profile, such as ``scale_rule="ceil"``

    Returns
    -------
    Quantized
        ``scales`` (..., n / block_size) uint8 and ``codes`` (..., n) uint8, or uint16 above eight bits; for ``nvfp4``
        also ``tensor_scale`` float32

    Raises
    ------
    TypeError
        for other dtypes, masked arrays, and tensors on a GPU or with a gradient
    ValueError
        for an incomplete block, an unknown name, a converter with modes, random bits without the rounding ``sr``, and a
        ``tensor_amax`` that is invalid or not used
    RuntimeError
        if this thread flushes subnormal numbers to zero or does not round to nearest

    >>> import numpy as np
    >>> q = quantize(np.linspace(-2, 2, 32, dtype=np.float32), "e2m1", profile="ocp")
    >>> q.scales.tolist(), q.codes[:4].tolist()
    ([126], [14, 14, 13, 13])
    >>> shard = np.full(16, 0.5, np.float32)
    >>> quantize(shard, "nvfp4", tensor_amax=6.0).scales.tolist()
    [97]
    """
    formats = format.split(",") if isinstance(format, str) else getattr(format, "modes", [format])
    if len(formats) > 1:
        raise ValueError("quantize takes one format and one scale rule")
    operation = encoding(formats[0], profile, **rules)
    if isinstance(operation, Nvfp4Encode):
        return quantize_nvfp4(
            x,
            operation,
            tensor_amax=tensor_amax,
            row_scaled=row_scaled,
            axis=axis,
            pad=pad,
            random=random,
            dtype=dtype,
            jobs=jobs,
        )
    if tensor_amax is not None or row_scaled:
        raise ValueError(f"{operation.block.name} has no scale of the tensor: leave out tensor_amax and row_scaled")
    return quantize_mx(x, operation, axis=axis, pad=pad, random=random, dtype=dtype, jobs=jobs)
