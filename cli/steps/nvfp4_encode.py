"""An explanation of a block under two levels of scales on the screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from ...explain.nvfp4_encode import Nvfp4Element, Nvfp4Explanation
from ...spec import Nvfp4Encode
from ..output import Output
from .encode import STYLES, WIDE, line, number, row, title

ALWAYS = ("block_size", "source", "order", "rounding")
"""Rules that the title names in any case."""


def show(explanation: Nvfp4Explanation, output: Output, remarks: Sequence[str], everything: bool) -> None:
    """Print an explanation; ``remarks`` are on where the values come from, ``everything`` shows zeros too."""
    numerics = explanation.numerics
    output.say(title(numerics, Nvfp4Encode(block=numerics.block), ALWAYS, explanation.profile))
    missing = numerics.block_size - explanation.given
    completed = [f"{explanation.given} given, {missing} zeros complete the block"] if missing else []
    line(output, "values", *remarks, *completed)
    line(output, "classes", ", ".join(f"{count} {kind}" for kind, count in explanation.classes.items() if count))
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
    if shown:
        output.table([_element(step, explanation, stacked=(output.width or WIDE) < WIDE) for step in shown])
    if len(shown) < len(explanation.elements):
        output.say(f"{len(explanation.elements) - len(shown)} elements that are zero are not shown; --all shows them")


def _element(step: Nvfp4Element, explanation: Nvfp4Explanation, stacked: bool) -> dict[str, object]:
    digits = 7 if stacked else 9
    random = [] if step.random is None else [(("random",), (f"0x{step.random:X}",))]
    cells: list[tuple[tuple[str, ...], tuple[object, ...]]] = [
        (("lane",), (step.lane,)),
        (("input", "x"), (explanation.patterns[step.lane], number(step.value, digits))),
        (("y as FP32", "y"), (f"0x{step.y_pattern:08X}", number(step.y, digits))),
        (("reaches",), ("" if step.below is None else step.below,)),
        *random,
        (("rounding",), (Text(step.action, STYLES.get(step.action.split()[0], "")),)),
        (("code", "fields"), (f"0x{step.code:X}", step.fields)),
        (("element", "decoded"), (number(step.element, digits), number(step.decoded, digits))),
        (("error",), (number(step.error, 4),)),
    ]
    return row(cells, stacked)
