"""The configurations of full size that tests walk. The combinations of all rules, in small blocks, are in
`mxcast.sim.check.families`.
"""

from collections.abc import Sequence
from itertools import cycle, product

import pytest

from mxcast.spec import BLOCKS, PROFILES, Encode, Rounding, ScaleRule, Specials, Subnormals, numerics
from mxcast.spec.profiles.resolve import like

ELEMENTS = [block.short_name for block in BLOCKS.values()]


def every_numerics() -> list[Encode]:
    """Blocks of 32: all formats under all profiles, each once; then for each format every pair of a scale rule and a
    rounding that no profile has in turn, with specials and subnormals in turn."""
    chosen = [rules for element in ELEMENTS for profile in PROFILES if (rules := like(numerics(element), profile))]
    turns = cycle(product(Specials, Subnormals, Subnormals))
    for number, element in enumerate(ELEMENTS):
        for rule, rounding in list(product(ScaleRule, Rounding))[number :: len(ELEMENTS)]:
            specials, inputs, elements = next(turns)
            chosen.append(
                numerics(
                    element,
                    scale_rule=rule,
                    rounding=rounding,
                    specials=specials,
                    input_subnormals=inputs,
                    element_subnormals=elements,
                )
            )
    return list(dict.fromkeys(chosen))


def in_turn(first: Sequence[object], second: Sequence[object], step: int = 1) -> list:
    """All pairs, of which the quick run has as many as let each value occur, or one of every ``step`` of these."""
    few = min(len(first), len(second))
    return [
        pytest.param(a, b, marks=() if m % few == n % few and m % step == 0 else pytest.mark.slow)
        for m, a in enumerate(first)
        for n, b in enumerate(second)
    ]


def short_id(rules: Encode) -> str:
    """A test id that names what differs from the defaults."""
    fields = rules.to_dict()
    default = Encode(block=rules.block).to_dict()
    return "-".join(
        [
            rules.block.short_name,
            *(
                f"{v}" if k not in ("input_subnormals", "element_subnormals") else f"{k[:5]}_{v}"
                for k, v in fields.items()
                if default.get(k) != v
            ),
        ]
    )
