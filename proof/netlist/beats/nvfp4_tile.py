"""The parts of an NVFP4 tile encoder: two encoders, the stores, and what exchanges words."""

from __future__ import annotations

from functools import cached_property

from ....hdl import Nvfp4TileConfig
from ..design import Design
from ..pipeline import BITS, WITH_ENABLES
from ..structure import StructureError, in_lanes
from .parts import Delay
from .square import SPLIT, TURNING, Square, Store

ROWS, COLUMNS = LINES = ("row_encoder", "column_encoder")
NUMBERS, EXCHANGE = "number_exchange", "exchange"
"""Instances of an NVFP4 tile encoder."""


class Nvfp4Tile(Square[Nvfp4TileConfig]):
    """The parts of a design with the ports of an NVFP4 tile encoder."""

    @property
    def instances(self) -> list[str]:
        return [NUMBERS, *LINES, EXCHANGE]

    @property
    def exchanges(self) -> dict[str, int]:
        rules = self.config.numerics
        return {NUMBERS: rules.source.bits, EXCHANGE: rules.block.element.bits}

    @cached_property
    def gates(self) -> dict[str, dict]:
        """The modules, with gates in the flat top module only, because the encoders have many."""
        return self._flat(*WITH_ENABLES, BITS, *(f"{command} {self.design.top}" for command in SPLIT))

    def check(self) -> None:
        super().check()
        self._check_wires()
        whole = self.with_gates()
        for name, kind in {self.kinds[name]: name for name in LINES}.items():
            Delay(whole[name], kind, all_first=True).check(len(self.back))

    def _check_wires(self) -> None:
        cells, ports, enable = self.wires.cells, self.wires.ports, self.net("back_enable")
        self.check_alike(self.stored, "", False)
        wired = {
            (NUMBERS, "by_column"): (cells[NUMBERS]["by_column"], ports["x"]),
            (NUMBERS, "place"): (cells[NUMBERS]["place"], self.net("write_beat")[:-1]),
            **{(name, "enable"): (cells[name]["enable"], enable) for name in LINES},
            **(self._turned() if self.config.is_turned else self._leaving()),
        }
        if wrong := [pin for pin, (found, wanted) in wired.items() if found != wanted]:
            raise StructureError(f"{wrong[0][1]} of {wrong[0][0]} is not wired as the proof needs it")

    def _leaving(self) -> dict[tuple[str, str], tuple[list, list]]:
        """Pins of what is behind the encoders, each with the wires that it has and has to have."""
        cells, ports = self.wires.cells, self.wires.ports
        late = list(cells[EXCHANGE]["place"])
        self.check_marks(ports, late)
        for _ in self.back:
            late = [self.captured(bit, self.net("back_enable")) for bit in late]
        return {
            (EXCHANGE, "by_column"): (cells[EXCHANGE]["by_column"], cells[COLUMNS]["p"]),
            (EXCHANGE, "place"): (late, self.net("read_beat")[:-1]),
            ("the top module", "scale"): (ports["scale"], cells[ROWS]["scale"]),
            ("the top module", "p"): (ports["p"], cells[ROWS]["p"]),
            ("the top module", "column_scale"): (ports["column_scale"], cells[COLUMNS]["scale"]),
            ("the top module", "column_p"): (ports["column_p"], cells[EXCHANGE]["by_row"]),
        }

    def _turned(self) -> dict[tuple[str, str], tuple[list, list]]:
        """`_leaving` of second stores, with a check of their addresses."""
        self.check_alike(self.transposing, TURNING, True)
        exchange, enable = self.wires.cells[EXCHANGE], self.net(f"{TURNING}back_enable")
        codes = [self.captured(bit, enable) for bit in self.wires.ports["column_p"]]
        return {
            (EXCHANGE, "place"): (exchange["place"], self.net(f"{TURNING}read_beat")[:-1]),
            ("the top module", "column_p"): (codes, exchange["by_row"]),
        }

    @cached_property
    def transposing(self) -> list[Store]:
        cells = self.wires.cells
        kept = [*cells[ROWS]["scale"], *cells[ROWS]["p"], *cells[COLUMNS]["scale"]]
        return self.turned_back(kept, (cells[EXCHANGE]["by_column"], cells[COLUMNS]["p"]))

    @property
    def turned_word(self) -> list:
        bits: list = self.control["ports"][f"{COLUMNS}_p"]["bits"]
        return bits[: self.config.numerics.block.element.bits]

    @cached_property
    def stored(self) -> list[Store]:
        """The store of rows and the constants of their tensor, then one for each bank of numbers. Raises
        `StructureError` if a row or a column does not pass one."""
        cells, ports = self.wires.cells, self.wires.ports
        constants = [port.name for port in self.config.numerics.constants]
        if any(cells[ROWS][name] != cells[COLUMNS][name] for name in constants):
            raise StructureError(f"{ROWS} and {COLUMNS} have constants of different tensors")
        read, written = ([bit for name in ("x", *constants) for bit in pins[name]] for pins in (cells[ROWS], ports))
        width = self.config.numerics.source.bits
        banks = zip(in_lanes(cells[COLUMNS]["x"], width), in_lanes(cells[NUMBERS]["by_row"], width), strict=True)
        return [self.store_of(read, written, "rows"), *(self.store_of(*bank, "numbers of a bank") for bank in banks)]

    def line(self, name: str) -> Design:
        """An encoder without registers."""
        modules = self.without_registers([self.kinds[name]])
        top = modules.pop(self.kinds[name])
        return self.design.of_netlist({self.design.top: {**top, "attributes": {"top": "1"}}, **modules})
