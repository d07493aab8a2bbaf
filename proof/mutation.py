"""Mutants: small faults planted in the written Verilog, each of which the regression should find.

Yosys plants all mutants in one design, which asks for the active one; so they are Verilated together, and each costs
only its stimuli. The solver decides about mutants that no stimulus finds: a mutant that still meets the
specification is not a fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import numpy as np

from ..hdl import HardwareConfig, verilog
from ..host.cache import kept_folder
from ..host.errors import ToolError
from ..host.files import claimed
from ..sim.operations import drawn, golden, of
from ..sim.run.verilator.driver import ACTIVE, Driver
from ..sim.run.verilator.handshake import HandshakeError
from ..sim.run.verilator.verilated import driver_of
from ..sim.transactions import Transactions
from ..spec import FP32, Role
from ..synth.yosys import execute, yosys_version
from .netlist.design import Design
from .netlist.structure import StructureError
from .operations import provable
from .questions.difference import differences, has_constants
from .questions.question import Question
from .solve.argument import Status
from .solve.prove import Proof, prove
from .solve.solver import Answer, solve
from .specification.encode import bits

TOP, MUTANT = "dut", "mutant.v"
SUITE_BLOCKS = 2000
"""Random blocks of the cocotb regression."""
MORE_BLOCKS = 1_000_000
"""Random blocks of `verify`."""
CHUNK = 1 << 15
CHOICE = "mxcast_choice"
"""The wire with the number of the active mutant in a module."""
CONSTANTS = (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_SCALE)
"""Numbers of a tensor, in binary32."""
PREPARED = (f"hierarchy -check -top {TOP}", "proc", "opt_reduce t:$memwr_v2 %m")
"""From the text to cells. Without the last command each bit of a memory would be written by itself."""
PLACES = "t:$meminit t:$meminit_v2 %u %n"
"""Cells that can have a mutant: all but initial values of memories, which Yosys wants constant."""
VERIFY = "verify"
"""The name of the stimulus that kills mutants which only these blocks find."""


PATIENCE = 10
"""Seconds for each question before all stimuli are tried; questions with more time follow."""


class Fate(StrEnum):
    """The outcome for a mutant."""

    KILLED = "killed"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One fault, as the command ``mutate`` of Yosys describes it."""

    number: int
    fault: str
    fate: Fate
    by: str
    """The stimulus that killed it, or the answer of the solver."""

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
        """Faults that the blocks of the cocotb regression find."""
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
    """Plant mutants in the emitted Verilog of a configuration, and decide about each.

    Questions about mutants that no stimulus finds stay in ``out``. Raises `ToolError` if a tool is missing.
    """
    if mutants < 1:
        raise ValueError(f"mutants must be at least 1, not {mutants}")
    folder, faults = _planted(config, mutants, seed)
    design = driver_of((folder / "mutants.v").read_text(), TOP, config, lint=False)
    fates: dict[int, tuple[Fate, str]] = {}
    planted: dict[int, Planted] = {}

    def keep(number: int, fate: Fate, by: str) -> None:
        fates[number] = fate, by
        if progress:
            progress(len(fates), len(faults))

    def drive(stimuli: Iterable[Stimulus]) -> None:
        for stimulus in stimuli:
            left = [number for number in range(1, len(faults) + 1) if number not in fates]
            if not left:
                return
            for number in left:
                if _is_found(design, number, stimulus):
                    keep(number, Fate.KILLED, stimulus.name)

    def ask(judge: Callable[..., tuple[Fate, str]], seconds: float) -> dict[int, str]:
        """Decide about mutants; give the doubts about the others."""
        doubts = {}
        for number, one in planted.items():
            if number not in fates:
                with claimed(one.folder):
                    fate, by = judge(config, one, partial(_shows, config, design, number, seed), seconds)
                if fate is Fate.UNDECIDED:
                    doubts[number] = by
                else:
                    keep(number, fate, by)
        return doubts

    suite = list(_suite(config, seed))
    for stimulus in suite:
        if _is_found(design, 0, stimulus):
            raise ToolError(f"the design without an active mutant differs from the model ({stimulus.name})")
    drive(suite)
    for number, fault in enumerate(faults, 1):
        if number not in fates:
            with claimed(Path(out) / f"mutant{number}"):
                planted[number] = _alone(config, fault, folder, Path(out) / f"mutant{number}")
                if planted[number].is_same(planted[number].module, min(timeout, PATIENCE)):
                    keep(number, Fate.EQUIVALENT, f"{planted[number].module} is what it was")
    drive(_more(config, seed))
    undecided = ask(_judged, min(timeout, PATIENCE))
    drive(_large(config, seed))
    if timeout > PATIENCE:
        undecided |= ask(_proved, timeout)
    for number, doubt in undecided.items():
        if number not in fates:
            keep(number, Fate.UNDECIDED, doubt)
    return Mutation(
        config=config,
        mutants=[
            Mutant(number=number, fault=fault, fate=fates[number][0], by=fates[number][1])
            for number, fault in enumerate(faults, 1)
        ],
        seed=seed,
    )


@dataclass(frozen=True)
class Stimulus:
    """Blocks, with the results of the golden model."""

    name: str
    given: Transactions
    expected: Transactions


def _expected(config: HardwareConfig, name: str, blocks: Transactions, seed: int, mode: int) -> Stimulus:
    rules = config.modes[mode]
    given = drawn(rules, blocks, seed)
    if config.alternatives:
        given = given.with_arrays({Role.MODE: np.full((len(given), 1), mode)})
    return Stimulus(name, given, golden(rules, given))


def _suite(config: HardwareConfig, seed: int) -> Iterator[Stimulus]:
    """The stimuli of the cocotb regression."""
    for mode, rules in enumerate(config.modes):
        for name, blocks in of(rules).regression(SUITE_BLOCKS, seed).items():
            yield _expected(config, name, blocks, seed, mode)


def _more(config: HardwareConfig, seed: int) -> Iterator[Stimulus]:
    """The standard stimuli of `verify`."""
    for mode in range(len(config.modes)):
        yield from _of_kind(config, "standard", seed, mode)


def _large(config: HardwareConfig, seed: int) -> Iterator[Stimulus]:
    """The other stimuli of `verify`, unless the solver is asked about whole designs; then they would take hours."""
    for mode, rules in enumerate(config.modes):
        for kind in () if provable(config).is_asked_whole else of(rules).large:
            yield from _of_kind(config, kind, seed, mode)


def _of_kind(config: HardwareConfig, kind: str, seed: int, mode: int) -> Iterator[Stimulus]:
    for _, parts in of(config.modes[mode]).stimuli(kind, MORE_BLOCKS, seed):
        for number, blocks in enumerate(parts):
            yield _expected(config, VERIFY, blocks, seed + CHUNK * number, mode)


def _is_found(design: Driver, mutant: int, stimulus: Stimulus) -> bool:
    """Does the design with this mutant differ from the model, or lose or move a block?"""
    design.activate(mutant)
    try:
        return bool(design(stimulus.given).differ(stimulus.expected).any())
    except HandshakeError:
        return True


def _planted(config: HardwareConfig, mutants: int, seed: int) -> tuple[Path, list[str]]:
    """A folder with the Verilog, without mutants and with all of them, and the faults."""
    text = verilog(config, TOP)

    def make(folder: Path) -> None:
        (folder / "dut.v").write_text(text)
        read = ["read_verilog dut.v", *PREPARED]
        execute(
            [*read, "write_json structure.json", f"mutate -list {mutants} -seed {seed} -o faults.txt {PLACES}"], folder
        )
        modules = json.loads((folder / "structure.json").read_text())["modules"]
        listed = (folder / "faults.txt").read_text().splitlines()
        faults = [line.removeprefix("mutate ") for line in listed if line and _is_possible(line, modules)]
        width = len(faults).bit_length()
        commands = []
        for module in modules:
            commands += [f"cd {module}", f"add -wire {CHOICE} {width}", "cd .."]
        planted = [f"mutate {fault} -ctrl {CHOICE} {width} {number}" for number, fault in enumerate(faults, 1)]
        execute([*read, *commands, *planted, "opt_clean", "write_verilog -noattr mutants.v"], folder)
        declared = f"wire [{width - 1}:0] {CHOICE}" if width > 1 else f"wire {CHOICE}"
        written = (folder / "mutants.v").read_text().replace(f"{declared};", f"{declared} = {width}'(mxcast_mutant());")
        (folder / "mutants.v").write_text(f"{ACTIVE}\n{written}")
        (folder / "faults.json").write_text(json.dumps(faults))

    folder = kept_folder("mutants", [ACTIVE, text, str(mutants), str(seed), yosys_version()], make)
    return folder, json.loads((folder / "faults.json").read_text())


def _is_possible(line: str, modules: dict[str, dict]) -> bool:
    """Can Yosys write a design with this fault? A memory that is read within the cycle has a constant enable."""
    _, *words = line.split()
    where = dict(zip(words[::2], words[1::2]))
    module, cell = (where[name].removeprefix("\\") for name in ("-module", "-cell"))
    is_read = modules[module]["cells"][cell]["type"].startswith("$memrd")
    return not is_read or where["-port"] in ("ADDR", "DATA")


@dataclass(frozen=True, kw_only=True)
class Planted:
    """The Verilog without a mutant, and with one mutant."""

    module: str
    """The module that contains the mutant."""
    right: Design
    wrong: Design
    folder: Path
    has_clock: bool

    def is_same(self, module: str, timeout: float, parts: Sequence[str] = ("true",)) -> bool:
        """Does a solver prove that a module is unchanged for inputs in these parts of its domain, and what its
        registers take? Inputs that are constants in all instances of the module are these constants.
        """
        designs = self.right, self.wrong
        known = has_constants(*designs, module)
        if self.has_clock and module == TOP:  # with all registers it is large; the proof decides sooner
            return False
        if self.has_clock:
            designs = self.with_open_registers("dut.v", module), self.with_open_registers(MUTANT, module)
        try:
            return all(
                any(_other_answer(question, timeout) is None for question in differences(*designs, module, part))
                for part in (f"(and {part} {known})" for part in parts)
            )
        except (StructureError, KeyError):  # a register is left, or others are there
            return False

    def with_open_registers(self, file: str, module: str) -> Design:
        """A module of a file, whose registers are ports: what each holds is an input, and what it takes an output."""
        opened = f"open_{file}"
        taken = [f"read_verilog {file}", f"hierarchy -check -top {module}", "proc", "flatten", "memory_map", "dffunmap"]
        execute([*taken, "opt_clean", "expose -evert-dff -sep _of_", f"write_verilog -noattr {opened}"], self.folder)
        text = (self.folder / opened).read_text()
        return Design(text, module, self.folder / f"{module}_{Path(opened).stem}")


def _alone(config: HardwareConfig, fault: str, folder: Path, out: Path) -> Planted:
    """A design with one mutant, in a folder of its own."""
    (out / "dut.v").write_text((folder / "dut.v").read_text())  # faults contain the name of the file
    change = [f"mutate {fault}", "opt_clean", f"write_verilog -noattr {MUTANT}"]
    execute(["read_verilog dut.v", *PREPARED, *change], out)
    right, wrong = (Design((out / name).read_text(), TOP, out / Path(name).stem) for name in ("dut.v", MUTANT))
    module, has_clock = fault.split("-module ")[1].split()[0], config.latency > 0
    return Planted(module=module, right=right, wrong=wrong, folder=out, has_clock=has_clock)


def _shows(config: HardwareConfig, design: Driver, mutant: int, seed: int, question: Question, answer: Answer) -> bool:
    """Do the blocks that refute a lemma show a mutant?"""
    blocks = provable(config).blocks(config.modes[question.mode], answer.values)
    return _is_found(design, mutant, _expected(config, question.name, blocks, seed, question.mode))


def _judged(
    config: HardwareConfig, planted: Planted, shows: Callable[[Question, Answer], bool], timeout: float
) -> tuple[Fate, str]:
    """The decision about a mutant that no stimulus has found: perhaps the change never matters."""
    fate, by = _proved(config, planted, shows, timeout)
    if fate is Fate.UNDECIDED and any(planted.is_same(TOP, timeout, parts) for parts in _domains(config)):
        return Fate.EQUIVALENT, "the whole is what it was"
    return fate, by


def _proved(
    config: HardwareConfig, planted: Planted, shows: Callable[[Question, Answer], bool], timeout: float
) -> tuple[Fate, str]:
    """The decision by the proof of the converter."""
    asked = provable(config)
    if asked.is_asked_whole:
        proof: Proof = prove(config, rtl=planted.folder / MUTANT, name=TOP, timeout=timeout)
        if proof.status is Status.PASS:
            return Fate.EQUIVALENT, f"proved {proof.method}"
        if proof.counterexample:
            return Fate.SURVIVED, proof.counterexample.report
        return Fate.UNDECIDED, str(proof.status)
    # it has many lemmas: those that did not change are in the cache
    try:
        part, is_same = asked.unchanged(config, planted.right, planted.wrong), False
        for lemma in asked.composed(config, planted.wrong, asked.specification):
            if (answer := _other_answer(lemma, timeout)) is None:
                continue
            if part and lemma.name.startswith(part.name):
                is_same = is_same or _other_answer(part, timeout) is None
                if is_same:
                    continue
            doubt = f"the lemma {lemma.name} does not hold"
            if lemma.has_block and answer.result == "sat" and shows(lemma, answer):
                values = ", ".join(f"{name} {value:#x}" for name, value in answer.values.items())
                return Fate.SURVIVED, f"{doubt}: {values}"
            return Fate.UNDECIDED, doubt
    except StructureError as error:
        return Fate.UNDECIDED, str(error)
    return Fate.EQUIVALENT, "proved composed"


def _domains(config: HardwareConfig) -> list[list[str]]:
    """The inputs of the whole that are in the domain of the specification, as statements about the state ``s``: at
    once, and in two parts, one of which has zero, Inf or NaN as a constant of a tensor.
    """
    if config.alternatives:  # each mode has a domain
        return [["true"]]
    words = {port.role: f"(|{TOP}_n {port.name}| s)" for port in config.operation_ports if port.direction == "input"}
    domain = provable(config).domain(config.numerics, words)
    magnitudes = [f"((_ extract 30 0) {words[role]})" for role in CONSTANTS if role in words]
    if not magnitudes:
        return [[domain]]
    special = " ".join(f"(= {one} {bits(0, 31)}) (bvuge {one} {bits(FP32.max_code + 1, 31)})" for one in magnitudes)
    return [[domain], [f"(and {domain} (not (or {special})))", f"(and {domain} (or {special}))"]]


def _other_answer(question: Question, timeout: float) -> Answer | None:
    """The last answer if none is the expected one; otherwise None."""
    answer = None
    for text in filter(None, (question.eased, question.text)):
        answer = solve(text, question.names, timeout=timeout)
        if answer.result == question.expected:
            return None
    return answer
