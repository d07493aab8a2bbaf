"""The explanation of a decoder under two levels of scales on the screen: its operations, and a table of elements."""

from __future__ import annotations

from ...explain.nvfp4_decode import Nvfp4DecodedStep, Nvfp4DecodeExplanation
from ...spec import Nvfp4Decode
from ..output import Output
from .encode import line, number, title

ALWAYS = ("destination", "convention")
"""Rules that the title names in any case."""
DIGITS = 9


def show(explanation: Nvfp4DecodeExplanation, output: Output) -> None:
    """Print an explanation."""
    rules = explanation.numerics
    output.say(title(rules, Nvfp4Decode(block=rules.block), ALWAYS, explanation.profile))
    line(output, "scale", f"byte {explanation.scale} = 0x{explanation.scale:02X}")
    if explanation.tensor_scale is not None:
        line(output, "tensor", f"scale 0x{explanation.tensor_scale:08X}, {rules.convention}")
    output.table(
        [
            {
                "name": step.name,
                "binary32": step.formula,
                "exact": number(step.exact, 2 * DIGITS - 1),
                "value": number(step.value, DIGITS),
            }
            for step in explanation.factor
        ]
    )
    output.table([_element(step, rules) for step in explanation.elements])


def _element(step: Nvfp4DecodedStep, rules: Nvfp4Decode) -> dict[str, object]:
    return {
        "lane": step.lane,
        "code": f"0x{step.code:X}",
        "fields": step.fields,
        "element": number(step.element, DIGITS),
        "product": number(step.product, DIGITS),
        "bits": f"{step.pattern:0{rules.destination.bits // 4}X}",
        "result": number(step.result, DIGITS),
        "class": step.result_kind,
    }
