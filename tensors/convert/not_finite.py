"""Results of dequantization that are NaN or Inf, counted by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...models import BlockArray
from ...models.arrays.codes import code_values, numbers_of
from ...spec import Convention
from ...spec.catalogue import Rule


class Cause(Rule):
    """Cause of a NaN or Inf. If several apply, the first in this order counts."""

    TENSOR_SCALE = "tensor_scale", "the tensor scale is NaN, Inf or a divisor that is 0"
    BLOCK_SCALE = "block_scale", "the block scale is NaN or Inf"
    ELEMENT = "element", "the element is NaN or Inf"
    RANGE = "range", "its scales are too large for float32"


@dataclass(frozen=True, kw_only=True)
class NotFinite:
    """The numbers of NaN and of Inf by the name of the cause."""

    nan: Counter[str] = field(default_factory=Counter)
    inf: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: NotFinite) -> NotFinite:
        return NotFinite(nan=self.nan + other.nan, inf=self.inf + other.inf)

    def __bool__(self) -> bool:
        return bool(self.nan or self.inf)

    def to_dict(self) -> dict[str, dict[str, int]]:
        return {"nan": dict(self.nan), "inf": dict(self.inf)}

    @classmethod
    def of_dict(cls, counts: Mapping[str, Mapping[str, int]]) -> NotFinite:
        """The inverse of `to_dict`."""
        return cls(nan=Counter(counts["nan"]), inf=Counter(counts["inf"]))

    @property
    def words(self) -> str:
        """The counts with their causes, as a sentence.

        >>> NotFinite(nan=Counter(block_scale=32)).words
        '32 results are NaN (32 because the block scale is NaN or Inf)'
        """
        return " and ".join(
            f"{(total := sum(counts.values()))} result{'s are' if total != 1 else ' is'} {kind} ("
            + ", ".join(f"{count} because {Cause.named('cause', cause).__doc__}" for cause, count in counts.items())
            + ")"
            for kind, counts in (("NaN", self.nan), ("Inf", self.inf))
            if counts
        )


def not_finite(q: BlockArray, numbers: np.ndarray) -> NotFinite:
    """The counts of the dequantized numbers of a block array."""
    if np.isfinite(numbers).all():
        return NotFinite()
    y, codes, scales = (np.moveaxis(a, q.axis, -1) for a in (numbers, q.codes, q.scales))
    *lines, last = places = np.nonzero(~np.isfinite(y))
    is_nan = np.isnan(y[places])
    elements = code_values(q.block.element)[codes[places]]
    factors = numbers_of(q.block.scale, scales[(*lines, last // q.block.shape[-1])])
    cause = np.where(np.isfinite(elements), Cause.RANGE, Cause.ELEMENT)
    cause = np.where(np.isfinite(factors), cause, Cause.BLOCK_SCALE)
    if q.tensor_scale is not None:
        g = np.asarray(q.tensor_scale)
        g = np.broadcast_to(np.moveaxis(g, q.axis, -1) if g.ndim else g, y.shape)[places]
        is_wrong = ~np.isfinite(g) | ((g == 0) & (q.block.convention is Convention.DIVISOR))
        cause = np.where(is_wrong, Cause.TENSOR_SCALE, cause)
    return NotFinite(nan=Counter(cause[is_nan].tolist()), inf=Counter(cause[~is_nan].tolist()))
