"""`mxcast inspect`: the content of a file of quantized tensors, and its suspicious values."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ExitCode
from ..options.files import ArrayNames, Read
from ..output.output import Output
from ..output.text import one_line

if TYPE_CHECKING:
    from ...tensors.inspect.inspection import InspectedTensor, Inspection

SHOWN = 8
"""Largest number of arrays named that are not quantized."""


def inspect(
    output: Output,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False, help="A file, or a folder with a model.")],
    stored_as: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="LAYOUT",
            show_default=False,
            help="The layout of FILE, if several fit: comfy, quark:mxfp6_e2m3, ... (mxcast list layouts).",
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Count every block; by default a sample of a large tensor.")
    ] = False,
    names: ArrayNames = None,
    read: Read = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="OUT", show_default=False, help="Write a page (.html), or pictures (.svg)."),
    ] = None,
) -> None:
    """Show how the tensors of a file, or of a model in a folder, are quantized and stored, with the evidence. Count
    their codes and scales, and report suspicions, such as swapped codes, scales in another order or an inverted tensor
    scale.

    Exit code 1 with suspicions, 4 if several layouts fit and read different numbers: nothing is guessed.
    """
    from ...tensors.checkpoint.model_folder import left_out
    from ...tensors.inspect.inspection import inspect_file
    from ...tensors.layouts.declarations import damage_beside

    if report is not None:
        from ...tensors.inspect.inspection_page import PAGES

        if report.suffix not in PAGES:
            raise ValueError(f"{report} must be a {' or '.join(PAGES)} file")
    with output.progress(f"inspecting {file.name}") as progress:
        found = inspect_file(file, stored_as, names=names, reads=read, whole=whole, progress=progress)
    _show(found, output)
    damage = damage_beside(file)
    if damage:
        output.say(f"ignored: {one_line(damage)}")
    unread = left_out(file) if file.is_dir() else []
    if unread:
        output.say(f"left out: {', '.join(map(one_line, unread))}: not part of the model")
    if report is not None:
        from ...host.files import write_whole

        write_whole(report, PAGES[report.suffix](found).encode("utf-8", "backslashreplace"))
        output.say(f"wrote {report}")
    more = {"ignored": damage or None, "left_out": unread, "report": None if report is None else str(report)}
    output.document(found.to_dict() | more)
    if found.suspicions:
        raise typer.Exit(ExitCode.FAILED)
    if found.ambiguous:
        raise typer.Exit(ExitCode.INCONCLUSIVE)


def _show(found: Inspection, output: Output) -> None:
    described = dict.fromkeys(reading for tensor in found.tensors for reading in tensor.readings)
    for reading in described:
        said = ", ".join(f"{key} {value}" for key, value in reading.described().items())
        output.say(f"{reading.names}: {said}")
        output.say(f"  evidence: {'; '.join(map(one_line, reading.evidence))}")
    output.table([_row(tensor, with_layout=len(described) > 1) for tensor in found.tensors])
    for tensor in found.ambiguous:
        output.say(f"ambiguous: {one_line(tensor.name)}: {tensor.differences}; --as chooses")
    for suspicion in found.suspicions:
        output.say(f"suspicion ({suspicion.kind}): {one_line(suspicion.tensor)}: {one_line(suspicion.sentence)}")
    if found.others:
        more = f" and {len(found.others) - SHOWN} more" if len(found.others) > SHOWN else ""
        output.say(f"not quantized: {', '.join(map(one_line, found.others[:SHOWN]))}{more}")
    if not found.ambiguous and not found.suspicions:
        output.say("no suspicions" if found.tensors else "no quantized tensors")


def _row(tensor: InspectedTensor, *, with_layout: bool) -> dict[str, object]:
    from ...tensors.inspect.histogram import line

    layout = {"layout": "ambiguous" if tensor.is_ambiguous else tensor.readings[0].names} if with_layout else {}
    picture = line(tensor.tally.binades, is_ascii=_is_ascii()) if tensor.tally else ""
    return {"tensor": one_line(tensor.name), **layout, **tensor.counted(), "scales": picture}


def _is_ascii() -> bool:
    """Does the terminal lack block characters?"""
    try:
        "█".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return True
    return False
