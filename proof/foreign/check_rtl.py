"""Check a converter of others against our rules: simulate it, prove it, and name the rules that it follows instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np

from ...conformance.identify.candidates import Candidate, Converted, candidates, judged, ranked
from ...conformance.identify.minimise import fewest, smallest
from ...conformance.identify.named_causes import named_causes
from ...conformance.identify.suspicions import suspicions
from ...hdl import HardwareConfig
from ...host.errors import DesignError
from ...host.files import claimed, sha256, write_whole
from ...sim.causes import Cause
from ...sim.check.comparison import Comparison, Divergence, divergence
from ...sim.check.scoreboard import Scoreboard
from ...sim.operations import element_role, golden, of
from ...sim.run.icarus import on_icarus
from ...sim.run.stream import StreamedDriver, clocked_ports
from ...sim.transactions import Transactions
from ...spec import BlockOperation, Operation
from ...synth.yosys import yosys_version
from ..netlist.design import Design
from ..netlist.pipeline import bypassed, combinational
from ..netlist.structure import StructureError
from ..netlist.wrapping import unwrapped
from ..operations import OPERATIONS, provable
from ..questions.question import Question
from ..solve.argument import Argument, Status, answered, doubtful, of_latches, without_a_block, worst
from ..solve.branches import branch_blocks
from ..solve.counterexample import FEW, SOME, VECTORS, disagreement, save_blocks
from ..solve.second_leg import NOT_ASKED, SecondLeg, on_icarus_in_turn, stimuli
from ..solve.solver import solver_version
from ..verilog.gate import Objection, objections, of_readers, unreadable
from ..verilog.readers import readers, refusal
from ..verilog.slang import slang_version
from ..verilog.text import Reading, readings
from .adapter import Adapter
from .mapping import PortMap

NO_MAP = PortMap()
NORMAL = 100_000
"""Blocks of N(0,1)."""
TRIED = 20_000
"""Random blocks, in addition to corner blocks, for the search of other rules."""


@dataclass(frozen=True, kw_only=True)
class Minimised:
    """A small block that a design and the model convert differently."""

    title: str
    """Its cause in words, or its origin."""
    blocks: int
    """Compared blocks that differ for this cause."""
    block: Transactions
    """One transaction."""
    report: str
    """The differences in words."""


@dataclass(kw_only=True)
class Check:
    """The outcome of `check_rtl`."""

    config: HardwareConfig
    top: str
    port_map: PortMap
    reading: Reading
    """The text that tools read."""
    folder: Path
    seed: int
    nan_codes_free: bool = False
    stimuli: list[dict[str, object]] = field(default_factory=list)
    divergence: Divergence | None = None
    first: str = ""
    """The first block that differs, in words; empty if all are equal."""
    counterexamples: list[Minimised] = field(default_factory=list)
    """The smallest block for each cause, and one of N(0,1)."""
    rules: list[Candidate] = field(default_factory=list)
    """Other rules, the nearest first."""
    tried: int = 0
    """Corner, random and N(0,1) blocks on which the rules were tried."""
    remarks: list[str] = field(default_factory=list)
    """Descriptions of the differences, and reasons why there is no proof."""
    objections: list[Objection] = field(default_factory=list)
    """Constructs in the text that no proof can be trusted with."""
    arguments: list[Argument] = field(default_factory=list)
    """One for each reader of Yosys that reads the design."""
    unread: dict[str, str] = field(default_factory=dict)
    """Readers that cannot read the design, with their messages."""
    second_leg: str = ""
    """The simulation of a text that only one reader reads, in words."""
    solver: str = ""
    status: Status = Status.UNKNOWN
    others: list[Check] = field(default_factory=list)
    """The outcomes for the other texts of the files, if their text depends on the tool."""

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def steps(self) -> list:
        return [step for argument in self.arguments for step in argument.steps]

    @property
    def edges(self) -> int:
        """Clock edges after which the proof holds."""
        return max((argument.edges for argument in self.arguments), default=0)

    @property
    def smallest(self) -> str:
        return self.counterexamples[0].report if self.counterexamples else ""

    @property
    def counterexample(self) -> np.ndarray | None:
        """The inputs of the elements of the first counterexample, (block_size,)."""
        return self.elements_of(self.counterexamples[0]) if self.counterexamples else None

    def elements_of(self, found: Minimised) -> np.ndarray:
        """The inputs of the elements of a counterexample, (block_size,)."""
        return found.block[element_role(self.config.numerics)][0]

    @property
    def matches(self) -> list[Candidate]:
        """Rules without a difference."""
        return [candidate for candidate in self.rules if not candidate.blocks]

    def to_dict(self) -> dict:
        digits = -(-self.config.numerics.ports[0].bits // 4)
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "profile": self.config.profile,
            "top": self.top,
            "map": self.port_map.to_dict(),
            "nan_codes": "free" if self.nan_codes_free else "exact",
            "macros": self.reading.macros,
            "design_sha256": sha256(self.reading.text),
            "seed": self.seed,
            "status": self.status,
            "stimuli": self.stimuli,
            "normal": self.divergence.to_dict() if self.divergence else None,
            "first": self.first,
            "counterexamples": [
                {
                    "title": found.title,
                    "blocks": found.blocks,
                    "report": found.report,
                    "block": [f"0x{pattern:0{digits}X}" for pattern in self.elements_of(found).tolist()],
                }
                for found in self.counterexamples
            ],
            "matches": [candidate.to_dict() for candidate in self.matches],
            "nearest": [candidate.to_dict() for candidate in self.rules[:5]],
            "tried_blocks": self.tried,
            "remarks": self.remarks,
            "objections": list(map(str, self.objections)),
            "after_edges": self.edges,
            "solver": self.solver,
            "yosys": yosys_version(),
            "slang": slang_version(),
            "unread": self.unread,
            "second_leg": self.second_leg,
            "arguments": [argument.to_dict() for argument in self.arguments],
            "others": [other.to_dict() for other in self.others],
        }


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
            adapter = Adapter(reading.text, top, asked, config.numerics, check.folder, chosen)
            _check(check, adapter, exhaustive, blocks, solver, timeout, say)
            checks.append(check)
            if check.status is Status.FAIL:
                break
        outcome = next((check for check in checks if check.status is Status.FAIL), checks[0])
        outcome.others = [check for check in checks if check is not outcome]
        outcome.status = worst(check.status for check in checks)
        write_whole(folder / "report.json", json.dumps(outcome.to_dict(), indent=2) + "\n")
    return outcome


def _check(
    check: Check,
    adapter: Adapter,
    exhaustive: bool,
    blocks: int,
    solver: str,
    timeout: float,
    say: Callable[[str], None],
) -> None:
    """Check one text."""
    for stale in [check.folder / VECTORS, *check.folder.glob("**/*.smt2")]:
        stale.unlink(missing_ok=True)
    check.objections = objections(adapter.elaboration)
    say("compiling it")
    comparison = Comparison(check.config, adapter.simulated(), check.seed, check.nan_codes_free)
    know = of(check.config.numerics)
    normal = know.usual(NORMAL, check.seed)
    comparison.run(exhaustive=exhaustive, blocks=blocks, progress=lambda done: say(f"{done:,} blocks compared"))
    check.stimuli, check.divergence = comparison.rows, divergence(comparison, normal)
    if not comparison.found and not check.divergence.differing_blocks:
        if report := _on_icarus(check, adapter, comparison, comparison.drawn(know.few(FEW, FEW)), say):
            check.remarks.append(
                "no proof was possible: on Icarus, which knows unknown bits (x), here counted as wrong, and follows "
                f"sensitivity lists, blocks differ\n{report}"
            )
        else:
            proved = _ask(check, adapter, comparison, solver, timeout, say)
            if proved and check.status is Status.PASS:
                _on_branches(check, adapter, comparison, proved, say)
            if check.status is Status.PASS and len(check.arguments) == 1:
                _stand_by(check, adapter, comparison, say)
        # without a proof only blocks can distinguish other rules
        if check.status is not Status.PASS and not _is_asked_whole(check.config.numerics):
            say("trying other rules")
            _name(check, comparison)
        return
    is_of_tools = all(objection.of_tools for objection in check.objections)
    if is_of_tools and _only_verilator_differs(check, adapter, comparison, solver, timeout, say):
        return
    check.status = Status.FAIL
    say("minimising the counterexamples")
    comparison.compare("N(0,1)", normal)
    check.first = comparison.first
    for cause in know.causes:
        if cause in comparison.found:
            example = comparison.found[cause]
            _minimised(check, comparison, example.count, example.block, cause)
    _normal_counterexample(check, comparison, normal)
    if (sentence := know.only(list(comparison.found))) is not None:
        check.remarks.append(sentence)
    say("trying other rules")
    _name(check, comparison)


def _on_icarus(
    check: Check, adapter: Adapter, comparison: Comparison, blocks: Transactions, say: Callable[[str], None]
) -> str | None:
    """A report about the first block, of blocks with random bits, that Icarus converts differently from the model;
    empty if all are equal, None if Icarus cannot simulate the design."""
    asked = adapter.asked
    if asked.interval > 1 or adapter.elaboration.has_array_ports:
        return None
    say("simulating on Icarus")
    rules = check.config.numerics
    expected = golden(rules, blocks)
    ports = rules.ports if asked.clk is None else clocked_ports(rules, asked.rst is not None)
    actual = on_icarus(adapter.verilog, adapter.wrapper_name, ports, blocks, expected, asked.latency)
    if actual is None:
        return None
    differing = comparison.causes(blocks, expected, actual) >= 0
    if not differing.any():
        return ""
    board, part = Scoreboard(check.config), np.flatnonzero(differing)[:1]
    board.compare("Icarus", rules, *(side.rows(part) for side in (blocks, expected, actual)))
    return board.mismatches[0]


def _only_verilator_differs(
    check: Check, adapter: Adapter, comparison: Comparison, solver: str, timeout: float, say: Callable[[str], None]
) -> bool:
    """Is only the Verilated design wrong, but right for the readers of Yosys, and for Icarus if it can simulate it?
    Then one of the tools is wrong. Designs with a clock do not count: they may be right after more edges than are
    simulated."""
    blocks = [example.block for example in comparison.found.values()]
    if adapter.asked.clk is not None or not blocks:
        return False
    if _on_icarus(check, adapter, comparison, Transactions.joined(blocks), say):
        return False
    try:
        _ask(check, adapter, comparison, solver, timeout, say)
    except DesignError:
        return False
    if worst(argument.status for argument in check.arguments) is Status.PASS:
        check.status = Status.UNKNOWN
        read = [argument.reader for argument in check.arguments]
        check.remarks.append(disagreement(read, "Verilator", comparison.first))
        return True
    check.arguments, check.unread, check.remarks, check.counterexamples = [], {}, [], []
    return False


def _ask(
    check: Check, adapter: Adapter, comparison: Comparison, solver: str, timeout: float, say: Callable[[str], None]
) -> Design | None:
    """Prove the design as each reader reads it, or record why not; simulate a counterexample. Returns the last design
    that was proved, without registers."""
    proved = None
    for reader in readers():
        if why := refusal(reader, adapter.elaboration):
            check.unread[reader] = why
            continue
        say(f"preparing the proof with {reader}")
        argument, design = Argument(reader=reader, macros=check.reading.macros, steps=[]), adapter.design(reader)
        try:
            design.check()
            flat, argument.edges = combinational(design, adapter.asked.latency, settling=True)
            proved = flat if adapter.asked.latency else design
            questions = _questions(check, adapter, design, flat)
            argument.steps = answered(questions, design.folder, solver=solver, timeout=timeout, say=say)
        except DesignError as error:
            check.unread[reader] = str(error)
            continue
        except StructureError as error:
            argument.remark = f"no proof was possible: {error}"
        check.arguments.append(argument)
        if argument.status is Status.FAIL and argument.steps[-1].question.has_block:
            _found(check, adapter, argument, comparison, design.latches, say)
            if not argument.is_unshown:
                break
        elif argument.status is Status.FAIL:
            argument.doubt = without_a_block(argument.steps[-1].question)
    doubtful(check.arguments)
    if not check.arguments:
        raise DesignError(unreadable(check.objections, check.unread))
    check.objections += of_readers(check.unread, adapter.elaboration)
    check.status = worst(argument.status for argument in check.arguments)
    if check.status is Status.PASS and check.objections:
        check.status = Status.UNKNOWN
    check.remarks += dict.fromkeys(
        filter(None, (text for argument in check.arguments for text in (argument.remark, argument.doubt)))
    )
    return proved


def _questions(check: Check, adapter: Adapter, design: Design, flat: Design) -> Iterable[Question]:
    """One question about the whole design, without registers and modules ``flat``; or questions about its parts, if no
    solver would answer that."""
    try:
        asked = provable(check.config)
    except ValueError as error:
        raise StructureError(str(error)) from None
    if asked.is_asked_whole:
        return asked.monolithic(check.config, flat, check.nan_codes_free)
    parts = unwrapped(design)
    return asked.composed(check.config, bypassed(parts) if adapter.asked.latency else parts, asked.specification)


def _is_asked_whole(rules: Operation) -> bool:
    return rules.name in OPERATIONS and OPERATIONS[rules.name].is_asked_whole


def _on_branches(
    check: Check, adapter: Adapter, comparison: Comparison, proved: Design, say: Callable[[str], None]
) -> None:
    """Simulate a proved design on blocks that take every branch."""
    blocks, read = branch_blocks(check.config, proved, say), [argument.reader for argument in check.arguments]
    if not len(blocks):
        return
    if comparison.compare("branches", blocks):
        simulator, report = "Verilator", comparison.first
    elif report := _on_icarus(check, adapter, comparison, comparison.drawn(blocks.rows(slice(SOME))), say) or "":
        simulator = "Icarus"
    else:
        return
    check.status = Status.UNKNOWN
    check.remarks.append(disagreement(read, simulator, report))


def _stand_by(check: Check, adapter: Adapter, comparison: Comparison, say: Callable[[str], None]) -> None:
    """Simulate more blocks on Icarus if only one reader reads the text; Verilator has simulated them."""
    say("simulating on Icarus, as only one reader reads the text")
    kinds = stimuli(comparison.rules, check.seed)
    why_not = NOT_ASKED if adapter.asked.interval > 1 or adapter.elaboration.has_array_ports else ""
    done, why, report = on_icarus_in_turn(
        [kinds], lambda mode, blocks: _on_icarus(check, adapter, comparison, blocks, lambda text: None), why_not
    )
    if report:
        check.status = Status.UNKNOWN
        check.remarks.append(disagreement([check.arguments[0].reader], "Icarus", report))
        return
    compared = sum(row["blocks"] for row in comparison.rows)
    leg = SecondLeg(kinds=tuple(kinds), on_verilator=compared, on_icarus=done, why_not_more=why)
    check.second_leg = str(leg)


def _found(
    check: Check,
    adapter: Adapter,
    argument: Argument,
    comparison: Comparison,
    latches: list[str],
    say: Callable[[str], None],
) -> None:
    """Turn the values of a solver into a counterexample, or a doubt."""
    rules, values = check.config.numerics, argument.steps[-1].answer.values
    block = provable(check.config).blocks(rules, values).rows(slice(1))
    check.first = comparison.described("the solver's block", block)
    if check.first:
        block = _smaller(check, block, smallest, lambda why: why >= 0, comparison)
        cause = of(rules).causes[comparison.why(block)[0]]
        _minimised(check, comparison, 1, block, cause)
    elif report := _on_icarus(check, adapter, comparison, block, say):
        check.first = f"on Icarus, where unknown bits (x) are counted as wrong\n{report}"
        check.counterexamples.append(Minimised(title="on Icarus", blocks=1, block=block, report=check.first))
    else:
        argument.is_unshown, argument.doubt = True, of_latches(latches)


def _smaller(
    check: Check,
    block: Transactions,
    make: Callable[[np.ndarray, Callable[[np.ndarray], np.ndarray]], np.ndarray],
    is_kept: Callable[[np.ndarray], np.ndarray],
    comparison: Comparison,
) -> Transactions:
    """The block with smaller elements, by `minimise`, as long as its cause is kept; its other inputs stay."""
    role = element_role(check.config.numerics)

    def differs(elements: np.ndarray) -> np.ndarray:
        return is_kept(comparison.why(block.rows(np.zeros(len(elements), int)).with_arrays({role: elements})))

    return block.with_arrays({role: make(block[role][0], differs)[None]})


def _minimised(check: Check, comparison: Comparison, count: int, block: Transactions, cause: Cause) -> None:
    """Record a counterexample, made smaller with the same cause if it differs on its own."""
    number, report = of(check.config.numerics).causes.index(cause), ""
    if comparison.why(block)[0] == number:
        block = _smaller(check, block, smallest, lambda why: why == number, comparison)
        report = comparison.described("minimised counterexample", block)
    else:
        sentence = (
            "the block that differs does not differ on its own: the design keeps something from the blocks before"
        )
        check.remarks += [sentence] * (sentence not in check.remarks)
    if not check.counterexamples:
        save_blocks(check.folder / VECTORS, check.config.numerics, 0, block)
    check.counterexamples.append(Minimised(title=cause.text, blocks=count, block=block, report=report))


def _normal_counterexample(check: Check, comparison: Comparison, normal: Transactions) -> None:
    """Record a block of N(0,1) that differs, with as few elements as possible."""
    given = comparison.drawn(normal)
    differs = comparison.causes(given, golden(comparison.rules, given), comparison.design(given)) >= 0
    if not differs.any():
        return
    row = int(np.flatnonzero(differs)[0])
    block = given.rows(slice(row, row + 1))
    if comparison.why(block)[0] < 0:
        return
    block = _smaller(check, block, fewest, lambda why: why >= 0, comparison)
    report = comparison.described("counterexample of N(0,1)", block)
    check.counterexamples.append(Minimised(title="N(0,1)", blocks=int(differs.sum()), block=block, report=report))


def _name(check: Check, comparison: Comparison) -> None:
    """Name the rules that the design follows, or describe the fault."""
    rules = check.config.numerics

    @cache
    def converted(chosen: BlockOperation) -> tuple[Converted, Converted]:
        blocks = of(chosen).hard(TRIED, check.seed), of(chosen).usual(NORMAL, check.seed)
        hard, usual = (Converted(given := comparison.drawn(one), comparison.design(given)) for one in blocks)
        return hard, usual

    hard, usual = converted(rules)
    check.rules = ranked(
        candidates(rules),
        lambda candidate: converted(of(rules).tried_as(candidate)),
        partial(judged, nan_codes_free=check.nan_codes_free),
    )
    check.tried = len(hard.given) + len(usual.given)
    check.remarks += [cause.text for cause in named_causes(rules, usual, hard)]
    check.remarks += suspicions(rules, usual)
    if isinstance(comparison.design, StreamedDriver):
        latency = comparison.design.latency
        for other in range(latency + 5):
            delayed = Comparison(check.config, comparison.design.with_latency(other), check.seed, check.nan_codes_free)
            if other != latency and not divergence(delayed, hard.given).differing_blocks:
                check.remarks.append(f"with latency={other} nothing differs")
