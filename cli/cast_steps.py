"""The explanation of a cast on the screen: lines and a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ..models.explain_cast import CastExplanation, CastStep
from ..models.explanation import as_float
from ..spec import Cast, CastRounding
from .output import Output
from .steps import STYLES, line, number, title

__all__ = ["show"]

DIGITS = 9


def show(explanation: CastExplanation, output: Output, remarks: Sequence[str]) -> None:
    """Print an explanation; ``remarks`` are on where the numbers come from."""
    rules = explanation.numerics
    usual = Cast(source=rules.source, destination=rules.destination)
    output.say(title(rules, usual, _always(rules), explanation.profile))
    line(output, "values", *remarks)
    output.table([_number(step, rules) for step in explanation.numbers])


def _always(rules: Cast) -> list[str]:
    """Rules that the title names in any case: those that the destination asks for."""
    to = rules.destination
    nan = "nan_substitute" if to.nan_code is None else "nan"
    return ["rounding", "overflow", nan, *([] if to.signed else ["negative", "underflow"])]


def _number(step: CastStep, rules: Cast) -> dict[str, object]:
    source, to = rules.source, rules.destination
    between = (None if code is None else _code(code, rules) for code in (step.below, step.above))
    if rules.rounding is CastRounding.SR:
        below = {"tail + random": "" if step.tail is None else f"0x{step.tail:X} + 0x{step.random:X}"}
    else:
        below = {"G S": "" if step.guard is None else f"{step.guard} {step.sticky}"}
    action = step.action + (", sign dropped" if step.sign_dropped else "")
    return {
        "input": f"0x{step.pattern:0{-(-source.bits // 4)}X}",
        "class": step.kind,
        "value": number(step.value, DIGITS),
        "between": ", ".join(filter(None, between)),
        **below,
        "rounding": Text(action, STYLES.get(step.action.split()[0], "")),
        "code": f"0x{step.code:0{-(-to.bits // 4)}X}",
        **({} if rules.is_back else {"fields": step.fields}),
        "result": number(step.result, DIGITS),
        "error": number(step.error, 4),
    }


def _code(code: int, rules: Cast) -> str:
    """A code of the destination and its value."""
    to = rules.destination
    return f"0x{code:0{-(-to.bits // 4)}X} = {number(as_float(to.decode(code)), DIGITS)}"
