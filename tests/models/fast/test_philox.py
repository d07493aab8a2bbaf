"""Philox4x32-10 by published vectors, and stochastic rounding by its bytes."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.models import quantize_nvfp4
from mxcast.models.fast.philox import HARDWARE_BYTES, philox4x32, philox_random
from mxcast.spec import nvfp4_encoding

from ..nvfp4_blocks import edges, random_blocks
from .test_nvfp4_encode import exactly


# Random123 1.14, kat_vectors: philox4x32 10
@pytest.mark.parametrize(
    "counter, key, words",
    [
        ([0] * 4, 0, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, (1 << 64) - 1, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0_A4093822,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers(counter, key, words):
    assert philox4x32(np.array([counter], np.uint32), key)[0].tolist() == words


def test_where_a_stream_begins():
    """A subsequence is the upper half of the counter, a block the lower one."""
    seed, subsequence, offset = 0x0123456789ABCDEF, 0x1111111122222222, 0xFFFFFFFF
    bytes_ = philox_random((2, 16), seed, subsequence=subsequence, offset=offset)
    counters = [[0xFFFFFFFF, 0, 0x22222222, 0x11111111], [0, 1, 0x22222222, 0x11111111]]
    words = philox4x32(np.array(counters, np.uint32), seed)
    assert bytes_.tolist() == [[word >> 8 * i & 255 for word in row for i in range(4)] for row in words.tolist()]
    assert np.array_equal(philox_random((32,), seed, subsequence=subsequence, offset=offset), bytes_.reshape(-1))
    other = philox_random((2, 16), seed, subsequence=subsequence, offset=offset, byte_order=HARDWARE_BYTES)
    assert np.array_equal(other.reshape(-1, 4), bytes_.reshape(-1, 4)[:, [0, 2, 1, 3]])


@pytest.mark.parametrize("order", ["te", "paper"])
def test_stochastic_rounding_equals_the_exact_definition(order):
    x = np.concatenate([edges(), random_blocks(60, 12)])
    rules = nvfp4_encoding("nvfp4", order=order, rounding="sr")
    random = philox_random(x.shape, seed=3, subsequence=5)
    q = quantize_nvfp4(x, rules, tensor_amax=6.0, random=random)
    assert (q.scales[:, 0].tolist(), q.codes.tolist()) == exactly(x, rules, 6.0, random)
    nearest = quantize_nvfp4(x, rules.replace(rounding="rne"), tensor_amax=6.0)
    assert np.array_equal(nearest.scales, q.scales) and not np.array_equal(nearest.codes, q.codes)


def test_the_formula_of_transformer_engine():
    """numerics.md, C.5: floor((|x| + r / 256 * step) / step') * step', the steps at |x| and at the sum."""
    values = np.linspace(0, 7, 4 * 449 + 1)[:, None]
    r = np.arange(256)

    def step(v):
        return np.where(v < 2, 0.5, np.where(v < 4, 1.0, 2.0))

    total = values + r / 256 * step(values)
    expected = np.minimum(np.floor(total / step(total)) * step(total), 6)
    codes = []  # 6 makes the scale 1 where a is 2688
    for part in range(0, 256, 15):
        count = min(15, 256 - part)
        block = np.zeros((values.size, 16), np.float32)
        block[:, 0] = 6
        block[:, 1 : 1 + count] = np.minimum(values, 6)
        bits = np.zeros(block.shape, np.uint8)
        bits[:, 1 : 1 + count] = r[part : part + count]
        q = quantize_nvfp4(block, "nvfp4", rounding="sr", tensor_amax=2688.0, random=bits)
        assert (q.scales == 0x38).all()
        codes.append(q.codes[:, 1 : 1 + count])
    found = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[np.concatenate(codes, axis=1)]
    within = values[:, 0] <= 6
    assert np.array_equal(found[within], expected[within])


def test_another_order_of_random_bytes_is_refuted():
    x = random_blocks(4, 13)
    rules = nvfp4_encoding("nvfp4", rounding="sr")
    planted = philox_random(x.shape, seed=1, byte_order=HARDWARE_BYTES)
    q = quantize_nvfp4(x, rules, tensor_amax=6.0, random=planted)
    assert q.codes.tolist() != exactly(x, rules, 6.0, philox_random(x.shape, seed=1))[1]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ({"shape": (3, 8)}, "the last axis must be a multiple of 16 long, not the shape (3, 8)"),
        ({"shape": 16}, "shape must be a sequence of whole numbers, not 16"),
        ({"seed": 1 << 64}, "seed must be a number of 64 bits, not 18446744073709551616"),
        ({"offset": -1}, "offset must be a number of 64 bits, not -1"),
        ({"seed": 0.5}, "seed must be a whole number, not 0.5"),
        ({"byte_order": (0, 1, 2, 2)}, "byte_order must have the bytes 0 to 3 in some order, not (0, 1, 2, 2)"),
    ],
)
def test_what_is_refused(arguments, sentence):
    with pytest.raises((TypeError, ValueError)) as refused:
        philox_random(**{"shape": (16,), "seed": 0} | arguments)
    assert str(refused.value) == sentence
