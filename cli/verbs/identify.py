"""`mxcast identify`: the rules that a function follows, or that produced a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...spec.catalogue import constructed, unknown_name
from ...spec.profiles.resolve import operation_of
from ..errors import ExitCode
from ..options.common import Blocks, FormatOption, Op, ProfileOptions, Seed
from ..output.output import Output
from ..output.streams import stdout_as_stderr
from ..output.text import one_line
from .check_rtl import NAN_CODES

if TYPE_CHECKING:
    from ...conformance.identify.outcome import Identification
    from ...conformance.pairs.identify import OfPairs


def identify(
    given: ProfileOptions,
    output: Output,
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="[FUNCTION]",
            show_default=False,
            help="MODULE:NAME, FILE.py:NAME, LIBRARY.so:NAME, or an adapter (mxcast list adapters).",
        ),
    ] = None,
    numbers: Annotated[
        Path | None,
        typer.Option("--input", metavar="FILE", show_default=False, help="Instead of a function: a file with numbers."),
    ] = None,
    quantized: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", show_default=False, help="The file with these numbers quantized."),
    ] = None,
    format: FormatOption = None,
    stored_as: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="LAYOUT",
            show_default=False,
            help="The layout of --output, if several fit (mxcast list layouts).",
        ),
    ] = None,
    op: Op = "encode",
    nan_codes: Annotated[
        str, typer.Option("--nan-codes", metavar="exact|free", help="Whether codes under a NaN scale count.")
    ] = "exact",
    blocks: Blocks = 20_000,
    samples: Annotated[
        int, typer.Option("--samples", min=0, help="Calls with the same blocks, to judge a random function: 10000.")
    ] = 0,
    seed: Seed = 0,
) -> None:
    """Find the rules that a function, or a file, follows. The function is called with hard blocks, and its bits are
    compared with every profile, and with every profile in which one rule is changed. Of two files, --input and
    --output, all blocks are compared.

    An encoder is called with x, float32 (n, 32), and returns scales (n,) and codes (n, 32), or numbers like x. For
    nvfp4, x is a tensor (n, 16). With --op decode the function is called with scales and codes, uint8, and returns
    numbers. With --op cast it is called with x (n,) and returns codes. With --set rounding=sr it also receives random
    bits, uint16, one integer for each element.

    A function of a shared library receives pointers: void f(const float *x, uint8_t *scales, uint8_t *codes,
    size_t blocks).

    FOLLOWS: exit code 0, if --profile is that profile or not given. DIFFERS: 1, with the nearest rules and the smallest
    block. UNKNOWN: 4, if two sets of rules fit, or if the function is random.
    """
    if nan_codes not in NAN_CODES:
        raise ValueError(unknown_name("choice of --nan-codes", nan_codes, NAN_CODES))
    is_free = nan_codes == "free"
    if subject is None or numbers is not None or quantized is not None:
        if subject is not None or numbers is None or quantized is None:
            raise ValueError(
                "give either a function or two files: mxcast identify MODULE:NAME --format e4m3, or "
                "mxcast identify --input weights.safetensors --output quantized.safetensors"
            )
        if op != "encode" or samples:
            raise ValueError(
                "files are identified as results of encoders, without samples: leave out --op and --samples"
            )
        found: Identification = _of_files(numbers, quantized, stored_as, format, given, is_free, output)
        document: dict[str, object] = {"input": str(numbers), "output": str(quantized)}
    else:
        if stored_as is not None:
            raise ValueError("--from is the layout of --output: leave it out for a function")
        if format is None:
            raise ValueError(f"a format is missing: mxcast identify {subject} --format e4m3")
        from ...conformance.identify.identify import identify as identified
        from ...conformance.subject.locate import located

        name, fields = given.name_and_fields()
        rules = constructed(operation_of, {"op": op, "format": format, "profile": name, **fields})
        with output.steps(f"identifying {subject}") as progress, stdout_as_stderr():
            function = located(subject, rules)
            found = identified(
                function,
                rules,
                expected=given.profile is not None,
                nan_codes_free=is_free,
                samples=samples,
                seed=seed,
                blocks=blocks,
                name=subject,
                progress=progress,
            )
        document = {"function": subject, "seed": seed}
    _show(found, output)
    output.document(found.to_dict() | document)
    if found.verdict == "unknown":
        raise typer.Exit(ExitCode.INCONCLUSIVE)
    if found.verdict == "differs" or (given.profile is not None and not found.follows(found.rules)):
        raise typer.Exit(ExitCode.FAILED)


def _of_files(
    numbers: Path,
    quantized: Path,
    stored_as: str | None,
    format: str | None,
    given: ProfileOptions,
    nan_codes_free: bool,
    output: Output,
) -> OfPairs:
    from ...conformance.pairs.identify import identify_pairs
    from ...tensors.inspect.paired_files import pairs, rules_of

    name, fields = given.name_and_fields()
    with output.steps(f"identifying {quantized.name}") as progress:
        paired = pairs(numbers, quantized, stored_as, format)
        return identify_pairs(
            paired,
            constructed(rules_of, {"paired": paired, "profile": name, **fields}),
            expected=given.profile is not None,
            nan_codes_free=nan_codes_free,
            name=quantized.name,
            progress=progress,
        )


def _show(found: Identification, output: Output) -> None:
    tensors = found.to_dict().get("tensors")
    output.say(f"{str(found.verdict).upper()}: {found.sentence}")
    if isinstance(tensors, dict):
        output.say(f"{found.blocks:,} blocks of {len(tensors)} tensor{'s' * (len(tensors) != 1)} were compared")
    else:
        of_normal = f", {found.normal:,} of them of N(0,1)" if found.normal else ""
        output.say(f"{found.blocks:,} blocks were tried{of_normal}")
    if found.verdict == "differs":
        rows: list[dict[str, object]] = [
            {"nearest rules": " = ".join(one.names), "blocks": one.blocks} for one in found.nearest
        ]
        for row, one in zip(rows, found.nearest if found.normal else ()):
            row["of N(0,1)"] = one.normal
        output.table(rows)
    differs: list[dict[str, object]] = [
        {"differs": one.text, "blocks": one.blocks, "of N(0,1)": one.normal} for one in found.departures
    ]
    output.table(differs or [{"differs": cause, "blocks": count} for cause, count in found.causes.items()])
    if isinstance(tensors, dict) and len(tensors) > 1:
        wrong = [{"tensor": one_line(name), **counts} for name, counts in tensors.items() if counts["differing"]]
        output.table(wrong)
    for text in [*found.remarks, *found.witnesses]:
        output.say(text)
