"""The model in C of a design, in the folder ``c/`` next to its Verilog."""

from __future__ import annotations

from pathlib import Path

from ..hdl import HardwareConfig
from ..host.files import write_whole
from .configured import check_config, configured_header
from .program import texts
from .structs import HEADER


def write_c(config: HardwareConfig, out: Path, name: str) -> dict[str, Path]:
    """Write ``<out>/<name>/c/``: ``mxcast.h``, ``<name>.h``, a program, a test and their makefile. Returns the files by
    kind. Raises ValueError for an operation that the header lacks.
    """
    check_config(config)
    files = {"mxcast.h": HEADER.read_text(), f"{name}.h": configured_header(config, name), **texts(config, name)}
    kinds = ("c_library", "c_header", "c_program", "c_test", "c_makefile")
    folder = Path(out) / name / "c"
    return {kind: write_whole(folder / file, text) for kind, (file, text) in zip(kinds, files.items(), strict=True)}
