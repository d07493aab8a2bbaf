"""Verilator's run-time library, compiled once and kept, because it takes longer than most designs.

The driver and cocotb each need a copy, because they compile it with different options.
"""

from __future__ import annotations

import shlex
import shutil
from importlib.resources import files
from pathlib import Path

from ....host.cache import kept_folder, scratch
from ....host.errors import ToolError
from ....host.processes import run
from .. import tools

OPTIMISATION = "-O1"
"""Optimisation of designs: -O2 takes a third more time for code that is a twelfth faster. No design spends its time in
the library, so the library is not optimised.
"""
OURS = "-DVL_USER_FATAL"
"""The macro by which driver.cpp replaces functions of Verilator's library."""
SILENT = "silent.h"
"""Header included when the driver's library is compiled."""
LIBRARY = "library.o"
"""Object file that is linked to a design under cocotb."""
HEADER = "first.h"
"""Header included when a design is compiled: Verilator's header, which GCC precompiles."""


def driver_library(root: Path) -> Path:
    """The folder with the objects that are linked to a driver, and the header of all designs."""
    silent = (files(__package__) / SILENT).read_text()

    def make(folder: Path) -> None:
        (folder / SILENT).write_text(silent)
        for name in ("verilated", "verilated_threads"):
            source = f"{root}/include/{name}.cpp"
            compile_cpp(folder, [OURS, "-O0", "-include", SILENT, *includes(root), "-c", source], f"{name}.o")
        objects = sorted(path.name for path in folder.glob("*.o"))
        compile_cpp(folder, ["-shared", *objects], "linked.so")  # checks that the files can be linked
        (folder / "linked.so").unlink()
        (folder / HEADER).write_text('#include "verilated.h"\n')
        if tools.compiler_is_gcc():  # other compilers refuse the result after its folder is renamed
            compile_cpp(folder, [*includes(root), "-x", "c++-header", HEADER], f"{HEADER}.gch")

    key = [tools.verilator_version(), *tools.compiler_identity(), OPTIMISATION, "library -O0", OURS, silent, HEADER]
    return kept_folder("verilator-runtime", key, make, renewable=False)


def cocotb_library(environment: dict[str, str]) -> Path:
    """The folder with the object file `LIBRARY` for designs under cocotb, and with GCC their precompiled header.
    Verilator's own makefile compiles them in this environment, for a design without waveforms.
    """
    headers = '#include "verilated_vpi.h"\n'
    design = {"m.v": "module m; endmodule\n", "main.cpp": "int main() {}\n", "headers.cpp": headers}
    options = ["--cc", "--exe", "--vpi", "--prefix", "Vtop", "--top-module", "m", "-Mdir", "."]

    def make(folder: Path) -> None:
        with scratch(plain=True) as work:  # make and Verilator interpret some characters in names of folders
            for name, text in design.items():
                (work / name).write_text(text)
            run_tool(work, ["verilator", *options, *design], environment)
            run_tool(work, [tools.make(), "-f", "Vtop.mk", "VM_TRACE=0"], environment)
            objects = sorted(path.name for path in work.glob("verilated*.o"))
            compile_cpp(work, ["-r", "-nostdlib", *objects], LIBRARY)
            shutil.copyfile(work / LIBRARY, folder / LIBRARY)
            (folder / HEADER).write_text(headers)
            if tools.compiler_is_gcc():
                (work / "headers.o").unlink()
                as_header = f"{environment['MAKEFLAGS']} CXX={in_make([*tools.compiler(), '-x', 'c++-header'])}"
                run_tool(work, [tools.make(), "-f", "Vtop.mk", "headers.o"], {**environment, "MAKEFLAGS": as_header})
                shutil.copyfile(work / "headers.o", folder / f"{HEADER}.gch")

    key = [tools.verilator_version(), *tools.compiler_identity(), environment["MAKEFLAGS"], *options, headers]
    return kept_folder("verilator-runtime", key, make, renewable=False)


def take_library(library: Path, folder: Path, environment: dict[str, str]) -> None:
    """Let make, which runs in a folder inside ``folder``, use the library and the header of `cocotb_library`."""
    for file in library.iterdir():
        (folder / file.name).symlink_to(file)
    compiler = in_make([*tools.compiler(), "-include", f"../{HEADER}"])
    environment["MAKEFLAGS"] += f" VM_PARALLEL_BUILDS=0 VK_GLOBAL_OBJS= LOADLIBES=../{LIBRARY} CXX={compiler}"


def in_make(command: list[str]) -> str:
    """A command as the value of a variable in MAKEFLAGS."""
    return shlex.join(command).replace(" ", r"\ ")


def includes(root: Path) -> list[str]:
    """Options that name Verilator's headers."""
    return [f"-I{root}/include", f"-I{root}/include/vltstd"]


def compile_cpp(folder: Path, arguments: list[str], written: str) -> None:
    """Run the C++ compiler. It must write the file ``written``, as its exit status alone proves nothing."""
    compiler = tools.compiler()
    run_tool(folder, [*compiler, OPTIMISATION, "-fPIC", *arguments, "-o", written], tools.simulator_environment())
    if not (folder / written).is_file():
        raise ToolError(f"the C++ compiler {shlex.join(compiler)} failed: it wrote no {written}")


def run_tool(folder: Path, command: list[str], environment: dict[str, str]) -> None:
    """Run a tool. Raises `ToolError` with its message if it fails."""
    done = run(command, cwd=folder, environment=environment)
    if done.status:
        lines = (done.errors + done.output).splitlines()
        first = next(
            (
                line
                for start in ("%Error", "")
                for line in lines
                if (start and line.startswith(start)) or (not start and "error" in line)
            ),
            f"exit status {done.status}",
        )
        raise ToolError(f"{Path(command[0]).name} failed: {first.strip()}")
