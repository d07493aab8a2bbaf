"""Tensor scales in the convention of a layout, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from ...spec import Convention
from ...spec.formats.names import block_format
from ...spec.layouts.catalogue import Layout
from ...spec.profiles.layouts import profiles_of_convention
from .block_array import BlockArray
from .stored_bytes import stored_array


def stored_tensor_scale(q: BlockArray, layout: Layout) -> np.ndarray | None:
    """The tensor scale in the convention of a layout, float32: one, or (experts,) or (experts, 1, 1) for an array of
    three axes with one scale for each part along the first axis.

    None if the layout stores no tensor scale. Raises ValueError for a scale outside float32 in the convention, and for
    scales of other parts of a tensor.
    """
    largest = Fraction(q.block.element.max_value)
    most = largest * Fraction(q.block.scale.max_value)
    own = most if q.scale_max is None else q.scale_max * largest
    g = np.asarray(1 if q.tensor_scale is None else q.tensor_scale, np.float32)
    if (q.block.convention, own) != (layout.convention, most):
        convert = np.vectorize(
            lambda one: _converted(one, (q.block.convention, own), (layout.convention, most)), [np.float32]
        )
        g = convert(g) if g.size else g
    if layout.tensor_scale is None:
        if (g != 1).any():
            raise ValueError(f"the layout {layout.name} has no tensor scale, so it must be 1 in the array")
        return None
    if layout.omits_one and (g == _of_one(layout)).all():
        return None
    if not g.ndim:
        return g.reshape(layout.tensor_scale_shape)
    parts = g.reshape(len(g), -1)
    if g.ndim != 3 or (parts != parts[:, :1]).any():
        raise ValueError(
            f"the layout {layout.name} stores one tensor scale, or one for each index of the first axis of three"
        )
    return parts[:, :1].reshape(-1, *([1, 1] if layout.tensor_scale_shape == () else []))


def _converted(g: float, own: tuple[Convention, Fraction], other: tuple[Convention, Fraction]) -> np.float32:
    """A tensor scale in another convention, for the same numbers. Raises ValueError if it is outside float32.

    Each convention comes with the largest number of a block under a tensor scale of 1.
    """
    found = Fraction(0)
    if 0 < g < np.inf:
        found = scale_in_convention(Fraction(float(g)), own, other)
        rounded = np.float32(float(found))
        if np.isfinite(rounded) and Fraction(float(rounded)) == found:
            return rounded
    raise ValueError(
        f"the tensor scale {g!s} of the convention {own[0]} is not a float32 number in the convention {other[0]}: "
        "quantize the (dequantized) numbers with a profile of this convention: "
        f"{', '.join(profiles_of_convention(other[0]))}"
    )


def scale_in_convention(g: Fraction, own: tuple[Convention, Fraction], other: tuple[Convention, Fraction]) -> Fraction:
    """A tensor scale above 0 in another convention, for the same numbers.

    Each convention comes with the largest number of a block under a tensor scale of 1.
    """
    (convention, most), (wanted, most_there) = own, other
    return _SCALES_OF[wanted](_FACTORS[convention](g, most), most_there)


_FACTORS: dict[Convention, Callable[[Fraction, Fraction], Fraction]] = {
    Convention.MULTIPLIER: lambda g, most: g,
    Convention.DIVISOR: lambda g, most: 1 / g,
    Convention.AMAX: lambda g, most: g / most,
    Convention.NONE: lambda g, most: Fraction(1),
}
"""The factor of a tensor scale."""

_SCALES_OF: dict[Convention, Callable[[Fraction, Fraction], Fraction]] = {
    Convention.MULTIPLIER: lambda factor, most: factor,
    Convention.DIVISOR: lambda factor, most: 1 / factor,
    Convention.AMAX: lambda factor, most: factor * most,
    Convention.NONE: lambda factor, most: factor,
}
"""The tensor scale for a factor; without a tensor scale the factor itself, which must then be 1."""


def _of_one(layout: Layout) -> np.ndarray:
    """The tensor scale for the factor 1: float32 ()."""
    block = block_format(layout.block)
    most = Fraction(block.element.max_value) * Fraction(block.scale.max_value)
    return np.array(float(_SCALES_OF[layout.convention](Fraction(1), most)), np.float32)


def read_tensor_scale(
    arrays: Mapping[str, np.ndarray], name: str, shape: tuple[int, ...], layout: Layout
) -> np.ndarray | None:
    """The tensor scale of an array whose scales have this shape. Scales of experts are repeated for each line."""
    part = layout.tensor_scale
    if part is None:
        return None
    if layout.omits_one and part.of(name) not in arrays:
        return _of_one(layout)
    g = stored_array(arrays, part, name, layout)
    if g.size == 1:
        return g.reshape(()).copy()
    if len(shape) != 3 or g.size != shape[0]:
        raise ValueError(f"{part.of(name)!r} has {g.size} tensor scales, and scales have the shape {shape}")
    lines = [*shape]
    lines[layout.axis] = 1
    return np.broadcast_to(g.reshape(-1, 1, 1), lines).copy()
