"""`mxcast vectors`: blocks with the results of the exact model, for foreign tests."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...host.errors import ToolMissing
from ..errors import ExitCode
from ..options.common import Format, Op, ProfileOptions, RuleOptions, Seed
from ..options.rules import operation_asked
from ..output.output import Output
from ..output.streams import complain

if TYPE_CHECKING:
    import numpy as np

    from ...spec import Operation


def vectors(
    given: ProfileOptions,
    output: Output,
    format: Format = None,
    op: Op = "encode",
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for the folder of the set.")] = Path(
        "vectors"
    ),
    full: Annotated[bool, typer.Option("--full", help="All directed blocks, in minutes.")] = False,
    tensors: Annotated[
        Path | None,
        typer.Option(
            "--tensors", metavar="FILE", show_default=False, help="Add your own weights (.npy, .safetensors)."
        ),
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FOLDER", show_default=False, help="Check an existing set.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Write a set of conformance vectors: blocks, and their results in exact rational arithmetic.

    The categories are corner, boundary, tie, subnormal, special, random and real weights. If Verilator is installed,
    the emitted Verilog must give the same results. The folder contains vectors.csv, vectors.npz, PORT.mem for
    $readmemh, and manifest.json with the rules and counts.

    --check compares a folder with its manifest, and computes every result again. Exit code 1 if something differs.
    """
    if check is not None:
        if format is not None:
            raise ValueError(f"--check takes the rules from the folder: leave out {format}")
        _check(check, output)
        return
    if format is None:
        raise ValueError("a format is missing: mxcast vectors e4m3")
    rules, _ = operation_asked("vectors {}", RuleOptions(format=format, op=op, profile=given.profile, set=given.set))
    output.document(_made(rules, _weights(tensors), out, full, seed, output))


def _weights(path: Path | None) -> np.ndarray:
    import numpy as np

    from ...tensors.convert.files import read_blocks

    with as_file(files("mxcast.data") / "minilm_sample.safetensors") as sample:
        blocks = [blocks.reshape(-1) for _, blocks in read_blocks(path or sample, 1)]
    return np.concatenate(blocks)


def _made(rules: Operation, weights: np.ndarray, out: Path, full: bool, seed: int, output: Output) -> dict[str, object]:
    from ...conformance.vectors.confirmation import Disagreement, confirmed
    from ...conformance.vectors.vector_files import write
    from ...conformance.vectors.vectors import made
    from ...spec.profiles.resolve import option_of, profile_of

    confirmation, why = None, ""
    with output.steps(f"vectors of {rules.subject}") as say:
        if say:
            say("exact results")
        found = made(rules, weights, size="full" if full else "small", seed=seed)
        if say:
            say("the same by the Verilog")
        try:
            confirmation = confirmed(found)
        except (ToolMissing, ValueError) as missing:
            why = str(missing)
        except Disagreement as fault:
            complain(str(fault))
            raise typer.Exit(ExitCode.FAILED) from None
        name = f"{rules.subject}-{option_of(rules)}-{profile_of(rules) or rules.id}-{found.size}"
        manifest = write(found, out / name, confirmation)
    output.table([{"category": category, "blocks": count} for category, count in found.counts.items()])
    output.table(
        [
            {"port": port["name"], "lanes": port["lanes"], "different words": port["distinct"]}
            for port in manifest["ports"]
        ]
    )
    output.say(
        f"{out / name}: {len(found)} blocks, "
        + ("all confirmed by the Verilog" if confirmation else f"not confirmed by the Verilog, because {why}")
    )
    return {"folder": str(out / name)} | manifest


def _check(folder: Path, output: Output) -> None:
    from ...conformance.vectors.vector_files import check

    with output.steps(f"checking {folder}"):
        found = check(folder)
    output.document({"folder": str(folder), "passed": found.passed, "faults": list(found.faults)})
    output.say(
        f"{folder}: passed, {found.manifest['blocks']} blocks equal the exact model"
        if found.passed
        else f"{folder}: FAILED"
    )
    for fault in found.faults:
        output.say(f"    {fault}")
    if not found.passed:
        raise typer.Exit(ExitCode.FAILED)
