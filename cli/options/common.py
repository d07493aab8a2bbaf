"""Options that verbs share: rules, hardware, and where designs are. A dataclass is a block of options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...hdl import BEST, CONFIGURATIONS, NVFP4_OPERATIONS
from .assignments import assigned, profile_and_fields

OPERATIONS = tuple(name for name in CONFIGURATIONS if name not in NVFP4_OPERATIONS.values())
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
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        show_default="generic",
        help=f"Target of the hardware: {', '.join(BEST)}. It selects the smallest measured "
        "micro-architecture; --set optimize=speed, balanced or plain selects another.",
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
Name = Annotated[str | None, typer.Option("--name", show_default="FORMAT_PROFILE", help="Name of the top module.")]
Design = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", show_default=False, help="Name of an emitted design with this configuration."
    ),
]
DesignFolder = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder with the emitted design.")]
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


@dataclass(frozen=True, kw_only=True)
class HardwareOptions(RuleOptions):
    """An operation, its hardware, and the folder and name of the design."""

    target: Target = None
    name: Name = None
    out: Out = Path("build")


@dataclass(frozen=True, kw_only=True)
class DesignOptions(HardwareOptions):
    """An operation and its hardware, perhaps an emitted design."""

    name: Design = None
    out: DesignFolder = Path("build")
