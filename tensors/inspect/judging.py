"""Kinds of suspicions, and a tensor with the counts that support them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...models.fast.nvfp4_decode import FACTORS
from ...spec import Convention
from ...spec.catalogue import Rule
from ...spec.layouts.catalogue import Layout
from ..layouts.readings import Recognised
from ..layouts.stored_blocks import StoredBlocks
from .tally import Tally


class Kind(Rule):
    """A possible mistake in a file."""

    CONTRADICTION = ("contradiction", "names and shapes fit a layout, and a dtype or a declaration contradicts it")
    UNRECOGNISED = "unrecognised", "an array looks like codes or scales, and no layout has its name, dtype and shape"
    SCALE_VALUES = (
        "scale_values",
        "bytes that should be codes of E8M0 are the numbers themselves, 1, 2, 4, 8, or exponents without the bias",
    )
    SCALE_NUMBERS = "scale_numbers", "scales of FP8 are NaN, Inf, negative or 0, or too large or small"
    SCALE_FORMAT = "scale_format", "bytes of E8M0 look like E4M3, or bytes of E4M3 like E8M0"
    SIGN_BIT = "sign_bit", "scales of E4M3 are negative"
    NAN_SCALE = "nan_scale", "block scales are NaN, so that all numbers of their blocks are NaN"
    NOT_FINITE = "not_finite", "elements are NaN or Inf"
    MAGNITUDE = "magnitude", "scales make numbers beyond float32, or so large or small that their squares are"
    TENSOR_SCALE = (
        "tensor_scale",
        "the tensor scale has another convention than the layout, was not initialised, or is not a positive number",
    )
    MISSING_TENSOR_SCALE = "missing_tensor_scale", "there is no tensor scale, and the block scales need one"
    GATE_AND_UP = ("gate_and_up", "gate and up have different tensor scales, or do not alternate")
    SCALE_ORDER = "scale_order", "scales are in tiles instead of in order, the reverse, or in tiles twice"
    SCALE_PADDING = "scale_padding", "the padding of tiles of scales is not zero"
    CODE_ORDER = "code_order", "the codes of a byte or of a block are in another order"
    SPLIT = "split", "the codes of two blocks are split over the low and the high halves of their bytes"


@dataclass(frozen=True, kw_only=True)
class Suspicion:
    """A suspicion about a tensor; ``figures`` has the numbers behind it."""

    kind: Kind
    tensor: str
    sentence: str
    figures: Mapping[str, float]

    def to_dict(self) -> dict:
        figures = {key: figure if np.isfinite(figure) else str(figure) for key, figure in self.figures.items()}
        return {"kind": str(self.kind), "tensor": self.tensor, "sentence": self.sentence, "figures": figures}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A tensor with one reading, and its counts."""

    tensor: Recognised
    stored: StoredBlocks
    tally: Tally

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def layout(self) -> Layout:
        return self.stored.layout

    @property
    def tensor_scale(self) -> float:
        """The tensor scale, or the median of several; 1 without one."""
        g = self.stored.tensor_scale
        return 1.0 if g is None or not g.size else float(np.median(g))

    @property
    def amax(self) -> float:
        """The largest magnitude of the counted blocks, without a missing tensor scale."""
        is_there = self.stored.tensor_scale is not None
        return self.amax_under(self.layout.convention if is_there else Convention.NONE)

    def amax_under(self, convention: Convention, tensor_scale: float | None = None) -> float:
        """The largest magnitude under another convention of the tensor scale, or under another tensor scale."""
        block, g = self.layout.block_format, self.tensor_scale if tensor_scale is None else tensor_scale
        with np.errstate(all="ignore"):
            most = np.float32(block.scale.max_value * block.element.max_value)
            return float(FACTORS[convention](np.array(self.tally.largest), np.array(g), most))

    def suspicion(self, kind: Kind, sentence: str, figures: Mapping[str, float]) -> Suspicion:
        return Suspicion(kind=kind, tensor=self.name, sentence=sentence, figures=figures)


ENOUGH = 64
"""The least number of nonzero blocks for statistics."""
LEAST, MOST = 2.0**-16, 2.0**10
"""Limits of the largest magnitude of weights. In MiniLM it is 0.04 to 7.9, a factor of a hundred or more from both.
The wrong convention of a tensor scale is a factor of 2688 or its square.
"""


def is_plausible(amax: float) -> bool:
    return LEAST <= amax <= MOST
