"""Arrays in a block format, as encoding returns them: scales and codes that decode themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...spec import BlockFormat, Encode, Nvfp4Encode
from ...spec.catalogue import excerpt
from ..fast.decode import dequantize
from .block_codes import BlockCodes


class BlockArray(BlockCodes):
    """An array of numbers in a block format. ``np.asarray`` decodes it.

    >>> from mxcast.models import quantize
    >>> q = quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> q
    <Quantized (2, 32) mxfp4_e2m1>
    >>> q == quantize(np.asarray(q), "e2m1"), q.shape
    (True, (2, 32))
    """

    def dequantize(self) -> np.ndarray:
        """The numbers, as `models.dequantize` gives them."""
        return dequantize(self)

    def __array__(self, dtype: np.dtype | None = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a block array is decoded into new memory: copy cannot be False")
        return self.dequantize().astype(dtype or np.float32, copy=False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Quantized(BlockArray):
    """A `BlockArray` with the numerics of its encoder. Its block format is the one of these numerics.

    >>> from mxcast import Quantized, quantize
    >>> q = quantize(np.full((2, 32), 1.5, np.float32), "e2m1")
    >>> isinstance(q, Quantized), q.scales.shape, q.codes.shape, q.numerics.scale_rule.value
    (True, (2, 1), (2, 32), 'floor')
    >>> float(np.asarray(q)[0, 0])
    1.5
    """

    block: BlockFormat = field(init=False)
    numerics: Encode | Nvfp4Encode
    made_by: str | None = field(default=None, compare=False, repr=False)
    """``numpy``, or the instruction set of the compiled module, such as ``avx2``; None if it was not encoded here. The
    bits do not depend on it.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.numerics, Encode | Nvfp4Encode):
            raise TypeError(f"numerics must be of the class Encode or Nvfp4Encode, not {excerpt(self.numerics)}")
        object.__setattr__(self, "block", self.numerics.block)

    @property
    def scale_max(self) -> int | None:
        return self.numerics.scale_max if isinstance(self.numerics, Nvfp4Encode) else None
