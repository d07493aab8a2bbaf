"""The proof of a written converter: questions asked, answers judged, everything kept beside the Verilog."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ..hdl import default_name, emit
from ..host.files import write_whole
from ..sim.preprocess import preprocessed
from ..spec import ConverterConfig
from ..synth.yosys import yosys_version
from .counterexample import Counterexample, replayed, simulated
from .design import Design
from .handshake import PROVED, check_handshake, moving
from .pipeline import combinational
from .questions import Question, composed, monolithic
from .record import keep
from .solver import Answer, solve, solver_version
from .structure import StructureError, check_ports

__all__ = ["Proof", "Status", "Step", "prove"]


class Status(StrEnum):
    """What became of a proof, the worst of its steps."""

    PASS = "PASS"
    UNKNOWN = "UNKNOWN"
    TIMEOUT = "TIMEOUT"
    FAIL = "FAIL"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One question and its answer."""

    question: Question
    answer: Answer
    file: Path

    @property
    def status(self) -> Status:
        if self.answer.result in ("unknown", "timeout"):
            return Status[self.answer.result.upper()]
        return Status.PASS if self.answer.result == self.question.expected else Status.FAIL

    def to_dict(self) -> dict:
        return {"question": self.question.name, "says": self.question.says, "file": self.file.name, "status": self.status,
                "expected": self.question.expected, "result": self.answer.result, "seconds": self.answer.seconds}


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The outcome of `prove`."""

    config: ConverterConfig
    verilog: Path
    way: str
    """``composed`` or ``monolithic``."""
    remark: str | None
    """Why it was not composed although that was wanted, or why nothing was proved."""
    netlist: str | None
    solver: str
    version: str
    steps: list[Step]
    counterexample: Counterexample | None
    folder: Path
    handshake: str | None = None
    """What was shown besides of valid and ready, where there are."""

    @property
    def status(self) -> Status:
        found = {step.status for step in self.steps} | ({Status.FAIL} if self.counterexample else set())
        return next((status for status in (Status.FAIL, Status.TIMEOUT, Status.UNKNOWN, Status.PASS) if status in found), Status.UNKNOWN)

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def seconds(self) -> float:
        """Of a processor, for all questions."""
        return round(sum(step.answer.seconds for step in self.steps), 2)

    def to_dict(self) -> dict:
        handshake = {"latency": self.config.latency, "handshake": self.handshake} if self.config.latency else {}
        return {**self.config.to_dict(), "config_id": self.config.config_id, "profile": self.config.profile,
                "verilog": self.verilog.name, "sha256": hashlib.sha256(self.verilog.read_bytes()).hexdigest(),
                "way": self.way, "remark": self.remark, **handshake, "netlist": self.netlist, "solver": self.solver, "solver_version": self.version,
                "yosys": yosys_version(), "status": self.status, "seconds": self.seconds,
                "steps": [step.to_dict() for step in self.steps],
                "counterexample": self.counterexample.to_dict() if self.counterexample else None}


def prove(config: ConverterConfig, *, rtl: Path | str | None = None, name: str | None = None, out: Path | str = "build",
          whole: bool = False, latency: int = 0, netlist: str | None = None, solver: str = "bitwuzla", timeout: float = 900, force: bool = False,
          progress: Callable[[str], None] | None = None) -> Proof:
    """Prove that the emitted file, or the file ``rtl`` with the module ``name``, is what the configuration's numerics say, for
    every block.

    It is proved in parts that are put together (see `questions.composed`), or with ``whole`` in one question. ``netlist``
    is a target of `design.NETLISTS`: then what synthesis makes of the file is proved, cells and all. A file with registers
    is proved as a whole where it is a pipeline of ``latency`` clock cycles (see `pipeline.combinational`), which is that of the
    configuration where that has registers; valid and ready are checked besides (see `handshake`). ``timeout``, in
    seconds, is that of each question. The questions, with the outcome, stay beside the Verilog, in ``proof/``.
    ``progress`` is told what is done next.

    A counterexample is converted by the golden model and by the Verilated file. A file ``rtl`` goes through a preprocessor
    first, and one that passes is also simulated on some blocks, as simulators may read it otherwise than Yosys. A file whose
    parts make no proof of the whole is asked as a whole. Raises `ToolError` where a tool is missing or the file cannot be read,
    ValueError where it has other ports.
    """
    version = solver_version(solver)
    if rtl is None:
        name = default_name(config) if name is None else name
        verilog = emit(config, out, name)["verilog"]
    else:
        verilog, name = Path(rtl), name or Path(rtl).stem
    beside = verilog.parent.parent if verilog.parent.name == "rtl" else verilog.parent
    folder = beside / "proof" / "-".join(filter(None, [verilog.stem, netlist, "whole" if whole else None]))
    (folder / "counterexample.npz").unlink(missing_ok=True)  # of an earlier file
    say = progress or (lambda text: None)
    say("reading the Verilog" if netlist is None else f"mapping to {netlist}")
    source = verilog if rtl is None else write_whole(folder / "design.v", preprocessed([verilog], [verilog.parent]))
    written = design = Design([source], name, folder, netlist)
    latency = _latency(config, latency, netlist)
    check_ports(design.modules, name, config, registered=latency > 0)
    remark, questions, whole = None, None, whole or latency > 0
    if latency:
        say("making registers wires")
        try:
            design = _without_registers(design, config, latency)
        except StructureError as error:
            if not config.latency:
                raise
            remark, questions = f"{error}: nothing is proved", []
    try:
        questions = (monolithic if whole else composed)(config, design) if questions is None else questions
    except StructureError as error:
        remark, questions = f"{error}: asked as a whole", monolithic(config, design)
    steps = []
    for question in questions:
        say(question.says)
        file = write_whole(folder / f"{question.name}.smt2", question.text + "(check-sat)\n")
        steps.append(Step(question=question, file=file, answer=solve(
            question.text, question.names, solver=solver, timeout=timeout, force=force)))
        if steps[-1].status is Status.FAIL:
            break
    counterexample = None
    if steps and steps[-1].status is Status.FAIL and steps[-1].question.name.endswith(("element", "scale", "block")):
        say("replaying the counterexample")
        last = steps[-1]
        counterexample = replayed(config, last.question.mode, last.answer.values, written, folder, latency)
    if (rtl is not None or not steps) and netlist is None and counterexample is None and all(step.status is Status.PASS for step in steps):
        say("comparing with a simulator")  # Yosys and a simulator may read a file differently
        counterexample = simulated(config, written, folder, latency)
    proof = Proof(config=config, verilog=verilog, way="monolithic" if whole or remark else "composed", remark=remark, netlist=netlist, solver=solver,
                  version=version, steps=steps, counterexample=counterexample, folder=folder,
                  handshake=PROVED if config.latency and steps else None)
    write_whole(folder / "proof.json", json.dumps(proof.to_dict(), indent=2) + "\n")
    if rtl is None and netlist is None:
        keep(verilog.read_text(), name, str(proof.status))
    return proof


def _latency(config: ConverterConfig, given: int, netlist: str | None) -> int:
    """Clock cycles of the file, which the configuration says where it has registers."""
    if not config.latency:
        if given and config.alternatives:
            raise ValueError("registered files are proved for one format and one scale rule")
        return given
    if given not in (0, config.latency):
        raise ValueError(f"the configuration has {config.latency} registers on the way: latency must not be {given}")
    if netlist:
        raise ValueError("netlists are proved of converters without registers: leave out registered_after")
    return config.latency


def _without_registers(written: Design, config: ConverterConfig, latency: int) -> Design:
    """The written design with wires in place of its registers; of one with a handshake, which is checked, while nothing waits."""
    reading, top = written.reading, written.top
    if config.latency:
        check_handshake(reading, top, latency, written.folder)
        reading, top = moving(reading, top, config, written.folder)
    design = combinational(reading, top, latency, written.folder)
    design.files = written.files
    return design
