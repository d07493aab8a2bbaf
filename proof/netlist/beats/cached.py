"""The parts of an NVFP4 encoder with a cache: its control, what computes scales and codes, and what computes rows.

Scales and codes come from pure delays with an enable, where memories delay numbers. The control, and what the cache
stores, are questions about the rest of the design, in which these parts are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import cached_property
from math import inf

from ....hdl import Nvfp4Config
from ....hdl.nvfp4_cache.schedule import DIGITS, ROW_CYCLES, TURN
from ....spec import E4M3
from ..design import FREED, UNSAID, Design
from ..pipeline import BITS, REGISTERS, WITH_ENABLES, in_order, inputs_of, make_wire
from ..structure import Instances, StructureError, drivers_of, in_lanes
from .instances import InstanceParts
from .parts import CLOCK, Delay
from .square import SPLIT, Store, stores_in

FRONT, CACHE, BACK, DIVIDER = "front", "cache", "back", "divider"
"""The instances: of the scale, of the rows, of the codes, and of the division in the cache."""

ROWS = 1 << E4M3.bits - 1
ROW = ("start", "cells", "thresholds")

CONTROL = ("divides", "loads", "is_first", "dividend_bit", "first")
"""Registers of the division that depend on the number of the cycle before."""
STATE = ("divisor", "remainder", "quotients", *CONTROL)
"""Registers of the division that are not functions of the scale and the constant."""
ROW_EDGES = ROW_CYCLES - 2 - (ROW_CYCLES - TURN + DIGITS + 1)
"""Edges from the last digit of the last quotient to the cycle in which the row has to be there."""


def _edges(module: dict) -> Callable[[object, str], float]:
    """The most registers between a port and a bit of a flat module of gates."""
    drivers, order = drivers_of(module), in_order(module)
    found: dict[str, dict[object, float]] = {}

    def late(bit: object, port: str) -> float:
        if port not in found:
            known: dict[object, float] = dict.fromkeys(module["ports"].get(port, {"bits": []})["bits"], 0)
            for name in order:
                cell = module["cells"][name]
                count = max((known.get(one, -inf) for one in inputs_of(cell)), default=-inf)
                for pin, way in cell["port_directions"].items():
                    if way == "output":
                        known |= dict.fromkeys(cell["connections"][pin], count + (cell["type"] in REGISTERS))
            found[port] = known
        return found[port].get(bit, -inf) if bit in drivers or bit in found[port] else -inf

    return late


def _delay(module: dict, port: str, edges: int) -> None:
    """Put registers with an enable behind an input of a flat module of gates."""
    unused = 1 + max(bit for net in module["netnames"].values() for bit in net["bits"] if isinstance(bit, int))
    ports = module["ports"]
    for place, bit in enumerate(ports[port]["bits"]):
        for edge in range(edges):
            pins = {"C": ports["clk"]["bits"], "E": ports["enable"]["bits"], "D": [unused], "Q": [bit]}
            ways = {pin: "output" if pin == "Q" else "input" for pin in pins}
            cell = {"type": "$_DFFE_PP_", "port_directions": ways, "connections": pins}
            module["cells"][f"$delay_{port}_{place}_{edge}"] = {**cell, "parameters": {}, "attributes": {}}
            bit, unused = unused, unused + 1
        ports[port]["bits"][place] = bit


def delays(config: Nvfp4Config) -> dict[str, int]:
    """The memories in front of the cache, each with the edges by which it delays an input."""
    places = config.microarchitecture.registered_after
    waiting = [place for place in places[: places.index("lookup")] if place != "input"]
    tree = [place for place in waiting if place in config.tree_stages]
    edges = {"block": len(waiting), "d": max(0, len(waiting) - 1), "k": len(tree)}
    return {name: count for name, count in edges.items() if count}


class CachedParts(InstanceParts):
    """The parts of a design with the ports of an NVFP4 encoder with a cache."""

    def __init__(self, design: Design, config: Nvfp4Config) -> None:
        super().__init__(design)
        self.config = config
        places = config.microarchitecture.registered_after
        self.before = places[: places.index("lookup")]
        self.behind = places[places.index("factor") :]

    @cached_property
    def kinds(self) -> dict[str, str]:
        found = {name: self.kind(name, self.design.top) for name in (FRONT, CACHE, BACK)}
        return {**found, DIVIDER: self.kind(DIVIDER, found[CACHE])}

    @cached_property
    def gates(self) -> dict[str, dict]:
        """The modules as gates. The top module and the cache have nothing but `kinds` and memories in them."""
        kept = [f"setattr -mod -set keep_hierarchy 1 {kind}" for kind in self.kinds.values()]
        flat = [f"flatten {kind}" for kind in (self.design.top, *self.kinds.values())]
        looked_at = f"{self.design.top} {self.kinds[CACHE]}"  # others have many gates
        steps = [f"{command} {looked_at}" for command in SPLIT]
        return self.netlist(*kept, *flat, *UNSAID, *FREED, "opt_expr -keepdc", "opt_clean", BITS, *steps)

    def stores(self, module: str, sizes: Collection[int]) -> list[Store]:
        """The memories of a module, which are written at ``clk``."""
        return stores_in(self.gates[module], sizes)

    # the control of blocks

    @property
    def delayed(self) -> dict[str, int]:
        return delays(self.config)

    @cached_property
    def memories(self) -> dict[str, Store]:
        """The memory of each of `delayed`, which is read at its own place. Raises `StructureError` for others."""
        nets = {name: net["bits"] for name, net in self.gates[self.design.top]["netnames"].items()}
        stores = self.stores(self.design.top, [self.places])
        found = {}
        for name in self.delayed:
            here = [store for store in stores if store.read_address == nets.get(f"read_{name}")]
            if len(here) != 1:
                raise StructureError(f"{self.design.top} has no memory that is read at read_{name}")
            found[name] = here[0]
        if len(stores) != len(found):
            raise StructureError(f"{self.design.top} has more memories than inputs that wait")
        return found

    def check_memories(self) -> None:
        """Raise `StructureError` unless each memory of the top module is written at the place of the control."""
        nets = {name: net["bits"] for name, net in self.gates[self.design.top]["netnames"].items()}
        for name, store in self.memories.items():
            if store.write_address != nets.get("write_place") or [store.enable] != nets.get("front_enable"):
                raise StructureError(f"the memory of {name} is not written at write_place")

    @property
    def places(self) -> int:
        """Words of a memory of the top module."""
        return 1 << max(1, (max(self.delayed.values(), default=1) - 1).bit_length())

    @cached_property
    def flow(self) -> dict:
        """The control of blocks: the top module without the instances and the memories. Their inputs are outputs."""
        top = self.without(self.design.top, [FRONT, CACHE, BACK])
        data = {"x", "k", "d", "scale", "p"}
        return {**top, "ports": {name: port for name, port in top["ports"].items() if name not in data}}

    # the rows

    @cached_property
    def rows(self) -> dict:
        """The control of the rows: the cache without the division and its memories. Their inputs are outputs.

        Raises `StructureError` unless the cache gives the row at the scale of its block, and stores what the division
        gave one cycle before.
        """
        whole, kind = self.gates[self.kinds[CACHE]], self.kinds[CACHE]
        stores = sorted(self.stores(kind, [ROWS]), key=lambda store: len(store.read))
        if len(stores) < 2 or len(stores[0].read) != 1:
            raise StructureError(f"the cache of {self.design.top} has no memories of bits and of rows")
        computed, *banks = stores
        enable, address = banks[0].written_as
        if any(bank.written_as != (enable, address) for bank in banks):
            raise StructureError(f"the cache of {self.design.top} does not write whole rows")
        control = self.without(kind, [DIVIDER])
        ports = {name: port["bits"] for name, port in control["ports"].items()}
        row, given = ([bit for name in ROW for bit in ports[f"{of}{name}"]] for of in ("", f"{DIVIDER}_"))
        if Counter(bit for bank in banks for bit in bank.read) != Counter(row):  # each bit of the row once
            raise StructureError("the cache does not give the row that it reads")
        made = dict(zip(row, given, strict=True))
        drivers, cells = drivers_of(whole), control["cells"]
        for bank in banks:
            for read, written in zip(bank.read, bank.written, strict=True):
                register = cells.get(drivers.get(written, ""), {"type": ""})
                if register["type"] != "$_DFF_P_" or register["connections"]["D"] != [made[read]]:
                    raise StructureError("the cache does not store the row that the division gave one cycle before")
        told = {
            "computed_enable": [computed.enable],
            "computed_write": computed.write_address,
            "computed_word": computed.written,
            "computed_read": computed.read_address,
            "rows_enable": [enable],
            "rows_write": address,
            "rows_read": [bit for bank in banks for bit in bank.read_address],
        }
        shown = {name: {"direction": "output", "bits": bits} for name, bits in told.items()}
        shown["computed_stored"] = {"direction": "input", "bits": computed.read}
        kept = {name: port for name, port in control["ports"].items() if name.removeprefix(f"{DIVIDER}_") not in ROW}
        return {**control, "ports": kept | shown}

    # the numbers on their way

    def check_ways(self) -> None:
        """Raise `StructureError` unless numbers and constants of a block reach the instances unchanged, after as many
        edges as its scale, and results leave as they are."""
        self.check_memories()
        top = self.gates[self.design.top]
        cells = {name: top["cells"][name]["connections"] for name in (FRONT, CACHE, BACK)}
        ports = {name: port["bits"] for name, port in top["ports"].items()}
        enable = top["netnames"]["front_enable"]["bits"]
        if cells[CACHE]["moves"] != enable or cells[FRONT].get("enable", enable) != enable:
            raise StructureError(f"the {FRONT} or the {CACHE} does not move with front_enable")
        entering, before = int("input" in self.before), len(self.before)
        tree = self.delayed.get("k", 0)
        for instance, pin, port, edges in (
            (FRONT, "x", "x", entering),
            (FRONT, "k", "k", entering + tree),
            (CACHE, "d", "d", before),
            (BACK, "x", "x", before + 1),
        ):
            if self._followed(cells[instance][pin]) != (ports[port], edges):
                raise StructureError(f"{pin} of the {instance} is not {port}, {edges} edges later")
        wired = {(CACHE, "scale"): (FRONT, "scale"), **{(BACK, name): (CACHE, name) for name in ("block_scale", *ROW)}}
        for (instance, pin), (other, given) in wired.items():
            if cells[instance][pin] != cells[other][given]:
                raise StructureError(f"{pin} of the {instance} is not {given} of the {other}")
        if any(cells[BACK][name] != ports[name] for name in ("scale", "p")) or cells[CACHE]["rst"] != ports["rst"]:
            raise StructureError(f"a result of {self.design.top} does not come from the {BACK}, or a reset is lost")
        self._check_delays()

    def _followed(self, bits: list) -> tuple[list, int]:
        """The bits from which registers and memories take these, and over how many edges; -1 if they differ."""
        top = self.gates[self.design.top]
        drivers, cells = drivers_of(top), top["cells"]
        (enable,) = top["netnames"]["front_enable"]["bits"]
        delays = {
            bit: (written, self.delayed[name])
            for name, store in self.memories.items()
            for bit, written in zip(store.read, store.written)
        }
        found, edges = [], set()
        for bit in bits:
            count = 0
            while True:
                if bit in delays:
                    bit, more = delays[bit]
                    count += more
                    continue
                register = cells.get(drivers.get(bit, ""), {"type": ""})
                if register["type"] != "$_DFF_P_":
                    break
                taken = cells.get(drivers.get(register["connections"]["D"][0], ""), {"type": "", "connections": {}})
                pins = taken["connections"]
                if taken["type"] != "$_MUX_" or pins["S"] != [enable] or pins["A"] != [bit]:
                    break
                bit, count = pins["B"][0], count + 1
            found.append(bit)
            edges.add(count)
        return found, edges.pop() if len(edges) == 1 else -1

    def _check_delays(self) -> None:
        """Raise `StructureError` unless scale and codes come from pure delays with an enable. The constant k enters
        when the largest magnitude is there.
        """
        kept = [f"setattr -mod -set keep_hierarchy 1 {kind}" for kind in self.kinds.values()]
        flat = [f"flatten {kind}" for kind in self.kinds.values()]
        whole = self.netlist(*kept, *flat, *UNSAID, *FREED, *WITH_ENABLES, BITS)
        tree, behind = self.delayed.get("k", 0), len(self.behind)
        front, back = whole[self.kinds[FRONT]], whole[self.kinds[BACK]]
        _delay(front, "k", tree)
        Delay(front, FRONT, all_first=True).check(len(self.before) - ("input" in self.before))
        Delay(back, BACK, all_first=True).check(behind)

    # the bits

    def scale_parts(self) -> tuple[str, str]:
        """The modules of the largest magnitude and of the scale. Raises `StructureError` unless they are connected."""
        parts = Instances(self.functions, self.kinds[FRONT])
        if set(parts.cells) != {"maximum", "scale_unit"} or parts.has_logic:
            raise StructureError(f"the {FRONT} does not consist of maximum and scale_unit")
        parts.check_inputs("maximum", {"x": parts.ports["x"]})
        parts.check_inputs("scale_unit", {"amax": parts.cells["maximum"]["amax"], "k": parts.ports["k"]})
        if parts.cells["scale_unit"]["scale"] != parts.ports["scale"]:
            raise StructureError(f"the scale of the {FRONT} does not come from its scale_unit")
        return parts.kinds["maximum"], parts.kinds["scale_unit"]

    def lanes(self) -> list[Design]:
        """The lanes, each with its number and the row as inputs; once those that are the same modules. Raises
        `StructureError` unless each has its own number and the row."""
        parts = Instances(self.functions, self.kinds[BACK])
        numbers, codes = (in_lanes(parts.ports[name], len(parts.ports[name]) // self.config.lanes) for name in "xp")
        if (
            parts.has_logic
            or len(parts.cells) != 2 * self.config.lanes
            or parts.ports["scale"] != parts.ports["block_scale"]
        ):
            raise StructureError(f"the {BACK} does not consist of two modules for each number")
        row = {name: parts.ports[name] for name in ROW}
        found = {}
        for lane, (x, p) in enumerate(zip(numbers, codes)):
            splits = [name for name in parts.making("parts") if parts.cells[name]["x"] == x]
            makes = [name for name in parts.making("p") if parts.cells[name]["p"] == p]
            if len(splits) != 1 or len(makes) != 1:
                raise StructureError(f"number {lane} of the {BACK} has no modules of its own")
            (split,), (make,) = splits, makes
            parts.check_inputs(split, {"x": x})
            parts.check_inputs(make, {"parts": parts.cells[split]["parts"], **row})
            found[parts.kinds[split], parts.kinds[make]] = (split, make, {"x": x, **row, "p": p})
        return [self._lane(*one) for one in found.values()]

    def _lane(self, split: str, make: str, ports: dict[str, list]) -> Design:
        whole = self.functions[self.kinds[BACK]]
        ways = {name: "output" if name == "p" else "input" for name in ports}
        module = {
            **whole,
            "attributes": {"top": "1"},
            "ports": {name: {"direction": ways[name], "bits": bits} for name, bits in ports.items()},
            "cells": {name: whole["cells"][name] for name in (split, make)},
            "netnames": {name: {"hide_name": 0, "bits": bits, "attributes": {}} for name, bits in ports.items()},
        }
        return self.design.of_netlist({**self.inside(BACK), self.design.top: module})

    @cached_property
    def division(self) -> Design:
        """The division without registers, but with `STATE`, as inputs ``now_NAME`` and outputs ``next_NAME``.

        Raises `StructureError` unless the others are over in time, if scale and constant stay.
        """
        top = self.opened(DIVIDER, STATE)
        steps = ["opt_dff -keepdc -nosdff", "opt_clean"]
        opened = self.design.of_netlist({self.design.top: top}).netlist_after(steps)[self.design.top]
        for cell in opened["cells"].values():
            if not cell["type"].startswith(("$_DFF", "$dff")):
                continue
            pins = cell["connections"]
            if cell["type"] not in ("$_DFF_P_", "$_DFFE_PP_") or pins["C"] != opened["ports"][CLOCK]["bits"]:
                raise StructureError(f"the {DIVIDER} has storage other than registers at the rising edge of clk")
            if "E" in pins and pins.pop("E") != opened["ports"]["enable"]["bits"]:
                raise StructureError(f"the {DIVIDER} has a register that does not move with its enable")
            cell["port_directions"].pop("E", None)
            cell["type"] = "$_DFF_P_"
        late = _edges(opened)
        ends = [bit for name in ROW for bit in opened["ports"][name]["bits"]]
        if max(late(bit, "now_quotients") for bit in ends) > ROW_EDGES:
            raise StructureError(f"the row of the {DIVIDER} comes more than {ROW_EDGES} edges after the last quotient")
        needed = [bit for name, port in opened["ports"].items() if name.startswith("next_") for bit in port["bits"]]
        if max(late(bit, port) for bit in (*ends, *needed) for port in ("scale", "d")) >= TURN - 1:
            raise StructureError(f"the divisor of the {DIVIDER} comes later than its first turn")
        for name in [name for name, cell in opened["cells"].items() if cell["type"] == "$_DFF_P_"]:
            make_wire(opened["cells"][name])
        return self.design.of_netlist({self.design.top: opened})
