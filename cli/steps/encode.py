"""An explanation on the screen: lines and two tables, for a terminal of 100 columns or a pipe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

from rich.text import Text

from ...explain.encode_steps import ElementStep, Explanation, ScaleStep
from ...spec import Encode, NumberFormat, Operation, Rounding
from ..output import Output

STYLES = {"exact": "green", "tie": "cyan", "saturated": "red", "flushed": "yellow", "specials": "magenta"}
"""Colours of what the rounding did, by the first word."""

WIDE = 150
"""Columns from which an element or a number takes one line; below, two quantities share a column."""


def show(explanation: Explanation, output: Output, remarks: Sequence[str], everything: bool) -> None:
    """Print an explanation; ``remarks`` are on where the values come from, ``everything`` shows zeros too."""
    numerics, scale, largest = explanation.numerics, explanation.scale, explanation.largest
    output.say(title(numerics, Encode(block=numerics.block), ALWAYS, explanation.profile))
    missing = numerics.block_size - explanation.given
    line(
        output,
        "values",
        *remarks,
        *([f"{explanation.given} given, {missing} zeros complete the block"] if missing else []),
    )
    line(
        output,
        "classes",
        ", ".join(f"{count} {kind}" for kind, count in explanation.classes.items() if count),
        *explanation.remarks,
    )
    if largest is None:
        line(output, "largest", "a = 0: no finite number other than zero is left")
    else:
        line(
            output,
            "largest",
            f"lane {largest.lane}, {explanation.patterns[largest.lane]}: a = {largest.value:.9g}, as FP32 "
            f"0x{largest.fp32:08X}, e = {largest.exponent_field}, m = 0x{largest.fraction:06X}",
        )
    x = "NaN" if scale.exponent is None else f"X = {scale.exponent}, 2^X = {2.0**scale.exponent:.9g}"
    line(output, "scale", f"{scale.rule}: {scale.arithmetic}", f"byte {scale.byte} = 0x{scale.byte:02X}, {x}")
    output.table([_rule(step, step is scale) for step in explanation.scale_rules])
    chosen = [step for step in explanation.elements if everything or step.kind != "zero"]
    if chosen:
        output.table([_element(step, explanation, stacked=(output.width or WIDE) < WIDE) for step in chosen])
    if len(chosen) < len(explanation.elements):
        output.say(f"{len(explanation.elements) - len(chosen)} elements that are zero are not shown; --all shows them")


ALWAYS = ("block_size", "source", "scale_rule", "rounding", "specials")
"""Rules that the title names in any case; the others where they are not the usual ones."""


def title(rules: Operation, usual: Operation, always: Sequence[str], profile: str | None) -> str:
    """What is converted, the profile, and of the rules those of ``always`` and those that are not the usual ones."""
    fields, defaults = rules.by_name(), usual.by_name()
    shown = [f"{key}={value}" for key, value in fields.items() if key in always or value != defaults.get(key)]
    under = f" under {profile}" if profile else ""
    return f"{rules.subject}{under}: {' '.join(shown)}"


def line(output: Output, label: str, *texts: str) -> None:
    """Lines of text, the first behind a label."""
    for text in texts:
        output.say(f"{label:<9}{text}")
        label = ""


def _rule(step: ScaleStep, own: bool) -> dict[str, object]:
    sqnr = "exact" if step.sqnr_db == math.inf else "" if math.isnan(step.sqnr_db) else f"{step.sqnr_db:.2f}"
    return {
        "scale rule": f"{step.rule} *" if own else step.rule,
        "arithmetic": step.arithmetic,
        "byte": step.byte,
        "X": "" if step.exponent is None else step.exponent,
        "largest": "" if step.exponent is None else "saturates" if step.saturates else "fits",
        "SQNR dB": sqnr,
    }


def _element(step: ElementStep, explanation: Explanation, stacked: bool) -> dict[str, object]:
    numerics, digits = explanation.numerics, 7 if stacked else 9
    element = numerics.block.element
    code = f"0x{step.code:0{-(-element.bits // 4)}X}"
    relative = "" if step.relative_error is None else f"{100 * step.relative_error:.3g}%"
    below, bits = _below(step, numerics)
    cells: list[tuple[tuple[str, ...], tuple[object, ...]]] = [
        (("lane",), (step.lane,)),
        (("input", "V"), (explanation.patterns[step.lane], number(step.value, digits))),
        (("V / 2^X", "cut off"), (number(step.quotient, digits), _magnitude(step.cut, element))),
        ((below,), (bits,)),
        (("rounding",), (Text(step.action, STYLES.get(step.action.split()[0], "")),)),
        (("code", "fields"), (code, step.fields)),
        (("element", "decoded"), (number(step.element, digits), number(step.decoded, digits))),
        (("error", "relative"), (number(step.error, 4), relative)),
    ]
    return row(cells, stacked)


def row(cells: Sequence[tuple[tuple[str, ...], tuple[object, ...]]], stacked: bool) -> dict[str, object]:
    """A row of a table from names and values that belong together, which are ``stacked`` in one column or beside each
    other.
    """
    columns: dict[str, object] = {}
    for names, values in cells:
        if stacked and len(names) > 1:
            columns["\n".join(names)] = "\n".join(map(str, values))
        else:
            columns |= zip(names, values)
    return columns


def _below(step: ElementStep, numerics: Encode) -> tuple[str, str]:
    """Heading and cell for the bits below those that were cut off to."""
    if numerics.rounding is Rounding.SR:
        digits = -(-numerics.random_bits // 4)
        return "tail + random", "" if step.tail is None else f"0x{step.tail:0{digits}X} + 0x{step.random:0{digits}X}"
    return "G S", "" if step.guard is None else f"{step.guard} {step.sticky}"


def _magnitude(code: int | None, element: NumberFormat) -> str:
    if code is None:
        return ""
    digits = f"{code:0{element.bits - 1}b}"
    ends = list(accumulate(element.fields[1:], initial=0))  # all but the sign
    return "|".join(digits[start:end] for start, end in pairwise(ends))


def number(value: float | None, digits: int) -> str:
    """The cell of a number, empty where there is none."""
    return "" if value is None else f"{value:.{digits}g}"
