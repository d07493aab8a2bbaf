"""The explanation of a decoder on the screen: lines and a table."""

from __future__ import annotations

from rich.text import Text

from ..models.explain_decode import DecodedStep, DecodeExplanation
from ..spec import Decode, DecodedRounding
from .output import Output
from .steps import STYLES, line, number, title

__all__ = ["show"]

ALWAYS = ("destination", "scale_reading", "rounding", "overflow", "subnormals")
"""Rules that the title names in any case."""
DIGITS = 9


def show(explanation: DecodeExplanation, output: Output) -> None:
    """Print an explanation."""
    rules, factor = explanation.numerics, explanation.factor
    output.say(title(rules, Decode(block=rules.block), ALWAYS, explanation.profile))
    byte = f"byte {explanation.byte} = 0x{explanation.byte:02X}"
    line(output, "scale", f"{byte}: {explanation.meaning}, factor {number(factor, DIGITS)}")
    output.table([_element(step, rules) for step in explanation.elements])


def _element(step: DecodedStep, rules: Decode) -> dict[str, object]:
    digits, element = rules.destination.bits // 4, rules.block.element
    if rules.rounding is DecodedRounding.SR:
        below = {"tail + random": "" if step.tail is None else f"0x{step.tail:X} + 0x{step.random:X}"}
    else:
        below = {"G S": "" if step.guard is None else f"{step.guard} {step.sticky}"}
    return {
        "lane": step.lane,
        "code": f"0x{step.code:0{-(-element.bits // 4)}X}",
        "fields": step.fields,
        "class": step.kind,
        "element": number(step.element, DIGITS),
        "product": number(step.product, DIGITS),
        "cut off": "" if step.cut is None else f"{step.cut:0{digits}X}",
        **below,
        "rounding": Text(step.action, STYLES.get(step.action.split()[0], "")),
        "bits": f"{step.pattern:0{digits}X}",
        "result": number(step.result, DIGITS),
        "error": number(step.error, 4),
    }
