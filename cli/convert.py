"""`mxcast quantize` and `mxcast dequantize`: tensor files through the golden model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..spec import Encode, TwoLevelEncode, is_two_level
from .options import Config, Json, Pad, Profile, Quiet, Set, Verbose, request, two_level_rules
from .output import Output
from .text import one_line

if TYPE_CHECKING:
    from ..models import Statistics

__all__ = ["dequantize", "quantize"]

Source = Annotated[Path, typer.Argument(metavar="IN", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="OUT", show_default=False)]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", min=1, help="Threads that share the work; the result does not depend on it.")
]


def quantize(
    source: Source,
    target: Target,
    format: Annotated[
        str | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT",
            show_default=False,
            help="e4m3, mxfp8_e4m3, int8, nvfp4, ... (mxcast list formats).",
        ),
    ] = None,
    profile: Profile = None,
    set: Set = None,
    config: Config = None,
    pad: Pad = False,
    jobs: Jobs = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random bits of the rounding sr.")] = 0,
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include",
            metavar="PATTERN",
            show_default=False,
            help="Only tensors whose name matches, as '*.weight'; more than once: any of them. Others are copied.",
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude", metavar="PATTERN", show_default=False, help="Tensors that are copied, as '*LayerNorm*'."
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Quantize the tensors of a .npy or .safetensors file along their last axis; OUT is .safetensors, or .npz for .npy.

    F32, F16 and BF16 tensors become codes under their own name and scales under NAME.scales; others are copied. Of
    nvfp4 the scale of a tensor is NAME.tensor_scale, and its largest magnitude is found first.
    """
    output = Output(json, quiet, verbose)
    usage = f"quantize {source} {target} --format {{}}"
    numerics, named = _rules(usage, format, profile, set, config, output)
    from ..tensors.files import quantize_file

    with output.progress(f"quantizing {source.name}") as progress:
        report = quantize_file(
            source,
            target,
            numerics,
            named,
            pad=pad,
            jobs=jobs,
            seed=seed,
            include=include or (),
            exclude=exclude or (),
            progress=progress,
        )
    rows = [_row(one_line(t.name), " x ".join(map(str, t.shape)), t.statistics) for t in report.tensors]
    if len(rows) > 1:
        rows.append(_row("total", "", report.total))
    output.table(rows)
    if report.copied:
        output.say(f"copied unchanged: {', '.join(map(one_line, report.copied))}")
    output.say(f"wrote {target}")
    output.document(report.to_dict())


def _rules(
    usage: str, format: str | None, profile: str | None, set: list[str] | None, config: Path | None, output: Output
) -> tuple[Encode | TwoLevelEncode, str | None]:
    """The operation that the options mean, and its profile."""
    if format is not None and is_two_level(format):
        return two_level_rules(format, profile, set, config)
    chosen = request(usage, format, profile, set, config, allow_all=False).encoders[0]
    output.configuration(chosen)
    return chosen.numerics, chosen.profile


def _row(name: str, shape: str, statistics: Statistics) -> dict[str, object]:
    amax = f"{statistics.amax_min:.4g} .. {statistics.amax_max:.4g}" if statistics.blocks else ""
    return {
        "tensor": name,
        "shape": shape,
        "amax of blocks": amax,
        "SQNR dB": round(statistics.sqnr_db, 2),
        "saturated": statistics.saturated,
        "flushed": statistics.flushed,
        "NaN": statistics.nan,
    }


def dequantize(
    source: Source, target: Target, jobs: Jobs = 1, json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Turn a file that quantize wrote back into float32 tensors, under their names and in their shapes."""
    output = Output(json, quiet, verbose)
    from ..tensors.files import dequantize_file

    with output.progress(f"dequantizing {source.name}") as progress:
        report = dequantize_file(source, target, jobs=jobs, progress=progress)
    output.table(
        [{"tensor": one_line(name), "shape": " x ".join(map(str, shape))} for name, shape in report.tensors.items()]
    )
    if report.copied:
        output.say(f"copied unchanged: {', '.join(map(one_line, report.copied))}")
    output.say(f"wrote {target}")
    output.document(report.to_dict())
