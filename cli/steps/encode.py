"""The explanation of a block on the screen: lines, a table of scale rules, and a table of elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise

from ...explain.encode_steps import ElementStep, Explanation, ScaleStep
from ...spec import Encode, NumberFormat, Rounding
from ..output.output import Output
from .parts import Cells, block, cut_bits, elements, line, number, pattern, rounding, title

ALWAYS = ("block_size", "source", "scale_rule", "rounding", "specials")
"""Rules that the title always names."""


def show(explanation: Explanation, output: Output, remarks: Sequence[str], everything: bool) -> None:
    """Print an explanation; ``remarks`` say where the values come from, ``everything`` includes zeros."""
    numerics, scale, largest = explanation.numerics, explanation.scale, explanation.largest
    title(output, numerics, Encode(block=numerics.block), ALWAYS, explanation.profile)
    block(output, explanation, numerics.block_size, remarks)
    line(output, "", *explanation.remarks)
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
    elements(output, chosen, partial(_element, explanation), hidden=len(explanation.elements) - len(chosen))


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


def _element(explanation: Explanation, step: ElementStep, digits: int) -> Cells:
    numerics = explanation.numerics
    element = numerics.block.element
    relative = "" if step.relative_error is None else f"{100 * step.relative_error:.3g}%"
    heading, bits = cut_bits(step, numerics.rounding is Rounding.SR, -(-numerics.random_bits // 4))
    return [
        (("lane",), (step.lane,)),
        (("input", "V"), (explanation.patterns[step.lane], number(step.value, digits))),
        (("V / 2^X", "cut off"), (number(step.quotient, digits), _magnitude(step.cut, element))),
        ((heading,), (bits,)),
        (("rounding",), (rounding(step.action),)),
        (("code", "fields"), (pattern(step.code, element.bits), step.fields)),
        (("element", "decoded"), (number(step.element, digits), number(step.decoded, digits))),
        (("error", "relative"), (number(step.error, 4), relative)),
    ]


def _magnitude(code: int | None, element: NumberFormat) -> str:
    """The fields of a code without its sign."""
    if code is None:
        return ""
    digits = f"{code:0{element.bits - 1}b}"
    ends = list(accumulate(element.fields[1:], initial=0))
    return "|".join(digits[start:end] for start, end in pairwise(ends))
