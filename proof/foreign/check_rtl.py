"""Check a converter of others against our rules: simulate it, prove it, and name the rules that it follows instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from ...conformance.identify.candidates import Converted, candidates, judged, ranked
from ...conformance.identify.causes.minimise import fewest, smallest
from ...conformance.identify.causes.named_causes import named_causes
from ...conformance.identify.causes.suspicions import suspicions
from ...hdl import HardwareConfig
from ...host.errors import DesignError
from ...host.files import claimed, write_whole
from ...sim.causes import Cause
from ...sim.check.comparison import Comparison, divergence
from ...sim.check.scoreboard import Scoreboard
from ...sim.operations import element_role, golden, of
from ...sim.run.icarus import on_icarus
from ...sim.run.verilator.handshake import HandshakeError
from ...sim.run.verilator.stream import StreamedDriver, clocked_ports
from ...sim.transactions import Transactions
from ...spec import BlockOperation, Hadamard, Tiled
from ..netlist.design import Design
from ..netlist.pipeline import bypassed, combinational
from ..netlist.structure import StructureError
from ..netlist.wrapping import unwrapped
from ..operations import provable
from ..questions.question import Question
from ..solve.argument import Argument, Status, answered, doubtful, objected, of_latches, without_a_block, worst
from ..solve.branches import branch_blocks
from ..solve.counterexample import FEW, SOME, VECTORS, disagreement, save_blocks
from ..solve.second_leg import NOT_ASKED, SecondLeg, on_icarus_in_turn, stimuli
from ..solve.solver import solver_version
from ..verilog.gate import of_readers, unreadable
from ..verilog.readers import readers, refusal
from ..verilog.text import readings
from .adapter import Adapter
from .check import Check, Minimised
from .mapping import PortMap

NO_MAP = PortMap()
NORMAL = 100_000
"""Blocks of N(0,1)."""
TRIED = 20_000
"""Random blocks, in addition to corner blocks, for the search of other rules."""


def check_rtl(
    files: Sequence[Path | str],
    top: str,
    config: HardwareConfig,
    port_map: PortMap | Mapping[str, object] = NO_MAP,
    *,
    include: Sequence[Path | str] = (),
    define: Sequence[str] = (),
    parameters: Mapping[str, object] | None = None,
    out: Path | str = "build",
    exhaustive: bool = False,
    blocks: int = 200_000,
    seed: int = 0,
    nan_codes_free: bool = False,
    solver: str = "bitwuzla",
    timeout: float = 300,
    progress: Callable[[str], None] | None = None,
) -> Check:
    """Check the module ``top`` of Verilog or SystemVerilog files against the numerics of a configuration of one mode.

    The map connects its ports with ours, as `mapping` describes. The design is compared with the golden model on
    directed blocks, ``blocks`` random blocks, and a sweep over the inputs, which is complete if ``exhaustive``. If
    nothing differs, a solver is asked whether anything can, with ``timeout`` seconds for each question; a design with
    registers must be a pipeline. If something differs, the result has counterexamples, and the rules that the design
    follows instead, if known. With ``nan_codes_free`` codes under the scale byte 255 may be anything, because readers
    of the formats of OCP ignore them.

    The blocks of a design with lanes enter and leave with gaps on both sides, and may take any time. The solver is
    asked about it if it consists of modules like ours.

    A design without a clock, or that takes a block at every edge, is also simulated on Icarus, if it is installed. If
    the text depends on macros that identify tools, every text is checked; the outcome is the first failure, or else
    belongs to the usual text.

    PASS: proved, for each reader of Yosys that can read it. FAIL: a block differs. UNKNOWN or TIMEOUT: nothing was
    proved, and no block differs, or only on Icarus.

    Raises ValueError for files, maps and modules that do not fit, `ToolMissing` if a tool is missing.
    """
    if nan_codes_free and config.numerics.name != "encode":
        raise ValueError("free codes under a scale of NaN need an encoder")
    if config.alternatives:
        raise ValueError("check_rtl takes one format and one scale rule")
    if config.layout is not None:
        raise ValueError("check_rtl takes a map from the ports of a design: leave out layout")
    asked = port_map if isinstance(port_map, PortMap) else PortMap.of(port_map)
    version = solver_version(solver)
    say = progress or (lambda text: None)
    say("reading the design")
    folder = Path(out) / f"{top}-{config.config_id}" / "check"
    chosen = {name: str(value) for name, value in (parameters or {}).items()}
    checks: list[Check] = []
    texts = readings(files, include, define)
    with claimed(folder):
        for reading in texts:
            check = Check(
                config=config,
                top=top,
                port_map=asked,
                reading=reading,
                folder=folder / reading.folder,
                seed=seed,
                nan_codes_free=nan_codes_free,
                solver=f"{solver} {version}",
            )
            adapter = Adapter(reading.text, top, asked, config, check.folder, chosen, seed)
            checker = _Checker.compiled(check, adapter, solver, timeout, say)
            try:
                checker.run(exhaustive, blocks)
            except HandshakeError as fault:
                check.status, check.first = Status.FAIL, f"the handshake is wrong: {fault}"
            checks.append(check)
            if check.status is Status.FAIL:
                break
        outcome = next((check for check in checks if check.status is Status.FAIL), checks[0])
        outcome.others = [check for check in checks if check is not outcome]
        outcome.status = worst(check.status for check in checks)
        write_whole(folder / "report.json", json.dumps(outcome.to_dict(), indent=2) + "\n")
    return outcome


@dataclass
class _Checker:
    """The check of one text."""

    check: Check
    adapter: Adapter
    comparison: Comparison
    solver: str
    timeout: float
    say: Callable[[str], None]

    @classmethod
    def compiled(
        cls, check: Check, adapter: Adapter, solver: str, timeout: float, say: Callable[[str], None]
    ) -> _Checker:
        """Read and compile the text."""
        for stale in [check.folder / VECTORS, *check.folder.glob("**/*.smt2")]:
            stale.unlink(missing_ok=True)
        check.objections = objected(check.config, adapter.elaboration)
        say("compiling it")
        comparison = Comparison(check.config, adapter.simulated(), check.seed, check.nan_codes_free)
        return cls(check, adapter, comparison, solver, timeout, say)

    def run(self, exhaustive: bool, blocks: int) -> None:
        """Simulate the design, then prove it or name its differences."""
        know = of(self.check.config.numerics)
        normal = know.usual(NORMAL, self.check.seed)
        self.comparison.run(
            exhaustive=exhaustive, blocks=blocks, progress=lambda done: self.say(f"{done:,} blocks compared")
        )
        self.check.stimuli, self.check.divergence = self.comparison.rows, divergence(self.comparison, normal)
        if not self.comparison.found and not self.check.divergence.differing_blocks:
            if report := self._on_icarus(self.comparison.drawn(know.few(FEW, FEW))):
                self.check.remarks.append(
                    "no proof was possible: on Icarus, which knows unknown bits (x), here counted as wrong, and "
                    f"follows sensitivity lists, blocks differ\n{report}"
                )
            else:
                proved = self._ask()
                if proved and self.check.status is Status.PASS:
                    self._on_branches(proved)
                if self.check.status is Status.PASS and len(self.check.arguments) == 1:
                    self._stand_by()
            # without a proof only blocks can distinguish other rules
            if self.check.status is not Status.PASS and self.is_judged_by_blocks:
                self.say("trying other rules")
                self._name()
            return
        is_of_tools = all(objection.of_tools for objection in self.check.objections)
        if is_of_tools and self._only_verilator_differs():
            return
        self.check.status = Status.FAIL
        self.say("minimising the counterexamples")
        self.comparison.compare("N(0,1)", normal)
        self.check.first = self.comparison.first
        for cause in know.causes:
            if cause in self.comparison.found:
                example = self.comparison.found[cause]
                self._minimised(example.count, example.block, cause)
        self._normal_counterexample(normal)
        if (sentence := know.only(list(self.comparison.found))) is not None:
            self.check.remarks.append(sentence)
        self.say("trying other rules")
        self._name()

    @property
    def is_judged_by_blocks(self) -> bool:
        """Is no solver asked about the whole design?"""
        return self.check.config.in_beats or not provable(self.check.config).is_asked_whole

    def _on_icarus(self, blocks: Transactions, is_quiet: bool = False) -> str | None:
        """A report about the first block, of blocks with random bits, that Icarus converts differently from the model;
        empty if all are equal, None if Icarus cannot simulate the design."""
        asked = self.adapter.asked
        if asked.interval > 1 or self.check.config.in_beats or self.adapter.elaboration.has_array_ports:
            return None
        if not is_quiet:
            self.say("simulating on Icarus")
        rules = self.check.config.numerics
        expected = golden(rules, blocks)
        ports = rules.ports if asked.clk is None else clocked_ports(rules, asked.rst is not None)
        actual = on_icarus(self.adapter.verilog, self.adapter.wrapper_name, ports, blocks, expected, asked.latency)
        if actual is None:
            return None
        differing = self.comparison.causes(blocks, expected, actual) >= 0
        if not differing.any():
            return ""
        board, part = Scoreboard(self.check.config), np.flatnonzero(differing)[:1]
        board.compare("Icarus", rules, *(side.rows(part) for side in (blocks, expected, actual)))
        return board.mismatches[0]

    def _only_verilator_differs(self) -> bool:
        """Is only the Verilated design wrong, but right for the readers of Yosys, and for Icarus if it can simulate it?
        Then one of the tools is wrong. Designs with a clock do not count: they may be right after more edges than are
        simulated."""
        blocks = [example.block for example in self.comparison.found.values()]
        if self.adapter.asked.clk is not None or not blocks:
            return False
        if self._on_icarus(Transactions.joined(blocks)):
            return False
        try:
            self._ask()
        except DesignError:
            return False
        if worst(argument.status for argument in self.check.arguments) is Status.PASS:
            self.check.status = Status.UNKNOWN
            read = [argument.reader for argument in self.check.arguments]
            self.check.remarks.append(disagreement(read, "Verilator", self.comparison.first))
            return True
        self.check.arguments, self.check.unread, self.check.remarks, self.check.counterexamples = [], {}, [], []
        return False

    def _ask(self) -> Design | None:
        """Prove the design as each reader reads it, or record why not; simulate a counterexample. Returns the last
        design that was proved, without registers."""
        proved = None
        for reader in readers():
            if why := refusal(reader, self.adapter.elaboration):
                self.check.unread[reader] = why
                continue
            self.say(f"preparing the proof with {reader}")
            argument, design = (
                Argument(reader=reader, macros=self.check.reading.macros, steps=[]),
                self.adapter.design(reader),
            )
            try:
                design.check()
                if self.check.config.in_beats:
                    inside = unwrapped(design, most=1)  # the converter may have one instance too
                    questions = provable(self.check.config).of_beats(self.check.config, inside)
                else:
                    flat, argument.edges = combinational(design, self.adapter.asked.latency, settling=True)
                    proved = flat if self.adapter.asked.latency else design
                    questions = self._questions(design, flat)
                argument.steps = answered(
                    questions, design.folder, solver=self.solver, timeout=self.timeout, say=self.say
                )
            except DesignError as error:
                self.check.unread[reader] = str(error)
                continue
            except StructureError as error:
                why = str(error).replace(self.adapter.wrapper_name, self.check.top)
                argument.remark = f"no proof was possible: {why}"
            self.check.arguments.append(argument)
            if argument.status is Status.FAIL and argument.steps[-1].question.has_block:
                self._found(argument, design.latches)
                if not argument.is_unshown:
                    break
            elif argument.status is Status.FAIL:
                argument.doubt = without_a_block(argument.steps[-1].question)
        doubtful(self.check.arguments)
        if not self.check.arguments:
            raise DesignError(unreadable(self.check.objections, self.check.unread))
        self.check.objections += of_readers(self.check.objections, self.check.unread, self.adapter.elaboration)
        self.check.status = worst(argument.status for argument in self.check.arguments)
        if self.check.status is Status.PASS and self.check.objections:
            self.check.status = Status.UNKNOWN
        self.check.remarks += dict.fromkeys(
            filter(None, (text for argument in self.check.arguments for text in (argument.remark, argument.doubt)))
        )
        return proved

    def _questions(self, design: Design, flat: Design) -> Iterable[Question]:
        """One question about the whole design, without registers and modules ``flat``; or questions about its parts, if
        no solver would answer that."""
        asked = provable(self.check.config)
        if asked.is_asked_whole:
            return asked.monolithic(self.check.config, flat, self.check.nan_codes_free)
        parts = unwrapped(design)
        return asked.composed(
            self.check.config, bypassed(parts) if self.adapter.asked.latency else parts, asked.specification
        )

    def _on_branches(self, proved: Design) -> None:
        """Simulate a proved design on blocks that take every branch."""
        blocks, read = (
            branch_blocks(self.check.config, proved, self.say),
            [argument.reader for argument in self.check.arguments],
        )
        if not len(blocks):
            return
        if self.comparison.compare("branches", blocks):
            simulator, report = "Verilator", self.comparison.first
        elif report := self._on_icarus(self.comparison.drawn(blocks.rows(slice(SOME)))) or "":
            simulator = "Icarus"
        else:
            return
        self.check.status = Status.UNKNOWN
        self.check.remarks.append(disagreement(read, simulator, report))

    def _stand_by(self) -> None:
        """Simulate more blocks on Icarus if only one reader reads the text; Verilator has simulated them."""
        self.say("simulating on Icarus, as only one reader reads the text")
        kinds = stimuli(self.comparison.rules, self.check.seed)
        is_asked = self.check.config.in_beats or self.adapter.asked.interval > 1
        why_not = NOT_ASKED if is_asked or self.adapter.elaboration.has_array_ports else ""
        done, why, report = on_icarus_in_turn(
            [kinds], lambda mode, blocks: self._on_icarus(blocks, is_quiet=True), why_not
        )
        if report:
            self.check.status = Status.UNKNOWN
            self.check.remarks.append(disagreement([self.check.arguments[0].reader], "Icarus", report))
            return
        compared = sum(row["blocks"] for row in self.comparison.rows)
        leg = SecondLeg(kinds=tuple(kinds), on_verilator=compared, on_icarus=done, why_not_more=why)
        self.check.second_leg = str(leg)

    def _found(self, argument: Argument, latches: list[str]) -> None:
        """Turn the values of a solver into a counterexample, or a doubt."""
        rules, values = self.check.config.numerics, argument.steps[-1].answer.values
        block = provable(self.check.config).blocks(rules, values).rows(slice(1))
        self.check.first = self.comparison.described("the solver's block", block)
        if self.check.first:
            block = self._smaller(block, smallest, lambda why: why >= 0)
            cause = of(rules).causes[self.comparison.why(block)[0]]
            self._minimised(1, block, cause)
        elif report := self._on_icarus(block):
            self.check.first = f"on Icarus, where unknown bits (x) are counted as wrong\n{report}"
            self.check.counterexamples.append(
                Minimised(title="on Icarus", blocks=1, block=block, report=self.check.first)
            )
        else:
            argument.is_unshown, argument.doubt = True, of_latches(latches)

    def _smaller(
        self,
        block: Transactions,
        make: Callable[[np.ndarray, Callable[[np.ndarray], np.ndarray]], np.ndarray],
        is_kept: Callable[[np.ndarray], np.ndarray],
    ) -> Transactions:
        """The block with smaller elements, by `minimise`, as long as its cause is kept; its other inputs stay."""
        role = element_role(self.check.config.numerics)

        def differs(elements: np.ndarray) -> np.ndarray:
            return is_kept(self.comparison.why(block.rows(np.zeros(len(elements), int)).with_arrays({role: elements})))

        return block.with_arrays({role: make(block[role][0], differs)[None]})

    def _minimised(self, count: int, block: Transactions, cause: Cause) -> None:
        """Record a counterexample, made smaller with the same cause if it differs on its own."""
        number, report = of(self.check.config.numerics).causes.index(cause), ""
        if self.comparison.why(block)[0] == number:
            block = self._smaller(block, smallest, lambda why: why == number)
            report = self.comparison.described("minimised counterexample", block)
        else:
            sentence = (
                "the block that differs does not differ on its own: the design keeps something from the blocks before"
            )
            self.check.remarks += [sentence] * (sentence not in self.check.remarks)
        if not self.check.counterexamples:
            save_blocks(self.check.folder / VECTORS, self.check.config.numerics, 0, block)
        self.check.counterexamples.append(Minimised(title=cause.text, blocks=count, block=block, report=report))

    def _normal_counterexample(self, normal: Transactions) -> None:
        """Record a block of N(0,1) that differs, with as few elements as possible."""
        given = self.comparison.drawn(normal)
        differs = (
            self.comparison.causes(given, golden(self.comparison.rules, given), self.comparison.design(given)) >= 0
        )
        if not differs.any():
            return
        row = int(np.flatnonzero(differs)[0])
        block = given.rows(slice(row, row + 1))
        if self.comparison.why(block)[0] < 0:
            return
        block = self._smaller(block, fewest, lambda why: why >= 0)
        report = self.comparison.described("counterexample of N(0,1)", block)
        self.check.counterexamples.append(
            Minimised(title="N(0,1)", blocks=int(differs.sum()), block=block, report=report)
        )

    def _name(self) -> None:
        """Name the rules that the design follows, or describe the fault. Tiles and transforms have no other rules."""
        rules = self.check.config.numerics
        if isinstance(rules, Hadamard | Tiled):
            return

        @cache
        def converted(chosen: BlockOperation) -> tuple[Converted, Converted]:
            blocks = of(chosen).hard(TRIED, self.check.seed), of(chosen).usual(NORMAL, self.check.seed)
            hard, usual = (
                Converted(given := self.comparison.drawn(one), self.comparison.design(given)) for one in blocks
            )
            return hard, usual

        hard, usual = converted(rules)
        self.check.rules = ranked(
            candidates(rules),
            lambda candidate: converted(of(rules).tried_as(candidate)),
            partial(judged, nan_codes_free=self.check.nan_codes_free),
        )
        self.check.tried = len(hard.given) + len(usual.given)
        self.check.remarks += [cause.text for cause in named_causes(rules, usual, hard)]
        self.check.remarks += suspicions(rules, usual)
        if isinstance(self.comparison.design, StreamedDriver):
            latency = self.comparison.design.latency
            for other in range(latency + 5):
                delayed = Comparison(
                    self.check.config,
                    self.comparison.design.with_latency(other),
                    self.check.seed,
                    self.check.nan_codes_free,
                )
                if other != latency and not divergence(delayed, hard.given).differing_blocks:
                    self.check.remarks.append(f"with latency={other} nothing differs")
