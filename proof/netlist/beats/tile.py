"""The parts of a tile encoder: the modules that compute with numbers, the stores, and the control.

The proof needs few of the parts, because the others are like them. All columns have gates of the same shape, and all
words of a row move alike, since each store is a memory whose bits have one enable and one address. Both are checked
here, and so are the wires between modules, stores and ports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from ....hdl import TileConfig
from ....hdl.encode.operand import lane_name
from ..design import Design
from ..structure import StructureError, drivers_of, in_lanes
from .parts import CODES, KEYS, Delay
from .square import SPLIT, TURNING, Square, Store
from .whole_block import cone

ROWS, IN_FRONT, EXCHANGE = "row_codes", "tile_keys", "exchange"
"""Instances of a tile encoder; each column has one more."""


class Tile(Square[TileConfig]):
    """The parts of a design with the ports of a tile encoder to MX formats."""

    def __init__(self, design: Design, config: TileConfig) -> None:
        super().__init__(design, config)
        self.columns = [lane_name("column_codes", column, config.numerics.rows) for column in range(self.side)]

    @property
    def instances(self) -> list[str]:
        return [IN_FRONT, ROWS, *self.columns, *self.exchanges]

    @property
    def exchanges(self) -> dict[str, int]:
        return {EXCHANGE: self.width_of_code} if self.config.is_turned else {}

    def check(self) -> None:
        super().check()
        self._check_delays()
        self._check_columns()
        self._check_stores()
        self._check_results()

    def _check_delays(self) -> None:
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
        row, codes, enable = self.wires.cells[ROWS], self.wires.cells[EXCHANGE], self.net(f"{TURNING}back_enable")
        read = [self.captured(bit, enable) for bit in self.wires.ports["column_p"]]
        return self.turned_back([*row["scale"], *row["p"], *self.chosen], (read, codes["by_row"]))

    @property
    def turned_word(self) -> list:
        bits: list = self.control["ports"][f"{EXCHANGE}_by_row"]["bits"]
        return bits[: self.width_of_code]

    @property
    def width_of_code(self) -> int:
        return self.config.numerics.block.element.bits

    def _check_stores(self) -> None:
        """All stores have one enable, and each bank the addresses of its number."""
        cells = self.wires.cells
        if cells[IN_FRONT]["x"] != self.wires.ports["x"]:
            raise StructureError(f"{IN_FRONT} does not get x")
        self.check_alike(self.stored, "", False if self.config.is_turned else None)
        if self.config.is_turned:
            codes = cells[EXCHANGE]
            if codes["place"] != self.net(f"{TURNING}write_beat")[:-1]:
                raise StructureError(f"{EXCHANGE} has another place than the row that is written")
            if codes["by_column"] != [bit for name in self.columns for bit in cells[name]["p"]]:
                raise StructureError(f"{EXCHANGE} does not get the codes of the columns")
            self.check_alike(self.transposing, TURNING, True)

    @cached_property
    def chosen(self) -> list:
        """The scale of a column, chosen by the place of a result. Raises `StructureError` if it is another."""
        scales = [self.wires.cells[name]["scale"] for name in self.columns]
        top, beat = self.gates[self.design.top], self.net("read_beat")
        chosen = self.net("scales_of_1")
        places = range(len(beat) - self.config.is_turned)
        selects = [self.pins(bit, "$_MUX_")["S"][0] for bit in self._selecting(chosen[0], len(places))]
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
                bit = self.captured(bit, self.net("back_enable"))
            if bit != beat[place]:
                raise StructureError("a result has another place than its row")
        return chosen

    def _selecting(self, bit: object, levels: int) -> Iterator[object]:
        """The outputs of the multiplexers in front of a bit: the last one selects by the lowest place."""
        for _ in range(levels):
            yield bit
            bit = self.pins(bit, "$_MUX_")["A"][0]

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
        return self.without_registers(kinds.values()), kinds


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
