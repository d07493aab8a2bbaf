"""FP8 tensors with scales that are numbers, in the layout of another library. Codes and numbers stay the same."""

from __future__ import annotations

import numpy as np

from ...models.arrays.layout_parts import Box
from ...spec.layouts.scaled import SCALED_LAYOUTS, ScaledLayout, scales_shape
from ..containers.contents import taken
from ..layouts.library_metadata import comfy_description
from ..layouts.scaled_tensor import ScaledTensor
from .conversions import MadeArray, Placed
from .not_finite import NotFinite

Shape = tuple[int, ...]


class Rescaled:
    """The conversion of a `ScaledTensor` to the layout of a dialect. Its scales are converted at once."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    def layout(self, tensor: ScaledTensor) -> ScaledLayout:
        """Raises ValueError for a dialect without such tensors."""
        there = SCALED_LAYOUTS.get(self.dialect, {}).get(tensor.layout.block)
        if there is None or not there.forms:
            element = tensor.layout.element.name
            raise ValueError(
                f"{tensor.layout.block} is not written in the layout {self.dialect}: --to {element} makes MXFP8 if all "
                "scales are powers of two, and dequantize makes numbers"
            )
        return there.fitted(tensor.tile, there.scales.dtype, tensor.shape)

    def arrays(self, name: str, tensor: ScaledTensor) -> dict[str, MadeArray]:
        layout = self.layout(tensor)
        made = {
            layout.codes.of(name): MadeArray(
                dtype=layout.codes.dtype, shape=tensor.shape, written=tensor.shape, itemsize=1
            )
        }
        for array, (_, data) in self.whole(name, tensor).items():
            dtype = layout.scales.dtype if array == layout.scales.of(name) else "U8"
            made[array] = MadeArray(dtype=dtype, shape=data.shape, written=data.shape, itemsize=data.itemsize)
        return made

    def whole(self, name: str, tensor: ScaledTensor) -> Placed:
        """The scales, and the array `COMFY`."""
        layout = self.layout(tensor)
        scales = tensor.numbers_of_scales().reshape(scales_shape(layout, tensor.shape))
        if layout.scales.dtype == "F8_E8M0":
            scales = _as_e8m0(scales)
        found = {layout.scales.of(name): scales, **comfy_description(layout, name)}
        return {array: ((0,) * data.ndim, data) for array, data in found.items()}

    def units(self, tensor: ScaledTensor) -> Shape:
        return (1,) * len(tensor.shape)

    def part(self, name: str, tensor: ScaledTensor, box: Box) -> tuple[Placed, NotFinite]:
        place = tuple(slice(one.start, min(one.stop, size)) for one, size in zip(box, tensor.shape))
        codes = taken(tensor.stored, tensor.shape, place)
        return {self.layout(tensor).codes.of(name): (tuple(one.start for one in place), codes)}, NotFinite()


def _as_e8m0(scales: np.ndarray) -> np.ndarray:
    """Codes of E8M0. Raises ValueError for a scale that is not a power of two of its range."""
    fractions, exponents = np.frexp(scales)
    codes, is_nan = exponents.astype(np.int64) + 126, np.isnan(scales)
    others = ~is_nan & ((fractions != 0.5) | (codes < 0) | (codes > 254))
    if others.any():
        raise ValueError(f"its scale {scales[others][0]} is not a power of two of E8M0")
    return np.where(is_nan, 255, codes).astype(np.uint8)
