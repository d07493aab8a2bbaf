"""The tile encoder: keys of a row and of its numbers, a store, and the codes of rows and of columns.

A column is encoded as by an encoder with one lane: a register collects its largest key while its numbers enter, and a
quantizer with a scale of its own reads them from the store. All columns share one control. The store has the bits of
numbers that decide their codes. Rows are read from it, each with its own key.

If the columns stay in place, they are read from the same store by rows. To transpose them, a second store gives number
t ^ c of each column c in cycle t. Their codes are of different rows and of different columns, and one permutation
brings each to the bank of its row in a store of codes. It gives a column in each cycle. The blocks of the rows wait as
long, so that both copies leave together.
"""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ..config.encode import ConverterConfig
from ..config.tile import TileConfig, TileFormat, TileHardwareFields, tile_config
from ..emission.modules import instantiated
from ..encode.operand import lane_name, operand_config, scale_key_layout
from ..lanes.accumulator import KeyAccumulator
from ..lanes.codes import BeatCodes
from ..lanes.keys import front_stages
from ..lanes.store import BlockStore
from ..primitives.elaboration import set_elaborated
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage
from .control import AlternatingControl, TileControl
from .keys import TileKeys
from .store import ColumnStore
from .turning import turned


class ColumnCodes(BeatCodes):
    """The codes of a column, one in each cycle, and its scale."""

    def __init__(self, config: ConverterConfig) -> None:
        super().__init__(config)
        for element in self.elements:  # a Verilog file has one module for all columns
            set_elaborated(element)


class TileEncoder(Pipeline[TileConfig]):
    """Encode square tiles of numbers to blocks of their rows and to blocks of their columns.

    A row enters at an edge with ``i_valid`` and ``i_ready``. The first row after a reset is row 0 of a tile, and
    ``config.beats`` rows are a tile. Its results leave after its last row: result k, at an edge with ``o_valid`` and
    ``o_ready``, is the block of row k, the scale of column k, and the codes of column k, or of row k under the scales
    of the columns if they stay in place. If nothing waits, a row enters and a result leaves at every edge. ``i_ready``
    follows ``o_ready`` within the cycle. Reset drops all tiles inside.

    Parameters
    ----------
    config, profile, fields : the tile encoder, as for `hdl.tile_config`, with its errors

    Ports
    -----
    x : in, the numbers of a row, column 0 in the low bits
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
            *("tile_keys", "tile_store", "row_codes", "column_store", "exchange", "code_store", "result_store"),
            *("keys", "numbers", "scales", "codes", "by_row", "words", "stored"),
        )
    )

    def __init__(self, config: TileFormat, profile: str | None = None, **fields: Unpack[TileHardwareFields]) -> None:
        super().__init__(tile_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        control = (AlternatingControl if self.config.is_turned else TileControl)(self.config)
        valid, ready = (self.o_valid, self.o_ready)
        if self.config.is_turned:
            valid, ready = Signal(name="has_result"), Signal(name="takes_result")
        control.connect(m, self.i_valid, self.i_ready, valid, ready)
        results = self.encoded(m, platform, control)
        if self.config.is_turned:
            results = turned(m, platform, self, results, valid, ready)
        m.d.comb += [getattr(self, name).eq(value) for name, value in results.items()]
        return m

    def encoded(self, m: Module, platform: object, control: TileControl) -> dict[str, Value]:
        """The results by port. The codes of the columns are by rows, or in the order of `crossed`."""
        config = self.config
        codes = BeatCodes(config.of_row)
        keys = TileKeys(config, codes.elements[0].decisive_bits)
        numbers, key = (
            Signal(len(keys.numbers), name="stored_numbers"),
            Signal(len(keys.key.as_value()), name="row_key"),
        )
        store = BlockStore(len(keys.numbers) + len(keys.key.as_value()), config.beats)
        m.submodules.tile_keys = instantiated(keys, platform)
        m.submodules.tile_store = instantiated(store, platform)
        m.submodules.row_codes = instantiated(codes, platform)
        m.d.comb += [
            keys.x.eq(self.x),
            *([keys.enable.eq(control.front_enable)] if "enable" in keys.signature.members else []),
            store.enable.eq(control.writes),
            store.write_beat.eq(control.write_place),
            store.word.eq(Cat(keys.numbers, keys.key)),
            store.read_beat.eq(control.read_place),
            codes.enable.eq(control.back_enable),
            Cat(numbers, key).eq(store.stored),
            codes.numbers.eq(numbers),
            codes.key.eq(key),
            codes.is_first.eq(1),  # each row has a scale of its own
            codes.is_last.eq(control.is_last_read),
        ]
        if isinstance(control, AlternatingControl):
            numbers = self.crossed(m, platform, control, keys.numbers)
        columns = self.columns(m, platform, control, keys.keys, numbers)
        m.d.comb += self.enable.eq(control.back_enable)  # of the registers of `now`
        now = Stage(m, self, values={"column": control.read_place})
        for boundary in self._back(config.of_row):
            now = now.crossed(boundary, **now.values)
        return {
            "scale": codes.scale,
            "p": codes.p,
            **columns,
            "column_scale": self.chosen(m, columns["column_scale"], now.column),
        }

    def crossed(self, m: Module, platform: object, control: AlternatingControl, numbers: Value) -> Value:
        """Number t ^ c of each column c in cycle t of a tile."""
        side = self.config.beats
        store = ColumnStore(side, len(numbers) // side)
        m.submodules.column_store = instantiated(store, platform)
        m.d.comb += [
            store.enable.eq(control.writes),
            store.write_place.eq(control.write_place),
            store.write_crossed.eq(control.write_parity),
            store.words.eq(numbers),
            store.read_place.eq(control.read_place),
            store.read_crossed.eq(~control.read_parity),
        ]
        return store.stored

    def columns(
        self, m: Module, platform: object, control: TileControl, keys: Value, numbers: Value
    ) -> dict[str, Value]:
        """The results of the columns by port, with the scales of all columns: a register for the largest key of each,
        and its codes.
        """
        config, side = self.config, self.config.beats
        width, key_bits = len(numbers) // side, len(keys) // side
        bits, scale_bits = config.numerics.block.element.bits, config.numerics.block.scale.bits
        writes_first, reads_first, reads_last = (
            Signal(name=name) for name in ("writes_first", "reads_first", "reads_last")
        )
        keys_of_column = scale_key_layout(operand_config(config.of_column))
        scales, codes, marks = Signal(scale_bits * side, name="scales"), Signal(bits * side, name="codes"), []
        m.d.comb += [
            writes_first.eq(control.is_first_write),
            reads_first.eq(control.is_first_read),
            reads_last.eq(control.is_last_read),
        ]
        for column in range(side):
            accumulator, lane = KeyAccumulator(keys_of_column), ColumnCodes(config.of_column)
            key = Signal(key_bits, name=self._named("amax", column))
            m.submodules[self._named("column_key", column)] = instantiated(accumulator, platform)
            m.submodules[self._named("column_codes", column)] = instantiated(lane, platform)
            m.d.comb += [
                accumulator.enable.eq(control.writes),
                accumulator.is_first.eq(writes_first),
                accumulator.key.eq(keys.word_select(column, key_bits)),
                key.eq(accumulator.amax),
                lane.enable.eq(control.back_enable),
                lane.numbers.eq(numbers.word_select(column, width)),
                lane.key.eq(key),
                lane.is_first.eq(reads_first),
                lane.is_last.eq(reads_last),
                scales.word_select(column, scale_bits).eq(lane.scale),
                codes.word_select(column, bits).eq(lane.p),
            ]
            marks.append((lane.o_first, lane.o_last))
        return {"column_scale": scales, "column_p": codes, "o_first": marks[0][0], "o_last": marks[0][1]}

    def chosen(self, m: Module, scales: Value, column: Value) -> Value:
        """The scale of one column."""
        for place, bit in reversed(list(enumerate(column))):
            half = Signal(len(scales) // 2, name=f"scales_of_{1 << place}")
            m.d.comb += half.eq(Mux(bit, scales[len(half) :], scales[: len(half)]))
            scales = half
        return scales

    def _named(self, part: str, column: int) -> str:
        return lane_name(part, column, self.config.numerics.rows)

    def _back(self, config: ConverterConfig) -> list[str]:
        """Stage boundaries behind the store."""
        before = front_stages(config)
        return [place for place in config.stages if place not in before]
