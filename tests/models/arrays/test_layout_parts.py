"""Parts of an array in every layout: `stored_boxes` gives the place of the packed part."""

import math

import numpy as np
import pytest

from mxcast.models import BlockArray, pack, unpack
from mxcast.models.arrays.layout_parts import boxes, numbers_shape, stored_boxes, stored_shapes, units
from mxcast.spec import LAYOUTS, Convention

EVERY = [layout for dialect in LAYOUTS.values() for layout in dialect.values()]


def codes_of(layout, shape):
    """A block array with random codes, and scales that every dialect has."""
    rng, block = np.random.default_rng(0), layout.block_format
    scales = list(shape)
    scales[layout.axis] //= layout.width
    return BlockArray(
        codes=rng.integers(0, 1 << block.element.bits, shape, np.uint8),
        scales=rng.integers(1, 100, scales, np.uint8),
        block=block,
        axis=layout.axis,
        tensor_scale=None if block.convention is Convention.NONE else np.ones((), np.float32),
    )


@pytest.mark.parametrize("layout", EVERY, ids=lambda layout: layout.name)
@pytest.mark.parametrize("shape", [(300, 384), (2, 160, 512), (3, 1, 128), (640,)], ids=str)
def test_a_part_is_a_part_of_what_is_stored(layout, shape):
    if len(shape) == 1 and (layout.padding, layout.scale_padding, layout.order) != ((1, 1), (1, 1), "linear"):
        return
    if layout.axis == -2:
        if len(shape) == 1:
            return
        shape = (*shape[:-2], shape[-1], shape[-2])
    q = codes_of(layout, shape)
    whole = pack(q, layout)
    parts = [part for part in layout.parts if part is not layout.tensor_scale]
    shapes = stored_shapes(layout, shape)
    assert {part: whole[part.of("weight")].shape for part in parts} == shapes
    assert numbers_shape(layout, shapes[layout.codes])[layout.axis] == shape[layout.axis] or layout.padding != (1, 1)
    seen, count = {part: np.zeros(shapes[part], bool) for part in parts}, 0
    for box in boxes(shape, units(layout, shape), 4096):
        blocks = list(box)
        blocks[layout.axis] = slice(
            *(place // layout.width for place in (box[layout.axis].start, box[layout.axis].stop))
        )
        part_of_it = BlockArray(
            codes=q.codes[box], scales=q.scales[tuple(blocks)], block=q.block, axis=q.axis, tensor_scale=q.tensor_scale
        )
        stored, places = pack(part_of_it, layout), stored_boxes(layout, box)
        for part in parts:
            assert np.array_equal(stored[part.of("weight")], whole[part.of("weight")][places[part]])
            assert not seen[part][places[part]].any()
            seen[part][places[part]] = True
        if layout.padding == (1, 1):
            arrays = whole | {part.of("weight"): whole[part.of("weight")][places[part]] for part in parts}
            assert np.array_equal(unpack(arrays, layout).codes, part_of_it.codes)
        count += 1
    assert all(one.all() for one in seen.values()) and (count > 1 or math.prod(shape) < 4096)


def test_what_has_no_codes():
    layout = LAYOUTS["gpt_oss"]["mxfp4_e2m1"]
    with pytest.raises(ValueError, match="has 16 bytes a block, not 17"):
        numbers_shape(layout, (4, 2, 17))
    with pytest.raises(ValueError, match="1 axes, too few"):
        numbers_shape(layout, (4,))
    with pytest.raises(ValueError, match="a multiple of 17 bytes in a row, not 16"):
        numbers_shape(LAYOUTS["ggml"]["mxfp4_e2m1"], (4, 16))
