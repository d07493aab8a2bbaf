"""The parts of a tile encoder that do not depend on its formats: modules, memories and wires.

Proofs need few of the memories, because the others are like them. All words of a row move alike, since each store is a
memory whose bits have one enable and one address. This is checked here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, Generic, TypeVar

from ....hdl import Nvfp4TileConfig, TiledConfig
from ....hdl.config.tile import TURNED_STAGE
from ....hdl.lanes.keys import front_stages
from ..design import DISSOLVED, FREED, UNSAID, Cut, Design, Part, provide
from ..handshake import GATES
from ..pipeline import BITS, WITH_ENABLES, bypass
from ..structure import Instances, StructureError, drivers_of, in_lanes
from .parts import RESET, check_known, check_storage

MEMORY = {"RD_PORTS": 1, "WR_PORTS": 1, "RD_CLK_ENABLE": 0, "WR_CLK_ENABLE": 1, "WR_CLK_POLARITY": 1, "OFFSET": 0}
"""Parameters of a memory that is written at a rising edge and read within the cycle."""

WIDE = ("RD_DATA", "WR_DATA", "WR_EN")
"""Pins of a memory with a bit for each bit of a word."""

TURNING = "turning_"
"""Begins the wires of the control of the second stores."""

SPLIT = ["simplemap", "techmap", "opt_expr", "opt_clean"]
"""Split cells to gates of one bit; memories stay."""


@dataclass(frozen=True, kw_only=True)
class Store:
    """A memory of a tile, as gates: its addresses and words."""

    name: str
    enable: object
    write_address: list
    written: list
    read_address: list
    read: list

    @property
    def written_as(self) -> tuple[object, list]:
        """When and where a word is written."""
        return self.enable, self.write_address


def stores_in(module: dict, sizes: Collection[int]) -> list[Store]:
    """The memories of a module of gates. Raises `StructureError` for others than `MEMORY` with so many words."""
    found, drivers = [], drivers_of(module)
    for name, cell in module["cells"].items():
        if not cell["type"].startswith("$mem"):
            continue
        pins, numbers = cell["connections"], cell["parameters"]
        wanted = MEMORY | {"WIDTH": len(pins["RD_DATA"])}
        if any(int(numbers[key], 2) != value for key, value in wanted.items()) or int(numbers["SIZE"], 2) not in sizes:
            words = " or ".join(map(str, sizes))
            raise StructureError(f"{name} is another memory than a store of {words} words")
        if pins["WR_CLK"] != module["ports"]["clk"]["bits"] or pins["RD_EN"] != ["1"]:
            raise StructureError(f"{name} is not written at clk, or not always read")
        enables = set(pins["WR_EN"])
        if len(enables) != 1:
            raise StructureError(f"{name} does not write whole words")
        (enable,) = enables
        written, address = (
            [_taken(module, drivers, bit, enable) for bit in pins[pin]] for pin in ("WR_DATA", "WR_ADDR")
        )
        found.append(
            Store(
                name=name,
                enable=enable,
                write_address=address,
                written=written,
                read_address=pins["RD_ADDR"],
                read=pins["RD_DATA"],
            )
        )
    return found


def _taken(module: dict, drivers: Mapping[object, str], bit: object, enable: object) -> object:
    """The value of a bit when it is written: readers leave it undefined at other times."""
    cells = module["cells"]
    while (name := drivers.get(bit)) and cells[name]["type"] == "$_MUX_":
        pins = cells[name]["connections"]
        if pins["S"] != [enable]:
            break
        bit = pins["B"][0]
    return bit


def count_of_stores(config: TiledConfig) -> int:
    """Stores of a tile encoder: one for rows, and one for each bank of numbers if there are banks. Second stores are as
    many again.
    """
    in_banks = 1 + config.beats
    if config.is_turned:
        return 2 * in_banks
    return in_banks if isinstance(config, Nvfp4TileConfig) else 1


Config = TypeVar("Config", bound=TiledConfig)


class Square(ABC, Generic[Config]):
    """The parts of a design with the ports of a tile encoder."""

    OUTSIDE: ClassVar[tuple[str, ...]] = ("clk", "rst", "i_valid", "i_ready", "o_valid", "o_ready")
    """The ports of the control."""

    def __init__(self, design: Design, config: Config) -> None:
        self.design, self.config, self.side = design, config, config.beats
        places = config.microarchitecture.registered_after
        before = front_stages(config)
        self.front = [f"valid_{place}_q" for place in places if place in before]
        self.back = [f"valid_{place}_q" for place in places if place not in before and place != TURNED_STAGE]

    @property
    @abstractmethod
    def instances(self) -> list[str]:
        """The instances that compute with numbers, or exchange words."""

    @property
    @abstractmethod
    def exchanges(self) -> dict[str, int]:
        """The instances that exchange words, and the bits of a word."""

    @property
    @abstractmethod
    def stored(self) -> list[Store]:
        """The store of rows, then one for each bank of numbers, if there are banks."""

    @property
    @abstractmethod
    def transposing(self) -> list[Store]:
        """The second stores."""

    @abstractmethod
    def check(self) -> None:
        """Raise `StructureError` unless modules, stores and ports are wired as the proof needs it, and each of the
        modules with registers is a pure delay with an enable."""
        parts = [self.gates[name] for name in {self.design.top, *self.kinds.values()}]
        memories = [cell for part in parts for cell in part["cells"].values() if cell["type"].startswith("$mem")]
        if len(memories) != count_of_stores(self.config):
            raise StructureError(f"{self.design.top} has another number of memories than stores")
        clocks = [self.wires.cells[name].get("clk", self.wires.ports["clk"]) for name in self.kinds]
        if any(clock != self.wires.ports["clk"] for clock in clocks):
            raise StructureError("a module has another clock than clk")

    def check_marks(self, marks: Mapping[str, list], place: list) -> None:
        """Raise `StructureError` unless ``o_first`` and ``o_last`` say that a place is the first, or the last."""
        for mark, marked in (("o_first", 0), ("o_last", self.side - 1)):
            for number in range(self.side):
                given = {bit: bool(number >> digit & 1) for digit, bit in enumerate(place)}
                if self.value(marks[mark][0], given, mark) != (number == marked):
                    raise StructureError(f"{mark} is not set at its place")

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The modules of the instances. Raises `StructureError` if one is missing."""
        cells = self.design.modules[self.design.top]["cells"]
        if missing := [name for name in self.instances if name not in cells]:
            raise StructureError(f"{self.design.top} has no {missing[0]}")
        return {name: cells[name]["type"] for name in self.instances}

    def _flat(self, *commands: str) -> dict[str, dict]:
        """The modules after the top module is flat but for the instances."""
        provide(self.design.folder)
        kinds = dict.fromkeys(self.kinds.values())
        kept = [f"setattr -mod -set keep_hierarchy 1 {kind}" for kind in kinds]
        steps = [f"flatten {self.design.top}", *UNSAID, *FREED, "opt_expr -keepdc", "opt_clean", *commands]
        return self.design.netlist_after([*DISSOLVED, "proc -norom", *kept, *steps, "delete t:$scopeinfo"])

    @cached_property
    def gates(self) -> dict[str, dict]:
        """The modules in which proofs look at wires."""
        return self.with_gates()

    def with_gates(self) -> dict[str, dict]:
        """The modules as gates, with the instances and the memories in the flat top module."""
        return self._flat("flatten " + " ".join(dict.fromkeys(self.kinds.values())), *WITH_ENABLES, BITS, *SPLIT)

    @cached_property
    def wires(self) -> Instances:
        return Instances(self.gates, self.design.top)

    @cached_property
    def drivers(self) -> dict[object, str]:
        """The cell that drives each bit."""
        return drivers_of(self.gates[self.design.top])

    @cached_property
    def stores(self) -> list[Store]:
        """The memories. Raises `StructureError` for others than `MEMORY` with a word for each row."""
        return stores_in(self.gates[self.design.top], [self.side])

    def store_of(self, read: list, written: list, what: str) -> Store:
        """The memory between two nets."""
        found = [store for store in self.stores if store.read == read and store.written == written]
        if len(found) != 1:
            raise StructureError(f"{what} of {self.design.top} are not in one memory")
        return found[0]

    def net(self, name: str) -> list:
        nets = self.gates[self.design.top]["netnames"]
        if name not in nets:
            raise StructureError(f"{self.design.top} has no wire {name}")
        return nets[name]["bits"]

    def check_alike(self, stores: list[Store], prefix: str, first_crossed: bool | None) -> None:
        """Stores of one control: the first has uncrossed addresses, and the others are banks 0, 1, ..."""
        if any([store.enable] != self.net(f"{prefix}writes") for store in stores):
            raise StructureError(f"{stores[0].name} or another store is written at other edges than {prefix}writes")
        for name in ("write", "read"):
            counter = self.net(f"{prefix}{name}_beat")
            address = counter if first_crossed is None else counter[:-1]
            if getattr(stores[0], f"{name}_address") != address:
                raise StructureError(f"{stores[0].name} has another address than {prefix}{name}_beat")
            for bank, store in enumerate(stores[1:]):
                for place, odd in product(range(self.side), (False, True)):
                    given = dict(zip(counter, [bool(place >> bit & 1) for bit in range(len(address))] + [odd]))
                    crossed = odd ^ bool(first_crossed) ^ (name == "read")
                    wanted = place ^ (bank if crossed else 0)
                    found = [self.value(bit, given, store.name) for bit in getattr(store, f"{name}_address")]
                    if found != [bool(wanted >> bit & 1) for bit in range(len(address))]:
                        raise StructureError(f"{store.name} has another place than its bank")

    def value(self, bit: object, given: dict, what: str) -> bool:
        """The value of a bit that depends on these bits only."""
        if bit in given or bit in ("0", "1"):
            return bit == "1" or given.get(bit, False)
        name = self.drivers.get(bit, "")
        cell = self.gates[self.design.top]["cells"].get(name, {"type": ""})
        if cell["type"] not in GATES:
            raise StructureError(f"{what} depends on more than the place of a row")
        pins = cell["connections"]
        return GATES[cell["type"]](*([self.value(one, given, what) for one in pins.get(pin, ())] for pin in ("A", "B")))

    def pins(self, bit: object, kind: str) -> dict[str, list]:
        """The pins of the cell of one kind that drives a bit."""
        name = self.drivers.get(bit, "")
        cell = self.gates[self.design.top]["cells"].get(name)
        if cell is None or cell["type"] != kind:
            raise StructureError("a result does not come from where it has to")
        return cell["connections"]

    def captured(self, bit: object, enable: list) -> object:
        """The bit that a register takes at each edge with its enable."""
        pins = self.pins(bit, "$_DFFE_PP_")
        if pins["E"] != enable or pins["C"] != self.wires.ports["clk"]:
            raise StructureError("a register of a result moves at other edges than the others")
        return pins["D"][0]

    def turned_back(self, kept: list, words: tuple[list, list]) -> list[Store]:
        """The second stores: of the blocks of rows, which are written with ``kept``, then one for each bank of codes,
        with the words that are read and written there. Raises `StructureError` for others."""
        enable, ports = self.net(f"{TURNING}back_enable"), self.wires.ports
        names = ("scale", "p", "column_scale", "o_first", "o_last")
        read = {name: [self.captured(bit, enable) for bit in ports[name]] for name in names}
        self.check_marks(read, self.net(f"{TURNING}read_beat")[:-1])
        found = [self.store_of([*read["scale"], *read["p"], *read["column_scale"]], kept, "blocks of rows")]
        width = self.config.numerics.block.element.bits
        read_words, written_words = (in_lanes(word, width) for word in words)
        pairs = zip(read_words, written_words, strict=True)
        return found + [self.store_of(*pair, "codes of a row") for pair in pairs]

    @property
    @abstractmethod
    def turned_word(self) -> list:
        """The first word of codes that is written to the second stores, as wires of `control`."""

    @cached_property
    def control(self) -> dict:
        """The flat top module without the instances: their inputs are outputs, and their outputs are inputs."""
        top = self._flat()[self.design.top]
        cells = {name: top["cells"].pop(name) for name in self.kinds}
        for cell in top["cells"].values():
            if cell["type"] != "$mem_v2":
                check_storage(cell, top["ports"]["clk"]["bits"])
        ports = {name: port for name, port in top["ports"].items() if name in self.OUTSIDE}
        for instance, cell in cells.items():
            ways = self.design.modules[self.kinds[instance]]["ports"]
            for port, bits in cell["connections"].items():
                direction = "output" if ways[port]["direction"] == "input" else "input"
                ports[f"{instance}_{port}"] = {"direction": direction, "bits": bits}
        return {**top, "ports": ports}

    def with_words(self, control: dict, store: Store, written: list, is_cut: bool) -> dict:
        """A part of the control with the lowest bits of the words of a store. The bits ``written``, those that are read
        and the content are ports; with ``is_cut`` the addresses are too."""
        cells, nets, width = dict(control["cells"]), control["netnames"], len(written)
        cell = cells[store.name]
        pins = {pin: bits[:width] if pin in WIDE else bits for pin, bits in cell["connections"].items()}
        values = [name for name in cell["parameters"] if name.startswith("RD_") and name.endswith("_VALUE")]
        wide = {name: cell["parameters"][name][-width:] for name in values}
        parameters = cell["parameters"] | wide | {"WIDTH": f"{width:032b}", "INIT": "x"}
        ports = {
            "written_word": {"direction": "input", "bits": written},
            "read_word": {"direction": "output", "bits": pins["RD_DATA"][:width]},
        }
        unused = 1 + max(bit for net in nets.values() for bit in net["bits"] if isinstance(bit, int))
        if is_cut:
            for pin, port in (("WR_ADDR", "write_address"), ("RD_ADDR", "read_address")):
                pins[pin] = [unused + place for place in range(len(pins[pin]))]
                unused += len(pins[pin])
                ports[port] = {"direction": "input", "bits": pins[pin]}
        cells[store.name] = {**cell, "connections": pins, "parameters": parameters}
        ports = control["ports"] | ports
        nets = {name: net for name, net in nets.items() if name not in ports or net["bits"] == ports[name]["bits"]}
        made = {**control, "cells": cells, "ports": ports, "netnames": nets}
        steps = ["opt_clean", "memory_map", "opt_clean"]
        flat = self.design.of_netlist({self.design.top: made}).netlist_after(steps)[self.design.top]
        words = [f"{store.name}[{number}]" for number in range(self.side)]
        if missing := [word for word in words if word not in flat["netnames"]]:
            raise StructureError(f"{self.design.top} has no register {missing[0]}")
        bits = [bit for word in words for bit in flat["netnames"][word]["bits"][:width]]
        flat["ports"]["seen_words"] = {"direction": "output", "bits": bits}
        return flat

    def without_registers(self, kinds: Iterable[str]) -> dict[str, dict]:
        """Modules with what is in them, without registers."""
        waiting, found = list(kinds), dict[str, dict]()
        while waiting:
            name = waiting.pop()
            if name in self._without_registers and name not in found:
                found[name] = self._without_registers[name]
                waiting += [cell["type"] for cell in found[name]["cells"].values()]
        return found

    @cached_property
    def _without_registers(self) -> dict[str, dict]:
        provide(self.design.folder)
        steps = ["proc -norom", *UNSAID, *FREED, *WITH_ENABLES, "delete t:$scopeinfo"]
        modules = self.design.netlist_after([*DISSOLVED, *steps])
        for module in modules.values():
            bypass(module)
        return modules

    def check_known(self) -> None:
        """`parts.check_known` for the controls of the stores."""
        registers = ["has_block", "write_beat", "read_beat", *self.front, *self.back]
        if self.config.is_turned:
            registers += [f"{TURNING}{name}" for name in ("has_block", "write_beat", "read_beat")]
            registers.append(f"valid_{TURNED_STAGE}_q")
        check_known(self.design, self.control, RESET, registers, ("i_valid", "o_ready"), {})

    def exchange(self, instance: str) -> Part:
        """The module that exchanges words."""
        (part,) = self.design.parts(Cut(self.kinds[instance]))
        return part.named(instance)
