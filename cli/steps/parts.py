"""Parts that the explanations of all operations print: a title, lines with labels, and tables of elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from ...spec import Operation
from ..output.output import Output

if TYPE_CHECKING:
    from ...explain.cast import CastStep
    from ...explain.decode import DecodedStep
    from ...explain.encode_steps import ElementStep, Explanation
    from ...explain.nvfp4_encode import Nvfp4Explanation

STYLES = {"exact": "green", "tie": "cyan", "saturated": "red", "flushed": "yellow", "specials": "magenta"}
"""Colours of roundings, by their first word."""
WIDE = 150
"""Columns from which an element takes one line; in fewer columns, two quantities share a column."""

Cells = list[tuple[tuple[str, ...], tuple[object, ...]]]
"""Headings and values of quantities. The quantities of one pair share a column on a narrow screen."""
Step = TypeVar("Step")


def title(output: Output, rules: Operation, usual: Operation, always: Sequence[str], profile: str | None) -> None:
    """Say what is converted, under which profile, with the rules in ``always`` and those that are not ``usual``."""
    fields, defaults = rules.by_name(), usual.by_name()
    shown = [f"{key}={value}" for key, value in fields.items() if key in always or value != defaults.get(key)]
    under = f" under {profile}" if profile else ""
    output.say(f"{rules.subject}{under}: {' '.join(shown)}")


def line(output: Output, label: str, *texts: str) -> None:
    """Lines of text, the first with a label."""
    for text in texts:
        output.say(f"{label:<9}{text}")
        label = ""


def block(output: Output, found: Explanation | Nvfp4Explanation, size: int, remarks: Iterable[str]) -> None:
    """Say how the numbers of a block were read, and their classes."""
    missing = size - found.given
    completed = [f"{found.given} given, {missing} zeros complete the block"] if missing else []
    line(output, "values", *remarks, *completed)
    line(output, "classes", ", ".join(f"{count} {kind}" for kind, count in found.classes.items() if count))


def elements(
    output: Output,
    steps: Sequence[Step],
    cells: Callable[[Step, int], Cells],
    digits: tuple[int, int] = (9, 7),
    wide: int = WIDE,
    hidden: int = 0,
) -> None:
    """Print a table of elements, and the number of ``hidden`` ones. ``digits`` is the precision of numbers on a wide
    and on a narrow screen.
    """
    stacked = (output.width or wide) < wide
    output.table([_row(cells(step, digits[stacked]), stacked) for step in steps])
    if hidden:
        output.say(f"{hidden} elements that are zero are not shown; --all shows them")


def _row(cells: Cells, stacked: bool) -> Mapping[str, object]:
    columns: dict[str, object] = {}
    for names, values in cells:
        if stacked and len(names) > 1:
            columns["\n".join(names)] = "\n".join(map(str, values))
        else:
            columns |= zip(names, values)
    return columns


def rounding(action: str) -> Text:
    return Text(action, STYLES.get(action.split()[0], ""))


def cut_bits(step: ElementStep | DecodedStep | CastStep, is_random: bool, digits: int = 1) -> tuple[str, str]:
    """Heading and cell of the bits that decide a rounding."""
    if is_random:
        return "tail + random", "" if step.tail is None else f"0x{step.tail:0{digits}X} + 0x{step.random:0{digits}X}"
    return "G S", "" if step.guard is None else f"{step.guard} {step.sticky}"


def pattern(code: int, bits: int) -> str:
    """A code in all of its hexadecimal digits."""
    return f"0x{code:0{-(-bits // 4)}X}"


def number(value: float | None, digits: int) -> str:
    """The cell of a number; empty for None."""
    return "" if value is None else f"{value:.{digits}g}"
