"""Placement of registers: stage boundaries for a latency or a clock, from the delays between neighbours."""

from __future__ import annotations

import dataclasses
import json
import re
from bisect import bisect_left
from dataclasses import dataclass
from graphlib import TopologicalSorter
from math import inf
from pathlib import Path
from typing import TypeVar

from ..hdl import HardwareConfig, verilog
from ..hdl.config.beats import StreamConfig
from ..hdl.emission.modules import body
from ..hdl.lanes.keys import EncoderConfig, front_stages
from ..hdl.primitives.register import Enable
from ..host.cache import kept_folder
from ..host.errors import ToolError
from ..spec import Role
from ..spec.catalogue import excerpt, unknown_name
from .delays import DELAYS, Delays
from .targets import OPENED, TARGETS, Target
from .yosys import run, yosys_version

FASTEST = 1_000_000
"""Upper limit of a frequency in MHz, which no circuit reaches."""

TOP, MOVING = "converter", "moving"

TOGETHER = f"setattr -mod -unset keep_hierarchy {TOP}_{Enable.kind}"
"""Without stalls, the enables that synthesis must keep apart are constants."""

Config = TypeVar("Config", bound=HardwareConfig)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Stage boundaries with registers, and the clock that they are estimated to allow."""

    places: tuple[str, ...]
    period: float
    """Estimated clock period in nanoseconds: the longest path between two registers."""
    target: str

    @property
    def frequency(self) -> float:
        """Clock frequency in MHz."""
        return round(1000 / self.period, 1)


def pipelined(
    config: Config, *, latency: int | None = None, frequency_mhz: float | None = None, target: str = "ecp5"
) -> Config:
    """The configuration with the registers that `plan` chooses."""
    chosen = plan(config, latency=latency, frequency_mhz=frequency_mhz, target=target).places
    micro = dataclasses.replace(config.microarchitecture, registered_after=chosen)
    return dataclasses.replace(config, microarchitecture=micro)


def plan(
    config: HardwareConfig, *, latency: int | None = None, frequency_mhz: float | None = None, target: str = "ecp5"
) -> Plan:
    """Choose the ``latency`` stage boundaries with the shortest longest section, or the fewest boundaries that are fast
    enough for a clock. Among equal choices the one with the fewest register bits wins.

    The delay of several sections is the sum of their delays with registers everywhere, which is never too short.
    Boundaries that always have registers are among those chosen. With lanes, the store cuts the path behind the tree,
    and the latency counts the beats of a block.

    Raises ValueError if the converter has fewer boundaries, or if no choice is fast enough by the estimate.
    """
    if (latency is None) == (frequency_mhz is None):
        raise ValueError("give either a latency or a frequency")
    places, always = config.stages, config.always_registered
    least, around = max(1, len(always)), config.latency - len(config.microarchitecture.registered_after)
    if latency is not None and not least <= latency - around <= len(places):
        of_what = f"with {config.beats} beats in a block" if around else "the number of stage boundaries"
        raise ValueError(
            f"latency must be {least + around} to {len(places) + around}, {of_what}, not {excerpt(latency)}"
        )
    if frequency_mhz is not None and not 0 < frequency_mhz <= FASTEST:
        raise ValueError(f"a frequency must be above 0 and at most {FASTEST} MHz, not {excerpt(frequency_mhz)}")
    measured, bits = sections(config, target)
    best = 0.0, places
    cuts = Cuts(always=tuple(places.index(place) + 1 for place in always), store=_store(config))
    for count in range(least, len(places) + 1) if latency is None else [latency - around]:
        best = _best(measured, bits, count, DELAYS[target].register, cuts)
        if frequency_mhz is not None and best[0] * frequency_mhz <= 1000:
            break
    else:
        if frequency_mhz is not None:
            raise ValueError(
                f"no choice of stage boundaries reaches {frequency_mhz} MHz on {target}: by the estimate registers "
                f"everywhere give {1000 / best[0]:.0f} MHz"
            )
    return Plan(places=best[1], period=best[0], target=target)


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """Registers that are there in any case."""

    always: tuple[int, ...] = ()
    """Stage boundaries that always have registers, by their numbers, from 1."""
    store: int = 0
    """The boundary behind which a store and the largest key of a block are; 0 without them."""


def _store(config: HardwareConfig) -> int:
    """The boundary behind which a converter stores its block; 0 if it does not."""
    return len(front_stages(config)) if isinstance(config, EncoderConfig) and config.beats > 1 else 0


def _best(
    measured: dict[str, float], bits: dict[str, int], count: int, register: float, cuts: Cuts
) -> tuple[float, tuple[str, ...]]:
    """The shortest clock period with ``count`` registers in a row, and the stage boundaries with the fewest bits that
    reach it.

    A dynamic programme over the last boundary with a register, for every period that a section can need.
    """
    places, delays = list(measured), list(measured.values())

    def period(first: int, last: int) -> float:
        """Period with registers behind the sections ``first`` and ``last``, and only a store between."""
        if any(first < at < last for at in cuts.always):
            return inf
        longest = sum(delays[first:last])
        if cuts.store and first <= cuts.store < last:
            # the largest key so far is compared like two keys in the last level of the tree
            compared = sum(delays[first : cuts.store]) + delays[cuts.store - 1]
            longest = max(compared, sum(delays[cuts.store : last]))
        return round(longest + register, 2)

    def cheapest(limit: float) -> tuple[int, tuple[str, ...]] | None:
        """Bits and boundaries of the best choice within a period."""
        reached: dict[int, tuple[int, tuple[str, ...]]] = {0: (0, ())}
        for _ in range(count):
            reached = {
                last: min(
                    (before + bits[place], (*chosen, place))
                    for first, (before, chosen) in reached.items()
                    if first < last and period(first, last) <= limit
                )
                for last, place in enumerate(places, start=1)
                if any(first < last and period(first, last) <= limit for first in reached)
            }
        whole = {last: found for last, found in reached.items() if last >= max(cuts.always, default=0)}
        return min((found for last, found in whole.items() if period(last, len(places)) <= limit), default=None)

    limits = sorted({period(first, last) for last in range(len(places) + 1) for first in range(last + 1)} - {inf})
    shortest = bisect_left(limits, True, key=lambda limit: cheapest(limit) is not None)
    chosen = cheapest(limits[shortest])
    assert chosen is not None, "without any limit there is a choice"
    return limits[shortest], chosen[1]


def sections(config: HardwareConfig, target: str = "ecp5") -> tuple[dict[str, float], dict[str, int]]:
    """For each stage boundary the delay of its section, from the boundary before it, in nanoseconds, and its register
    bits.

    Estimated on the netlist of the converter with registers at all stage boundaries, and cached. Lanes and streams have
    the sections of a whole block. Raises `ToolError` without Yosys.
    """
    if target not in DELAYS:
        raise ValueError(unknown_name("target with delays", target, DELAYS))
    if isinstance(config, StreamConfig) and config.in_beats:
        delays, widths = sections(config.at_once, target)
        return {place: delays[place] for place in config.stages}, {place: widths[place] for place in config.stages}
    places, chosen = config.stages, TARGETS[target]
    everywhere = dataclasses.replace(
        config, microarchitecture=dataclasses.replace(config.microarchitecture, registered_after=places)
    )
    text, around = body(verilog(everywhere, TOP)), _moving(everywhere)

    def compute(folder: Path) -> None:
        (folder / "converter.v").write_text(text)
        (folder / "moving.v").write_text(around)
        plain, _ = run(["read_verilog converter.v", f"hierarchy -top {TOP}", "proc", "flatten", "opt_clean"], folder)
        bits = {place: sum(len(net["bits"]) for net in _registers(plain, place)) for place in places}
        (folder / "bits.json").write_text(json.dumps(bits))
        mapped = ["read_verilog converter.v moving.v", TOGETHER, chosen.script.format(top=MOVING), OPENED]
        netlist, _ = run(mapped, folder, chosen.estimate)
        if not any(_arrivals(netlist, chosen, DELAYS[target], places).values()):
            raise ToolError("Yosys left no logic between the registers: the synthesis has gone wrong")

    folder = kept_folder("sections", [text, around, chosen.identity, yosys_version()], compute)
    netlist = json.loads((folder / "netlist.json").read_text())
    return _arrivals(netlist, chosen, DELAYS[target], places), json.loads((folder / "bits.json").read_text())


def _moving(config: HardwareConfig) -> str:
    """A module without stalls: control is not part of a path between boundaries."""
    tied = {"rst": "1'b0", "i_valid": "1'b1", "o_ready": "1'b1"}
    kept = [port for port in config.pins if port.role.is_data or port.role is Role.CLOCK]
    head = ", ".join(f"{port.direction} wire [{port.width - 1}:0] {port.name}" for port in kept)
    pins = [f".{port.name}({port.name})" for port in kept] + [f".{name}({value})" for name, value in tied.items()]
    return f"module {MOVING}({head});\n  {TOP} {TOP}_0({', '.join(pins)});\nendmodule\n"


def _registers(netlist: dict, place: str) -> list[dict]:
    """The nets of the registers at a stage boundary."""
    return [
        net for name, net in netlist["modules"][TOP]["netnames"].items() if re.search(rf"(^|[._])\w+_{place}_q$", name)
    ]


def _arrivals(netlist: dict, target: Target, delays: Delays, places: tuple[str, ...]) -> dict[str, float]:
    """The longest path to the registers of each stage boundary, from other registers or ports.

    Synthesis renames registers, but every path from a port to a register of the n-th boundary has n registers.
    """
    module = netlist["modules"][MOVING]
    cells = {name: cell for name, cell in module["cells"].items() if not cell["type"].startswith("$scopeinfo")}
    kinds = {
        name: "ffs" if cell["type"].startswith("SRL") else target.kind(cell["type"]) for name, cell in cells.items()
    }
    clock: list[int | str] = module["ports"]["clk"]["bits"]
    driver: dict[int | str, str] = {}
    inputs: dict[str, list[int | str]] = {}
    for name, cell in cells.items():
        directions = cell["port_directions"]
        driver |= {
            bit: name for port, bits in cell["connections"].items() if directions[port] == "output" for bit in bits
        }
        inputs[name] = [
            bit
            for port, bits in cell["connections"].items()
            if directions[port] == "input" and bits != clock
            for bit in bits
        ]
    sources = {name: {driver[bit] for bit in bits if bit in driver} for name, bits in inputs.items()}
    entering = {bit for port in module["ports"].values() if port["direction"] == "input" for bit in port["bits"]}
    depth: dict[str, int | None] = {}  # registers on the path, None for a path that starts at no port
    late: dict[str, float] = {}
    found = dict.fromkeys(places, 0.0)
    for name in TopologicalSorter(sources).static_order():
        before = [registers for source in sources[name] if (registers := depth[source]) is not None]
        before += [0] * (not entering.isdisjoint(inputs[name]))
        arrivals = [0.0, *(late[source] + _wire(kinds[name], kinds[source], delays) for source in sources[name])]
        if kinds[name] == "ffs":
            depth[name], late[name] = max(before) + _length(cells[name]) if before else None, 0.0
            if before:
                place = places[max(before)]
                found[place] = max(found[place], round(max(arrivals), 3))
        else:
            own = {"luts": delays.lut, "muxes": delays.mux, "carries": delays.carry, "inverters": delays.lut}.get(
                kinds[name], 0.0
            )
            if not entering.isdisjoint(inputs[name]):
                arrivals.append(_wire(kinds[name], "ffs", delays))
            depth[name], late[name] = max(before, default=None), max(arrivals) + own
    return found


def _length(cell: dict) -> int:
    """Clock cycles through a register, or through a shift register that synthesis inferred from several."""
    address = (
        [port for port in sorted(cell["connections"]) if re.fullmatch(r"A\d?", port)]
        if cell["type"].startswith("SRL")
        else []
    )
    return 1 + sum(
        1 << place
        for place, bit in enumerate(bit for port in address for bit in cell["connections"][port])
        if bit == "1"
    )


def _wire(kind: str, source: str, delays: Delays) -> float:
    """Delay of the wire from one cell to another."""
    if kind == "carries":
        return 0.0 if source == "carries" else delays.wire + delays.lut
    return delays.wire if kind in ("luts", "inverters") or (kind == "ffs" and source == "ffs") else 0.0
