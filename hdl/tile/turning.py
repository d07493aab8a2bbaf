"""The second stores of a tile encoder, in which the codes of its columns are turned."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, Signal, Value

from ...spec import ColumnOrder
from ..config.tile import TURNED_STAGE, TiledConfig
from ..emission.modules import instantiated
from ..primitives.pipeline import Pipeline
from .control import TurningControl
from .store import CodeStore, Exchange, ResultStore

KEPT = ("scale", "p", "column_scale")
"""Results that wait as long as the codes of the columns."""


def turned(
    m: Module, platform: object, top: Pipeline[TiledConfig], results: Mapping[str, Value], valid: Value, ready: Signal
) -> dict[str, Value]:
    """The results of a tile encoder by port, in registers at `TURNED_STAGE`.

    ``results`` leave the first stores with ``valid`` and ``ready``, and result t has a code of row t ^ b and another
    column in bank b. They are exchanged on their way in to leave by columns, or, if they were a column, on their way
    out to leave by rows.
    """
    config = top.config
    control = TurningControl(config)
    control.connect(m, valid, ready, top.o_valid, top.o_ready)
    kept = {name: results[name] for name in KEPT}
    store = ResultStore(sum(map(len, kept.values())), config.beats)
    side, bits = config.beats, config.numerics.block.element.bits
    exchange, turning = Exchange(side, bits), CodeStore(side, bits)
    m.submodules.result_store = instantiated(store, platform)
    m.submodules.exchange = instantiated(exchange, platform)
    m.submodules.code_store = instantiated(turning, platform)
    is_first = config.numerics.columns is ColumnOrder.TRANSPOSED
    m.d.comb += [
        store.enable.eq(control.writes),
        store.write_beat.eq(control.write_place),
        store.word.eq(Cat(kept.values())),
        store.read_beat.eq(control.read_place),
        exchange.place.eq(control.write_place if is_first else control.read_place),
        exchange.by_column.eq(results["column_p"] if is_first else turning.stored),
        turning.enable.eq(control.writes),
        turning.write_place.eq(control.write_place),
        turning.write_crossed.eq(~control.write_parity),
        turning.words.eq(exchange.by_row if is_first else results["column_p"]),
        turning.read_place.eq(control.read_place),
        turning.read_crossed.eq(control.read_parity),
    ]
    found, rest = {}, store.stored
    for name, value in kept.items():
        found[name], rest = rest[: len(value)], rest[len(value) :]
    found["column_p"] = turning.stored if is_first else exchange.by_row
    found |= {"o_first": control.is_first_read, "o_last": control.is_last_read}
    behind: dict[str, Value] = {}
    with m.If(control.back_enable):
        for name, value in found.items():
            behind[name] = Signal(len(value), name=f"{name}_{TURNED_STAGE}_q", reset_less=True)
            m.d.sync += behind[name].eq(value)
    return behind
