"""Options of hardware, and where designs are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from ...hdl import BEST
from .common import Out, RuleOptions

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
Name = Annotated[str | None, typer.Option("--name", show_default="FORMAT_PROFILE", help="Name of the top module.")]
Design = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", show_default=False, help="Name of an emitted design with this configuration."
    ),
]
DesignFolder = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder with the emitted design.")]


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
