"""The tile encoder to NVFP4: a store that turns a tile of numbers, and two encoders of blocks.

A scale of NVFP4 costs far more than one of MX, and each column needs its own in each tile. So the numbers are turned in
front of one encoder, and a column enters it in each cycle, as a row enters the other one.

In the store, bank b has number r ^ b of each row r, so that a row and a column each have one number in each bank. A row
is exchanged on its way in. A column enters its encoder with its numbers in the order of the banks, which changes
neither its scale nor the code of a number. Its codes are exchanged on their way out, since they have fewer bits.

If the columns stay in place, second stores turn their codes back in front of this exchange.
"""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.nvfp4_encode import Nvfp4Config
from ..config.tile import Nvfp4TileConfig, Nvfp4TileFormat, Nvfp4TileHardwareFields, nvfp4_tile_config
from ..emission.modules import instantiated
from ..lanes.store import BlockStore
from ..nvfp4.encoder import encoded_block
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage
from .control import AlternatingControl
from .store import BankedStore, Exchange
from .turning import turned


class LineEncoder(wiring.Component):
    """The encoder of a row or of a column.

    Parameters
    ----------
    config : an encoder with registers

    Ports
    -----
    enable : in, enable of all registers
    x, k, d, scale, p : as of `Nvfp4Converter`
    """

    whole = True  # synthesis of both together takes 5 % more LUTs from BF16

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        ports = {p.name: (In if p.direction == "input" else Out)(p.width) for p in config.operation_ports}
        super().__init__({"enable": In(1), **ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scale, codes = encoded_block(m, platform, self)
        m.d.comb += [self.scale.eq(scale), self.p.eq(Cat(codes))]
        return m


class NumberExchange(Exchange):
    """`Exchange` of the numbers of a row."""


class Nvfp4TileEncoder(Pipeline[Nvfp4TileConfig]):
    """Encode square tiles of numbers to NVFP4 blocks of their rows and of their columns.

    Rows enter and results leave as of `TileEncoder`.

    Parameters
    ----------
    config, profile, fields : the tile encoder, as for `hdl.nvfp4_tile_config`, with its errors

    Ports
    -----
    x : in, the numbers of a row, column 0 in the low bits
    k, d : in, the constants of the tensor, if the order has them; result k has those that entered with row k
    scale, p : out, the block of row k, column 0 in the low bits
    column_scale : out, the scale byte of column k
    column_p : out, the codes of column k, row 0 in the low bits, or of row k, column 0 in the low bits
    o_first, o_last : out, whether the result is the first or the last of its tile
    i_valid, o_ready : in
    i_ready, o_valid : out
    """

    IN_BEATS = True
    SIGNALS = frozenset(
        (
            "tile_store",
            "number_exchange",
            "column_store",
            "row_encoder",
            "column_encoder",
            "exchange",
            "result_store",
            "code_store",
            "words",
            "stored",
        )
    )

    def __init__(
        self, config: Nvfp4TileFormat, profile: str | None = None, **fields: Unpack[Nvfp4TileHardwareFields]
    ) -> None:
        super().__init__(nvfp4_tile_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, side = self.config, self.config.beats
        number = config.numerics.source.bits
        control = AlternatingControl(config)
        valid, ready = self.o_valid, self.o_ready
        if config.is_turned:
            valid, ready = Signal(name="has_result"), Signal(name="takes_result")
        control.connect(m, self.i_valid, self.i_ready, valid, ready)
        constants = [getattr(self, port.name) for port in config.numerics.constants]
        store = BlockStore(sum(map(len, (self.x, *constants))), side)
        exchange, columns = NumberExchange(side, number), BankedStore(side, number)
        row, column = LineEncoder(config.of_block), LineEncoder(config.of_block)
        m.submodules.tile_store = instantiated(store, platform)
        m.submodules.number_exchange = instantiated(exchange, platform)
        m.submodules.column_store = instantiated(columns, platform)
        m.submodules.row_encoder = instantiated(row, platform)
        m.submodules.column_encoder = instantiated(column, platform)
        entered = [Signal(len(constant), name=f"stored_{constant.name}") for constant in constants]
        m.d.comb += [
            store.enable.eq(control.writes),
            store.write_beat.eq(control.write_place),
            store.word.eq(Cat(self.x, *constants)),
            store.read_beat.eq(control.read_place),
            Cat(row.x, *entered).eq(store.stored),
            exchange.place.eq(control.write_place),
            exchange.by_column.eq(self.x),
            columns.enable.eq(control.writes),
            columns.write_place.eq(control.write_place),
            columns.write_crossed.eq(control.write_parity),
            columns.words.eq(exchange.by_row),
            columns.read_place.eq(control.read_place),
            columns.read_crossed.eq(~control.read_parity),
            column.x.eq(columns.stored),
            *(line.enable.eq(control.back_enable) for line in (row, column)),
            *(
                getattr(line, port.name).eq(value)
                for line in (row, column)
                for port, value in zip(config.numerics.constants, entered)
            ),
        ]
        results: dict[str, Value] = {"scale": row.scale, "p": row.p, "column_scale": column.scale, "column_p": column.p}
        if config.is_turned:
            results = turned(m, platform, self, results, valid, ready)
        else:
            results |= self.exchanged(m, platform, control, column.p)
        m.d.comb += [getattr(self, name).eq(value) for name, value in results.items()]
        return m

    def exchanged(self, m: Module, platform: object, control: AlternatingControl, codes: Value) -> dict[str, Value]:
        """The codes of a column by rows, and the marks of its place."""
        exchange = Exchange(self.config.beats, self.config.numerics.block.element.bits)
        m.submodules.exchange = instantiated(exchange, platform)
        m.d.comb += self.enable.eq(control.back_enable)  # of the registers of `now`
        now = Stage(m, self, values={"place": control.read_place})
        for boundary in self.config.stages:
            now = now.crossed(boundary, **now.values)
        m.d.comb += [exchange.place.eq(now.place), exchange.by_column.eq(codes)]
        return {"column_p": exchange.by_row, "o_first": ~now.place.any(), "o_last": now.place.all()}
