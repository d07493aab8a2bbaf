"""`mxcast quantize`, `mxcast dequantize` and `mxcast convert`: tensor files through the golden model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...spec import NVFP4_ENCODERS, Encode, Nvfp4Encode, block_format, is_nvfp4, layout_named
from ...spec.profiles.layouts import library_profile, profiles_of_convention
from ..options.common import Config, FormatOption, ProfileOptions, RuleOptions
from ..options.files import FileOptions, Pad, Source, StoredOptions, Target, Transposed
from ..options.rules import operation_asked
from ..options.settings import Settings, read_settings
from ..output.converted import file_written, quantized_row, resumable, shards_written
from ..output.output import Output
from ..output.text import one_line

if TYPE_CHECKING:
    from ...tensors.convert.files import DequantizedFile
    from ...tensors.convert.options import ConvertOptions, Execution
    from ...tensors.convert.repacking import ConvertedFile


def quantize(
    source: Source,
    target: Target,
    files: FileOptions,
    given: ProfileOptions,
    output: Output,
    format: FormatOption = None,
    config: Config = None,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            metavar="LAYOUT",
            show_default=False,
            help="Store OUT in the layout of a library (mxcast list layouts).",
        ),
    ] = None,
    pad: Pad = False,
    transposed: Transposed = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the random bits for rounding sr.")] = 0,
) -> None:
    """Quantize the tensors of a .npy, .npz or .safetensors file along their last axis. OUT is .safetensors, .npz, .gguf
    or .onnx.

    F32, F16 and BF16 tensors become codes under their own name and scales under NAME.scales; others are copied. For
    nvfp4, NAME.tensor_scale is the scale of the tensor, from its largest magnitude. With --layout, codes and scales are
    stored as in the files of a library. IN may be a folder with the shards of a model; OUT is then a new folder.
    """
    from ...tensors.containers.native_types import dialect_of
    from ...tensors.convert.options import Execution, QuantizeOptions

    usage = f"quantize {source} {target} --format {{}}"
    run = files.run(source)
    layout = layout if run is not None else layout or dialect_of(target)
    usual = _of_library(layout, format, config) if given.profile is None else None
    rules = RuleOptions(format=format, profile=given.profile or usual, set=given.set, config=config)
    numerics, named = operation_asked(usage, rules)
    assert isinstance(numerics, Encode | Nvfp4Encode)  # since the options name no other operation
    output.rules(numerics)
    options = QuantizeOptions(
        numerics=numerics,
        profile=named,
        layout=layout,
        pad=pad,
        seed=seed,
        include=tuple(files.include or ()),
        exclude=tuple(files.exclude or ()),
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
        report = quantize_with(source, target, options, Execution(jobs=files.jobs, progress=progress))
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
    """The profile by which the library of a layout encodes a format, unless a configuration file names a profile.

    Raises ValueError if the library lacks a profile, and the usual one has a tensor scale of another convention.
    """
    settings = read_settings(config) if config else Settings()
    format = settings.format if format is None else format
    if layout is None or format is None or settings.profile is not None:
        return None
    try:
        block = block_format(format)
    except ValueError:  # `request` reports it
        return None
    profile = library_profile(layout.lower(), block)
    if profile is None and is_nvfp4(block):
        stored = layout_named(layout, block)
        if (fitting := profiles_of_convention(stored.convention)) and next(iter(NVFP4_ENCODERS)) not in fitting:
            raise ValueError(
                f"the library with the layout {stored.dialect} has no profile for {stored.block} here, and the usual "
                f"one has another tensor scale: --profile takes one with a {stored.convention}: {', '.join(fitting)}"
            )
    return profile


def _say_profile(usual: str | None, layout: str | None, output: Output) -> None:
    """Print the profile, if the layout decided it."""
    if usual is not None and layout is not None:
        output.say(f"profile {usual}, of the library with the layout {layout.lower()}; --profile takes another")


def dequantize(
    source: Source,
    target: Target,
    files: StoredOptions,
    output: Output,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", show_default=False, help="Decoding rules by name (mxcast list decoders)."
        ),
    ] = None,
    transposed: Transposed = False,
) -> None:
    """Convert quantized tensors back to float32, with their names and shapes.

    IN is a file that quantize wrote, a file in the layout of a library, or a folder with the shards of a model.
    """
    _convert(source, target, files, files.options(profile=profile, is_transposed=transposed), output)


def convert(
    source: Source,
    target: Target,
    files: StoredOptions,
    output: Output,
    layout: Annotated[
        str,
        typer.Option("--layout", metavar="LAYOUT", show_default=False, help="The layout of OUT (mxcast list layouts)."),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            show_default="as IN",
            help="Another block format with the same numbers, such as nvfp4 for e2m1. Only one of several: "
            "fp8_e4m3=mxfp8_e4m3.",
        ),
    ] = None,
) -> None:
    """Write the quantized tensors of a .safetensors, .gguf or .onnx file as a library stores them. No number changes.

    If the layout, or the block format of --to, cannot hold a tensor, nothing is written. IN may be a folder with the
    shards of a model; OUT is then a new folder.
    """
    _convert(source, target, files, files.options(layout=layout, block=to), output)


def _convert(source: Path, target: Path, files: StoredOptions, options: ConvertOptions, output: Output) -> None:
    """Convert or dequantize a file or a folder."""
    from ...tensors.checkpoint.checkpoints import convert_checkpoint
    from ...tensors.convert.options import Execution

    title = f"{'dequantizing' if options.layout is None else 'converting'} {source.name}"
    run = files.run(source)
    if run is None:
        with output.progress(title) as progress:
            report = _convert_file(source, target, options, Execution(jobs=files.jobs, progress=progress))
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
