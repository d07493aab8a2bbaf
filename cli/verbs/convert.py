"""`mxcast quantize`, `mxcast dequantize` and `mxcast convert`: tensor files through the golden model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...spec import Encode, Nvfp4Encode, block_format, is_nvfp4
from ...spec.profiles.layouts import library_profile
from ..converted import file_written, quantized_row, resumable, shards_written
from ..options import ArrayNames, Config, Json, Pad, Profile, Quiet, Read, Set, Verbose, nvfp4_rules, request
from ..output import Output
from ..settings import Settings, read_settings
from ..text import one_line

if TYPE_CHECKING:
    from ...tensors.checkpoint.shard_jobs import Run
    from ...tensors.convert.files import DequantizedFile
    from ...tensors.convert.options import ConvertOptions, Execution
    from ...tensors.convert.repacking import ConvertedFile
    from ...tensors.layouts.experts import Experts
    from ...tensors.unrecognised.named_arrays import NamedArrays

Source = Annotated[Path, typer.Argument(metavar="IN", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="OUT", show_default=False)]
Jobs = Annotated[
    int, typer.Option("-j", "--jobs", min=1, help="Threads, of a folder processes; the result does not depend on them.")
]


Include = Annotated[
    list[str] | None,
    typer.Option(
        "--include",
        metavar="PATTERN",
        show_default=False,
        help="Only tensors whose name matches, as '*.weight'; more than once: any of them. Others are copied.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", show_default=False, help="Tensors that are copied, as '*LayerNorm*'."),
]
StoredAs = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="LAYOUT",
        show_default="what mxcast quantize writes",
        help="The layout of IN (mxcast list layouts).",
    ),
]
OfFormat = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT",
        show_default=False,
        help="The block format of IN, where its layout has several.",
    ),
]


Arrangement = Annotated[
    str | None,
    typer.Option(
        "--experts",
        metavar="HOW",
        show_default=False,
        help="split: gate and up of experts in two tensors; interleaved: in the rows of one.",
    ),
]
Transposed = Annotated[
    bool,
    typer.Option(
        "--transposed", help="Swap the last two axes of tensors of three, as transformers has gpt-oss in BF16."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        show_default=False,
        help="Give the shards of a folder to a Dask cluster: tcp://host:8786.",
    ),
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
    include: Include = None,
    exclude: Exclude = None,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout", metavar="LAYOUT", show_default=False, help="Of a library (mxcast list layouts), for OUT."
        ),
    ] = None,
    transposed: Transposed = False,
    scheduler: Scheduler = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Quantize the tensors of a .npy, .npz or .safetensors file along their last axis; OUT is .safetensors, .npz, .gguf
    or .onnx.

    F32, F16 and BF16 tensors become codes under their own name and scales under NAME.scales; others are copied. Of
    nvfp4 the scale of a tensor is NAME.tensor_scale, and its largest magnitude is found first. With --layout all of it
    stands as a library has it. IN may be a folder with the shards of a model; OUT is a new one then.
    """
    output = Output(json, quiet, verbose)
    from ...tensors.containers.native_types import dialect_of
    from ...tensors.convert.options import Execution, QuantizeOptions

    usage = f"quantize {source} {target} --format {{}}"
    run = _run(source, scheduler, jobs)
    layout = layout if run is not None else layout or dialect_of(target)
    usual = _of_library(layout, format, config) if profile is None else None
    numerics, named = _rules(usage, format, profile or usual, set, config, output)
    options = QuantizeOptions(
        numerics=numerics,
        profile=named,
        layout=layout,
        pad=pad,
        seed=seed,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        is_transposed=transposed,
    )
    if run is not None:
        from ...tensors.checkpoint.checkpoints import quantize_checkpoint

        with output.progress(f"quantizing {source.name}") as progress, resumable(target):
            made = quantize_checkpoint(source, target, options, run=run, progress=progress)
        _say_profile(usual, layout, output)
        shards_written(made, output)
        return
    from ...tensors.convert.files import quantize_with

    with output.progress(f"quantizing {source.name}") as progress:
        report = quantize_with(source, target, options, Execution(jobs=jobs, progress=progress))
    _say_profile(usual, layout, output)
    rows = [quantized_row(one_line(t.name), " x ".join(map(str, t.shape)), t.statistics) for t in report.tensors]
    if len(rows) > 1:
        rows.append(quantized_row("total", "", report.total))
    output.table(rows)
    if report.copied:
        output.say(f"copied unchanged: {', '.join(map(one_line, report.copied))}")
    output.say(f"wrote {target}")
    output.document(report.to_dict())


def _of_library(layout: str | None, format: str | None, config: Path | None) -> str | None:
    """The profile by which the library of a layout encodes a format, unless a configuration file names a profile."""
    settings = read_settings(config) if config else Settings()
    format = settings.format if format is None else format
    if layout is None or format is None or settings.profile is not None:
        return None
    try:
        return library_profile(layout.lower(), block_format(format))
    except ValueError:  # an unknown format, which has a sentence of its own
        return None


def _say_profile(usual: str | None, layout: str | None, output: Output) -> None:
    """Say which profile was taken because of the layout."""
    if usual is not None and layout is not None:
        output.say(f"profile {usual}, of the library with the layout {layout.lower()}; --profile takes another")


def _rules(
    usage: str, format: str | None, profile: str | None, set: list[str] | None, config: Path | None, output: Output
) -> tuple[Encode | Nvfp4Encode, str | None]:
    """The operation that the options mean, and its profile."""
    if format is not None and is_nvfp4(format):
        return nvfp4_rules(format, profile, set, config)
    chosen = request(usage, format, profile, set, config, allow_all=False).encoders[0]
    output.configuration(chosen)
    return chosen.numerics, chosen.profile


def dequantize(
    source: Source,
    target: Target,
    stored_as: StoredAs = None,
    format: OfFormat = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", show_default=False, help="How a layout is read (mxcast list decoders)."
        ),
    ] = None,
    include: Include = None,
    exclude: Exclude = None,
    experts: Arrangement = None,
    transposed: Transposed = False,
    names: ArrayNames = None,
    read: Read = None,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Turn a file that quantize wrote, or one in the layout of a library, back into float32 tensors, under their names
    and in their shapes; or a folder with the shards of a model.
    """
    output = Output(json, quiet, verbose)
    from ...tensors.convert.options import ConvertOptions

    options = ConvertOptions(
        stored_as=stored_as,
        format=format,
        profile=profile,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        experts=_arrangement(experts),
        is_transposed=transposed,
        named=_named(names, read),
    )
    _convert(source, target, options, scheduler, jobs, output)


def convert(
    source: Source,
    target: Target,
    layout: Annotated[
        str, typer.Option("--layout", metavar="LAYOUT", show_default=False, help="That of OUT (mxcast list layouts).")
    ],
    stored_as: StoredAs = None,
    format: OfFormat = None,
    include: Include = None,
    exclude: Exclude = None,
    experts: Arrangement = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            show_default="that of IN",
            help="Another block format with the same numbers, as nvfp4 of e2m1; or of one: fp8_e4m3=mxfp8_e4m3.",
        ),
    ] = None,
    names: ArrayNames = None,
    read: Read = None,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write the quantized tensors of a .safetensors, .gguf or .onnx file as a library stores them. No number changes:
    a tensor that the layout, or with --to the block format, cannot hold is refused, and nothing is written. IN may be a
    folder with the shards of a model; OUT is a new one then.
    """
    output = Output(json, quiet, verbose)
    from ...tensors.convert.options import ConvertOptions

    options = ConvertOptions(
        layout=layout,
        stored_as=stored_as,
        format=format,
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        experts=_arrangement(experts),
        block=to,
        named=_named(names, read),
    )
    _convert(source, target, options, scheduler, jobs, output)


def _convert(
    source: Path, target: Path, options: ConvertOptions, scheduler: str | None, jobs: int, output: Output
) -> None:
    """Convert or dequantize a file or a folder."""
    from ...tensors.checkpoint.checkpoints import convert_checkpoint
    from ...tensors.convert.options import Execution

    title = f"{'dequantizing' if options.layout is None else 'converting'} {source.name}"
    run = _run(source, scheduler, jobs)
    if run is None:
        with output.progress(title) as progress:
            report = _convert_file(source, target, options, Execution(jobs=jobs, progress=progress))
        file_written(report, target, output)
        return
    with output.progress(title) as progress, resumable(target):
        shards = convert_checkpoint(source, target, options, run=run, progress=progress)
    shards_written(shards, output)


def _convert_file(
    source: Path, target: Path, options: ConvertOptions, execution: Execution
) -> DequantizedFile | ConvertedFile:
    """Convert or dequantize a file; one that `quantize` wrote is dequantized by its own rules."""
    from ...tensors.convert.files import dequantize_file
    from ...tensors.convert.quantized_source import says_layout
    from ...tensors.convert.repacking import convert_file

    is_given = options.layout is not None or options.stored_as is not None or options.named is not None
    if is_given or says_layout(source):
        return convert_file(source, target, options, execution)
    given = {
        "--format": options.format,
        "--profile": options.profile,
        "--include": options.include,
        "--exclude": options.exclude,
        "--experts": options.experts,
        "--transposed": options.is_transposed,
    }
    for option in (option for option, value in given.items() if value):
        raise ValueError(f"{option} is for a file in the layout of a library: --from names it")
    return dequantize_file(source, target, jobs=execution.jobs, progress=execution.progress)


def _arrangement(text: str | None) -> Experts | None:
    """The arrangement of experts that an option names."""
    from ...tensors.layouts.experts import Experts

    return None if text is None else Experts.named("arrangement of experts", text)


def _named(names: str | None, read: str | None) -> NamedArrays | None:
    """The arrays that the options name."""
    from ...tensors.unrecognised.named_arrays import NamedArrays

    return NamedArrays.given(names, read)


def _run(source: Path, scheduler: str | None, jobs: int) -> Run | None:
    """Who does the jobs of a folder; None for a file."""
    if not source.is_dir():
        if scheduler is not None:
            raise ValueError(f"--scheduler is for the shards of a folder, and {source} is none")
        return None
    from ...tensors.checkpoint.shard_jobs import locally, on_cluster

    return locally(jobs) if scheduler is None else on_cluster(scheduler)
