"""`mxcast synth`: what the hardware costs."""

from __future__ import annotations

from typing import Annotated

import typer

from ..spec.catalogue import unknown_name
from .options import Config, Force, Format, Json, Profile, Quiet, Set, Verbose, request
from .output import Output

__all__ = ["synth"]


def synth(format: Format = None,
          target: Annotated[str, typer.Option("--target", metavar="NAME",
                                              help="What to map to (mxcast list targets).")] = "xcu",
          profile: Profile = None, set: Set = None, config: Config = None, force: Force = False,
          jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many at a time.")] = 2,
          json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Synthesize with Yosys and count: LUTs, carries, flip-flops, logic levels."""
    output = Output(json, quiet, verbose)
    asked = request("synth {}", format, profile, set, config)
    from ..synth import TARGETS, synth_all
    from ..synth.report import NOTE, table

    if target not in TARGETS:
        raise ValueError(unknown_name("target", target, TARGETS))
    for chosen in asked.configs:
        output.configuration(chosen)
    with output.progress(f"synthesizing for {target}") as progress:
        results = synth_all(list(asked.configs), target, jobs=jobs, force=force, progress=progress)
    output.table(table(results), TARGETS[target].description)
    output.say(NOTE)
    output.document(asked.of([result.to_dict() for result in results]))
