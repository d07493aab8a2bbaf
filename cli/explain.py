"""`mxcast explain`: one block, step by step."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Config, Json, Profile, Quiet, Set, Verbose, request
from .output import Output

__all__ = ["explain"]


def explain(
    format: Annotated[
        str | None,
        typer.Argument(
            metavar="FORMAT", show_default=False, help="e4m3, mxfp8_e4m3, int8, e3m3, ... (mxcast list formats)."
        ),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option(
            "--values",
            metavar="LIST",
            show_default=False,
            help="The block: numbers, 0x patterns, nan, inf, each with *COUNT; or FILE:TENSOR[ROW, BLOCK].",
        ),
    ] = None,
    random: Annotated[
        str | None,
        typer.Option(
            "--random", metavar="LIST", show_default=False, help="Random bits of each element, for the rounding sr."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show the elements that are zero too.")] = False,
    profile: Profile = None,
    set: Set = None,
    config: Config = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Convert one block and show every step: classes, largest magnitude, scale under every rule, bits and error of each
    element.

    Zeros complete the block. Numbers that the source format lacks are rounded to it. What verify, compare and failing
    tests print as a counterexample is taken as it is.
    """
    output = Output(json, quiet, verbose)
    usage = "explain {} --values '1.5, -0.3, 0x3F800000, 1e-3*8'"
    chosen = request(usage, format, profile, set, config, allow_all=False).encoders[0]
    if values is None:
        raise ValueError(f"values are missing: mxcast {usage.format(chosen.numerics.block.short_name)}")
    output.configuration(chosen)
    from dataclasses import replace

    from ..models import explain
    from .steps import show
    from .values import read_random, read_values

    block = read_values(values, chosen.numerics)
    drawn = None if random is None else read_random(random)
    explanation = replace(explain(block.block, chosen.numerics, random=drawn), profile=chosen.profile)
    show(explanation, output, block.remarks, everything)
    output.document(explanation.to_dict() | {"input": {"values": values, "remarks": list(block.remarks)}})
