"""Parts of an array in a layout: boxes of its numbers that are also boxes of the stored arrays.

`pack` and `unpack` then need only one part in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...spec.layouts.catalogue import Layout, Part, ScaleOrder
from .block_layout import axis_last
from .packing import cut
from .stored_bytes import stored_dtype

Box = tuple[slice, ...]
"""A part of an array: start and stop along each axis."""
Shape = tuple[int, ...]


def stored_shapes(layout: Layout, shape: Shape) -> dict[Part, Shape]:
    """The shapes of the stored codes and scales from `pack`, for codes of this shape with complete blocks.

    >>> from mxcast.spec import layout_named
    >>> list(stored_shapes(layout_named("gpt_oss"), (8, 64)).values())
    [(8, 2, 16), (8, 2)]
    """
    *lines, count = axis_last(shape, layout.axis)
    rows, columns = layout.padding
    if lines:
        lines[-1] += -lines[-1] % rows
    blocks = (count + -count % columns) // layout.width
    if layout.scales is None:
        return {layout.codes: (*lines, blocks * (1 + layout.block_bytes))}
    codes = [*lines, blocks] if layout.has_block_axis else [*lines, blocks * layout.block_bytes]
    scales = [*lines, blocks]
    if not layout.is_transposed:
        codes, scales = ([*_last_to(sizes, layout.axis)] for sizes in (codes, scales))
    if layout.has_block_axis:
        codes.append(layout.block_bytes)
    codes[-1] //= stored_dtype(layout.codes).itemsize
    multiples = (128, 4) if layout.order is ScaleOrder.TILES_128X4 else layout.scale_padding
    for axis, (multiple, size) in enumerate(zip(multiples, layout.tile_shape), start=-2):
        if -axis <= len(scales):
            parts = -(-scales[axis] // multiple)
            scales[axis] = parts * (size if layout.order is ScaleOrder.TILES_128X4 else multiple)
    return {layout.codes: tuple(codes), layout.scales: tuple(scales)}


def _last_to(sizes: list[int], axis: int) -> Shape:
    """Sizes with the last one moved to an axis, like `np.moveaxis`."""
    rest, place = sizes[:-1], len(sizes) + axis
    return (*rest[:place], sizes[-1], *rest[place:])


def numbers_shape(layout: Layout, stored: Shape) -> Shape:
    """The shape of the codes from `unpack`, for stored codes of this shape. Raises ValueError for an impossible shape.

    >>> from mxcast.spec import layout_named
    >>> numbers_shape(layout_named("gpt_oss"), (8, 2, 16))
    (8, 64)
    """
    if len(stored) < 1 + layout.has_block_axis + (layout.axis != -1):
        raise ValueError(f"stored codes have {len(stored)} axes, too few for the layout {layout.name}")
    *lines, last = stored
    sizes = [*lines, last * stored_dtype(layout.codes).itemsize]
    size = layout.block_bytes + (layout.scales is None)
    if layout.has_block_axis:
        if sizes.pop() != size:
            raise ValueError(f"the layout {layout.name} has {size} bytes a block, not {last}")
        size = 1
    place = -1 if layout.is_transposed else layout.axis
    blocks = cut(sizes.pop(place), size * layout.together, layout)[0] * layout.together
    return _last_to([*sizes, blocks * layout.width], layout.axis)


def units(layout: Layout, shape: Shape) -> Shape:
    """Along each axis of codes of this shape, edges of parts inside the array are multiples of these numbers."""
    found = [1] * len(shape)
    found[layout.axis] = layout.width * layout.together
    if len(shape) == 1:
        return tuple(found)
    across = -1 if layout.axis == -2 else -2
    for axis, multiple in zip((across, layout.axis), layout.padding):
        found[axis] = math.lcm(found[axis], multiple)
    is_turned = layout.is_transposed and layout.axis == -2
    # the bytes of a row of tiles follow each other: rows of 128 scales are parts, columns are not
    whole = max(shape[layout.axis] // layout.width, 1)
    multiples = (128, whole) if layout.order is ScaleOrder.TILES_128X4 else layout.scale_padding
    for place, multiple in zip((-1, -2) if is_turned else (-2, -1), multiples):
        found[place] = math.lcm(found[place], multiple * (layout.width if place == layout.axis else 1))
    return tuple(found)


def boxes(shape: Shape, units: Shape, most: int) -> Iterator[Box]:
    """Boxes that cover an array in order. Each has at most about ``most`` elements, but at least one unit.

    >>> list(boxes((3, 4), (2, 1), 8))
    [(slice(0, 2, None), slice(0, 4, None)), (slice(2, 3, None), slice(0, 4, None))]
    """
    if not shape:
        yield ()
        return
    length, unit = shape[0], units[0]
    step = max(most // max(math.prod(shape[1:]), 1) // unit, 1) * unit
    for start in range(0, length, step):
        stop = min(start + step, length)
        for rest in boxes(shape[1:], units[1:], max(most // (stop - start), 1)):
            yield slice(start, stop), *rest


def stored_boxes(layout: Layout, box: Box) -> dict[Part, Box]:
    """The boxes of the stored arrays for a part of an array with edges at its `units`."""
    first = stored_shapes(layout, tuple(one.start for one in box))
    last = stored_shapes(layout, tuple(one.stop for one in box))
    found = {part: tuple(map(slice, first[part], last[part])) for part in first}
    if layout.has_block_axis:
        *lines, _ = found[layout.codes]
        found[layout.codes] = (*lines, slice(0, layout.block_bytes))
    return found
