"""Random bits and bytes in C against the models: Philox, every layout of a library, and tiles of scales."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from mxcast.models.arrays.block_array import BlockArray
from mxcast.models.arrays.packing import pack, stored_blocks
from mxcast.models.arrays.stored_bytes import swizzled
from mxcast.models.fast.philox import HARDWARE_BYTES, SOFTWARE_BYTES, philox_random
from mxcast.spec import LAYOUTS, Layout
from mxcast.spec.layouts.catalogue import Packing, ScaleByte, ScalePlace

from .harness.header import Header, pointer

EVERY = [layout for layouts in LAYOUTS.values() for layout in layouts.values()]


@pytest.mark.parametrize("byte_order", [SOFTWARE_BYTES, HARDWARE_BYTES], ids=str)
@pytest.mark.parametrize("offset", [0, 5, (1 << 32) - 2, (1 << 64) - 2])
def test_philox_draws_the_bits_of_the_model(header: Header, offset: int, byte_order: tuple[int, ...]) -> None:
    seed, subsequence, random = 0x123456789ABCDEF0, 0xFEDCBA9876543210, np.zeros((4, 16), np.uint16)
    order = (ctypes.c_int * 4)(*byte_order)
    stream = [ctypes.c_uint64(one) for one in (seed, subsequence, offset)]
    header.library.philox_random(ctypes.c_size_t(4), *stream, order, pointer(random))
    expected = philox_random((4, 16), seed, subsequence=subsequence, offset=offset, byte_order=byte_order)
    np.testing.assert_array_equal(random, expected)


def test_philox_has_the_published_words(header: Header) -> None:
    """First words in the known answers of Random123, 0x6627E8D5 and 0x408F276D: counter and key all zeros, all ones."""
    for bits, first in ((0, [0xD5, 0xE8, 0x27, 0x66]), ((1 << 64) - 1, [0x6D, 0x27, 0x8F, 0x40])):
        random, order = np.zeros(16, np.uint16), (ctypes.c_int * 4)(0, 1, 2, 3)
        header.library.philox_random(ctypes.c_size_t(1), *[ctypes.c_uint64(bits)] * 3, order, pointer(random))
        assert random[:4].tolist() == first


@pytest.mark.parametrize("layout", EVERY, ids=lambda layout: layout.name)
def test_blocks_are_stored_as_the_library_stores_them(header: Header, layout: Layout) -> None:
    groups = 3
    blocks, width = groups * layout.together, layout.width
    rng, element = np.random.default_rng(1), layout.block_format.element
    codes = rng.integers(0, 1 << element.bits, (blocks, width)).astype(np.uint16)
    scales = rng.integers(1, 0x7F, blocks).astype(np.uint8)  # not the codes that readers of GGUF decode otherwise
    members = (width, list(Packing).index(layout.packing), list(ScalePlace).index(layout.place), layout.together)
    struct = (ctypes.c_int * 5)(*members, list(ScaleByte).index(layout.scale_byte))
    stored, apart = np.zeros(blocks * (layout.block_bytes + 1), np.uint8), np.zeros(blocks, np.uint8)
    is_apart = layout.place is ScalePlace.APART
    if is_apart:
        stored = stored[: blocks * layout.block_bytes].copy()
    count, beside = ctypes.c_size_t(blocks), pointer(apart if is_apart else stored)
    header.library.store(struct, count, pointer(scales), pointer(codes), beside, pointer(stored))
    if is_apart:
        expected = stored_blocks(codes.astype(np.uint8), scales, layout)
        kept = scales if layout.scale_byte is ScaleByte.CODE else scales - np.uint8(127)
        np.testing.assert_array_equal(apart, kept)
    else:
        tensor_scale = None if layout.tensor_scale is None else np.float32(1)
        row = codes.astype(np.uint8).reshape(1, -1)
        q = BlockArray(
            scales=scales[None], codes=row, block=layout.block_format, axis=-1, length=None, tensor_scale=tensor_scale
        )
        expected = pack(q, layout)[layout.codes.of("weight")]
    np.testing.assert_array_equal(stored, expected.reshape(-1))
    back_scales, back = np.zeros_like(scales), np.zeros_like(codes)
    header.library.load(struct, count, beside, pointer(stored), pointer(back_scales), pointer(back))
    np.testing.assert_array_equal(back, codes)
    np.testing.assert_array_equal(back_scales, scales)


@pytest.mark.parametrize("packing", Packing)
def test_every_packing_is_in_a_layout(packing: Packing) -> None:
    assert any(layout.packing is packing for layout in EVERY)


@pytest.mark.parametrize("rows, blocks", [(128, 4), (200, 5), (256, 8), (1, 1)])
def test_tiles_of_scales_are_those_of_the_model(header: Header, rows: int, blocks: int) -> None:
    places, scales = np.zeros((rows, blocks), np.uintp), np.arange(rows * blocks, dtype=np.uint32).reshape(rows, blocks)
    header.library.tiles_128x4(ctypes.c_size_t(rows), ctypes.c_size_t(blocks), pointer(places))
    tiles = swizzled(scales).reshape(-1)
    np.testing.assert_array_equal(tiles[places], scales)
