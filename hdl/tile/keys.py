"""The way of a row into the store of a tile: its largest key, the key of each number, and the stored numbers."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Value
from amaranth.lib.wiring import Member, Out

from ..config.tile import TileConfig
from ..emission.modules import instantiated
from ..encode.operand import lane_name, operand_config, scale_key_layout
from ..lanes.keys import BeatKeys
from ..primitives.amax import AmaxTree


class NumberKey(AmaxTree):
    """The key of one number."""


class TileKeys(BeatKeys):
    """`BeatKeys` of a row, with one more output.

    Ports
    -----
    keys : out, the key of each number, column 0 in the low bits
    """

    def __init__(self, config: TileConfig, fraction_bits: int) -> None:
        self.of_column = operand_config(config.of_column)
        self.key_bits = scale_key_layout(self.of_column).size
        super().__init__(config.of_row, fraction_bits)

    def more_ports(self, lanes: int) -> dict[str, Member]:
        return {"keys": Out(self.key_bits * lanes)}

    def more(self, m: Module, platform: object, numbers: list[Value]) -> dict[str, Value]:
        found = {}
        for lane, number in enumerate(numbers):
            unit, name = NumberKey(self.of_column), lane_name("number_key", lane, self.config.numerics)
            m.submodules[name] = instantiated(unit, platform)
            m.d.comb += unit.x.eq(number)
            found[name] = unit.amax.as_value()
        return found

    def deliver(self, m: Module, values: list[Value]) -> None:
        m.d.comb += self.keys.eq(Cat(values))
