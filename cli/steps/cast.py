"""The explanation of a cast on the screen: lines and a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ...explain.cast import CastExplanation, CastStep
from ...explain.explanation import as_float
from ...spec import Cast, CastRounding
from ..output import Output
from .encode import STYLES, WIDE, line, number, row, title

DIGITS = 9


def show(explanation: CastExplanation, output: Output, remarks: Sequence[str]) -> None:
    """Print an explanation; ``remarks`` are on where the numbers come from."""
    rules = explanation.numerics
    usual = Cast(source=rules.source, destination=rules.destination)
    output.say(title(rules, usual, _always(rules), explanation.profile))
    line(output, "values", *remarks)
    stacked = (output.width or WIDE) < WIDE
    output.table([_number(step, rules, stacked) for step in explanation.numbers])


def _always(rules: Cast) -> list[str]:
    """Rules that the title names in any case: those that the destination asks for."""
    to = rules.destination
    nan = "nan_substitute" if to.nan_code is None else "nan"
    return [
        *("rounding", "overflow", nan),
        *([] if to.signed else ["negative"]),
        *([] if to.subnormals else ["underflow"]),
    ]


def _number(step: CastStep, rules: Cast, stacked: bool) -> dict[str, object]:
    source, to = rules.source, rules.destination
    pattern, code = f"0x{step.pattern:0{-(-source.bits // 4)}X}", f"0x{step.code:0{-(-to.bits // 4)}X}"
    action = step.action + (", sign dropped" if step.sign_dropped else "")
    digits = DIGITS - 3 if stacked else DIGITS
    cells: list[tuple[tuple[str, ...], tuple[object, ...]]] = [
        (("input", "value"), (pattern, number(step.value, digits))),
        (("class",), (step.kind,)),
        (("below", "above"), (_code(step.below, rules, digits), _code(step.above, rules, digits))),
        _cut_off(step, rules),
        (("rounding",), (Text(action, STYLES.get(step.action.split()[0], "")),)),
        (("code",), (code,)) if rules.is_back else (("code", "fields"), (code, step.fields)),
        (("result", "error"), (number(step.result, digits), number(step.error, 4))),
    ]
    return row(cells, stacked)


def _cut_off(step: CastStep, rules: Cast) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Heading and cell for the bits that were cut off."""
    if rules.rounding is CastRounding.SR:
        return ("tail + random",), ("" if step.tail is None else f"0x{step.tail:X} + 0x{step.random:X}",)
    return ("G S",), ("" if step.guard is None else f"{step.guard} {step.sticky}",)


def _code(code: int | None, rules: Cast, digits: int) -> str:
    """A code of the destination and its value, empty where there is none."""
    if code is None:
        return ""
    to = rules.destination
    return f"0x{code:0{-(-to.bits // 4)}X} = {number(as_float(to.decode(code)), digits)}"
