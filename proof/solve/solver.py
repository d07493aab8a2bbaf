"""SMT solvers from PyPI, each in a child process, so that a crash or a time-out becomes an answer."""

from __future__ import annotations

import re
import resource
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import cast

from ...host.cache import kept_result, refreshed
from ...host.errors import ToolError, ToolMissing
from ...host.processes import TookTooLong, python, run
from ...spec.catalogue import constructed, unknown_name

SOLVERS = {
    "bitwuzla": (
        "bitwuzla",
        "pip install '.[proof]' in a checkout of mxcast",
        """
import sys, bitwuzla
options = bitwuzla.Options()
options.set(bitwuzla.Option.PRODUCE_MODELS, True)
parser = bitwuzla.Parser(bitwuzla.TermManager(), options, base=2)
parser.parse(sys.argv[1], True, True)
solver = parser.bitwuzla()
result = solver.check_sat()
print(result)
if result == bitwuzla.Result.SAT:
    for name in sys.argv[2:]:
        print(f"({name} {solver.get_value(parser.parse_term(name))})")
""",
    ),
    "z3": (
        "z3-solver",
        "pip install z3-solver",
        """
import sys, z3
context = z3.main_ctx().ref()
result = z3.Z3_eval_smtlib2_string(context, open(sys.argv[1]).read() + "(check-sat)")
print(result)
if result.strip() == "sat":
    print(z3.Z3_eval_smtlib2_string(context, f"(get-value ({' '.join(sys.argv[2:])}))"))
""",
    ),
}
"""Solvers by name: the package, how to install it, and a program that prints the answer to a file of SMT-LIB and, for
``sat``, the values of the constants named after the file."""

LONGEST = 1_000_000
"""The largest timeout of a solver, in seconds."""

VALUE = re.compile(r"\(\s*([A-Za-z_]\w*)\s+(#b[01]+|#x[0-9a-fA-F]+|true|false)\s*\)")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer of a solver: ``sat``, ``unsat``, ``unknown`` or ``timeout``; with ``sat`` a number for each name.

    ``seconds`` is processor time, which other work on the machine hardly changes.
    """

    result: str
    seconds: float
    values: dict[str, int]


def solver_version(solver: str) -> str:
    """Version of the package of a solver. Raises ValueError for an unknown name, `ToolMissing` if it is missing."""
    if solver not in SOLVERS:
        raise ValueError(unknown_name("solver", solver, SOLVERS))
    try:
        return version(SOLVERS[solver][0])
    except PackageNotFoundError:
        raise ToolMissing(f"the solver {solver} is missing: {SOLVERS[solver][1]}") from None


def solve(
    text: str, names: tuple[str, ...], *, solver: str = "bitwuzla", timeout: float = 900, force: bool = False
) -> Answer:
    """The answer to the SMT-LIB ``text``, without its last command; with ``sat`` the values of the constants ``names``.

    ``sat`` and ``unsat`` are cached by content.
    """
    if not 0 < timeout <= LONGEST:
        raise ValueError(f"a timeout is above 0 and at most {LONGEST:,} seconds, not {timeout:g}")
    if not names:
        raise ValueError("a question needs names, so that its answer can be read")

    def compute(folder: Path) -> dict[str, object]:
        start = _used()
        result, values = _ask(folder / "question.smt2", text, names, solver, timeout)
        (folder / "question.smt2").unlink()
        answer = Answer(result=result, seconds=round(_used() - start, 2), values=values)
        if result in ("timeout", "unknown"):
            raise NoAnswer(answer)
        return asdict(answer)

    try:
        with refreshed(force):
            key = [text, *names, SOLVERS[solver][2], solver_version(solver)]
            return constructed(Answer, cast("dict[str, object]", kept_result("proofs", key, compute)))
    except NoAnswer as none:
        return none.answer


class NoAnswer(Exception):
    """An answer that is not cached."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.result)
        self.answer = answer


def _used() -> float:
    """Processor time of the ended children of this process, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _ask(path: Path, text: str, names: tuple[str, ...], solver: str, timeout: float) -> tuple[str, dict[str, int]]:
    """``sat`` and the values of ``names``; or ``unsat``, ``unknown`` or ``timeout`` without values."""
    path.write_text(text)
    try:
        done = run(python(SOLVERS[solver][2], path.name, *names), cwd=path.parent, timeout=timeout)
    except TookTooLong:
        return "timeout", {}
    result, _, rest = done.output.partition("\n")
    if done.status or result not in ("sat", "unsat", "unknown"):
        said = (done.errors + done.output).strip().splitlines()
        raise ToolError(f"{solver} failed: {said[-1] if said else f'exit status {done.status}'}")
    values = {
        name: int(value[2:], 2 if value[1] == "b" else 16) if value[0] == "#" else int(value == "true")
        for name, value in VALUE.findall(rest)
    }
    if set(values) != (set(names) if result == "sat" else set()):
        raise ToolError(f"{solver} found an answer but gave no values for it")
    return result, values
