"""The parts of a tile encoder: the modules that compute with numbers, the stores, and the control.

The proof needs few of the parts, because the others are like them. All columns have gates of the same shape, and all
words of a row move alike, since each store is a memory whose bits have one enable and one address. Both are checked
here, and so are the wires between modules, stores and ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ....hdl import TileConfig
from ....hdl.config.tile import TURNED_STAGE
from ....hdl.encode.operand import lane_name
from ....hdl.lanes.keys import front_stages
from ..design import DISSOLVED, FREED, UNSAID, Cut, Design, Part, provide
from ..handshake import GATES
from ..pipeline import BITS, WITH_ENABLES, bypass
from ..structure import Instances, StructureError, drivers_of, in_lanes
from .parts import CODES, KEYS, RESET, Delay, check_known, check_storage
from .whole_block import cone

ROWS, IN_FRONT, EXCHANGE = "row_codes", "tile_keys", "exchange"
"""Instances of a tile encoder; each column has one more."""

TURNING = "turning_"
"""Begins the wires of the control of the stores that transpose."""

MEMORY = {"RD_PORTS": 1, "WR_PORTS": 1, "RD_CLK_ENABLE": 0, "WR_CLK_ENABLE": 1, "WR_CLK_POLARITY": 1, "OFFSET": 0}
"""Parameters of a memory that is written at a rising edge and read within the cycle."""

WIDE = ("RD_DATA", "WR_DATA", "WR_EN")
"""Pins of a memory with a bit for each bit of a word."""

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


def count_of_stores(config: TileConfig) -> int:
    """Stores of a tile encoder: one for rows and, to transpose codes, one for their blocks and two for each column."""
    return 2 + 2 * config.beats if config.is_turned else 1


class Tile:
    """The parts of a design with the ports of a tile encoder."""

    def __init__(self, design: Design, config: TileConfig) -> None:
        self.design, self.config, self.side = design, config, config.beats
        places = config.microarchitecture.registered_after
        before = front_stages(config)
        self.front = [f"valid_{place}_q" for place in places if place in before]
        self.back = [f"valid_{place}_q" for place in places if place not in before and place != TURNED_STAGE]
        self.columns = [lane_name("column_codes", column, config.numerics.rows) for column in range(self.side)]

    @property
    def instances(self) -> list[str]:
        """The instances that compute with numbers, or exchange codes."""
        return [IN_FRONT, ROWS, *self.columns, *([EXCHANGE] if self.config.is_turned else [])]

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

    # --- wires

    @cached_property
    def gates(self) -> dict[str, dict]:
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
        found = []
        for name, cell in self.gates[self.design.top]["cells"].items():
            if not cell["type"].startswith("$mem"):
                continue
            pins, numbers = cell["connections"], cell["parameters"]
            wanted = MEMORY | {"SIZE": self.side, "WIDTH": len(pins["RD_DATA"])}
            if any(int(numbers[key], 2) != value for key, value in wanted.items()):
                raise StructureError(f"{name} is another memory than a store of {self.side} words")
            if pins["WR_CLK"] != self.wires.ports["clk"] or pins["RD_EN"] != ["1"]:
                raise StructureError(f"{name} is not written at clk, or not always read")
            enables = set(pins["WR_EN"])
            if len(enables) != 1:
                raise StructureError(f"{name} does not write whole words")
            (enable,) = enables
            written, address = ([self._taken(bit, enable) for bit in pins[pin]] for pin in ("WR_DATA", "WR_ADDR"))
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

    def _taken(self, bit: object, enable: object) -> object:
        """The value of a bit when it is written: one reader leaves it undefined at other times."""
        name = self.drivers.get(bit, "")
        cell = self.gates[self.design.top]["cells"].get(name, {"type": "", "connections": {}})
        pins = cell["connections"]
        return pins["B"][0] if cell["type"] == "$_MUX_" and pins["S"] == [enable] else bit

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

    def check(self) -> None:
        """Raise `StructureError` unless modules, stores and ports are wired as the proof needs it, and each of the
        modules is a pure delay with an enable."""
        parts = [self.gates[name] for name in {self.design.top, *self.kinds.values()}]
        memories = [cell for part in parts for cell in part["cells"].values() if cell["type"].startswith("$mem")]
        if len(memories) != count_of_stores(self.config):
            raise StructureError(f"{self.design.top} has another number of memories than stores")
        self._check_delays()
        self._check_columns()
        self._check_stores()
        self._check_results()

    def _check_delays(self) -> None:
        clocks = [self.wires.cells[name].get("clk", self.wires.ports["clk"]) for name in self.kinds]
        if any(clock != self.wires.ports["clk"] for clock in clocks):
            raise StructureError("a module has another clock than clk")
        shapes = {name: Shape(self.gates[self.kinds[name]]).of_module() for name in self.columns}
        if len(set(shapes.values())) != 1:
            raise StructureError("the modules of the columns differ")
        for name, registers, of_block in (
            (IN_FRONT, len(self.front), ()),
            (ROWS, len(self.back), ("key",)),
            (self.columns[0], len(self.back), ("key",)),
        ):
            Delay(self.gates[self.kinds[name]], name, of_block).check(registers)

    def _check_columns(self) -> None:
        """All columns have the same enable, marks and shape, and each its own numbers."""
        cells, enable = self.wires.cells, self.net("back_enable")
        row, first = cells[ROWS], cells[self.columns[0]]
        if row["enable"] != enable or row["is_first"] != ["1"]:
            raise StructureError(f"{ROWS} does not take a row at each back_enable")
        keys = in_lanes(cells[IN_FRONT]["keys"], len(first["key"]))
        shapes = set()
        for column, name in enumerate(self.columns):
            pins = cells[name]
            if pins["enable"] != enable or any(pins[mark] != first[mark] for mark in ("is_first", "is_last")):
                raise StructureError(f"{name} moves at other edges than the first column")
            shapes.add(Shape(self.gates[self.design.top], keys[column]).of(pins["key"]))
        if len(shapes) != 1:
            raise StructureError("the largest keys of columns are computed in different ways")

    @cached_property
    def stored(self) -> list[Store]:
        """The store of rows, then one for each column whose codes are transposed. Raises `StructureError` if a row or a
        column does not pass one."""
        cells, row, front = self.wires.cells, self.wires.cells[ROWS], self.wires.cells[IN_FRONT]
        found = [self.store_of([*row["numbers"], *row["key"]], [*front["numbers"], *front["key"]], "rows")]
        written = in_lanes(front["numbers"], len(front["numbers"]) // self.side)
        read = [cells[name]["numbers"] for name in self.columns]
        if self.config.is_turned:
            return found + [self.store_of(*pair, "numbers of a column") for pair in zip(read, written)]
        if read != in_lanes(row["numbers"], len(written[0])):
            raise StructureError("a column does not get its number of the row")
        return found

    @cached_property
    def transposing(self) -> list[Store]:
        """The store of blocks of rows, then one for the codes of each row under the scales of columns."""
        cells, enable, ports = self.wires.cells, self.net(f"{TURNING}back_enable"), self.wires.ports
        row, codes = cells[ROWS], cells[EXCHANGE]
        read = {
            name: [self._captured(bit, enable) for bit in ports[name]]
            for name in ("scale", "p", "column_scale", "column_p", "o_first", "o_last")
        }
        beat = self.net(f"{TURNING}read_beat")[:-1]
        for mark, first in (("o_first", 0), ("o_last", self.side - 1)):
            for place in range(self.side):
                given = {bit: bool(place >> number & 1) for number, bit in enumerate(beat)}
                if self._value(read[mark][0], given, mark) != (place == first):
                    raise StructureError(f"{mark} is not set at its place")
        kept = [*row["scale"], *row["p"], *self.chosen]
        found = [self.store_of([*read["scale"], *read["p"], *read["column_scale"]], kept, "blocks of rows")]
        pairs = zip(in_lanes(read["column_p"], self.width_of_code), in_lanes(codes["by_row"], self.width_of_code))
        return found + [self.store_of(*pair, "codes of a row") for pair in pairs]

    @property
    def width_of_code(self) -> int:
        return self.config.numerics.block.element.bits

    def _check_stores(self) -> None:
        """All stores have one enable, and each bank the addresses of its number."""
        cells = self.wires.cells
        if cells[IN_FRONT]["x"] != self.wires.ports["x"]:
            raise StructureError(f"{IN_FRONT} does not get x")
        self._check_alike(self.stored, "", False if self.config.is_turned else None)
        if self.config.is_turned:
            codes = cells[EXCHANGE]
            if codes["place"] != self.net(f"{TURNING}write_beat")[:-1]:
                raise StructureError(f"{EXCHANGE} has another place than the row that is written")
            if codes["by_column"] != [bit for name in self.columns for bit in cells[name]["p"]]:
                raise StructureError(f"{EXCHANGE} does not get the codes of the columns")
            self._check_alike(self.transposing, TURNING, True)

    def _check_alike(self, stores: list[Store], prefix: str, first_crossed: bool | None) -> None:
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
                    found = [self._value(bit, given, store.name) for bit in getattr(store, f"{name}_address")]
                    if found != [bool(wanted >> bit & 1) for bit in range(len(address))]:
                        raise StructureError(f"{store.name} has another place than its bank")

    def _value(self, bit: object, given: dict, what: str) -> bool:
        """The value of a bit that depends on these bits only."""
        if bit in given or bit in ("0", "1"):
            return bit == "1" or given.get(bit, False)
        name = self.drivers.get(bit, "")
        cell = self.gates[self.design.top]["cells"].get(name, {"type": ""})
        if cell["type"] not in GATES:
            raise StructureError(f"{what} depends on more than the place of a row")
        pins = cell["connections"]
        return GATES[cell["type"]](
            *([self._value(one, given, what) for one in pins.get(pin, ())] for pin in ("A", "B"))
        )

    @cached_property
    def chosen(self) -> list:
        """The scale of a column, chosen by the place of a result. Raises `StructureError` if it is another."""
        scales = [self.wires.cells[name]["scale"] for name in self.columns]
        top, beat = self.gates[self.design.top], self.net("read_beat")
        chosen = self.net("scales_of_1")
        places = range(len(beat) - self.config.is_turned)
        selects = [self._pins(bit, "$_MUX_")["S"][0] for bit in self._selecting(chosen[0], len(places))]
        for column in range(self.side):
            known = {bit: bool(column >> place & 1) for place, bit in zip(places, selects)}
            found = []
            for bit in chosen:
                while (name := self.drivers.get(bit)) and top["cells"][name]["type"] == "$_MUX_":
                    pins = top["cells"][name]["connections"]
                    if pins["S"][0] not in known:
                        raise StructureError("the scale of a column is chosen by more than its place")
                    bit = pins["B" if known[pins["S"][0]] else "A"][0]
                found.append(bit)
            if found != scales[column]:
                raise StructureError(f"the scale of column {column} is not chosen with its result")
        for place, bit in zip(places, selects):
            for _ in self.back:
                bit = self._captured(bit, self.net("back_enable"))
            if bit != beat[place]:
                raise StructureError("a result has another place than its row")
        return chosen

    def _selecting(self, bit: object, levels: int) -> Iterator[object]:
        """The outputs of the multiplexers in front of a bit: the last one selects by the lowest place."""
        for _ in range(levels):
            yield bit
            bit = self._pins(bit, "$_MUX_")["A"][0]

    def _pins(self, bit: object, kind: str) -> dict[str, list]:
        """The pins of the cell of one kind that drives a bit."""
        name = self.drivers.get(bit, "")
        cell = self.gates[self.design.top]["cells"].get(name)
        if cell is None or cell["type"] != kind:
            raise StructureError("a result does not come from where it has to")
        return cell["connections"]

    def _captured(self, bit: object, enable: list) -> object:
        """The bit that a register takes at each edge with its enable."""
        pins = self._pins(bit, "$_DFFE_PP_")
        if pins["E"] != enable or pins["C"] != self.wires.ports["clk"]:
            raise StructureError("a register of a result moves at other edges than the others")
        return pins["D"][0]

    def _check_results(self) -> None:
        if self.config.is_turned:
            return  # they leave the stores of `transposing`
        cells, ports = self.wires.cells, self.wires.ports
        row, first = cells[ROWS], cells[self.columns[0]]
        codes = [bit for name in self.columns for bit in cells[name]["p"]]
        wanted = {"scale": row["scale"], "p": row["p"], "column_scale": self.chosen, "column_p": codes}
        wanted |= {mark: first[mark] for mark in ("o_first", "o_last")}
        if wrong := [name for name, bits in wanted.items() if ports[name] != bits]:
            raise StructureError(f"{wrong[0]} of {self.design.top} is another wire than its result")

    # --- the order of rows

    @cached_property
    def control(self) -> dict:
        """The flat top module without the instances: their inputs are outputs, and their outputs are inputs."""
        top = self._flat()[self.design.top]
        cells = {name: top["cells"].pop(name) for name in self.kinds}
        for cell in top["cells"].values():
            if cell["type"] != "$mem_v2":
                check_storage(cell, top["ports"]["clk"]["bits"])
        outside = {"clk", "rst", "i_valid", "i_ready", "o_valid", "o_ready"}
        ports = {name: port for name, port in top["ports"].items() if name in outside}
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

    def check_known(self) -> None:
        """`parts.check_known` for both controls."""
        registers = ["has_block", "write_beat", "read_beat", *self.front, *self.back]
        if self.config.is_turned:
            registers += [f"{TURNING}{name}" for name in ("has_block", "write_beat", "read_beat")]
            registers.append(f"valid_{TURNED_STAGE}_q")
        check_known(self.design, self.control, RESET, registers, ("i_valid", "o_ready"), {})

    # --- the bits of blocks

    def rows(self) -> tuple[dict[str, dict], dict[str, str]]:
        """The modules of a row without registers, and those in front of the store and behind it."""
        return self._modules(ROWS)

    def column(self) -> tuple[dict[str, dict], dict[str, str]]:
        """The modules of a column with one lane without registers. All columns have the same."""
        modules, kinds = self._modules(self.columns[0])
        name = kinds[KEYS]
        front = modules.pop(name)
        whole = self.design.of_netlist({self.design.top: front, **modules})
        flat = whole.netlist_after(["flatten", "opt_clean", *SPLIT])[self.design.top]
        ports = {port: about["bits"] for port, about in flat["ports"].items()}
        numbers, keys, lanes = (
            in_lanes(ports[port], len(ports[port]) // self.side) for port in ("numbers", "keys", "x")
        )
        made = [cone(flat, x, [*n, *k], f"column {c}") for c, (x, n, k) in enumerate(zip(lanes, numbers, keys))]
        if any(str(one) != str(made[0]) for one in made):
            raise StructureError("the numbers or the keys of columns are computed in different ways")
        x, wide = (made[0]["ports"][port]["bits"] for port in ("x", "wide"))
        size = len(numbers[0])
        wires = {"x": ("input", x), "numbers": ("output", wide[:size]), "key": ("output", wide[size:])}
        made[0]["ports"] = {port: {"direction": way, "bits": bits} for port, (way, bits) in wires.items()}
        made[0]["netnames"] = {port: {"hide_name": 0, "bits": wires[port][1], "attributes": {}} for port in wires}
        return {name: made[0], **modules}, kinds

    def _modules(self, back: str) -> tuple[dict[str, dict], dict[str, str]]:
        kinds = {KEYS: self.kinds[IN_FRONT], CODES: self.kinds[back]}
        waiting, found = list(kinds.values()), dict[str, dict]()
        while waiting:
            name = waiting.pop()
            if name in self._without_registers and name not in found:
                found[name] = self._without_registers[name]
                waiting += [cell["type"] for cell in found[name]["cells"].values()]
        return found, kinds

    @cached_property
    def _without_registers(self) -> dict[str, dict]:
        provide(self.design.folder)
        steps = ["proc -norom", *UNSAID, *FREED, *WITH_ENABLES, "delete t:$scopeinfo"]
        modules = self.design.netlist_after([*DISSOLVED, *steps])
        for module in modules.values():
            bypass(module)
        return modules

    def exchange(self) -> Part:
        """The module that exchanges codes."""
        (part,) = self.design.parts(Cut(self.kinds[EXCHANGE]))
        return part.named(EXCHANGE)


class Shape:
    """The gates in front of some bits, as text without names: equal texts are equal functions of what is in front."""

    def __init__(self, module: dict, given: Iterable = ()) -> None:
        self.module, self.drivers = module, drivers_of(module)
        self.known: dict[object, str] = {bit: f"given{place}" for place, bit in enumerate(given)}
        self.lines: list[str] = []

    def of_module(self) -> str:
        """The shape of all outputs, as a function of the inputs."""
        ports = self.module["ports"].items()
        for name, port in ports:
            if port["direction"] == "input":
                self.known |= {bit: f"{name}[{place}]" for place, bit in enumerate(port["bits"])}
        return self.of(bit for _, port in ports if port["direction"] == "output" for bit in port["bits"])

    def of(self, bits: Iterable) -> str:
        """The shape of some bits. What no gate drives is named by its number."""
        wanted = list(bits)
        waiting = wanted[::-1]
        while waiting:
            bit = waiting.pop()
            if bit in self.known or bit not in self.drivers:
                continue
            name = self.drivers[bit]
            cell = self.module["cells"][name]
            for pin, outputs in cell["connections"].items():
                if cell["port_directions"][pin] == "output":
                    self.known |= {one: f"{len(self.lines)}.{pin}{place}" for place, one in enumerate(outputs)}
            self.lines.append(name)
            waiting += [
                one
                for pin, inputs in reversed(cell["connections"].items())
                if cell["port_directions"][pin] == "input"
                for one in reversed(inputs)
            ]
        shown = [", ".join(self._name(bit) for bit in wanted)]
        for name in self.lines:
            cell = self.module["cells"][name]
            pins = [f"{pin}={[self._name(one) for one in bits]}" for pin, bits in sorted(cell["connections"].items())]
            shown.append(f"{cell['type']} {sorted(cell['parameters'].items())} {pins}")
        return "\n".join(shown)

    def _name(self, bit: object) -> str:
        return self.known.get(bit, f"bit {bit}")
