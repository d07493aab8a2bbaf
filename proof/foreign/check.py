"""The outcome of a check of a converter of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...conformance.identify.candidates import Candidate
from ...hdl import HardwareConfig
from ...host.files import sha256
from ...sim.check.comparison import Divergence, Row
from ...sim.operations import element_role
from ...sim.transactions import Transactions
from ...synth.yosys import yosys_version
from ..solve.argument import Argument, Status
from ..verilog.gate import Objection
from ..verilog.slang import slang_version
from ..verilog.text import Reading
from .mapping import PortMap


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
    stimuli: list[Row] = field(default_factory=list)
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
