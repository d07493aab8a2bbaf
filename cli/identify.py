"""`mxcast identify`: which rules somebody's software follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..spec.catalogue import unknown_name
from ..spec.profiles import operation_of
from .check_rtl import NAN_CODES
from .errors import ExitCode
from .options import Json, Op, Profile, Quiet, Seed, Set, Verbose, assignment, profile_and_fields
from .output import Output

if TYPE_CHECKING:
    from ..conformance.identify import Identification

__all__ = ["identify"]


def identify(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="FUNCTION",
            show_default=False,
            help="MODULE:NAME, FILE.py:NAME, LIBRARY.so:NAME, or an adapter (mxcast list adapters).",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option("-f", "--format", metavar="FORMAT", show_default=False, help="e4m3, mxfp4_e2m1, nvfp4, ..."),
    ] = None,
    op: Op = "encode",
    profile: Profile = None,
    set: Set = None,
    nan_codes: Annotated[
        str, typer.Option("--nan-codes", metavar="exact|free", help="Whether codes under a scale that is NaN matter.")
    ] = "exact",
    blocks: Annotated[int, typer.Option("--blocks", min=1, help="How many random blocks.")] = 20_000,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the rules that a function follows: it is called with hard blocks, and its bits are compared with those of
    every profile and of every profile with one rule changed.

    An encoder is called with x, float32 (n, 32), and returns scales (n,) and codes (n, 32), or numbers like x. Of nvfp4
    it is called with a tensor, (n, 16). With --op decode it is called with scales and codes, uint8, and returns
    numbers; with --op cast with x (n,), and returns codes. A function of a shared library gets pointers: void f(const
    float *x, uint8_t *scales, uint8_t *codes, size_t blocks). With --profile the function is to follow that profile.

    FOLLOWS: exit code 0. DIFFERS: 1, with the nearest rules and the smallest block. UNKNOWN: 4; two sets of rules fit,
    or the function is random.
    """
    output = Output(json, quiet, verbose)
    if format is None:
        raise ValueError(f"a format is missing: mxcast identify {subject} --format e4m3")
    if nan_codes not in NAN_CODES:
        raise ValueError(unknown_name("choice of --nan-codes", nan_codes, NAN_CODES))
    from ..conformance.identify import identify as identified
    from ..conformance.locate import located

    name, replaced = (None, {}) if profile is None else profile_and_fields(profile)
    fields: dict[str, Any] = replaced | dict(map(assignment, set or ()))  # of a user: checked where they are used
    rules = operation_of(op, format, name, **fields)
    function = located(subject, rules)
    with output.steps(f"identifying {subject}") as progress:
        found = identified(
            function,
            rules,
            expected=profile is not None,
            nan_codes_free=nan_codes == "free",
            seed=seed,
            blocks=blocks,
            name=subject,
            progress=progress,
        )
    _show(found, output)
    output.document(found.to_dict() | {"function": subject, "seed": seed})
    if found.verdict == "unknown":
        raise typer.Exit(ExitCode.INCONCLUSIVE)
    if found.verdict == "differs" or (profile is not None and not found.follows(rules)):
        raise typer.Exit(ExitCode.FAILED)


def _show(found: Identification, output: Output) -> None:
    output.say(f"{str(found.verdict).upper()}: {found.sentence}")
    output.say(f"{found.blocks:,} blocks were tried, {found.normal:,} of them of N(0,1)")
    if found.verdict == "differs":
        output.table(
            [
                {"nearest rules": " = ".join(one.names), "blocks": one.blocks, "of N(0,1)": one.normal}
                for one in found.nearest
            ]
        )
    output.table([{"differs": cause, "blocks": count} for cause, count in found.causes.items()])
    for text in filter(None, [*found.remarks, found.witness]):
        output.say(text)
