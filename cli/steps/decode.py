"""The explanation of a decoder on the screen: lines and a table."""

from __future__ import annotations

from rich.text import Text

from ...explain.decode import DecodedStep, DecodeExplanation
from ...spec import Decode, DecodedRounding
from ..output import Output
from .encode import STYLES, line, number, row, title

ALWAYS = ("destination", "scale_reading", "rounding", "overflow", "subnormals")
"""Rules that the title names in any case."""
DIGITS = 9
WIDE = 136
"""Columns from which an element takes one line; below, two quantities share a column."""


def show(explanation: DecodeExplanation, output: Output) -> None:
    """Print an explanation."""
    rules, factor = explanation.numerics, explanation.factor
    output.say(title(rules, Decode(block=rules.block), ALWAYS, explanation.profile))
    byte = f"byte {explanation.byte} = 0x{explanation.byte:02X}"
    line(output, "scale", f"{byte}: {explanation.meaning}, factor {number(factor, DIGITS)}")
    stacked = (output.width or WIDE) < WIDE
    output.table([_element(step, rules, stacked) for step in explanation.elements])


def _element(step: DecodedStep, rules: Decode, stacked: bool) -> dict[str, object]:
    digits, element = rules.destination.bits // 4, rules.block.element
    shown = DIGITS - 3 if stacked else DIGITS
    if rules.rounding is DecodedRounding.SR:
        below, bits = "tail + random", "" if step.tail is None else f"0x{step.tail:X} + 0x{step.random:X}"
    else:
        below, bits = "G S", "" if step.guard is None else f"{step.guard} {step.sticky}"
    rounding = Text(step.action, STYLES.get(step.action.split()[0], ""))
    cells: list[tuple[tuple[str, ...], tuple[object, ...]]] = [
        (("lane",), (step.lane,)),
        (("code", "fields"), (f"0x{step.code:0{-(-element.bits // 4)}X}", step.fields)),
        (("class", "rounding"), (step.kind, rounding)),
        (("element", "product"), (number(step.element, shown), number(step.product, shown))),
        (("cut off", below), ("" if step.cut is None else f"{step.cut:0{digits}X}", bits)),
        (("bits", "result"), (f"{step.pattern:0{digits}X}", number(step.result, shown))),
        (("error",), (number(step.error, 4),)),
    ]
    return row(cells, stacked)
