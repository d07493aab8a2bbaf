"""Mutants: small faults planted in the written Verilog. Does the regression find each, and if not, is it none?

Yosys plants all mutants in one design, where an input chooses the one that is active; so they are Verilated together
and each costs no more than its stimuli. What no stimulus finds is asked of the solver: a mutant that still equals the
specification is no fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from ..hdl import HardwareConfig, verilog
from ..host.cache import kept_folder
from ..host.errors import ToolError
from ..host.files import claimed
from ..sim.driver import Driver, build
from ..sim.operations import drawn, golden, of
from ..sim.transactions import Transactions
from ..spec import Port, Role
from ..synth.yosys import execute, yosys_version
from .design import Design
from .prove import Proof, Status, prove
from .questions import difference
from .solver import solve

__all__ = ["SUITE_BLOCKS", "Fate", "Mutant", "Mutation", "mutate"]

TOP = "dut"
SUITE_BLOCKS = 2000
"""Random blocks of the cocotb regression."""
MORE_BLOCKS = 1_000_000
"""Random blocks of `verify`."""
CHUNK = 1 << 15
VERIFY = "verify"
"""By what a mutant is killed that only they find."""


PATIENCE = 20
"""Seconds for the question whether a module has changed at all; a proof of the converter is asked next."""


class Fate(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One fault, in the words of Yosys' ``mutate``."""

    number: int
    fault: str
    fate: Fate
    by: str | None
    """The stimulus that killed it, or how the solver knows better."""

    def to_dict(self) -> dict:
        return {"number": self.number, "fault": self.fault, "fate": self.fate, "by": self.by}


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """The outcome of `mutate`."""

    config: HardwareConfig
    mutants: list[Mutant]
    seed: int

    def count(self, fate: Fate, by: str | None = None) -> int:
        return sum(mutant.fate is fate and by in (None, mutant.by) for mutant in self.mutants)

    @property
    def faults(self) -> int:
        """Mutants that are not proved equivalent."""
        return len(self.mutants) - self.count(Fate.EQUIVALENT)

    @property
    def suite(self) -> int:
        """Those of them that the blocks of the cocotb regression find."""
        return self.count(Fate.KILLED) - self.count(Fate.KILLED, VERIFY)

    def to_dict(self) -> dict:
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "seed": self.seed,
            "yosys": yosys_version(),
            "mutants": len(self.mutants),
            **{str(fate): self.count(fate) for fate in Fate},
            "faults": self.faults,
            "killed_by_suite": self.suite,
            "each": [mutant.to_dict() for mutant in self.mutants],
        }


def mutate(
    config: HardwareConfig,
    mutants: int = 200,
    *,
    seed: int = 0,
    out: Path | str = "build",
    timeout: float = 300,
    progress: Callable[[int, int], None] | None = None,
) -> Mutation:
    """Plant mutants in the emitted Verilog of a configuration, and find out what becomes of each.

    ``out`` is where the questions about those stay that no stimulus finds. Raises `ToolError` where a tool is missing,
    ValueError for a converter with modes, whose mode input the choice of a mutant would be mistaken for.
    """
    if config.alternatives or config.latency:
        raise ValueError("mutants are planted in converters of one format and one scale rule, without registers")
    if mutants < 1:
        raise ValueError(f"mutants must be at least 1, not {mutants}")
    folder, faults = _planted(config, mutants, seed)
    chosen = Port(name="mode", role=Role.MODE, direction="input", bits=len(faults).bit_length())
    ports = (*config.numerics.ports, chosen)
    design = Driver(build((folder / "mutants.v").read_text(), TOP, ports, lint=False), ports)
    suite = list(_suite(config, seed))
    if (name := _found(design, 0, suite)) is not None:
        raise ToolError(f"the design without an active mutant differs from the model ({name})")
    results = []
    for number, fault in enumerate(faults, 1):
        by, fate = _found(design, number, suite), Fate.KILLED
        if by is None:
            with claimed(inner := Path(out) / f"mutant{number}"):
                fate, by = _judged(config, fault, folder, inner, timeout)
        if fate not in (Fate.KILLED, Fate.EQUIVALENT) and _found(design, number, _more(config, seed)) is not None:
            fate, by = Fate.KILLED, VERIFY
        results.append(Mutant(number=number, fault=fault, fate=fate, by=by))
        if progress:
            progress(number, len(faults))
    return Mutation(config=config, mutants=results, seed=seed)


@dataclass(frozen=True)
class Stimulus:
    """Blocks, with what the golden model makes of them."""

    name: str
    given: Transactions
    expected: Transactions


def _expected(config: HardwareConfig, name: str, blocks: Transactions, seed: int) -> Stimulus:
    given = drawn(config.numerics, blocks, seed)
    return Stimulus(name, given, golden(config.numerics, given))


def _suite(config: HardwareConfig, seed: int) -> Iterator[Stimulus]:
    """What the cocotb regression drives."""
    rules = config.numerics
    for name, blocks in of(rules).regression(rules, SUITE_BLOCKS, seed).items():
        yield _expected(config, name, blocks, seed)


def _more(config: HardwareConfig, seed: int) -> Iterator[Stimulus]:
    """The blocks of `verify`."""
    for _, parts in of(config.numerics).stimuli(config.numerics, "standard", MORE_BLOCKS, seed):
        for number, blocks in enumerate(parts):
            yield _expected(config, VERIFY, blocks, seed + CHUNK * number)


def _found(design: Driver, mutant: int, stimuli: Iterable[Stimulus]) -> str | None:
    """The first stimulus on which a design with an active mutant differs from the model."""
    for one in stimuli:
        if design(_with_mutant(one.given, mutant)).differ(one.expected).any():
            return one.name
    return None


def _with_mutant(given: Transactions, mutant: int) -> Transactions:
    return given.with_arrays({Role.MODE: np.full((len(given), 1), mutant)})


def _planted(config: HardwareConfig, mutants: int, seed: int) -> tuple[Path, list[str]]:
    """A folder with the Verilog and with all mutants in one, and the faults."""
    text = verilog(config, TOP)

    def make(folder: Path) -> None:
        (folder / "dut.v").write_text(text)
        read = ["read_verilog dut.v", f"hierarchy -check -top {TOP}", "proc"]
        execute([*read, "write_json structure.json", f"mutate -list {mutants} -seed {seed} -o faults.txt"], folder)
        modules = json.loads((folder / "structure.json").read_text())["modules"]
        faults = [line.removeprefix("mutate ") for line in (folder / "faults.txt").read_text().splitlines() if line]
        width = len(faults).bit_length()
        commands = []
        for module, content in modules.items():
            commands += [
                f"cd {module}",
                f"add -input mode {width}",
                *(
                    f"connect -port {name} mode \\mode"
                    for name, cell in content["cells"].items()
                    if cell["type"] in modules
                ),
                "cd ..",
            ]
        planted = [f"mutate {fault} -ctrl mode {width} {number}" for number, fault in enumerate(faults, 1)]
        execute([*read, *commands, *planted, "opt_clean", "write_verilog -noattr mutants.v"], folder)
        (folder / "faults.json").write_text(json.dumps(faults))

    folder = kept_folder("mutants", [text, str(mutants), str(seed), yosys_version()], make)
    return folder, json.loads((folder / "faults.json").read_text())


def _judged(config: HardwareConfig, fault: str, folder: Path, out: Path, timeout: float) -> tuple[Fate, str]:
    """What the solver says of a mutant that no stimulus has found."""
    (out / "dut.v").write_text(
        (folder / "dut.v").read_text()
    )  # faults name cells after the file that they are read from
    execute(
        [
            "read_verilog dut.v",
            f"hierarchy -check -top {TOP}",
            "proc",
            f"mutate {fault}",
            "opt_clean",
            "write_verilog -noattr mutant.v",
        ],
        out,
    )
    module = fault.split("-module ")[1].split()[0]
    right, wrong = (Design((out / f"{name}.v").read_text(), TOP, out / name) for name in ("dut", "mutant"))
    if solve(difference(right, wrong, module), ("differs",), timeout=min(timeout, PATIENCE)).result == "unsat":
        return Fate.EQUIVALENT, f"{module} is what it was"
    proof: Proof = prove(config, rtl=out / "mutant.v", name=TOP, timeout=timeout)  # perhaps what changed never matters
    if proof.status is Status.PASS:
        return Fate.EQUIVALENT, f"proved {proof.method}"
    if proof.counterexample:
        return Fate.SURVIVED, proof.counterexample.report
    return Fate.UNDECIDED, str(proof.status)
