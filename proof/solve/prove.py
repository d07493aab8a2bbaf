"""The proof of a Verilog file: ask the questions, judge the answers, and keep both next to the file."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ...hdl import HardwareConfig, default_name, emitted
from ...hdl.emission.around import NOTHING, Around
from ...host.errors import DesignError
from ...host.files import claimed, write_whole
from ...spec.catalogue import known_name
from ...synth.yosys import yosys_version
from ..netlist.design import NETLISTS, Design
from ..netlist.handshake import without_registers
from ..netlist.stored import with_ports
from ..netlist.structure import StructureError, check_ports
from ..netlist.wrapping import unwrapped
from ..operations import provable
from ..questions.question import Question
from ..verilog.elaboration import elaborated
from ..verilog.gate import Objection, of_readers, unreadable
from ..verilog.readers import READ_VERILOG, readers, refusal
from ..verilog.slang import slang_version
from ..verilog.text import Reading, plain, readings
from .argument import (
    Argument,
    Status,
    Step,
    answered,
    doubtful,
    objected,
    of_latches,
    without_a_block,
    without_a_trace,
    worst,
)
from .branches import branch_blocks
from .counterexample import Counterexample, Simulation, disagreement
from .record import keep
from .solver import solver_version
from .surround import surrounding
from .trace import Trace, trace_of


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The outcome of `prove`."""

    config: HardwareConfig
    verilog: Path
    sha256: str
    """Digest of the file at the start of the proof."""
    arguments: list[Argument]
    """One for each reader of Yosys that reads the file, and for each text that it is to some tools."""
    unread: dict[str, str]
    """Readers that cannot read the file, with their messages."""
    objections: list[Objection]
    """Constructs in the text that no proof can be trusted with."""
    netlist: str | None
    solver: str
    version: str
    counterexample: Counterexample | None
    folder: Path
    handshake: str | None = None
    """The result of the check of valid and ready, if the converter has them."""
    disagreement: str | None = None
    """A difference in simulation, although the file is proved for both readers."""
    second_leg: str = ""
    """The simulation of texts that only one reader reads, in words."""
    around: Around = NOTHING
    """The modules around the converter that are proved too."""

    @property
    def steps(self) -> list[Step]:
        return [step for argument in self.arguments for step in argument.steps]

    @property
    def remark(self) -> str | None:
        """Why the file was not proved in parts, or not proved at all."""
        of_arguments = [text for argument in self.arguments for text in (argument.remark, argument.doubt)]
        return (
            "; ".join(dict.fromkeys(filter(None, [*of_arguments, *map(str, self.objections), self.disagreement])))
            or None
        )

    @property
    def method(self) -> str:
        """``composed`` or ``monolithic``."""
        return (
            "monolithic"
            if any(step.question.name.endswith("block") for step in self.steps) or not self.steps
            else "composed"
        )

    @property
    def trace(self) -> Trace | None:
        """A sequence of beats that leave in a wrong order, if one is known."""
        return next((argument.trace for argument in self.arguments if argument.trace), None)

    @property
    def status(self) -> Status:
        if self.counterexample:
            return Status.FAIL
        found = worst(argument.status for argument in self.arguments)
        return Status.UNKNOWN if found is Status.PASS and (self.objections or self.disagreement) else found

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def seconds(self) -> float:
        """Processor time for all questions."""
        return round(sum(step.answer.seconds for step in self.steps), 2)

    def to_dict(self) -> dict:
        handshake = {"latency": self.config.latency, "handshake": self.handshake} if self.config.latency else {}
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "profile": self.config.profile,
            "verilog": self.verilog.name,
            "sha256": self.sha256,
            "method": self.method,
            "remark": self.remark,
            **handshake,
            "netlist": self.netlist,
            **self.around.to_dict(),
            "solver": self.solver,
            "solver_version": self.version,
            "yosys": yosys_version(),
            "slang": slang_version(),
            "status": self.status,
            "seconds": self.seconds,
            "arguments": [argument.to_dict() for argument in self.arguments],
            "unread": self.unread,
            "second_leg": self.second_leg,
            "objections": list(map(str, self.objections)),
            "disagreement": self.disagreement,
            "counterexample": self.counterexample.to_dict() if self.counterexample else None,
        }


def prove(
    config: HardwareConfig,
    *,
    rtl: Path | str | None = None,
    name: str | None = None,
    out: Path | str = "build",
    whole: bool = False,
    latency: int = 0,
    netlist: str | None = None,
    around: Around = NOTHING,
    solver: str = "bitwuzla",
    timeout: float = 900,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Proof:
    """Prove for every block that the emitted file, or the module ``name`` of the file ``rtl``, computes the numerics of
    a configuration.

    The proof covers the file as each of the two readers of Yosys reads it. It is composed of parts (see
    `questions.provable`); with ``whole``, or if the parts are wired otherwise, it is one question. With ``netlist``, a
    target of `design.NETLISTS`, the synthesized netlist with its cells is proved. A file with registers must be a
    pipeline of ``latency`` clock cycles (see `pipeline.combinational`), by default the latency of the configuration;
    its valid and ready are checked too (see `handshake`). The modules ``around`` it are proved too (see
    `surround`). ``timeout`` limits each question, in seconds. The questions and the outcome stay in ``proof/``
    next to the Verilog, for a file ``rtl`` in ``FILE-CONFIGURATION/proof/`` there.
    ``progress`` receives each next step in words.

    A file ``rtl`` is preprocessed first; if its text depends on macros that identify tools, every text is proved. The
    gate objects to constructs that no proof can be trusted with (see `gate`). A file to or from NVFP4, or with a
    Hadamard transform, is simulated first, and not proved if a block differs. A file that passes is also simulated on
    some blocks, because simulators may read it differently from Yosys. A counterexample is a block that a simulator
    confirms; if none does, the other reader is asked too, and the proof is UNKNOWN.

    Raises `ToolMissing` if a tool is missing, `DesignError` if no reader can read the file, ValueError if it has other
    ports.
    """
    version = solver_version(solver)
    is_asked_whole = provable(config).is_asked_whole
    if not is_asked_whole and (whole or latency or netlist):  # refused before any output
        raise ValueError(
            f"{config.formats} is proved in parts only, as it is emitted: not as a whole, netlist or pipeline"
        )
    if around != NOTHING and rtl is not None:
        raise ValueError("modules around a converter are proved as they are emitted: leave out rtl")
    netlist = None if netlist is None else known_name("netlist", netlist, NETLISTS)
    say = progress or (lambda text: None)
    if rtl is None:
        name = default_name(config) if name is None else name
        verilog = emitted(config, out, name, around)
        written = verilog.read_text()
        texts = [Reading(text=plain(written))]
    else:
        verilog, name = Path(rtl), name or Path(rtl).stem
        say("reading the Verilog")
        texts = readings([verilog], [verilog.parent])
    own = verilog.parent.parent if verilog.parent.name == "rtl" else verilog.parent
    if rtl is not None:  # keeps the proof of an emitted file in the same folder
        own /= f"{verilog.stem}-{config.config_id}"
    folder = own / "proof" / "-".join(filter(None, [verilog.stem, netlist, "whole" if whole else None]))
    latency = _latency(config, latency, netlist)
    with claimed(folder):
        _clear(folder)
        proof = Proof(
            config=config,
            verilog=verilog,
            sha256=hashlib.sha256(verilog.read_bytes()).hexdigest(),
            arguments=[],
            unread={},
            objections=[],
            netlist=netlist,
            solver=solver,
            version=version,
            counterexample=None,
            folder=folder,
            around=around,
        )
        is_whole = whole or (latency > 0 and is_asked_whole)
        asker = _Asker(proof, name, latency, is_whole, rtl is not None, timeout, force, say)
        for text in texts:
            asker.ask(text)
            if asker.counterexample or proof.trace:
                break
        if around != NOTHING and proof.passed:
            files = [verilog, *(verilog.with_name(file) for file, _ in around.modules(config, name).values())]
            proof.arguments.extend(
                surrounding(
                    "".join(file.read_text() for file in files),
                    config,
                    around,
                    name,
                    folder / "around",
                    solver=solver,
                    timeout=timeout,
                    force=force,
                    say=say,
                )
            )
        is_asked = proof.arguments and all(argument.steps for argument in proof.arguments)
        proof = Proof(
            **vars(proof)
            | {
                "counterexample": asker.counterexample,
                "disagreement": asker.disagreement,
                "second_leg": "; ".join(dict.fromkeys(asker.second_legs)),
                "handshake": provable(config).handshake if config.latency and is_asked else None,
            }
        )
        write_whole(folder / "proof.json", json.dumps(proof.to_dict(), indent=2) + "\n")
        if rtl is None and netlist is None:
            keep(written, name, str(proof.status))
    return proof


@dataclass
class _Asker:
    """Asks about one text after the other, and adds the results to a proof."""

    proof: Proof
    name: str
    latency: int
    whole: bool
    is_foreign: bool
    timeout: float
    force: bool
    say: Callable[[str], None]
    counterexample: Counterexample | None = None
    disagreement: str | None = None
    second_legs: list[str] = field(default_factory=list)
    has_array_ports: bool = False
    read: Design | None = None
    """The text as the first reader has it, without registers."""

    def ask(self, text: Reading) -> None:
        """Ask about a text as each reader reads it; simulate it if it passes."""
        proof, unread = self.proof, {}
        folder, self.read = proof.folder / text.folder, None
        elaboration = elaborated(text.text, self.name)
        self.has_array_ports = elaboration.has_array_ports
        objections = objected(proof.config, elaboration)
        proof.objections.extend(objection for objection in objections if objection not in proof.objections)
        for reader in readers() if proof.netlist is None else [READ_VERILOG]:
            if proof.netlist is None and (why := refusal(reader, elaboration)):
                unread[reader] = why
                continue
            self.say(f"reading the Verilog with {reader}" if proof.netlist is None else f"mapping to {proof.netlist}")
            argument = Argument(reader=reader, macros=text.macros, steps=[])
            try:
                self._argue(argument, Design(text.text, self.name, folder / reader, reader, netlist=proof.netlist))
            except DesignError as error:
                unread[reader] = str(error)
                continue
            proof.arguments.append(argument)
            if self.counterexample or argument.trace:
                return
        proof.unread.update(unread)
        doubtful(argument for argument in proof.arguments if argument.macros == text.macros)
        if not any(argument.macros == text.macros for argument in proof.arguments):
            raise DesignError(unreadable(proof.objections, unread))
        if self.is_foreign and proof.netlist is None:
            blocks = None
            if proof.status is Status.PASS and self.read:
                blocks = branch_blocks(proof.config, self.read, self.say)
            self.say("comparing with a simulator")  # Yosys and a simulator may read a file differently
            simulation = self._simulation(text.text, folder, not self.has_array_ports)
            found = simulation.first(blocks)
            is_proved = worst(argument.status for argument in proof.arguments) is Status.PASS
            alone = [argument.reader for argument in proof.arguments if argument.macros == text.macros]
            if found is None and is_proved and len(alone) == 1:
                self.say(f"simulating what {alone[0]} alone reads")
                leg = simulation.second_leg()
                if isinstance(leg, Counterexample):
                    found = leg
                else:
                    self.second_legs.append(str(leg))
            if found and is_proved and all(objection.of_tools for objection in proof.objections):
                read = [argument.reader for argument in proof.arguments]
                self.disagreement = disagreement(list(dict.fromkeys(read)), found.simulator, found.report)
            else:
                self.counterexample = found
        # added last: if only one reader reads the text and a simulator differs, the tool may be wrong, not the design
        proof.objections.extend(of_readers(proof.objections, unread, elaboration))

    def _simulation(self, text: str, folder: Path, icarus: bool) -> Simulation:
        icarus = icarus and self.proof.config.is_plain  # its bench holds whole blocks
        return Simulation(
            config=self.proof.config, text=text, top=self.name, folder=folder, latency=self.latency, icarus=icarus
        )

    def _argue(self, argument: Argument, written: Design) -> None:
        config, folder = self.proof.config, written.folder
        try:
            check_ports(written.modules, self.name, config, registered=self.latency > 0)
            is_slow = config.is_plain and not provable(config).is_asked_whole
            if self.is_foreign and is_slow and self._look_for_a_block(written):
                argument.remark = "a simulated block differs, so the solver was not asked"
                return
            questions = self._questions(argument, written)
            argument.steps = answered(
                questions, folder, solver=self.proof.solver, timeout=self.timeout, force=self.force, say=self.say
            )
        except StructureError as error:
            argument.remark = f"{error}: nothing is proved"
            if not config.is_plain:
                self._look_for_a_block(written)
            return
        last = argument.steps[-1]
        if last.status is Status.FAIL and last.question.has_block:
            self.say("replaying the counterexample")
            mode = last.question.mode
            blocks = provable(config).blocks(config.modes[mode], last.answer.values)
            # a latch may hold x for single blocks, and an objection says more than x
            icarus = not (self.has_array_ports or written.latches or self.proof.objections)
            self.counterexample = self._simulation(written.text, self.proof.folder, icarus).replayed(mode, blocks)
            argument.is_unshown = self.counterexample is None
            if argument.is_unshown:
                argument.doubt = of_latches(written.latches)
        elif last.status is Status.FAIL and last.question.is_of_order:
            self.say("looking for a sequence of beats")
            argument.trace = trace_of(
                last.question, config, written, self.proof.folder, solver=self.proof.solver, timeout=self.timeout
            )
            if argument.trace is None and not self._look_for_a_block(written):
                argument.doubt = without_a_trace(last.question)
        elif last.status is Status.FAIL and last.question.is_inner and not self._look_for_a_block(written):
            argument.doubt = without_a_block(last.question)

    def _look_for_a_block(self, written: Design) -> bool:
        """Is there a block among some that a simulator converts differently?"""
        self.say("looking for a block")
        self.counterexample = self._simulation(written.text, self.proof.folder, False).first()
        return self.counterexample is not None

    def _without_registers(self, design: Design) -> Design:
        if not self.latency:
            return design
        self.say("making registers wires")
        return without_registers(design, self.proof.config, self.latency, self.whole)

    def _with_wrappers(self, written: Design, design: Design) -> Design:
        """The text without registers, but with the wrappers that ``design`` lacks: a simulator may read a wire there
        that Yosys drops. It is ``design`` if the registers cannot be removed around the wrappers.
        """
        try:
            return with_ports(self._without_registers(written), self.proof.config)
        except StructureError:
            return design

    def _questions(self, argument: Argument, written: Design) -> Iterable[Question]:
        config = self.proof.config
        if not config.is_plain:
            return provable(config).of_beats(config, written)
        inner = unwrapped(written)
        design = with_ports(self._without_registers(inner), config)
        self.read = self.read or (design if inner is written else self._with_wrappers(written, design))
        proof = provable(config)
        if self.whole:
            return proof.monolithic(config, design)
        try:
            return proof.composed(config, design, proof.specification)
        except StructureError as error:
            if not proof.is_asked_whole:
                raise
            argument.remark = f"{error}: asked as a whole"
            return proof.monolithic(config, design)


def _clear(folder: Path) -> None:
    """Remove the files of an earlier proof; answers of solvers are in the cache."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _latency(config: HardwareConfig, given: int, netlist: str | None) -> int:
    """Clock cycles of the file, by default the registers of the configuration."""
    if not config.latency:
        if given and config.alternatives:
            raise ValueError("a file with registers must have one format and one scale rule to be proved")
        return given
    if given not in (0, config.latency):
        raise ValueError(f"latency must be {config.latency}, the registers of the configuration, not {given}")
    if netlist:
        raise ValueError("a netlist must have no registers to be proved: leave out registered_after")
    return config.latency
