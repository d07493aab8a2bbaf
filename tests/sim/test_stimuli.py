"""Stimuli reach the cases for which they exist."""

from bisect import bisect_right

import numpy as np
import pytest

from mxcast.models import quantize
from mxcast.models.arrays.source import DTYPES
from mxcast.models.exact.encode import decode
from mxcast.models.exact.scale import shared_exponent
from mxcast.sim import stimuli
from mxcast.spec import ScaleRule, numerics

from ..configurations import ELEMENTS

SPECIAL = {"fp32": 0x7F800000, "bf16": 0x7F80, "fp16": 0x7C00}
SMALLEST_NORMAL = {"fp32": 0x00800000, "bf16": 0x0080, "fp16": 0x0400}


@pytest.mark.parametrize("source", SPECIAL)
@pytest.mark.parametrize("element", ELEMENTS)
def test_corners_have_what_they_are_named_after(element, source):
    rules = numerics(element, source=source)
    number, special, size = DTYPES[source], SPECIAL[source], rules.block_size
    cases = stimuli.corner_cases(rules)
    magnitude = {name: blocks & (blocks.dtype.type(rules.source.magnitude_mask)) for name, blocks in cases.items()}
    assert all(
        blocks.dtype == f"u{number.itemsize}" and blocks.shape[1] == size and len(blocks) for blocks in cases.values()
    )
    assert not magnitude["zeros"].any() and cases["zeros"].any()
    winners = magnitude["every_lane_is_maximum"].argmax(axis=1)
    assert set(winners) == set(range(size)), "every lane must be the maximum"
    subnormal = magnitude["source_subnormals"].max(axis=1) < SMALLEST_NORMAL[source]
    scales = quantize(cases["source_subnormals"].view(number), rules).scales
    assert subnormal.sum() > 10 and (scales[subnormal] <= (127 - 14 if source == "fp16" else element == "int8")).all()
    assert (magnitude["nan"] > special).any(axis=1).all()
    assert (magnitude["inf"] == special).any(axis=1).all() and (magnitude["inf"] <= special).all()
    assert (magnitude["nan_and_inf"] >= special).any(axis=1).all()
    q = quantize(cases["saturation"].view(number), rules)
    top = rules.block.element.max_code
    codes = (
        q.codes & rules.block.element.magnitude_mask
        if element != "int8"
        else np.where(q.codes > 127, 256 - q.codes.astype(int), q.codes)
    )
    assert (codes == top).any() and (codes == top - 1).any(), "saturation just above and just below"


@pytest.mark.parametrize(
    "source, scales", [("fp32", 230), ("bf16", 230), ("fp16", 39)]
)  # fp16: binades of 2**-24 to 2**15
@pytest.mark.parametrize("element", ELEMENTS)
def test_standard_stimuli_reach_every_code_and_many_scales(element, source, scales):
    rules = numerics(element, source=source)
    patterns = np.concatenate(
        [stimuli.corner_blocks(rules), stimuli.boundary_blocks(rules), stimuli.random_blocks(rules, 20_000, seed=0)]
    )
    q = quantize(patterns.view(DTYPES[source]), rules)
    specials = {"e5m2": 2 * 4 - 1, "e4m3": 2 - 1, "int8": 1}.get(element, 0)  # NaN (one is reached), Inf, -128
    assert len(np.unique(q.codes)) == (1 << rules.block.element.bits) - specials
    assert len(np.unique(q.scales)) > scales


@pytest.mark.parametrize("source, size", [("fp32", 32), ("fp16", 2)])
def test_numbers_of_every_exponent_are_under_maxima_of_every_exponent(source, size):
    rules = numerics("e4m3", source=source).replace(block_size=size)
    blocks = stimuli.distance_blocks(rules)
    magnitudes = blocks & ~blocks.dtype.type(rules.source.sign_mask)
    assert (magnitudes.max(axis=1) >> rules.source.man_bits == magnitudes[:, 0] >> rules.source.man_bits).all()
    exponents = magnitudes >> rules.source.man_bits
    met = {(int(a), int(b)) for a, b in zip(np.repeat(exponents[:, 0], size - 1), exponents[:, 1:].ravel())}
    special = (1 << rules.source.exp_bits) - 1
    assert met >= {(a, b) for a in range(special) for b in range(a + 1)}


def last_below(rules, field: int) -> int | None:
    """The last fraction of a binade of the source that does not put the scale one up, by the exact definition; None if
    every fraction does.
    """

    def exponent(fraction: int) -> int:
        return shared_exponent(decode(field << rules.source.man_bits | fraction, rules.source).magnitude, rules)

    fractions = range(1 << rules.source.man_bits)
    below = bisect_right(fractions, exponent(0), key=exponent) - 1
    return None if below == fractions[-1] else below


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source, middle, top", [("fp32", 127, 254), ("bf16", 127, 254), ("fp16", 15, 30)])
@pytest.mark.parametrize(
    "rule", [rule for rule in ScaleRule if last_below(numerics("e4m3", scale_rule=rule), 127) is not None]
)
def test_maxima_stand_on_both_sides_of_every_scale_boundary(rule, source, middle, top):
    """At the bottom, where the byte leaves 0, in the middle and at the top of the range; also of formats nobody has
    published.
    """
    boundaries = 0
    for element in (*ELEMENTS, "e3m3", "int4", "int16", "e1m0", "e4m0_nan_only", "e3m10", "e5m4_ieee"):
        rules = numerics(element, scale_rule=rule, source=source, block_size=4)
        magnitudes = stimuli.boundary_blocks(rules) & stimuli.boundary_blocks(rules).dtype.type(
            rules.source.magnitude_mask
        )
        maxima = set(magnitudes.max(axis=1).tolist())
        for field in {rules.block.element.emax, rules.block.element.emax + 1, middle, top}:
            below = last_below(rules, field)
            if below is not None:
                first = field << rules.source.man_bits
                assert {first + below, first + below + 1} <= maxima, (element, field, hex(below))
                boundaries += 1
    assert boundaries >= 30


def test_random_bits():
    assert stimuli.random_bits(numerics("e2m1"), (10, 32), seed=1) is None
    for bits in (1, 5, 16):
        rules = numerics("e2m1", rounding="sr", random_bits=bits)
        drawn, again, other = (stimuli.random_bits(rules, (500, 32), seed) for seed in (1, 1, 2))
        assert drawn.dtype == np.uint16 and drawn.shape == (500, 32) and int(drawn.max()) == (1 << bits) - 1
        assert (drawn == again).all() and (drawn != other).any()
        for extreme in (0, (1 << bits) - 1):  # 16,000 numbers of 16 bits would hardly have one
            assert (drawn == extreme).sum() > 500


def test_random_blocks_depend_on_the_seed_only():
    rules = numerics("e3m2")
    first, again, other = (stimuli.random_blocks(rules, 100, seed) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()


@pytest.mark.parametrize("element", ["e5m2", "int8"])
def test_strata_cover_all_exponents_and_signs(element):
    rules = numerics(element)
    seen, blocks = set(), 0
    for array in stimuli.stratified_blocks(rules, seed=0, share=4096):
        seen.update(np.unique(array >> 23).tolist())
        blocks += len(array)
    assert seen == set(range(512))
    assert blocks * 4096 >= stimuli.exhaustive_total(rules) * 0.99


def test_exhaustive_sweep_counts():
    """All 2**32 patterns 32 to a block, then three maxima with every pattern down to where codes are zero."""
    rules = numerics("e2m1")
    reach = stimuli.depth(rules)
    per_anchor = -(-((reach + 1) << 24) // 31)
    bottom = -(-((max(2, 1) + 1 + 1) << 24) // 31)
    assert stimuli.exhaustive_total(rules) == (1 << 27) + 2 * per_anchor + bottom
    first = next(stimuli.exhaustive_blocks(rules))
    np.testing.assert_array_equal(first.reshape(-1)[:100], np.arange(100))


@pytest.mark.parametrize("done", [0, 1, 1999, 2000, 2048, 2049, 2055, 2400, 2500, 10_000])
def test_the_rest_of_the_exhaustive_sweep(done, monkeypatch):
    """The blocks after some others are the end of all blocks, in the same arrays."""
    monkeypatch.setattr(stimuli.sweep, "STRATUM", 300)
    rules = numerics("e2m1", source="bf16")
    arrays, rest = list(stimuli.exhaustive_blocks(rules)), list(stimuli.exhaustive_blocks(rules, done))
    everything = np.concatenate(arrays)
    assert len(everything) == stimuli.exhaustive_total(rules) and 2400 > len(everything) - 150 > 2000
    np.testing.assert_array_equal(np.concatenate([everything[:0], *rest]), everything[done:])
    ends = np.cumsum([len(array) for array in arrays])
    assert (min(done, len(everything)) + np.cumsum([len(array) for array in rest])).tolist() == [
        end for end in ends if end > done
    ]


@pytest.mark.parametrize("profile", ["ocp", "te"])
@pytest.mark.parametrize("element", ELEMENTS)
def test_what_the_exhaustive_sweep_covers(element, profile):
    """Every pattern; and under each of three maxima every fraction and sign of every binade down to where codes are
    zero.
    """
    rules = numerics(element, profile, source="bf16")
    everything = np.concatenate(list(stimuli.exhaustive_blocks(rules)))
    patterns = 1 << 16
    np.testing.assert_array_equal(np.sort(everything[: patterns // 32], axis=None), np.arange(patterns))
    under = everything[patterns // 32 :]
    element = rules.block.element
    anchors = (max(element.emax, element.bias) + 1, 127, 254)  # bottom, middle, top
    assert set(under[:, 0].tolist()) == {anchor << 7 for anchor in anchors}
    for anchor in anchors:
        lowest = max(anchor - stimuli.depth(rules), 0) << 7
        magnitudes = np.arange(lowest, anchor + 1 << 7)
        seen = np.unique(under[under[:, 0] == anchor << 7, 1:])
        np.testing.assert_array_equal(seen, np.concatenate([magnitudes, magnitudes | 0x8000]))
        assert (quantize(under[under[:, 0] == anchor << 7].view(DTYPES["bf16"]), rules).scales >= 1).all()


@pytest.mark.parametrize("source", ["fp32", "bf16"])
@pytest.mark.parametrize("element", [*ELEMENTS, "e3m3", "int16", "e5m10"])
def test_nothing_below_the_reach_of_the_sweep_has_a_code(element, source):
    """Not even with the largest random bits; and one binade in three above it has."""
    for profile, random in (
        ("ocp", 0),
        ("nvidia", 0),
        ("gorodecky_sousa", 0),
        ("te", 0),
        ("ocp", 1),
        ("te", 8),
        ("nvidia", 16),
    ):
        rules = numerics(
            element, profile, source=source, **({"rounding": "sr", "random_bits": random} if random else {})
        )
        numbers, largest = rules.source, (1 << random) - 1

        def codes(exponent: int) -> np.ndarray:
            block = np.full((1, 32), (exponent + 1 << numbers.man_bits) - 1, f"u{numbers.bits // 8}")
            block[0, 0] = 150 << numbers.man_bits
            drawn = np.full((1, 32), largest, np.uint16) if random else None
            return quantize(block.view(DTYPES[source]), rules, random=drawn).codes[0, 1:]

        assert not codes(150 - stimuli.depth(rules)).any(), (profile, random)
        reached = any(codes(150 - stimuli.depth(rules) + up).all() for up in (1, 2, 3))
        assert reached or profile == "gorodecky_sousa", (profile, random)  # which flushes what is small
