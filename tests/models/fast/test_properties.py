"""Properties that hold for every block, on blocks that hypothesis makes and shrinks."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mxcast.models import quantize
from mxcast.models.exact.encode import quantize_block
from mxcast.spec import BLOCKS, PROFILES, Encode, EncodedZero, FixedFormat, Specials, numerics
from mxcast.spec.profiles.resolve import like

# any bit pattern, and more often those whose exponents are near each other or near the ends of the range
PATTERNS = st.one_of(
    st.lists(st.integers(0, 2**32 - 1), min_size=32, max_size=32),
    st.builds(
        lambda base, lanes: [(s << 31) | (min(max(base - d, 0), 255) << 23) | m for s, d, m in lanes],
        st.sampled_from([0, 1, 2, 9, 16, 31, 127, 200, 254, 255]),
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 36), st.integers(0, 2**23 - 1)), min_size=32, max_size=32),
    ),
)
RULES = st.builds(
    lambda pair: numerics(*pair, source="fp32"),
    st.sampled_from([(block, profile) for block in BLOCKS for profile in PROFILES if like(numerics(block), profile)]),
)


def converted(patterns, rules):
    q = quantize(np.array(patterns, np.uint32).view(np.float32), rules)
    return int(q.scales[0]), q.codes.tolist()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PATTERNS, RULES)
def test_model_equals_exact(patterns, rules):
    assert converted(patterns, rules) == quantize_block(patterns, rules)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(PATTERNS, RULES, st.permutations(range(32)))
def test_lanes_do_not_matter(patterns, rules, order):
    scale, codes = converted(patterns, rules)
    assert converted([patterns[lane] for lane in order], rules) == (scale, [codes[lane] for lane in order])


def has_own_sign(pattern: int, code: int, rules: Encode) -> bool:
    """Can the sign of this element differ from the sign of its number?"""
    if rules.zero is EncodedZero.POSITIVE:
        return code & rules.block.element.magnitude_mask == 0
    return rules.zero is not EncodedZero.SIGNED and pattern & 0x7FFFFFFF == 0


@settings(max_examples=150, deadline=None, derandomize=True)
@given(PATTERNS, RULES)
def test_signs_do_not_matter(patterns, rules):
    """Opposite inputs have the same scale and opposite codes, unless the block is poisoned; te gives NaN no sign, and
    zero has one of its own where it is not signed.
    """
    element = rules.block.element
    scale, codes = converted(patterns, rules)
    other_scale, other = converted([p ^ 0x80000000 for p in patterns], rules)
    opposite = [
        c
        if (rules.specials is Specials.TE and p & 0x7FFFFFFF > 0x7F800000) or has_own_sign(p, c, rules)
        else (-c) % 256
        if isinstance(element, FixedFormat)
        else c ^ element.sign_mask
        for p, c in zip(patterns, codes)
    ]
    assert other_scale == scale
    assert other == (codes if scale == 0xFF else opposite)
