"""NVFP4 by the fast model: equal to the exact definition and to published results, and different with planted bugs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import mxcast
from mxcast.models import quantize_nvfp4, tensor_amax
from mxcast.models.exact.binary32 import Special, Value
from mxcast.models.exact.nvfp4_encode import encode_block
from mxcast.models.fast import nvfp4_encode as nvfp4_encoding
from mxcast.models.fast.nvfp4_encode import ORDERS, nearest_codes, tensor_constants
from mxcast.spec import NVFP4_ENCODERS, Nvfp4Encode, Order, encoding
from mxcast.spec import nvfp4_encoding as rules_of

from ..libraries import transformer_engine
from ..nvfp4_blocks import AMAXIMA, NAN, NEGATIVE, edges, pairs, random_blocks, ties

WORKED = np.array([0.1, -0.25, 0.5, -0.75, 1, -1.25, 1.5, -2, 2.5, -3, 3.3, 0, -0.0, 0.06, -0.02, 2.9], np.float32)
"""nvfp4.md, D.6, in a tensor whose largest magnitude is 10."""


def value(a: float) -> Value:
    if np.isfinite(a):
        return Fraction(float(a))
    return Special.INF if np.isinf(a) else Special.NAN


def exactly(x: np.ndarray, rules: Nvfp4Encode, a: float, random=None) -> tuple[list[int], list[list[int]]]:
    drawn = [None] * len(x) if random is None else random.tolist()
    found = [
        encode_block(block.view(np.uint32).tolist(), rules, value(a), bits)
        for block, bits in zip(np.asarray(x, np.float32), drawn)
    ]
    return [scale for scale, _ in found], [codes for _, codes in found]


def same(x: np.ndarray, rules: Nvfp4Encode, a: float) -> bool:
    """Are fast model and exact definition equal on blocks of a tensor?"""
    q = quantize_nvfp4(x, rules, tensor_amax=None if rules.block.tensor_scale is None else a)
    scales, codes = exactly(x, rules, a)
    return q.scales[:, 0].tolist() == scales and q.codes.tolist() == codes


@pytest.mark.parametrize("profile", sorted(set(NVFP4_ENCODERS) - {"nvfp4_ao_single"}))
def test_the_worked_example(profile):
    q = mxcast.quantize(WORKED, "nvfp4", profile=profile, tensor_amax=10.0)
    codes = [half for byte in bytes.fromhex("90B2C4E5F6070878") for half in (byte & 15, byte >> 4)]
    if not ORDERS[q.numerics.order].signed_zero:
        codes[12] = 0  # -0 becomes +0
    assert q.scales.tolist() == [0x71] and q.codes.tolist() == codes


def test_the_constants_of_the_worked_example():
    te, paper = (tensor_constants(np.float32(10), rules_of("nvfp4", f"nvfp4_{name}")) for name in ("te", "paper"))
    assert [one.view(np.uint32) for one in (te.k, te.d, paper.k, paper.d)] == [
        0x42333333,
        0x3B73CF3E,
        0x43866666,
        0x3B73CF3E,
    ]


@pytest.mark.parametrize("profile", NVFP4_ENCODERS)
def test_model_equals_the_exact_definition(profile, record_property):
    rules, blocks = rules_of("nvfp4", profile), [edges(), ties(), random_blocks(24, 1)]
    x = np.concatenate(blocks)
    maxima = [1.0] if rules.block.tensor_scale is None else AMAXIMA[:: 3 if profile == "nvfp4_te_4over6" else 1]
    assert [a for a in maxima if not same(x, rules, a)] == []
    assert same(np.concatenate([random_blocks(100, 2), ties()]), rules, 2688.0)
    record_property("blocks", len(x) * len(maxima) + 102)


@pytest.mark.parametrize("source, dtype", [("bf16", np.uint16), ("fp16", np.float16)])
@pytest.mark.parametrize("order", ["te", "ao", "modelopt"])
def test_other_sources_are_widened(source, dtype, order):
    x = random_blocks(40, 3)
    narrow = (x.view(np.uint32) >> 16).astype(np.uint16) if source == "bf16" else np.clip(x, -9, 9).astype(np.float16)
    wide = (narrow.astype(np.uint32) << 16).view(np.float32) if source == "bf16" else narrow.astype(np.float32)
    rules = rules_of("nvfp4", source=source, order=order)
    q, expected = (
        quantize_nvfp4(one, r, tensor_amax=9.0) for one, r in [(narrow, rules), (wide, rules.replace(source="fp32"))]
    )
    assert np.array_equal(q.scales, expected.scales) and np.array_equal(q.codes, expected.codes)


@pytest.mark.parametrize("block", ["nvfp4_32", "nvfp4_2d", "fp4_ue5m3"])
@pytest.mark.parametrize("order", Order)
def test_other_blocks(block, order):
    rules = encoding(block, order=order)
    x = random_blocks(64, 4)
    q = quantize_nvfp4(x.reshape(16, 64) if block == "nvfp4_2d" else x.reshape(-1, rules.block_size), rules)
    if block == "nvfp4_2d":
        tiles = x.reshape(16, 4, 16).swapaxes(0, 1).reshape(4, 256)
        codes, scales = q.codes.reshape(16, 4, 16).swapaxes(0, 1).reshape(4, 256), q.scales[0]
        assert (q.scales == scales).all()  # repeated for every row
    else:
        tiles, codes, scales = x.reshape(-1, rules.block_size), q.codes, q.scales[:, 0]
    assert (scales.tolist(), codes.tolist()) == exactly(tiles, rules, tensor_amax(x, order))


# nvfp4.md, D.2: tensor amax, block, and by order the scale and the codes of the first elements
ONES, ZEROS, TINY = [1.0] * 16, [0.0, -0.0] * 8, [1e-30, -1e-30] * 8
CASES = [
    (0.0, ZEROS, {"te": (0x00, [0, 8]), "paper": (0x00, [0, 8]), "ao": (0xFF, [12, 12])}),
    (1.0, ZEROS, {"te": (0x00, [0, 8]), "paper": (0x00, [0, 8]), "ao": (0x08, [0, 8])}),
    (1.0, TINY, {"te": (0x00, [7, 15]), "paper": (0x00, [7, 15]), "ao": (0x08, [0, 8])}),
    (np.inf, ONES, {"te": (0x23, [7]), "paper": (0x23, [7]), "ao": (0x08, [0])}),
    (np.inf, [np.inf, -np.inf, 1.0], {"te": (0x7E, [7, 15, 0]), "paper": (0x7E, [7, 15, 0]), "ao": (0xFF, [12, 12])}),
    (10.0, [np.inf, -np.inf], {"te": (0x7E, [7, 15]), "paper": (0x7E, [7, 15]), "ao": (0x7E, [7, 15])}),
    (10.0, [np.nan, 10.0, -10.0], {"te": (0x7E, [7, 7, 15]), "paper": (0x7E, [7, 7, 15]), "ao": (0x7F, [4, 4])}),
    (10.0, [np.nan] * 16, {"te": (0x00, [7]), "paper": (0x00, [7]), "ao": (0x7F, [4])}),
]


@pytest.mark.parametrize("order", ["te", "paper", "ao"])
@pytest.mark.parametrize("a, block, expected", CASES)
def test_edge_cases(a, block, expected, order):
    x = np.zeros(16, np.float32)
    x[: len(block)] = block
    q = quantize_nvfp4(x, "nvfp4", order=order, tensor_amax=a)
    scale, codes = expected[order]
    assert q.scales.tolist() == [scale]
    assert q.codes[: len(codes)].tolist() == codes
    assert ([q.scales[0]], [q.codes.tolist()]) == exactly(x[None], q.numerics, a)


def scales_of(order: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    rules = rules_of("nvfp4", order=order)
    return nearest_codes(
        ORDERS[rules.order].ratio(b, tensor_constants(a, rules).k, rules.scale_format), rules.scale_format
    )


def test_how_often_the_orders_differ_on_pairs_of_bf16():
    """nvfp4.md, D.3."""
    a, b = pairs()
    te, paper, ao = (scales_of(order, a, b) for order in ("te", "paper", "ao"))
    assert len(a) == 270_400
    assert ((te != paper).sum(), (te != ao).sum()) == (269, 26_606)
    where = (a.view(np.uint32) == 0x3FB80000) & (b.view(np.uint32) == 0x3F8A0000)
    assert (te[where].tolist(), paper[where].tolist()) == ([0x7B], [0x7A])
    for i in np.flatnonzero(te != paper)[::10]:
        for order, scales in (("te", te), ("paper", paper), ("ao", ao)):
            block = np.array([[b[i]] + [0] * 15], np.float32)
            assert exactly(block, rules_of("nvfp4", order=order), a[i])[0] == [scales[i]]


def test_an_element_that_the_orders_round_differently():
    x = np.zeros(16, np.uint32)
    x[:2] = 0x3F820000, 0x3E020000  # nvfp4.md, D.3
    te, ao = (quantize_nvfp4(x.view(np.float32), "nvfp4", order=order) for order in ("te", "ao"))
    assert te.scales == ao.scales and (te.codes[1], ao.codes[1]) == (2, 1)


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("order", ["te", "paper"])
def test_transformer_engine(order, count, record_property):
    x = np.concatenate([edges(), ties(), random_blocks(count, 5)])
    for a in (*AMAXIMA, tensor_amax(random_blocks(count, 5)))[:: 1 if count < 10**6 else 6]:
        q = quantize_nvfp4(x, "nvfp4", order=order, tensor_amax=a)
        scales, codes = transformer_engine.quantize(x, a, folded=order == "te")
        assert np.array_equal(q.scales[:, 0], scales) and np.array_equal(q.codes, codes)
    record_property("blocks", len(x))


@pytest.mark.parametrize("count", [1600, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("block", ["nvfp4", "nvfp4_2d"])
@pytest.mark.parametrize("metric, most", [("mae", 448), ("mae", 256), ("mse", 448)])
def test_four_over_six_of_transformer_engine(metric, most, block, count, record_property):
    usual = np.random.default_rng(15).uniform(0.6, 1, (count // 16 * 8, 16)).astype(np.float32)  # 4 suits many of them
    x = np.concatenate([edges(), usual, random_blocks(count // 16 * 8, 15)])
    x = np.clip(np.where(np.isnan(x), np.float32(0), x), -9, 9)
    a, rules = tensor_amax(x), rules_of(block, "nvfp4_te_4over6", four_over_six=metric, scale_max=most)
    q = quantize_nvfp4(x, rules, tensor_amax=a)
    rows = 16 if block == "nvfp4_2d" else 1
    scales, codes, is_four = transformer_engine.four_over_six(x, a, metric, most, rows)
    assert np.array_equal(q.scales[:, 0], scales) and np.array_equal(q.codes, codes)
    assert is_four.any() and not is_four.all()
    record_property("blocks", len(x))


def test_four_over_six_of_tiles_is_the_exact_one():
    rules = rules_of("nvfp4_2d", "nvfp4_te_4over6", four_over_six="mse", scale_max=256)
    x = random_blocks(32, 16).reshape(16, 32)
    q = quantize_nvfp4(x, rules)
    tiles, codes = (one.reshape(16, 2, 16).swapaxes(0, 1).reshape(2, 256) for one in (x, q.codes))
    assert (q.scales[0].tolist(), codes.tolist()) == exactly(tiles, rules, tensor_amax(x))


# ---- arrays


def test_the_tensor_scale_is_what_libraries_store():
    stored = {p: quantize_nvfp4(WORKED, "nvfp4", p).tensor_scale for p in NVFP4_ENCODERS}
    assert {p: one is None or one.dtype == np.float32 for p, one in stored.items()} == dict.fromkeys(
        NVFP4_ENCODERS, True
    )
    a = Fraction(float(np.float32(3.3)))
    assert {p: one if one is None else float(one) for p, one in stored.items()} == {
        "nvfp4_te": float(a),
        "nvfp4_paper": float(a),
        "nvfp4_te_4over6": float(a),
        "nvfp4_ao": float(np.float32(float(a / 2688))),
        "nvfp4_ao_single": None,
        "nvfp4_modelopt": float(np.float32(float(a / 2688))),
        "nvfp4_compressed_tensors": float(np.float32(2688) * np.float32(float(1 / a))),
    }


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("order", ["te", "ao"])
def test_blocks_along_any_axis(axis, order):
    x = random_blocks(96, 6).reshape(48, 32)
    q = quantize_nvfp4(x, "nvfp4", order=order, axis=axis)
    moved = quantize_nvfp4(np.ascontiguousarray(np.moveaxis(x, axis, -1)), "nvfp4", order=order)
    assert np.array_equal(np.moveaxis(q.codes, axis, -1), moved.codes)
    assert np.array_equal(np.moveaxis(q.scales, axis, -1), moved.scales)
    assert np.array_equal(q.tensor_scale, moved.tensor_scale, equal_nan=True)


@pytest.mark.parametrize("axis", [0, -1])
def test_rows_with_scales_of_their_own(axis):
    x = np.clip(random_blocks(64, 7), -99, 99).reshape(2, 16, 32)
    x = np.moveaxis(x, -1, axis)
    q = quantize_nvfp4(x, "nvfp4", row_scaled=True, axis=axis)
    assert np.array_equal(q.tensor_scale, np.nanmax(np.abs(x), axis=axis, keepdims=True))
    lines, codes, scales = (np.moveaxis(array, axis, -1) for array in (x, q.codes, q.scales))
    for place in np.ndindex(2, 16):
        alone = quantize_nvfp4(lines[place], "nvfp4")
        assert np.array_equal(alone.codes, codes[place]) and np.array_equal(alone.scales, scales[place])


def test_the_largest_magnitude_is_given_or_computed_or_reduced():
    shards = np.split(random_blocks(64, 8), 4)
    maxima = []

    def reduced(local):
        maxima.append(local)
        return max(tensor_amax(shard) for shard in shards)

    whole = quantize_nvfp4(np.concatenate(shards), "nvfp4")
    parts = [quantize_nvfp4(shard, "nvfp4", tensor_amax=reduced) for shard in shards]
    assert np.array_equal(np.concatenate([part.codes for part in parts]), whole.codes)
    assert [part.tensor_scale for part in parts] == [whole.tensor_scale] * 4
    assert maxima == [tensor_amax(shard) for shard in shards]


@pytest.mark.parametrize("jobs", [1, 3])
def test_parts_and_threads_change_nothing(jobs):
    x = random_blocks(40_000, 9)
    q = quantize_nvfp4(x, "nvfp4", jobs=jobs, tensor_amax=20.0)
    parts = [quantize_nvfp4(part, "nvfp4", tensor_amax=20.0) for part in np.array_split(x, 7)]
    assert np.array_equal(q.codes, np.concatenate([part.codes for part in parts]))
    assert np.array_equal(q.scales, np.concatenate([part.scales for part in parts]))


def test_incomplete_blocks_are_completed():
    q = quantize_nvfp4(np.ones((2, 20), np.float32), "nvfp4", pad=True)
    assert (q.codes.shape, q.scales.shape, q.shape) == ((2, 32), (2, 2), (2, 20)) and (q.codes[:, 20:] == 0).all()


def test_nan_in_the_largest_magnitude_of_a_tensor():
    x = np.array([1, -3, np.nan, 2] * 4, np.float32)
    assert tensor_amax(x, "te") == tensor_amax(x, "paper") == 3 and np.isnan(tensor_amax(x, "ao"))
    assert tensor_amax(np.full(16, np.nan, np.float32)) == 0
    assert tensor_amax(x.reshape(4, 4), axis=0).tolist() == [[1, 3, 0, 2]]


@pytest.mark.parametrize(
    "x, arguments, sentence",
    [
        (np.ones(16), {}, "x must be float32, float16 or bfloat16, not float64: dtype='float32' rounds it first"),
        (np.ones(17, np.float32), {}, "the length of axis -1 must be a multiple of the block size 16, not 17"),
        (np.ones(16, np.float32), {"tensor_amax": -1.0}, "tensor_amax must be a magnitude, not -1.0"),
        (np.ones(16, np.float32), {"tensor_amax": np.nan}, "tensor_amax must be a magnitude, not nan"),
        (np.ones(16, np.float32), {"tensor_amax": np.ones(2)}, "tensor_amax must be a number, not array([1., 1.])"),
        (np.ones(16, np.float32), {"tensor_amax": "big"}, "tensor_amax must be a number, not 'big'"),
        (
            np.ones((2, 16), np.float32),
            {"row_scaled": True, "tensor_amax": 1.0},
            "tensor_amax must be a number for each",
        ),
        (
            np.ones(16, np.float32),
            {"order": "ao_single", "tensor_amax": 1.0},
            "the order ao_single has no scale of the",
        ),
        (np.ones(16, np.float32), {"axis": 1}, "axis must be one of the 1 of x, not 1"),
        (
            np.ones(16, np.float32),
            {"random": np.zeros(16, np.uint8)},
            "random bits are for the rounding sr, not for rne",
        ),
        (np.ones(16, np.float32), {"rounding": "sr"}, "the rounding sr needs random bits"),
    ],
)
def test_what_is_refused(x, arguments, sentence):
    with pytest.raises((TypeError, ValueError)) as refused:
        mxcast.quantize(x, "nvfp4", **arguments)
    assert str(refused.value).startswith(sentence)


def test_mx_formats_have_no_scale_of_the_tensor():
    with pytest.raises(
        ValueError, match="^mxfp4_e2m1 has no scale of the tensor: leave out tensor_amax and row_scaled$"
    ):
        mxcast.quantize(np.ones(32, np.float32), "e2m1", tensor_amax=1.0)


# ---- planted bugs: each is refuted by a block


def planted(monkeypatch, order: str, **changes) -> None:
    monkeypatch.setitem(ORDERS, Order(order), replace(ORDERS[Order(order)], **changes))


def block(*patterns: int) -> np.ndarray:
    x = np.zeros((1, 16), np.uint32)
    x[0, : len(patterns)] = patterns
    return x.view(np.float32)


def bf16(pattern: int) -> float:
    return float(np.uint32(pattern << 16).view(np.float32))


def flipped_tie(monkeypatch) -> None:
    monkeypatch.setattr(nvfp4_encoding.Chunk, "_is_better", lambda self, ours, theirs: ours <= theirs)


WITNESSES = {
    "two multiplications exchanged": (
        "nvfp4_te",
        block(0x3F8A0000),
        bf16(0x3FB8),
        lambda monkeypatch: planted(
            monkeypatch,
            "te",
            constants=ORDERS[Order.PAPER].constants,
            ratio=lambda b, k, scale: b * k * nvfp4_encoding.SIXTH,
        ),
    ),
    "S_dec from amax, not from the rounded S_enc": (
        "nvfp4_te",
        block(0x3FC10000, 0x3EEA0000),
        bf16(0x3FEA),
        lambda monkeypatch: planted(
            monkeypatch,
            "te",
            constants=lambda a, c: (ORDERS[Order.PAPER].constants(a, c)[0] * nvfp4_encoding.SIXTH, a / c),
        ),
    ),
    "-0 becomes +0": (
        "nvfp4_te",
        block(0x3F800000, NEGATIVE),
        1.0,
        lambda monkeypatch: planted(monkeypatch, "te", signed_zero=False),
    ),
    "NaN becomes 0": (
        "nvfp4_te",
        block(0x3F800000, NAN),
        1.0,
        lambda monkeypatch: planted(monkeypatch, "te", nan_codes=(0, 0, 0)),
    ),
    "NaN reaches the scale": (
        "nvfp4_te",
        block(0x3F800000, NAN),
        1.0,
        lambda monkeypatch: planted(monkeypatch, "te", ignores_nan=False),
    ),
    "the tie of 4 and 6": ("nvfp4_te_4over6", block(0x40C00000), 2688.0, flipped_tie),
    "the smallest scale": (
        "nvfp4_ao",
        block(0x00800000),
        1.0,
        lambda monkeypatch: planted(
            monkeypatch, "ao", ratio=lambda b, k, scale: np.minimum(b / np.float32(6) / k, 448)
        ),
    ),
}
"""Planted bugs: the profile, the block that refutes the bug, and the largest magnitude of its tensor."""


@pytest.mark.parametrize("bug", WITNESSES)
def test_a_planted_bug_is_refuted(bug, monkeypatch):
    profile, x, a, plant = WITNESSES[bug]
    rules = rules_of("nvfp4", profile)
    with np.errstate(all="ignore"):
        assert same(x, rules, a)
        plant(monkeypatch)
        assert not same(x, rules, a)
