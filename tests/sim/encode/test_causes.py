"""Differences are sorted by their cause: each kind planted by itself is found as that kind, and what all have in common
is said.
"""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.hdl import converter_config
from mxcast.sim.encode.simulation import EncodeSimulation, blocks_of
from mxcast.sim.transactions import Transactions
from mxcast.spec import Role

SIMULATION = EncodeSimulation(converter_config("e4m3", "ocp", block_size=2).numerics)
CAUSES = SIMULATION.causes
BLOCKS = {
    "ordinary": (0x3F800000, 0xC0490FDB),
    "elements": (0x3F800000, 0x38000000),  # 1 and 2^-15: under the byte 119 the second is a subnormal element
    "inputs": (0x0C000000, 0x00400000),  # 2^-103 and an FP32 subnormal, under the byte 16
    "byte_0": (0x03800000, 0x03400000),  # 2^-120: E4M3 has 2^-127 as its scale
    "zeros": (0x00000000, 0x80000000),
    "specials": (0x3F800000, 0x7F800000),
}


def expected() -> tuple[Transactions, Transactions]:
    given = blocks_of(np.array(list(BLOCKS.values()), np.uint32))
    return given, SIMULATION.golden(given)


def why(given: Transactions, actual: Transactions, nan_codes_free: bool = False) -> np.ndarray:
    return SIMULATION.why(given, SIMULATION.golden(given), actual, nan_codes_free)


def changed(right: Transactions, row: int, *, scale: int = 0, code: int = 0, lane: int = 1) -> Transactions:
    scales, codes = right[Role.SCALE].copy(), right[Role.CODES].copy()
    scales[row] ^= scale
    codes[row, lane] ^= code
    return Transactions({Role.SCALE: scales, Role.CODES: codes})


@pytest.mark.parametrize(
    "kind, scale, code, text",
    [
        ("ordinary", 1, 0, "ordinary blocks: the scale byte"),
        ("ordinary", 0, 1, "ordinary blocks: codes only"),
        ("ordinary", 1, 1, "ordinary blocks: the scale byte"),
        ("elements", 1, 0, "ordinary blocks: the scale byte"),  # the byte is of no element
        ("elements", 0, 1, "subnormal elements: codes only"),
        ("inputs", 0, 1, "subnormal inputs: codes only"),
        ("byte_0", 1, 0, "blocks of scale byte 0: the scale byte"),
        ("byte_0", 0, 1, "blocks of scale byte 0: codes only"),
        ("zeros", 1, 0, "blocks of zeros: the scale byte"),
        ("zeros", 0, 0x80, "blocks of zeros: codes only"),
        ("specials", 1, 0, "blocks with NaN or Inf: the scale byte"),
        ("specials", 0, 1, "blocks of scale byte 255: codes only"),
    ],
)
def test_a_planted_difference(kind, scale, code, text):
    given, right = expected()
    row = list(BLOCKS).index(kind)
    found = why(given, changed(right, row, scale=scale, code=code))
    assert [CAUSES[number].text if number >= 0 else None for number in found] == [
        text if at == row else None for at in range(len(given))
    ]


def test_an_ordinary_code_beside_a_subnormal_one_is_ordinary():
    given, right = expected()
    both = changed(changed(right, 1, code=1), 1, code=1, lane=0)
    assert CAUSES[why(given, both)[1]].text == "ordinary blocks: codes only"


def test_free_codes_are_no_difference_but_a_wrong_byte_is():
    given, right = expected()
    row = list(BLOCKS).index("specials")
    assert why(given, changed(right, row, code=1), nan_codes_free=True)[row] == -1
    assert CAUSES[why(given, changed(right, row, scale=1), nan_codes_free=True)[row]].kind == "specials"
    assert CAUSES[why(given, changed(right, 0, code=1), nan_codes_free=True)[0]].kind == "ordinary"


@pytest.mark.parametrize(
    "kinds, sentence",
    [
        (["zeros"], "only blocks of scale byte 0 differ"),
        (["zeros", "byte_0"], "only blocks of scale byte 0 differ"),
        (["specials"], "only blocks with NaN or Inf differ"),
        (["elements"], "only subnormal elements differ"),
        (["inputs"], "only subnormal inputs differ"),
        (["elements", "inputs"], "only subnormal elements and inputs differ"),
        (
            ["byte_255"],
            "only codes under scale byte 255 differ, at which no reader looks (--nan-codes free leaves them out)",
        ),
        (["ordinary", "zeros"], None),
        ([], None),
    ],
)
def test_what_they_have_in_common(kinds, sentence):
    assert SIMULATION.only([cause for cause in CAUSES if cause.kind in kinds]) == sentence


def test_every_kind_has_a_block_here():
    assert {cause.kind for cause in CAUSES} == {*BLOCKS, "byte_255"}
