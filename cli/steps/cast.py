"""The explanation of a cast on the screen: a table of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...explain.cast import CastExplanation, CastStep
from ...explain.explanation import as_float
from ...spec import Cast, CastRounding
from ..output.output import Output
from .parts import Cells, cut_bits, elements, line, number, pattern, rounding, title


def show(explanation: CastExplanation, output: Output, remarks: Sequence[str]) -> None:
    """Print an explanation; ``remarks`` say where the numbers come from."""
    rules = explanation.numerics
    usual = Cast(source=rules.source, destination=rules.destination)
    title(output, rules, usual, _always(rules), explanation.profile)
    line(output, "values", *remarks)
    elements(output, explanation.numbers, partial(_number, rules), digits=(9, 6))


def _always(rules: Cast) -> list[str]:
    """Rules that the title always names: those that the destination requires."""
    to = rules.destination
    nan = "nan_substitute" if to.nan_code is None else "nan"
    return [
        *("rounding", "overflow", nan),
        *([] if to.signed else ["negative"]),
        *([] if to.subnormals else ["underflow"]),
    ]


def _number(rules: Cast, step: CastStep, digits: int) -> Cells:
    code = pattern(step.code, rules.destination.bits)
    action = step.action + (", sign dropped" if step.sign_dropped else "")
    heading, bits = cut_bits(step, rules.rounding is CastRounding.SR)
    return [
        (("input", "value"), (pattern(step.pattern, rules.source.bits), number(step.value, digits))),
        (("class",), (step.kind,)),
        (("below", "above"), (_code(step.below, rules, digits), _code(step.above, rules, digits))),
        ((heading,), (bits,)),
        (("rounding",), (rounding(action),)),
        (("code",), (code,)) if rules.is_back else (("code", "fields"), (code, step.fields)),
        (("result", "error"), (number(step.result, digits), number(step.error, 4))),
    ]


def _code(code: int | None, rules: Cast, digits: int) -> str:
    """A code of the destination and its value; empty for None."""
    if code is None:
        return ""
    to = rules.destination
    return f"{pattern(code, to.bits)} = {number(as_float(to.decode(code)), digits)}"
