"""Valid and ready of the stores of a tile encoder."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from ..config.tile import TURNED_STAGE
from ..lanes.control import BeatControl


class TileControl(BeatControl):
    """`BeatControl` of the stores with the numbers of a tile."""

    def places(self) -> tuple[str, ...]:
        return tuple(place for place in super().places() if place != TURNED_STAGE)

    @property
    def write_place(self) -> Value:
        """The row that is written."""
        return self.write_beat

    @property
    def read_place(self) -> Value:
        """The row that is read."""
        return self.read_beat


class AlternatingControl(TileControl):
    """`TileControl` with a `BankedStore`. The counters have one more bit: the parity of the tile."""

    SLOTS = 2

    @property
    def write_place(self) -> Value:
        return self.write_beat[:-1]

    @property
    def read_place(self) -> Value:
        return self.read_beat[:-1]

    @property
    def write_parity(self) -> Value:
        return self.write_beat[-1]

    @property
    def read_parity(self) -> Value:
        return self.read_beat[-1]

    def is_apart(self) -> Value:
        return self.write_place != self.read_place


class TurningControl(AlternatingControl):
    """`AlternatingControl` of the stores with the results of a tile."""

    PREFIX = "turning_"

    def connect(self, m: Module, i_valid: Value, i_ready: Signal, o_valid: Signal, o_ready: Value) -> None:
        self.leave(m, [TURNED_STAGE], o_valid, o_ready)
        m.d.comb += [self.writes.eq(i_valid & self.can_write), i_ready.eq(self.can_write)]
        self.store(m)
