"""Stimuli reach the cases that they are there for."""

import numpy as np
import pytest

from mxcast.models import quantize
from mxcast.sim import stimuli
from mxcast.spec import numerics

from ..configurations import ELEMENTS


@pytest.mark.parametrize("element", ELEMENTS)
def test_corners_have_what_they_are_named_after(element):
    rules = numerics(element)
    cases = stimuli.corner_cases(rules)
    magnitude = {name: blocks & 0x7FFFFFFF for name, blocks in cases.items()}
    assert all(blocks.dtype == np.uint32 and blocks.shape[1] == 32 and len(blocks) for blocks in cases.values())
    assert not magnitude["zeros"].any() and cases["zeros"].any()
    winners = magnitude["every_lane_is_maximum"].argmax(axis=1)
    assert set(winners) == set(range(32)), "every lane must be the maximum"
    scales = quantize(cases["source_subnormals"].view(np.float32), rules).scales
    assert (scales[magnitude["source_subnormals"].max(axis=1) < 0x00800000] <= (element == "int8")).all()
    assert (magnitude["nan"] > 0x7F800000).any(axis=1).all()
    assert (magnitude["inf"] == 0x7F800000).any(axis=1).all() and (magnitude["inf"] <= 0x7F800000).all()
    assert (magnitude["nan_and_inf"] >= 0x7F800000).any(axis=1).all()
    q = quantize(cases["saturation"].view(np.float32), rules)
    top = rules.block.element.max_code
    codes = q.codes & rules.block.element.magnitude_mask if element != "int8" else np.where(q.codes > 127, 256 - q.codes.astype(int), q.codes)
    assert (codes == top).any() and (codes == top - 1).any(), "saturation just above and just below"


@pytest.mark.parametrize("element", ELEMENTS)
def test_standard_stimuli_reach_every_code_and_many_scales(element):
    rules = numerics(element)
    patterns = np.concatenate([stimuli.corner_blocks(rules), stimuli.boundary_blocks(rules),
                               stimuli.random_blocks(rules, 20_000, seed=0)])
    q = quantize(patterns.view(np.float32), rules)
    specials = {"e5m2": 2 * 4 - 1, "e4m3": 2 - 1, "int8": 1}.get(element, 0)  # NaN (one is reached), Inf, -128
    assert len(np.unique(q.codes)) == (1 << rules.block.element.bits) - specials
    assert len(np.unique(q.scales)) > 230


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


def test_nothing_below_the_reach_of_the_sweep_has_a_code():
    for element in ELEMENTS:
        for profile in ("ocp", "nvidia", "gorodecky_sousa"):
            rules = numerics(element, profile)
            exponent = 150 - stimuli.depth(rules)
            block = np.full((1, 32), (exponent << 23) | 0x7FFFFF, np.uint32)
            block[0, 0] = 150 << 23
            q = quantize(block.view(np.float32), rules)
            assert (q.codes[0, 1:] == 0).all(), (element, profile)
