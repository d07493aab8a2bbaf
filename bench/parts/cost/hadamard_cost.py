"""Cost of Hadamard transforms of 16 BF16 numbers: all bits at once, and limb by limb. Takes half an hour."""

from __future__ import annotations

import json
from pathlib import Path

from mxcast.hdl import HardwareConfig, configuration, verilog
from mxcast.hdl.config.architecture import HadamardForm
from mxcast.hdl.emission.modules import fingerprint
from mxcast.host.files import write_whole
from mxcast.synth import synth
from mxcast.synth.devices import DEVICES
from mxcast.synth.nextpnr import nextpnr_version
from mxcast.synth.pnr import place_and_route
from mxcast.synth.yosys import yosys_version

from ..pages import table

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "records" / "hadamard_cost.json"

PLACED, SEEDS = "ecp5", 9
"""The target on which limbs are placed and routed."""
JOBS = [(form, target) for form in HadamardForm for target in ("xcu", PLACED)]
"""Form and target."""


def built(form: str, target: str) -> HardwareConfig:
    """The hardware of a job."""
    return configuration("hadamard", "hadamard16", "te", form=form, target=target)


def measured(form: str, target: str) -> dict[str, object]:
    config = built(form, target)
    cost = synth(config, target, stages=False).whole
    figures = {"form": form, "target": target, "cycles": config.interval, "verilog": fingerprint(verilog(config))}
    figures |= {"luts": cost.luts, "carries": cost.carries, "ffs": cost.ffs}
    if config.latency and target == PLACED:
        routed = place_and_route(config, target, seeds=SEEDS)
        figures |= {"mhz": routed.fmax_mhz, "mhz_range": list(routed.fmax_range_mhz)}
    return figures


def markdown(figures: list[dict]) -> str:
    """A row for each job; Fmax is the median of `SEEDS` seeds."""
    names = ("form", "target", "cycles", "luts", "carries", "ffs", "mhz")
    rows = [[*(row.get(name, "-") for name in names), *row.get("mhz_range", ("-", "-"))] for row in figures]
    head = ["form", "target", "cycles for a block", "LUTs", "carries", "registers", "MHz", "lowest", "highest"]
    return table(head, rows, texts=2)


def keep() -> None:
    versions = {"yosys": yosys_version(), "nextpnr": nextpnr_version(DEVICES[PLACED])}
    figures = [measured(form, target) for form, target in JOBS]
    write_whole(KEPT, json.dumps({**versions, "figures": figures}, indent=1) + "\n")
