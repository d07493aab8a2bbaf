"""The model in C of a design: the files of ``c/`` and ``dpi/`` next to its Verilog, which `hdl.emit` adds to it."""

from __future__ import annotations

from ..hdl import HardwareConfig
from .configured import check_config, configured_header
from .dpi import MAKEFILE, behind, check_dpi, package
from .program import texts
from .scoreboard import scoreboard
from .structs import HEADER

Files = dict[str, tuple[str, str]]
"""The path in the folder of a design, and the text, of each kind of file."""


def c_files(config: HardwareConfig, name: str) -> Files:
    """``mxcast.h``, ``<name>.h``, a program, a test and their makefile.

    Raises ValueError for an operation that the header lacks.
    """
    check_config(config)
    own = dict(zip(("program", "test", "makefile"), texts(config, name).items(), strict=True))
    return _in_folder("c", config, name, own)


def dpi_files(config: HardwareConfig, name: str) -> Files:
    """``mxcast.h``, ``<name>.h``, a SystemVerilog package, the C behind it, a scoreboard that compares the design with
    the model, and their makefile.

    Raises ValueError for an operation without a scoreboard.
    """
    check_dpi(config)
    own = {
        "c": (f"{name}_dpi.c", behind(config, name)),
        "package": (f"{name}_dpi_pkg.sv", package(config, name)),
        "scoreboard": (f"{name}_scoreboard.sv", scoreboard(config, name)),
        "makefile": ("Makefile", MAKEFILE.format(name=name)),
    }
    return _in_folder("dpi", config, name, own)


def _in_folder(folder: str, config: HardwareConfig, name: str, own: Files) -> Files:
    """The header, its part for this configuration, and the files of one kind, in a folder."""
    headers = {"library": ("mxcast.h", HEADER.read_text()), "header": (f"{name}.h", configured_header(config, name))}
    return {f"{folder}_{kind}": (f"{folder}/{file}", text) for kind, (file, text) in (headers | own).items()}
