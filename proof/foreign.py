"""Anybody's converter against rules of ours: simulated first, then proved, and named where it follows other rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..host.files import sha256, write_whole
from ..sim import stimuli as make
from ..sim.foreign import AROUND, Comparison, Divergence, divergence, normal_blocks, single_bits
from ..sim.icarus import on_icarus
from ..sim.preprocess import preprocessed
from ..sim.scoreboard import Scoreboard
from ..sim.stream import Streamed
from ..spec import ConverterConfig
from ..synth.yosys import yosys_version
from .adapter import WRAPPER, Adapter
from .counterexample import FEW, save_block
from .mapping import PortMap
from .nearest import Candidate, ranked, suspicions
from .prove import Status, Step
from .questions import monolithic
from .solver import solve, solver_version
from .structure import StructureError
from .witness import smallest

__all__ = ["Check", "check_rtl"]

TRIED = 20_000
"""Random blocks on which other rules are tried, beside the corner blocks."""


@dataclass(kw_only=True)
class Check:
    """The outcome of `check_rtl`."""

    config: ConverterConfig
    top: str
    port_map: PortMap
    text: str
    """The design as both tools read it."""
    folder: Path
    seed: int
    stimuli: list[dict[str, object]] = field(default_factory=list)
    divergence: Divergence | None = None
    first: str = ""
    """The first block that differs, in words; empty if there is none."""
    smallest: str = ""
    """The smallest one."""
    witness: np.ndarray | None = None
    """Its patterns."""
    nearest: list[Candidate] = field(default_factory=list)
    """Other rules, the nearest first."""
    tried: int = 0
    """Blocks on which they were tried: corner, random and N(0,1)."""
    remarks: list[str] = field(default_factory=list)
    """What the differences look like, and why there is no proof."""
    steps: list[Step] = field(default_factory=list)
    solver: str = ""
    status: Status = Status.UNKNOWN

    @property
    def passed(self) -> bool:
        return self.status is Status.PASS

    @property
    def matches(self) -> list[Candidate]:
        """Rules from which nothing differed."""
        return [candidate for candidate in self.nearest if not candidate.blocks]

    def to_dict(self) -> dict:
        n = self.config.numerics
        return {**self.config.to_dict(), "config_id": self.config.config_id, "profile": self.config.profile, "top": self.top,
                "map": self.port_map.to_dict(), "design_sha256": sha256(self.text), "seed": self.seed, "status": self.status,
                "stimuli": self.stimuli, "normal": self.divergence.to_dict() if self.divergence else None, "first": self.first,
                "smallest": self.smallest,
                "witness": None if self.witness is None else [f"0x{v:0{n.source.bits // 4}X}" for v in self.witness.tolist()],
                "matches": [candidate.to_dict() for candidate in self.matches],
                "nearest": [candidate.to_dict() for candidate in self.nearest[:5]],
                "tried_blocks": self.tried, "remarks": self.remarks,
                "solver": self.solver, "yosys": yosys_version(), "steps": [step.to_dict() for step in self.steps]}


def check_rtl(files: Sequence[Path | str], top: str, config: ConverterConfig,
              port_map: PortMap | Mapping[str, object] = PortMap(), *, include: Sequence[Path | str] = (),
              define: Sequence[str] = (), parameters: Mapping[str, object] | None = None,
              out: Path | str = "build", exhaustive: bool = False, blocks: int = 200_000, seed: int = 0,
              solver: str = "bitwuzla", timeout: float = 300, progress: Callable[[str], None] | None = None) -> Check:
    """Check the module ``top`` of Verilog or SystemVerilog files against the numerics of a configuration of one mode.

    Its ports are mapped to ours as `mapping` describes. It is compared with the golden model on corner, boundary and
    ``blocks`` random blocks and on a sweep over all inputs: every one of them if ``exhaustive``. Where nothing differs, a
    solver is asked whether anything can, with ``timeout`` seconds for each question; a registered design must be a
    pipeline for that. Where something differs there are witnesses, and the rules that the design follows instead, if known.

    Without a clock it is also simulated on Icarus, where that is installed.

    PASS: proved. FAIL: a block differs. UNKNOWN or TIMEOUT: nothing was found, or on Icarus only, and nothing proved.

    Raises ValueError for files, maps and modules that do not fit, `ToolError` where a tool is missing.
    """
    if config.alternatives:
        raise ValueError("check_rtl takes one format and one scale rule")
    asked = port_map if isinstance(port_map, PortMap) else PortMap.of(port_map)
    version = solver_version(solver)
    say = progress or (lambda text: None)
    say("reading the design")
    text = preprocessed(map(Path, files), map(Path, include), define)
    folder = Path(out) / f"{top}-{config.config_id}" / "check"
    chosen = {name: str(value) for name, value in (parameters or {}).items()}
    adapter = Adapter(text, top, asked, config.numerics, folder, chosen)
    check = Check(config=config, top=top, port_map=asked, text=text, folder=folder, seed=seed, solver=f"{solver} {version}")
    for stale in [folder / "witness.npz", folder / "report.json", *folder.glob("*.smt2")]:
        stale.unlink(missing_ok=True)
    say("compiling it")
    comparison = Comparison(config, adapter.simulated(), seed)
    normal = normal_blocks(config, seed)
    comparison.run(exhaustive=exhaustive, blocks=blocks, progress=lambda done, total: say(f"{done:,} blocks compared"))
    check.stimuli, check.divergence = comparison.rows, divergence(comparison, normal)
    if comparison.found is None and not check.divergence.differing_blocks:
        if _agrees_on_icarus(check, adapter, comparison, say):
            _ask(check, adapter, comparison, solver, timeout, say)
    else:
        check.status = Status.FAIL
        if comparison.found is None:
            comparison.compare("N(0,1)", normal)
        check.first = comparison.board.mismatches[0]
        say("looking for the smallest witness")
        _shrink(check, comparison, *comparison.found)
        say("trying other rules")
        _name(check, comparison, normal)
    write_whole(folder / "report.json", json.dumps(check.to_dict(), indent=2) + "\n")
    return check


def _agrees_on_icarus(check: Check, adapter: Adapter, comparison: Comparison, say: Callable[[str], None]) -> bool:
    """False, with a remark, where Icarus converts one of some blocks otherwise than Verilator and the model."""
    if adapter.asked.clk is not None:
        return True
    say("simulating on Icarus")
    numerics = check.config.numerics
    blocks = np.concatenate([make.corner_blocks(numerics)[:FEW], single_bits(check.config, check.seed, AROUND)[:FEW]])
    random = comparison.drawn(blocks, 0)
    expected = comparison.expect(blocks, random)
    actual = on_icarus(adapter.verilog, WRAPPER, expected, blocks, random)
    if actual is None:
        return True
    board = Scoreboard(check.config)
    board.compare("Icarus", blocks, expected, actual, random)
    if board.mismatches:
        check.remarks.append("no proof was possible: on Icarus, which knows unknown bits (x), here counted as wrong, and follows "
                             f"sensitivity lists, blocks differ\n{board.mismatches[0]}")
    return not board.mismatches


def _ask(check: Check, adapter: Adapter, comparison: Comparison, solver: str, timeout: float, say: Callable[[str], None]) -> None:
    """Prove it, or say why not; a counterexample is simulated."""
    say("preparing the proof")
    try:
        questions = monolithic(check.config, adapter.design())
    except StructureError as error:
        check.remarks.append(f"no proof was possible: {error}")
        return
    for question in questions:
        say(question.says)
        file = write_whole(check.folder / f"{question.name}.smt2", question.text + "(check-sat)\n")
        answer = solve(question.text, question.names, solver=solver, timeout=timeout)
        check.steps.append(Step(question=question, answer=answer, file=file))
        if check.steps[-1].status is Status.FAIL:
            break
    found = {step.status for step in check.steps}
    check.status = next(status for status in (Status.FAIL, Status.TIMEOUT, Status.UNKNOWN, Status.PASS) if status in found)
    values = check.steps[-1].answer.values
    if check.status is not Status.FAIL or "x0" not in values:
        return
    numerics = check.config.numerics
    block = np.array([values[f"x{lane}"] for lane in range(numerics.block_size)], f"uint{numerics.source.bits}")
    random = np.array([values[f"r{lane}"] for lane in range(len(block))], np.uint16) if numerics.random_bits else None
    check.first = comparison.described("the solver's block", block, random)
    if check.first:
        _shrink(check, comparison, block, random)
    else:
        check.witness = block
        check.remarks.append("the solver's block is converted as it should be when it is simulated: the design leaves something "
                             "undefined (x), on which its result depends")


def _shrink(check: Check, comparison: Comparison, block: np.ndarray, random: np.ndarray | None) -> None:
    """Make a witness smaller, if it is one on its own, and keep it."""
    if comparison.differs(block[None], random)[0]:
        block = smallest(block, lambda patterns: comparison.differs(patterns, random))
        check.smallest = comparison.described("smallest witness", block, random)
    else:
        check.remarks.append("the block that differs does not differ on its own: the design keeps something from the blocks before")
    check.witness = block
    save_block(check.folder / "witness.npz", 0, block[None], None if random is None else random[None])


def _name(check: Check, comparison: Comparison, normal: np.ndarray) -> None:
    """Which rules does it follow, or what is the fault like?"""
    numerics = check.config.numerics
    patterns = np.concatenate([make.corner_blocks(numerics), make.random_blocks(numerics, TRIED, check.seed)])
    sets = [(blocks, random := comparison.drawn(blocks, 0), comparison.convert(blocks, random)) for blocks in (patterns, normal)]
    check.nearest, check.tried = ranked(numerics, *sets), len(patterns) + len(normal)
    check.remarks += suspicions(numerics, *sets[1])
    if isinstance(comparison.design, Streamed):
        usual = comparison.design.latency
        for latency in range(usual + 5):
            other = Comparison(check.config, comparison.design.with_latency(latency), check.seed)
            if latency != usual and not divergence(other, patterns).differing_blocks:
                check.remarks.append(f"with latency={latency} nothing differs")
