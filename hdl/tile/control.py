"""Valid and ready of the stores of a tile encoder."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value

from ..config.tile import TURNED_STAGE
from ..lanes.control import BeatControl


class TileControl(BeatControl):
    """`BeatControl` of the store with the numbers of a tile."""

    def places(self) -> tuple[str, ...]:
        return tuple(place for place in super().places() if place != TURNED_STAGE)


class TurningControl(BeatControl):
    """`BeatControl` of a `TurningStore`. The counters have one more bit: whether the tile is stored transposed."""

    SLOTS = 2
    PREFIX = "turning_"

    def connect(self, m: Module, i_valid: Value, i_ready: Signal, o_valid: Signal, o_ready: Value) -> None:
        self.leave(m, [TURNED_STAGE], o_valid, o_ready)
        m.d.comb += [self.writes.eq(i_valid & self.can_write), i_ready.eq(self.can_write)]
        self.store(m)

    @property
    def write_row(self) -> Value:
        return self.write_beat[:-1]

    @property
    def read_column(self) -> Value:
        return self.read_beat[:-1]

    def is_apart(self) -> Value:
        return self.write_row != self.read_column
