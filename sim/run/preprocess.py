"""Verilog files as one text without include files and macros, which all tools read alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...host.errors import ToolError
from ...host.files import regular
from ...host.processes import run
from . import tools

VHDL = (".vhd", ".vhdl")
"""Suffixes of VHDL files."""

LINE = re.compile(r"^(`line \d+ \")(.*)(\" \d)$", re.MULTILINE)
"""A line directive; Yosys accepts only plain names of files in it."""

READING = re.compile(r"^- V3PreShell\.cpp:\d+: +Reading (.*)$", re.MULTILINE)
SYMBOL = "SYMBOL: "
"""Text before each word in a trace."""
NOT_READ = re.compile(r"^- V3PreProc\.cpp:\d+:  DEFINE '\w+' as '' params ''$|/\* ?verilator\b", re.MULTILINE)
"""Lines of a trace that do not ask about a macro of the text: a macro that the command line defines, and the first word
of a comment to Verilator. A macro that the text defines is also a word that is read.
"""
WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)

MACRO = re.compile(r"[A-Za-z_]\w*", re.ASCII)

COVERAGE = tuple(
    f"SV_COV_{name}"
    for name in (
        "START",
        "STOP",
        "RESET",
        "CHECK",
        "MODULE",
        "HIER",
        "ASSERTION",
        "FSM_STATE",
        "STATEMENT",
        "TOGGLE",
        "OVERFLOW",
        "ERROR",
        "NOCOV",
        "OK",
        "PARTIAL",
    )
)
"""Macros of the standard (IEEE 1800-2017, 40.3.1), which simulators define and synthesis tools do not."""

OF_VERILATOR = ("VERILATOR", "verilator", "verilator3", "SYSTEMVERILOG", "coverage_block_off", *COVERAGE)
"""Macros that Verilator defines (``verilator -E --dump-defines``)."""


def verilog_file(path: Path | str) -> Path:
    """The path of a Verilog file. Raises ValueError for the name of a VHDL file."""
    if Path(path).suffix.lower() in VHDL:
        raise ValueError(
            f"{path} is VHDL, and mxcast reads Verilog and SystemVerilog: translate it first, for example by "
            "ghdl synth --out=verilog"
        )
    return Path(path)


def preprocessed(
    files: Sequence[Path],
    include: Sequence[Path] = (),
    define: Iterable[str] = (),
    of_tools: Mapping[str, bool] | None = None,
) -> str:
    """The files, in their order, through Verilator's preprocessor.

    ``include`` are folders of include files, and ``define`` are macros, NAME or NAME=TEXT. ``of_tools`` says whether
    the macros by which tools identify themselves are defined, by default ``SYNTHESIS`` and ``VERILATOR``. Comments are
    removed, because some tools skip the text between two of them (``translate_off``). Line directives stay, so that
    later messages name the user's files. Raises ValueError with Verilator's first message, for names that are not
    macros, and for missing include folders.
    """
    output = _output(files, include, define, of_tools, [])
    return LINE.sub(lambda found: found[1] + re.sub(r"(\\\d+)+|[^\w./+-]", "_", found[2]) + found[3], output)


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Words and files that Verilator's preprocessor read."""

    words: frozenset[str]
    """All words, also of expanded macros and in tests for macros."""
    files: list[Path]
    """All files, also included ones."""


def traced(
    files: Sequence[Path],
    include: Sequence[Path] = (),
    define: Iterable[str] = (),
    of_tools: Mapping[str, bool] | None = None,
) -> Trace:
    """The words and files that `preprocessed` reads for the same arguments."""
    output = _output(files, include, define, of_tools, ["--debugi-V3PreProc", "5", "--debugi-V3PreShell", "5"])
    found = [Path(name) for name in READING.findall(output)]
    if SYMBOL not in output and not LINE.sub("", _output(files, include, define, of_tools, [])).strip():
        raise ValueError(f"{', '.join(map(str, files))}: there is no Verilog in it")
    if len(found) < len(files) or SYMBOL not in output:
        raise ToolError("this Verilator does not say which files and macros its preprocessor reads")
    return Trace(words=frozenset(WORD.findall(NOT_READ.sub("", output))), files=found)


def _output(
    files: Sequence[Path],
    include: Sequence[Path],
    define: Iterable[str],
    of_tools: Mapping[str, bool] | None,
    options: Sequence[str],
) -> str:
    for macro in (define := list(define)):
        if not MACRO.fullmatch(macro.partition("=")[0]):
            raise ValueError(f"a macro is NAME or NAME=TEXT, and its name one of Verilog, not {macro!r}")
    for file in files:
        open(regular(verilog_file(file))).close()  # an error with its name, if it cannot be read
    for folder in include:
        if not folder.is_dir():
            raise ValueError(f"there is no folder {folder} of include files")
    chosen = {"SYNTHESIS": True, "VERILATOR": True} if of_tools is None else of_tools
    macros = [f"-U{macro}" for macro, on in chosen.items() if not on]
    macros += [f"-D{macro}" for macro, on in chosen.items() if on and macro not in OF_VERILATOR]
    command = [
        str(tools.verilator_root() / "bin" / "verilator_bin"),
        "-E",
        "-Wno-fatal",
        *options,
        *macros,
        *(f"-I{folder}" for folder in include),
        *(f"-D{macro}" for macro in define),
        *(f"./{file}" if str(file).startswith("-") else str(file) for file in files),  # a name, not an option
    ]
    done = run(command, environment=tools.simulator_environment())
    if done.status:
        first = next(
            (line for line in done.errors.splitlines() if line.startswith("%Error") and "Exiting due to" not in line),
            f"exit status {done.status}",
        )
        raise ValueError(f"Verilator cannot read the files: {first}")
    return done.output
