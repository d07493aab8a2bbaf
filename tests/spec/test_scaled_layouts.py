"""FP8 under scales that are numbers: which tiles explain a shape, and the shapes that libraries write."""

import itertools
import math

import pytest

from mxcast.spec.layouts.scaled import SCALED_LAYOUTS, Grain, fitting_tiles, grain_of, layouts_of, scales_shape

EVERY = [layout for layouts in SCALED_LAYOUTS.values() for layout in layouts.values()]


@pytest.mark.parametrize(
    "codes, scales, tiles",
    [
        ((64, 128), (), [(0, 0)]),
        ((64, 128), (1,), [(0, 0)]),
        ((64, 128), (1, 1), [(0, 0)]),
        ((64,), (), [(0, 0)]),
        ((64, 128), (64,), [(1, 0)]),
        ((64, 128), (64, 1), [(1, 0)]),
        ((64, 128), (1, 128), [(0, 1)]),
        ((64, 128), (128,), []),  # for columns an axis of one is there too
        ((64, 256), (64, 2), [(1, 128)]),
        ((64, 256), (64, 8), [(1, 32)]),
        ((64, 192), (64, 2), [(1, 128), (1, 96)]),  # a partial group, or two that are smaller
        ((256, 256), (2, 2), [(128, 128)]),
        ((130, 300), (2, 3), [(128, 128)]),
        ((192, 192), (2, 2), [(128, 128), (96, 96)]),
        ((128, 128), (2, 2), [(64, 64)]),
        ((256, 256), (2, 1, 2, 1), [(128, 128)]),
        ((64, 80), (64, 10), []),  # groups of 8 are nobody's
        ((256, 256), (3, 2), []),
        ((256, 256), (2, 2, 2), []),
        ((256, 4096), (2, 1), []),  # blocks of 128 x 4096 are nobody's
        ((4, 64, 128), (4,), [(0, 0)]),
        ((4, 64, 128), (4, 1, 1), [(0, 0)]),
        ((4, 64, 128), (4, 64), [(1, 0)]),
        ((4, 64, 128), (4, 64, 1), [(1, 0)]),
        ((4, 64, 128), (4, 128), [(0, 1)]),
        ((4, 64, 64), (4, 64), [(1, 0), (0, 1)]),
        ((4, 64, 128), (4, 1, 128), [(0, 1)]),
        ((4, 256, 128), (4, 2, 1), [(128, 128)]),
        ((4, 256, 128), (2, 2, 1), []),
        ((4, 256, 128), (2, 1), []),
    ],
)
def test_the_tiles_of_a_shape(codes, scales, tiles):
    assert fitting_tiles(codes, scales) == tiles


def test_a_block_that_is_known():
    """The usual one decides between two, a declared one is the only one."""
    assert fitting_tiles((192, 192), (2, 2), usual=(128, 128)) == [(128, 128)]
    assert fitting_tiles((192, 192), (2, 2), usual=(128, 128), declared=((96, 96),)) == [(96, 96), (128, 128)]
    assert fitting_tiles((100, 300), (2, 5), declared=((64, 64),)) == [(64, 64)]
    assert fitting_tiles((1, 64), (1,), declared=((1, 0), (128, 128))) == [(1, 0), (128, 128)]
    assert fitting_tiles((64, 100), (1, 1), usual=(128, 128)) == [(128, 128)]
    assert fitting_tiles((64, 100), (), usual=(128, 128)) == [(0, 0)]
    assert fitting_tiles((200, 100), (1, 1), usual=(128, 128)) == [(0, 0)]


@pytest.mark.parametrize("layout", EVERY, ids=lambda layout: layout.name)
def test_what_is_written_is_read(layout):
    """Every tile that a library has, for matrices and experts: the shape has as many scales as there are tiles."""
    tiles = [(0, 0), (1, 0), (1, 128), (128, 128)]
    for codes, tile in itertools.product([(300, 516), (2, 300, 516)], tiles):
        fitted = layout.fitted(tile, layout.scales.dtype, codes)
        if grain_of(tile) not in layout.forms:
            with pytest.raises(ValueError, match=f"not for a {grain_of(tile)}"):
                scales_shape(fitted, codes)
            continue
        shape = scales_shape(fitted, codes)
        count = math.prod(math.ceil(n / size) if size else 1 for n, size in zip(codes[-2:], tile))
        assert math.prod(shape) == count * math.prod(codes[:-2])
        assert fitting_tiles(codes, shape, layout.size) == [tile]


def test_another_block_than_the_one_of_a_library():
    layout = SCALED_LAYOUTS["deepseek_v3"]["fp8_e4m3"].fitted((64, 64), "F32", (256, 256))
    with pytest.raises(ValueError, match="of 128 x 128, not for a block of 64 x 64"):
        scales_shape(layout, (256, 256))


def test_names():
    assert {layout.name for layout in layouts_of("deepseek_v4")} >= {"deepseek_v4:mxfp4_e2m1", "deepseek_v4:fp8_e5m2"}
    assert [layout.name for layout in layouts_of("modelopt", "fp8_e5m2")] == ["modelopt:fp8_e5m2"]
    assert [layout.name for layout in layouts_of("modelopt", "e4m3")] == ["modelopt:mxfp8_e4m3"]
    assert [layout.name for layout in layouts_of("quark:mxfp6_e2m3")] == ["quark:mxfp6_e2m3"]
    for layout, tile in itertools.product(EVERY, [(0, 0), (1, 0), (0, 1), (1, 64), (128, 96)]):
        fitted = layout.fitted(tile, "F32", (256, 256))
        assert layouts_of(fitted.full_name)[0].tile == tile and fitted.full_name.startswith(layout.name)
    assert set(layouts_of()) >= set(EVERY) and {str(grain) for grain in Grain} >= {"tensor", "row", "group", "block"}
    for name, format, sentence in (
        ("deepseek", None, "unknown layout 'deepseek'"),
        ("deepseek_v3", "e2m1", "the layout deepseek_v3 is of fp8_e4m3, fp8_e5m2, not of e2m1"),
        ("modelopt:fp8_e4m3:12", None, "a scale is for a tensor, row, column or .* not '12'"),
        ("modelopt:nvfp4:row", None, "has scales for blocks of 16, not for a 'row'"),
        ("modelopt:fp4", None, "unknown block format of modelopt 'fp4'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            layouts_of(name, format)
