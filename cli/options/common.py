"""Options that verbs share: rules, seeds and folders. A dataclass is a block of options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...spec import NVFP4_OPERATIONS
from .assignments import RULES, assigned, profile_and_fields

OPERATIONS = tuple(name for name in RULES if name not in NVFP4_OPERATIONS.values())
"""Operations that --op names. The format decides between a converter to MX formats and one to NVFP4."""

Format = Annotated[
    str | None,
    typer.Argument(
        metavar="FORMAT",
        show_default=False,
        help="A format, such as e4m3 or int8 (mxcast list formats), or all for the six of OCP. Formats with commas "
        "between them are the modes of one converter. For --op cast: e4m3, ue8m0, ..., or an instruction of PTX.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        show_default="ocp",
        help="Rules by name (mxcast list profiles). Fields after a colon replace some of them: te:scale_rule=ceil.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Replace one rule of the profile (mxcast list rules); repeatable. Scale rules with commas between them "
        "are the modes of one converter. registered_after=NAMES places registers. latency=CYCLES or frequency_mhz=MHZ "
        "place them by estimated delays.",
    ),
]
Op = Annotated[str, typer.Option("--op", metavar="NAME", help=f"The operation: {', '.join(OPERATIONS)}.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        show_default=False,
        help="TOML with format, profile, name and the tables numerics and microarchitecture.",
    ),
]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Output folder.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random stimuli.")]
Blocks = Annotated[int, typer.Option("--blocks", min=1, help="Number of random blocks.")]
Force = Annotated[bool, typer.Option("--force", help="Ignore cached results, and results in the output folder.")]

FormatOption = Annotated[
    str | None,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT",
        show_default=False,
        help="e4m3, mxfp8_e4m3, int8, nvfp4, ... (mxcast list formats).",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ProfileOptions:
    """A profile, and rules in place of its own."""

    profile: Profile = None
    set: Set = None

    def name_and_fields(self) -> tuple[str | None, dict[str, object]]:
        """The name of the profile, if one is given, and the fields that replace its own. The operation checks them."""
        name, replaced = (None, {}) if self.profile is None else profile_and_fields(self.profile)
        return name, {**replaced, **assigned(self.set or ())}


@dataclass(frozen=True, kw_only=True)
class RuleOptions(ProfileOptions):
    """An operation and its rules."""

    format: Format = None
    op: Op = "encode"
    config: Config = None
