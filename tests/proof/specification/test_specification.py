"""The specification agrees with `models.exact.encode` on points whose answer is known.

Neither is written with the other in mind: one compares fractions, the other is SMT-LIB.
"""

import numpy as np
import pytest

from mxcast.models.exact import encode as exact
from mxcast.proof.solve.solver import solve
from mxcast.proof.specification.encode import Specification, bits
from mxcast.sim import stimuli
from mxcast.spec import Specials, numerics

RULES = [
    ("e4m3", "ocp", {}),
    ("e5m2", "nvidia", {}),
    ("e3m2", "te", {}),
    ("e2m3", "torchao_ceil", {}),
    ("e2m1", "torchao_even", {}),
    ("int8", "te", {}),
    ("e4m3", "gorodecky_sousa", {}),
    ("int8", "gorodecky_sousa", {}),
    ("e4m3", "ocp", {"source": "bf16", "rounding": "rna"}),
    ("e2m3", "nvidia", {"source": "fp16", "rounding": "rtz"}),
    ("e5m2", "ocp", {"rounding": "sr", "random_bits": 5}),
    ("int8", "ocp", {"rounding": "sr", "random_bits": 3}),
    ("e4m3", "ocp", {"element_subnormals": "flush", "input_subnormals": "flush"}),
    ("e3m0", "ocp", {"specials": "inf_scale"}),
    ("int4", "torchao_even", {"specials": "drop"}),
    ("e4m3", "compressed_tensors", {}),
    ("e2m1", "mlx_round", {}),
    ("e2m1", "modelopt", {"source": "bf16"}),
    ("int8", "ocp", {"scale_rule": "round_log2", "rounding": "rnz", "zero": "positive", "specials": "inf_scale"}),
    ("e3m0", "ocp", {"scale_rule": "round_log2", "zero": "taken_positive", "input_subnormals": "flush"}),
    ("e4m3", "ocp", {"scale_rule": "linear_nearest"}),
    ("int8", "ocp", {"scale_rule": "linear_nearest"}),
    ("e2m1", "ocp", {"scale_rule": "midmax"}),
    ("e2m1", "ocp", {"scale_rule": "even1", "zero": "taken_negative", "source": "fp16", "specials": "inf_scale"}),
]


@pytest.mark.parametrize(
    "element, profile, rules", RULES, ids=lambda v: "-".join(map(str, v.values())) if isinstance(v, dict) else v
)
def test_the_specification_agrees_with_the_exact_definition(element, profile, rules):
    """On corners, boundaries and random blocks, all in one question: does it refuse any answer of the exact
    definition?
    """
    n = numerics(element, profile, block_size=4, **rules)
    s, rng = Specification(n), np.random.default_rng(5)
    blocks = np.concatenate(
        [
            rng.permutation(stimuli.corner_blocks(n))[:60],
            rng.permutation(stimuli.boundary_blocks(n))[:60],
            stimuli.random_blocks(n, 60, 5),
        ]
    )
    drawn = stimuli.random_bits(n, blocks.shape, 5)
    claims = []
    for row, block in enumerate(blocks.tolist()):
        random = None if drawn is None else drawn[row].tolist()
        byte, codes = exact.quantize_block(block, n, random)
        lanes = [bits(pattern, n.source.bits) for pattern in block]
        largest = max(
            (p for p in block if (p & n.source.magnitude_mask) < _special(n)),
            key=lambda p: p & n.source.magnitude_mask,
            default=0,
        )
        flags = {flag: s.flag(flag, lanes) for flag in s.flags}
        claims += [
            s.is_largest(lanes, bits(largest, n.source.bits)),
            s.block_scale(lanes, bits(largest, n.source.bits), bits(byte, 8)),
        ]
        claims += [
            s.lane(lane, bits(byte, 8), bits(code, s.code_bits), flags, bits(r, n.random_bits) if random else None)
            for lane, code, r in zip(lanes, codes, random or [0] * 4)
        ]
    assert len(claims) == 6 * len(blocks)
    numbered = " ".join(f"(ite {claim} false (= wrong {bits(i, 32)}))" for i, claim in enumerate(claims))
    answer = solve(
        f"(set-logic ALL)\n(set-option :produce-models true)\n{s.definitions}(declare-const wrong (_ BitVec 32))\n"
        f"(assert (or {numbered}))\n",
        ("wrong",),
    )
    assert answer.result == "unsat", claims[answer.values["wrong"]]


def _special(n) -> int:
    return ((1 << n.source.exp_bits) - 1) << n.source.man_bits


def test_a_wrong_answer_is_refused():
    n = numerics("e4m3", "ocp", block_size=2)
    s = Specification(n)
    claim = s.lane(bits(0x3F880000, 32), bits(119, 8), bits(0x79, 8), {"nan": "false"}, None)  # 272: a tie, so 0x78
    answer = solve(
        f"(set-logic ALL)\n(set-option :produce-models true)\n{s.definitions}(declare-const held Bool)\n"
        f"(assert (= held {claim}))\n",
        ("held",),
    )
    assert answer.values == {"held": 0}
    assert n.specials is Specials.NAN_BLOCK
