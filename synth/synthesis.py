"""Synthesis of an emitted converter: what it costs as a whole, and stage by stage."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..hdl import verilog
from ..hdl.host import cached_folder, write_whole
from ..spec import ConverterConfig
from .netlist import Cost, cost
from .targets import TARGETS, Target
from .yosys import run, yosys_version

__all__ = ["STAGES", "Synthesis", "synth", "synth_all"]

STAGES = {"tree": "amax_tree", "scale": "scale_unit", "element": "element_quantizer"}
"""Stages by name, and the module of each in the emitted Verilog."""

TOP = "converter"


@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """The outcome of `synth`."""

    config: ConverterConfig
    target: str
    whole: Cost
    """The whole converter, flattened."""
    stages: dict[str, Cost]
    """One tree, one scale unit and one element quantizer, each on its own; they do not add up to the whole, which is
    optimised across their borders."""
    yosys: str
    folder: Path
    """Where the netlists and logs are kept."""

    def to_dict(self) -> dict:
        return {**self.config.to_dict(), "config_id": self.config.config_id, "target": self.target, "yosys": self.yosys,
                "whole": self.whole.to_dict(), "stages": {name: part.to_dict() for name, part in self.stages.items()}}


def synth(config: ConverterConfig, target: str = "xcu", *, force: bool = False) -> Synthesis:
    """Synthesise the emitted Verilog for one of `TARGETS`.

    Results are kept by content: the Verilog, the script and the version of Yosys. Raises `ToolError` without Yosys.
    """
    if target not in TARGETS:
        raise ValueError(f"target must be one of {', '.join(TARGETS)}, not {target!r}")
    text, chosen = verilog(config, TOP), TARGETS[target]

    def make(folder: Path) -> None:
        (folder / "converter.v").write_text(text)
        for name, top in {"whole": TOP, **{stage: f"{TOP}_{module}" for stage, module in STAGES.items()}}.items():
            (folder / name).mkdir()
            write_whole(folder / name / "cost.json", json.dumps(_cost(folder, name, top, chosen).to_dict(), indent=2))
            (folder / name / "netlist.json").unlink()  # large, and made again by the script beside it

    folder = cached_folder("synth", [text, repr(chosen), yosys_version()], make, force)
    costs = {name: Cost(**json.loads((folder / name / "cost.json").read_text())) for name in ("whole", *STAGES)}
    return Synthesis(config=config, target=target, whole=costs.pop("whole"), stages=costs, yosys=yosys_version(), folder=folder)


def synth_all(configs: list[ConverterConfig], target: str = "xcu", *, jobs: int = 2, force: bool = False) -> list[Synthesis]:
    """`synth` for several configurations, in their order, ``jobs`` at a time."""
    with ThreadPoolExecutor(jobs) as pool:  # each thread waits for its child process
        return list(pool.map(lambda config: synth(config, target, force=force), configs))


def _cost(folder: Path, name: str, top: str, target: Target) -> Cost:
    netlist, statistics = run(["read_verilog ../converter.v", target.script.format(top=top)], folder / name,
                              target.technology)
    return cost(netlist, statistics, top, target)
