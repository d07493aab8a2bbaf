"""The explanation of a decoder of NVFP4 on the screen: the operations of its factor, and a table of elements."""

from __future__ import annotations

from functools import partial

from ...explain.nvfp4_decode import Nvfp4DecodedStep, Nvfp4DecodeExplanation
from ...spec import Nvfp4Decode
from ..output.output import Output
from .parts import Cells, elements, line, number, pattern, title

ALWAYS = ("destination", "convention")
"""Rules that the title always names."""


def show(explanation: Nvfp4DecodeExplanation, output: Output) -> None:
    """Print an explanation."""
    rules = explanation.numerics
    title(output, rules, Nvfp4Decode(block=rules.block), ALWAYS, explanation.profile)
    line(output, "scale", f"byte {explanation.scale} = 0x{explanation.scale:02X}")
    if explanation.tensor_scale is not None:
        line(output, "tensor", f"scale 0x{explanation.tensor_scale:08X}, {rules.convention}")
    output.table(
        [
            {
                "name": step.name,
                "binary32": step.formula,
                "exact": number(step.exact, 17),
                "value": number(step.value, 9),
            }
            for step in explanation.factor
        ]
    )
    elements(output, explanation.elements, partial(_element, rules), wide=0)


def _element(rules: Nvfp4Decode, step: Nvfp4DecodedStep, digits: int) -> Cells:
    return [
        (("lane",), (step.lane,)),
        (("code", "fields"), (pattern(step.code, rules.block.element.bits), step.fields)),
        (("element", "product"), (number(step.element, digits), number(step.product, digits))),
        (("bits", "result"), (f"{step.pattern:0{rules.destination.bits // 4}X}", number(step.result, digits))),
        (("class",), (step.result_kind,)),
    ]
