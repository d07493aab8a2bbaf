"""The explanation of a decoder on the screen: lines and a table of elements."""

from __future__ import annotations

from functools import partial

from ...explain.decode import DecodedStep, DecodeExplanation
from ...spec import Decode, DecodedRounding
from ..output.output import Output
from .parts import Cells, cut_bits, elements, line, number, pattern, rounding, title

ALWAYS = ("destination", "scale_reading", "rounding", "overflow", "subnormals")
"""Rules that the title always names."""
WIDE = 136
"""Columns from which an element takes one line."""


def show(explanation: DecodeExplanation, output: Output) -> None:
    """Print an explanation."""
    rules = explanation.numerics
    title(output, rules, Decode(block=rules.block), ALWAYS, explanation.profile)
    byte = f"byte {explanation.byte} = 0x{explanation.byte:02X}"
    line(output, "scale", f"{byte}: {explanation.meaning}, factor {number(explanation.factor, 9)}")
    elements(output, explanation.elements, partial(_element, rules), digits=(9, 6), wide=WIDE)


def _element(rules: Decode, step: DecodedStep, shown: int) -> Cells:
    digits = rules.destination.bits // 4
    heading, bits = cut_bits(step, rules.rounding is DecodedRounding.SR)
    return [
        (("lane",), (step.lane,)),
        (("code", "fields"), (pattern(step.code, rules.block.element.bits), step.fields)),
        (("class", "rounding"), (step.kind, rounding(step.action))),
        (("element", "product"), (number(step.element, shown), number(step.product, shown))),
        (("cut off", heading), ("" if step.cut is None else f"{step.cut:0{digits}X}", bits)),
        (("bits", "result"), (f"{step.pattern:0{digits}X}", number(step.result, shown))),
        (("error",), (number(step.error, 4),)),
    ]
