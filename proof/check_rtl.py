"""Anybody's converter against rules of ours: simulated first, then proved, and named where it follows other rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..hdl import ConverterConfig
from ..host.errors import DesignError
from ..host.files import claimed, sha256, write_whole
from ..sim import stimuli as make
from ..sim.causes import CAUSES, Cause, only
from ..sim.comparison import AROUND, Comparison, Divergence, divergence, normal_blocks, single_bits
from ..sim.icarus import on_icarus
from ..sim.scoreboard import Scoreboard
from ..sim.stream import Streamed
from ..synth.yosys import yosys_version
from .adapter import Adapter
from .argument import Argument, Status, answered, doubtful, worst
from .branches import branch_blocks
from .counterexample import FEW, SOME, disagreement, save_block
from .design import Design
from .gate import Objection, objections, of_readers
from .mapping import PortMap
from .minimise import fewest, smallest
from .pipeline import combinational
from .questions import monolithic
from .readers import READ_VERILOG, SLANG, readers, refusal
from .rule_identification import Candidate, ranked, suspicions
from .slang import slang_version
from .solver import solver_version
from .structure import StructureError
from .text import Reading, readings

__all__ = ["Check", "Minimised", "check_rtl"]

NO_MAP = PortMap()
TRIED = 20_000
"""Random blocks on which other rules are tried, beside the corner blocks."""


@dataclass(frozen=True, kw_only=True)
class Minimised:
    """A block that a design converts otherwise, as small as it was found."""

    title: str
    """Its cause in words, or where it comes from."""
    blocks: int
    """How many blocks of all that were compared differ for this cause."""
    block: np.ndarray
    random: np.ndarray | None
    report: str
    """What differs, in words."""


@dataclass(kw_only=True)
class Check:
    """The outcome of `check_rtl`."""

    config: ConverterConfig
    top: str
    port_map: PortMap
    reading: Reading
    """The design as the tools read it."""
    folder: Path
    seed: int
    nan_codes_free: bool = False
    stimuli: list[dict[str, object]] = field(default_factory=list)
    divergence: Divergence | None = None
    first: str = ""
    """The first block that differs, in words; empty if there is none."""
    counterexamples: list[Minimised] = field(default_factory=list)
    """The smallest one for each cause, what ordinary blocks show first, and one of N(0,1)."""
    rules: list[Candidate] = field(default_factory=list)
    """Other rules, the nearest first."""
    tried: int = 0
    """Blocks on which they were tried: corner, random and N(0,1)."""
    remarks: list[str] = field(default_factory=list)
    """What the differences look like, and why there is no proof."""
    objections: list[Objection] = field(default_factory=list)
    """What is in the text that no proof can be trusted with."""
    arguments: list[Argument] = field(default_factory=list)
    """One for each of Yosys' readers that reads the design."""
    unread: dict[str, str] = field(default_factory=dict)
    """Readers that cannot read it, and what they say."""
    solver: str = ""
    status: Status = Status.UNKNOWN
    others: list[Check] = field(default_factory=list)
    """Outcomes for the texts that the files are to other tools, where that is another one."""

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def steps(self) -> list:
        return [step for argument in self.arguments for step in argument.steps]

    @property
    def edges(self) -> int:
        """Edges of the clock after which what is proved holds."""
        return max((argument.edges for argument in self.arguments), default=0)

    @property
    def smallest(self) -> str:
        return self.counterexamples[0].report if self.counterexamples else ""

    @property
    def counterexample(self) -> np.ndarray | None:
        return self.counterexamples[0].block if self.counterexamples else None

    @property
    def matches(self) -> list[Candidate]:
        """Rules from which nothing differed."""
        return [candidate for candidate in self.rules if not candidate.blocks]

    def to_dict(self) -> dict:
        digits = self.config.numerics.source.bits // 4
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
                    "block": [f"0x{pattern:0{digits}X}" for pattern in found.block.tolist()],
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
            "arguments": [argument.to_dict() for argument in self.arguments],
            "others": [other.to_dict() for other in self.others],
        }


def check_rtl(
    files: Sequence[Path | str],
    top: str,
    config: ConverterConfig,
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

    Its ports are mapped to ours as `mapping` describes. It is compared with the golden model on corner, boundary and
    ``blocks`` random blocks and on a sweep over all inputs: every one of them if ``exhaustive``. Where nothing differs,
    a solver is asked whether anything can, with ``timeout`` seconds for each question; a registered design must be a
    pipeline for that. Where something differs there are counterexamples, and the rules that the design follows instead,
    if known. With ``nan_codes_free`` codes under the scale byte 255 may be anything, as readers of OCP's formats do not
    look at them.

    Without a clock it is also simulated on Icarus, where that is installed. Where the text depends on macros by which
    tools make themselves known, every text is checked; the outcome is that of the first that fails, or else of the
    usual one.

    PASS: proved, as each reader of Yosys has it that can read it. FAIL: a block differs. UNKNOWN or TIMEOUT: nothing
    was found, or on Icarus only, and nothing proved.

    Raises ValueError for files, maps and modules that do not fit, `ToolMissing` where a tool is missing.
    """
    if config.alternatives:
        raise ValueError("check_rtl takes one format and one scale rule")
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
    for stale in [check.folder / "counterexample.npz", *check.folder.glob("**/*.smt2")]:
        stale.unlink(missing_ok=True)
    check.objections = objections(adapter.elaboration)
    say("compiling it")
    comparison = Comparison(check.config, adapter.simulated(), check.seed, check.nan_codes_free)
    normal = normal_blocks(check.config, check.seed)
    comparison.run(exhaustive=exhaustive, blocks=blocks, progress=lambda done, total: say(f"{done:,} blocks compared"))
    check.stimuli, check.divergence = comparison.rows, divergence(comparison, normal)
    if not comparison.found and not check.divergence.differing_blocks:
        numerics = check.config.numerics
        few = np.concatenate([make.corner_blocks(numerics)[:FEW], single_bits(check.config, check.seed, AROUND)[:FEW]])
        if report := _on_icarus(check, adapter, comparison, few, say):
            check.remarks.append(
                "no proof was possible: on Icarus, which knows unknown bits (x), here counted as wrong, and follows "
                f"sensitivity lists, blocks differ\n{report}"
            )
        else:
            proved = _ask(check, adapter, comparison, solver, timeout, say)
            if proved and check.status is Status.PASS:
                _on_branches(check, adapter, comparison, proved, say)
        return
    if not check.objections and _only_verilator_differs(check, adapter, comparison, solver, timeout, say):
        return
    check.status = Status.FAIL
    say("minimising the counterexamples")
    comparison.compare("N(0,1)", normal)
    check.first = comparison.first
    for cause in CAUSES:
        if cause in comparison.found:
            example = comparison.found[cause]
            _minimised(check, comparison, cause.text, example.count, example.block, example.random, cause)
    _normal_counterexample(check, comparison, normal)
    if (sentence := only(list(comparison.found))) is not None:
        check.remarks.append(sentence)
    say("trying other rules")
    _name(check, comparison, normal)


def _on_icarus(
    check: Check,
    adapter: Adapter,
    comparison: Comparison,
    blocks: np.ndarray,
    say: Callable[[str], None],
    random: np.ndarray | None = None,
) -> str | None:
    """What is wrong with the first of the blocks that Icarus converts otherwise than the model: empty if none is, None
    where Icarus cannot be asked.
    """
    if adapter.asked.clk is not None or adapter.elaboration.has_array_ports:
        return None
    say("simulating on Icarus")
    random = comparison.drawn(blocks, 0) if random is None else random
    expected = comparison.expect(blocks, random)
    actual = on_icarus(adapter.verilog, adapter.wrapper_name, expected.numerics.ports, expected, blocks, random)
    if actual is None:
        return None
    differing = comparison.causes(blocks, expected, actual) >= 0
    if not differing.any():
        return ""
    board, part = Scoreboard(check.config), np.flatnonzero(differing)[:1]
    right, found = (
        type(q)(scales=q.scales[part], codes=q.codes[part], numerics=q.numerics) for q in (expected, actual)
    )
    board.compare("Icarus", blocks[part], right, found, None if random is None else random[part])
    return board.mismatches[0]


def _only_verilator_differs(
    check: Check, adapter: Adapter, comparison: Comparison, solver: str, timeout: float, say: Callable[[str], None]
) -> bool:
    """Is the Verilated design wrong where all others have a right one, the readers of Yosys and Icarus if it can be
    asked? Then one of the tools is. One with a clock is not asked about: it may be right after more edges than are
    simulated.
    """
    blocks = [example.block for example in comparison.found.values()]
    if adapter.asked.clk is not None or not blocks or _on_icarus(check, adapter, comparison, np.stack(blocks), say):
        return False
    try:
        _ask(check, adapter, comparison, solver, timeout, say)
    except DesignError:
        return False
    if check.status is Status.PASS:
        check.status = Status.UNKNOWN
        read = [argument.reader for argument in check.arguments]
        check.remarks.append(disagreement(read, "Verilator", comparison.first))
        return True
    check.arguments, check.unread, check.remarks, check.counterexamples = [], {}, [], []
    return False


def _ask(
    check: Check, adapter: Adapter, comparison: Comparison, solver: str, timeout: float, say: Callable[[str], None]
) -> Design | None:
    """Prove it as each reader has it, or say why not; a counterexample is simulated. Returns the last design that was
    proved, combinational.
    """
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
            questions = monolithic(check.config, flat, check.nan_codes_free)
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
    doubtful(check.arguments)
    if not check.arguments:
        raise DesignError(check.unread.get(SLANG) or check.unread[READ_VERILOG])
    check.objections += of_readers(check.unread, adapter.elaboration)
    check.status = worst(argument.status for argument in check.arguments)
    if check.status is Status.PASS and check.objections:
        check.status = Status.UNKNOWN
    check.remarks += dict.fromkeys(
        filter(None, (text for argument in check.arguments for text in (argument.remark, argument.doubt)))
    )
    return proved


def _on_branches(
    check: Check, adapter: Adapter, comparison: Comparison, proved: Design, say: Callable[[str], None]
) -> None:
    """Compare what is proved with simulators, on blocks that take every branch."""
    blocks, read = branch_blocks(check.config, proved, say), [argument.reader for argument in check.arguments]
    if not len(blocks):
        return
    if comparison.compare("branches", blocks):
        simulator, report = "Verilator", comparison.first
    elif report := _on_icarus(check, adapter, comparison, blocks[:SOME], say) or "":
        simulator = "Icarus"
    else:
        return
    check.status = Status.UNKNOWN
    check.remarks.append(disagreement(read, simulator, report))


def _found(
    check: Check,
    adapter: Adapter,
    argument: Argument,
    comparison: Comparison,
    latches: list[str],
    say: Callable[[str], None],
) -> None:
    """What a solver's values are: a counterexample, or a doubt about it."""
    values, numerics = argument.steps[-1].answer.values, check.config.numerics
    block = np.array([values[f"x{lane}"] for lane in range(numerics.block_size)], f"uint{numerics.source.bits}")
    random = np.array([values[f"r{lane}"] for lane in range(len(block))], np.uint16) if numerics.random_bits else None
    check.first = comparison.described("the solver's block", block, random)
    if check.first:
        block = smallest(block, lambda patterns: comparison.why(patterns, random) >= 0)
        cause = CAUSES[comparison.why(block[None], random)[0]]
        _minimised(check, comparison, cause.text, 1, block, random, cause)
    elif report := _on_icarus(check, adapter, comparison, block[None], say, None if random is None else random[None]):
        check.first = f"on Icarus, where unknown bits (x) are counted as wrong\n{report}"
        check.counterexamples.append(
            Minimised(title="on Icarus", blocks=1, block=block, random=random, report=check.first)
        )
    else:
        argument.is_unshown = True
        if latches:
            argument.doubt = (
                f"the module {latches[0]} has a latch: an output or variable that keeps its value for some inputs"
            )


def _minimised(
    check: Check,
    comparison: Comparison,
    title: str,
    count: int,
    block: np.ndarray,
    random: np.ndarray | None,
    cause: Cause,
) -> None:
    """Make a counterexample smaller, if it is one on its own, without giving it another cause; and keep it."""
    number = CAUSES.index(cause)
    report = ""
    if comparison.why(block[None], random)[0] == number:
        block = smallest(block, lambda patterns: comparison.why(patterns, random) == number)
        report = comparison.described("minimised counterexample", block, random)
    else:
        sentence = (
            "the block that differs does not differ on its own: the design keeps something from the blocks before"
        )
        check.remarks += [sentence] * (sentence not in check.remarks)
    if not check.counterexamples:
        save_block(check.folder / "counterexample.npz", 0, block[None], None if random is None else random[None])
    check.counterexamples.append(Minimised(title=title, blocks=count, block=block, random=random, report=report))


def _normal_counterexample(check: Check, comparison: Comparison, normal: np.ndarray) -> None:
    """A block of N(0,1) that differs, without the elements that do not matter."""
    random = comparison.drawn(normal, 0)
    differs = comparison.causes(normal, comparison.expect(normal, random), comparison.convert(normal, random)) >= 0
    if not differs.any():
        return
    row = int(np.flatnonzero(differs)[0])
    block, drawn = normal[row], None if random is None else random[row]
    if comparison.why(block[None], drawn)[0] < 0:
        return
    block = fewest(block, lambda patterns: comparison.why(patterns, drawn) >= 0)
    check.counterexamples.append(
        Minimised(
            title="N(0,1)",
            blocks=int(differs.sum()),
            block=block,
            random=drawn,
            report=comparison.described("counterexample of N(0,1)", block, drawn),
        )
    )


def _name(check: Check, comparison: Comparison, normal: np.ndarray) -> None:
    """Which rules does it follow, or what is the fault like?"""
    numerics = check.config.numerics
    patterns = np.concatenate([make.corner_blocks(numerics), make.random_blocks(numerics, TRIED, check.seed)])
    sets = [
        (blocks, random := comparison.drawn(blocks, 0), comparison.convert(blocks, random))
        for blocks in (patterns, normal)
    ]
    check.rules, check.tried = ranked(numerics, sets[0], sets[1], check.nan_codes_free), len(patterns) + len(normal)
    check.remarks += suspicions(numerics, *sets[1])
    if isinstance(comparison.design, Streamed):
        usual = comparison.design.latency
        for latency in range(usual + 5):
            other = Comparison(check.config, comparison.design.with_latency(latency), check.seed, check.nan_codes_free)
            if latency != usual and not divergence(other, patterns).differing_blocks:
                check.remarks.append(f"with latency={latency} nothing differs")
