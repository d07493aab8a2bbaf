"""Place and route of a converter between registers: Fmax over several seeds, and the cells in use."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ..hdl import HardwareConfig, describe
from ..host.cache import kept_folder, kept_result, refreshed
from ..host.errors import ToolError
from ..host.processes import workers
from ..spec.catalogue import unknown_name
from .netlist import Cost, cost
from .nextpnr import Routed, nextpnr_version, route
from .synthesis import TOP, modules_of
from .targets import TARGETS, Target, device_of, routable
from .wrapper import WRAPPER, wrapper
from .yosys import run, yosys_version

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class PlaceAndRoute:
    """The outcome of `place_and_route`."""

    config: HardwareConfig
    target: str
    design: Cost
    """The converter alone, as Yosys maps it within its wrapper."""
    runs: tuple[Routed, ...]
    """One run for each seed; its cells include the registers around the converter."""
    yosys: str
    nextpnr: str

    @property
    def fmax_mhz(self) -> float:
        """Median over the seeds."""
        return statistics.median(run["fmax_mhz"] for run in self.runs)

    @property
    def fmax_range_mhz(self) -> tuple[float, float]:
        """Lowest and highest over the seeds."""
        return min(run["fmax_mhz"] for run in self.runs), max(run["fmax_mhz"] for run in self.runs)

    @property
    def logic_cells(self) -> int:
        """Logic cells in use, including the wrapper. Seeds differ only in cells that pass a signal through."""
        return round(statistics.median(run["used"][device_of(self.target).logic_cells] for run in self.runs))

    def to_dict(self) -> dict:
        device = device_of(self.target)
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "target": self.target,
            "device": device.description,
            "yosys": self.yosys,
            "nextpnr": self.nextpnr,
            "fmax_mhz": self.fmax_mhz,
            "fmax_range_mhz": list(self.fmax_range_mhz),
            "logic_cells": self.logic_cells,
            "design": self.design.to_dict(),
            "runs": list(self.runs),
        }


def place_and_route(
    config: HardwareConfig,
    target: str = "ecp5",
    *,
    seeds: int = 3,
    jobs: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> PlaceAndRoute:
    """Synthesise the emitted Verilog between registers, then place and route it.

    Results are cached by the Verilog without its header, the scripts, the versions of the tools, and the seed.

    Parameters
    ----------
    config : the converter
    target : one of `TARGETS` that has a device
    seeds : number of runs, with the seeds 1 to this
    jobs : number of runs at a time
    force : ignore cached results
    progress : is called with the steps done and the steps in all

    Returns
    -------
    PlaceAndRoute
        Fmax in MHz of each seed, and the cells in use

    Raises
    ------
    ValueError
        for a target without a device, or a converter that does not fit
    ToolError
        without Yosys or nextpnr, or where one fails
    """
    if target not in routable():
        raise ValueError(
            f"place and route is for {', '.join(routable())}, not {target}"
            if target in TARGETS
            else unknown_name("target", target, routable())
        )
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, not {seeds}")
    chosen = TARGETS[target]
    device, text = device_of(target), modules_of(config)
    around = surroundings(config)
    step = progress or (lambda done, total: None)
    nextpnr, key = nextpnr_version(device), [text, around, chosen.identity, yosys_version()]  # or a tool is missing
    step(0, seeds + 1)
    runs = []
    with refreshed(force):
        mapped = kept_folder("mapped", key, lambda folder: _map(text, around, chosen, folder))
        step(1, seeds + 1)

        def seeded(seed: int) -> Routed:
            def compute(folder: Path) -> Routed:
                shutil.copyfile(mapped / "netlist.json", folder / "netlist.json")
                result = route(device, folder, seed)
                (folder / "netlist.json").unlink()  # it stays where it was mapped
                return result

            return cast(Routed, kept_result("pnr", [*key, device.identity, nextpnr, str(seed)], compute))

        with workers(jobs) as pool:
            for result in pool.map(seeded, range(1, seeds + 1)):
                runs.append(result)
                step(1 + len(runs), seeds + 1)
    design = Cost(**json.loads((mapped / "cost.json").read_text()))
    return PlaceAndRoute(
        config=config, target=target, design=design, runs=tuple(runs), yosys=yosys_version(), nextpnr=nextpnr
    )


def place_and_route_all(
    configs: list[HardwareConfig],
    target: str = "ecp5",
    *,
    seeds: int = 3,
    jobs: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> list[PlaceAndRoute]:
    """`place_and_route` for several configurations, one after the other."""

    def counted(before: int) -> Progress | None:
        return progress and (lambda done, total: progress(before * total + done, len(configs) * total))

    return [
        place_and_route(config, target, seeds=seeds, jobs=jobs, force=force, progress=counted(number))
        for number, config in enumerate(configs)
    ]


def surroundings(config: HardwareConfig) -> str:
    """Verilog of the registers around a converter."""
    return wrapper(TOP, describe(config, TOP)["ports"])


def _map(text: str, around: str, target: Target, folder: Path) -> None:
    """Netlist of the design in its wrapper, and the cost of the design."""
    (folder / "converter.v").write_text(text)
    (folder / "wrapper.v").write_text(around)
    opened = (
        f"setattr -mod -unset keep_hierarchy; flatten {TOP}; opt_clean"  # the converter stays a module, its own do not
    )
    netlist, _ = run(["read_verilog converter.v wrapper.v", target.script.format(top=WRAPPER), opened], folder)
    if TOP not in netlist["modules"]:
        raise ToolError("Yosys left no converter in its wrapper: the synthesis has gone wrong")
    found = cost(netlist, {}, TOP, target)
    if not found.luts:
        raise ToolError("Yosys left no LUT of the converter: the synthesis has gone wrong")
    (folder / "cost.json").write_text(json.dumps(found.to_dict(), indent=2))
