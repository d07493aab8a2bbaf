"""Files around the Verilog of a converter: file lists, a FuseSoC core, and instantiations to paste."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...spec import Port

LIBRARY = "mxcast:mx"
"""Vendor and library of the cores."""

About: TypeAlias = Mapping[str, Any]
"""The JSON about a design, as `emit.describe` returns it."""


def file_list(files: Sequence[str], folder: Path | None = None) -> str:
    """A list of files for the option ``-F`` of simulators, with paths relative to the list.

    With the ``folder`` of the files it is a list for ``-f``, the only such option of Icarus. Its paths are relative to
    the current folder, from which the simulator must be started.
    """
    paths = files if folder is None else [os.path.relpath(folder / file) for file in files]
    return "".join(f"{path}\n" for path in paths)


def core(about: About, title: str, files: Sequence[str], bench: str | None, top: str) -> str:
    """The core file of FuseSoC: ``files`` for synthesis with the module ``top``, and optionally a self-checking
    ``bench``.

    The targets are ``default`` (for designs that depend on the core), ``lint`` (Verilator), ``synth`` (Yosys) and, with
    a bench, ``sim`` (Icarus). The last part of the version is the configuration as a number, so that two configurations
    with one name are two versions.
    """
    name = about["name"]
    text = f"""CAPI=2:
name: {LIBRARY}:{name}:{about["generator"]["mxcast"]}.{int(about["config_id"], 16)}
description: {title} ({about["config_id"]})
filesets:
  rtl:
    files: [{", ".join(files)}]
    file_type: verilogSource
"""
    if bench:
        text += f"""  tb:
    files: [{bench}]
    file_type: verilogSource
"""
    text += f"""targets:
  default: &default
    filesets: [rtl]
    toplevel: {top}
  lint:
    <<: *default
    flow: lint
    flow_options: {{tool: verilator, verilator_options: [-Wall]}}
  synth:
    <<: *default
    flow: generic
    flow_options: {{tool: yosys, arch: xilinx}}
"""
    if bench:
        text += f"""  sim:
    filesets: [rtl, tb]
    toplevel: {bench.partition(".")[0]}
    flow: sim
    flow_options: {{tool: icarus}}
"""
    return text


def templates(name: str, pins: Sequence[Port]) -> dict[str, str]:
    """Instantiations of a module with declarations of the connected signals, by file extension: Verilog and
    SystemVerilog.
    """
    connections = ",\n".join(f"    .{pin.name}({pin.name})" for pin in pins)

    def template(kind: str) -> str:
        declarations = "".join(f"{kind} [{pin.width - 1}:0] {pin.name};\n" for pin in pins)
        return f"{declarations}\n{name} {name}_0 (\n{connections}\n);\n"

    return {"v": template("wire"), "sv": template("logic")}
