"""The model in C of a design, in the folders ``c/`` and ``dpi/`` next to its Verilog."""

from __future__ import annotations

from pathlib import Path

from ..hdl import HardwareConfig
from ..host.files import write_whole
from .configured import check_config, configured_header
from .dpi import MAKEFILE, behind, check_dpi, package
from .program import texts
from .scoreboard import scoreboard
from .structs import HEADER


def check_added(config: HardwareConfig, *, c: bool, dpi: bool) -> None:
    """Raise ValueError if a folder that is asked for cannot be written for a configuration."""
    if c:
        check_config(config)
    if dpi:
        check_dpi(config)


def write_added(config: HardwareConfig, out: Path, name: str, *, c: bool, dpi: bool) -> dict[str, Path]:
    """Write the folders that are asked for. Returns the files by kind."""
    return (write_c(config, out, name) if c else {}) | (write_dpi(config, out, name) if dpi else {})


def write_c(config: HardwareConfig, out: Path, name: str) -> dict[str, Path]:
    """Write ``<out>/<name>/c/``: ``mxcast.h``, ``<name>.h``, a program, a test and their makefile. Returns the files by
    kind. Raises ValueError for an operation that the header lacks.
    """
    check_config(config)
    files = {"mxcast.h": HEADER.read_text(), f"{name}.h": configured_header(config, name), **texts(config, name)}
    kinds = ("c_library", "c_header", "c_program", "c_test", "c_makefile")
    folder = Path(out) / name / "c"
    return {kind: write_whole(folder / file, text) for kind, (file, text) in zip(kinds, files.items(), strict=True)}


def write_dpi(config: HardwareConfig, out: Path, name: str) -> dict[str, Path]:
    """Write ``<out>/<name>/dpi/``: a SystemVerilog package, the C behind it, and a scoreboard that compares the design
    with the model. Returns the files by kind. Raises ValueError for an operation without a scoreboard.
    """
    check_dpi(config)
    files = {
        "mxcast.h": HEADER.read_text(),
        f"{name}.h": configured_header(config, name),
        f"{name}_dpi.c": behind(config, name),
        f"{name}_dpi_pkg.sv": package(config, name),
        f"{name}_scoreboard.sv": scoreboard(config, name),
        "Makefile": MAKEFILE.format(name=name),
    }
    kinds = ("dpi_library", "dpi_header", "dpi_c", "dpi_package", "dpi_scoreboard", "dpi_makefile")
    folder = Path(out) / name / "dpi"
    return {kind: write_whole(folder / file, text) for kind, (file, text) in zip(kinds, files.items(), strict=True)}
