"""The explanation of a block of NVFP4 on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...explain.nvfp4_encode import Nvfp4Element, Nvfp4Explanation
from ...spec import Nvfp4Encode
from ..output.output import Output
from .parts import Cells, block, elements, line, number, pattern, rounding, title

ALWAYS = ("block_size", "source", "order", "rounding")
"""Rules that the title always names."""


def show(explanation: Nvfp4Explanation, output: Output, remarks: Sequence[str], everything: bool) -> None:
    """Print an explanation; ``remarks`` say where the values come from, ``everything`` includes zeros."""
    numerics = explanation.numerics
    title(output, numerics, Nvfp4Encode(block=numerics.block), ALWAYS, explanation.profile)
    block(output, explanation, numerics.block_size, remarks)
    output.table(
        [
            {
                "of": of,
                "name": step.name,
                "binary32": step.formula,
                "pattern": f"0x{step.pattern:08X}",
                "value": number(step.value, 9),
            }
            for of, steps in (("tensor", explanation.tensor), ("block", explanation.block))
            for step in steps
        ]
    )
    for candidate in explanation.candidates:
        chosen = " *" if candidate.scale == explanation.scale else ""
        line(
            output,
            f"to {candidate.largest_becomes}",
            f"scale 0x{candidate.scale:02X}, error ({numerics.four_over_six}) {candidate.error:.9g}{chosen}",
        )
    line(output, "scale", f"byte {explanation.scale} = 0x{explanation.scale:02X}")
    shown = [step for step in explanation.elements if everything or step.kind != "zero"]
    elements(output, shown, partial(_element, explanation), hidden=len(explanation.elements) - len(shown))


def _element(explanation: Nvfp4Explanation, step: Nvfp4Element, digits: int) -> Cells:
    random: Cells = [] if step.random is None else [(("random",), (f"0x{step.random:X}",))]
    return [
        (("lane",), (step.lane,)),
        (("input", "x"), (explanation.patterns[step.lane], number(step.value, digits))),
        (("y as FP32", "y"), (f"0x{step.y_pattern:08X}", number(step.y, digits))),
        (("reaches",), ("" if step.below is None else step.below,)),
        *random,
        (("rounding",), (rounding(step.action),)),
        (("code", "fields"), (pattern(step.code, explanation.numerics.block.element.bits), step.fields)),
        (("element", "decoded"), (number(step.element, digits), number(step.decoded, digits))),
        (("error",), (number(step.error, 4),)),
    ]
