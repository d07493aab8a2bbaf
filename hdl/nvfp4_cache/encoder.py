"""The NVFP4 encoder with a cache of rows of thresholds (`threshold_row`).

Everything behind the scale depends on the scale and on a constant of the tensor. So a row is computed when its scale
first comes, in `ROW_CYCLES` cycles, and read from a memory from then on.
"""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E2M1, E4M3, FP32, BlockFormat, NumberFormat, Nvfp4Encode
from ..config.nvfp4_encode import Nvfp4Config, Nvfp4HardwareFields, nvfp4_config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..lanes.store import BlockStore
from ..nvfp4.encoder import SCALE_UNITS, Nvfp4Maximum
from ..nvfp4.thresholds import row_shapes
from ..primitives.pipeline import Pipeline
from ..primitives.register import Stage, enable_port
from .lane import CachedElement, NumberParts
from .rows import RowCache


class BlockScale(wiring.Component):
    """The scale of a block, and its largest magnitude before.

    Ports
    -----
    x : in, the numbers of a block
    k : in, the constant of its tensor, when the largest magnitude is there
    enable : in, if there are registers
    scale : out, the scale byte
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        enable = enable_port(config, ("input", *config.tree_stages, *config.scale_stages, "scale"))
        numbers = {"x": In(config.lanes * config.numerics.source.bits), "k": In(FP32.bits)}
        super().__init__({**numbers, **enable, "scale": Out(E4M3.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        maximum, unit = Nvfp4Maximum(self.config), SCALE_UNITS[self.config.numerics.order](self.config)
        unit.kind = "scale_unit"
        m.submodules.maximum = instantiated(maximum, platform)
        m.submodules.scale_unit = instantiated(unit, platform)
        m.d.comb += maximum.x.eq(self.x)
        now = Stage(m, self).crossed("amax", amax=maximum.amax)
        m.d.comb += [unit.amax.eq(now.amax), unit.k.eq(self.k)]
        now = now.crossed("scale", scale=unit.scale)
        m.d.comb += self.scale.eq(now.scale)
        for part in (maximum, unit):
            if "enable" in part.signature.members:
                m.d.comb += part.enable.eq(self.enable)
        return m


class FrontEnable(wiring.Component):
    """The enable in front of the cache, apart from the one behind it (`primitives.register.Enable`).

    Ports
    -----
    ready, valid : in, ``o_ready`` and ``o_valid``
    waits, done : in, as of `RowCache`
    y : out, the enable
    """

    whole = True

    def __init__(self) -> None:
        super().__init__({"ready": In(1), "valid": In(1), "waits": In(1), "done": In(1), "y": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.y.eq((self.ready | ~self.valid) & (~self.waits | self.done))
        return m


class BlockCodes(wiring.Component):
    """The codes of a block under a row of thresholds.

    Ports
    -----
    x, block_scale, start, cells, thresholds : in, the numbers, the scale and its row
    enable : in
    scale, p : out, the scale and the codes
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        rows = {name: In(shape) for name, shape in row_shapes(config).items()}
        numbers = {"x": In(config.lanes * config.numerics.source.bits), "block_scale": In(E4M3.bits)}
        codes = {"scale": Out(E4M3.bits), "p": Out(config.lanes * E2M1.bits)}
        super().__init__({**numbers, **rows, "enable": In(1), **codes})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, rules = self.config, self.config.numerics
        parts = [NumberParts(config) for _ in range(config.lanes)]
        elements = [CachedElement(config) for _ in range(config.lanes)]
        numbers = {}
        for lane, part in enumerate(parts):
            m.submodules[lane_name("parts", lane, rules)] = instantiated(part, platform)
            m.d.comb += part.x.eq(self.x.word_select(lane, rules.source.bits))
            numbers[f"parts{lane}"] = part.parts
        row = {name: getattr(self, name) for name in row_shapes(config)}
        now = Stage(m, self).crossed("factor", scale=self.block_scale, **row, **numbers)
        for lane, element in enumerate(elements):
            element.kind = "lane"
            m.submodules[lane_name("element", lane, rules)] = instantiated(element, platform)
            m.d.comb += element.parts.eq(now.values[f"parts{lane}"])
            m.d.comb += [getattr(element, name).eq(now.values[name]) for name in row]
            if "enable" in element.signature.members:
                m.d.comb += element.enable.eq(self.enable)
        for boundary in config.lane_stages:
            now = now.crossed(boundary, scale=now.scale)
        now = now.crossed("output", scale=now.scale, p=Cat(element.p for element in elements))
        m.d.comb += [self.scale.eq(now.scale), self.p.eq(now.p)]
        return m


class CachedEncoder(Pipeline[Nvfp4Config]):
    """Convert a block of numbers to a scale byte and element codes (`Nvfp4Converter`). Blocks stop while a row is
    computed.

    Parameters and ports are as of `Nvfp4Converter`.
    """

    SIGNALS = frozenset(("front", "cache", "back", "advance", "front_enable", "back_enable", "computes"))

    def __init__(
        self,
        config: str | BlockFormat | NumberFormat | Nvfp4Encode | Nvfp4Config,
        profile: str | None = None,
        **fields: Unpack[Nvfp4HardwareFields],
    ) -> None:
        super().__init__(nvfp4_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        front, cache, back = BlockScale(config), RowCache(config), BlockCodes(config)
        m.submodules.front = instantiated(front, platform)
        m.submodules.cache = instantiated(cache, platform)
        m.submodules.back = instantiated(back, platform)
        registered = config.microarchitecture.registered_after
        before, behind = (registered[: registered.index("lookup")], registered[registered.index("factor") :])
        front_enable = Signal()
        computes = Signal()
        moves = FrontEnable()
        m.submodules.advance = instantiated(moves, platform)
        back_enable = Signal()
        waiting = [place for place in before if place != "input"]
        places = max(2, 1 << (len(waiting) - 1).bit_length()) if waiting else 1
        write_place = Signal(range(places))
        m.d.comb += [
            back_enable.eq(self.o_ready | ~self.o_valid),
            computes.eq(cache.waits & ~cache.done),
            front_enable.eq(moves.y),
            moves.ready.eq(self.o_ready),
            moves.valid.eq(self.o_valid),
            moves.waits.eq(cache.waits),
            moves.done.eq(cache.done),
            self.enable.eq(front_enable),
        ]
        with m.If(front_enable):
            m.d.sync += write_place.eq(write_place + 1)
        now = Stage(m, self, control=("x", "k", "d")).crossed("input")
        tree = [place for place in config.tree_stages if place in registered]

        def delayed(name: str, word: Value, edges: int) -> Value:
            """A word so many edges later."""
            if not edges:
                return word
            read_place = Signal(range(places), name=f"read_{name}", init=-edges % places)
            with m.If(front_enable):
                m.d.sync += read_place.eq(write_place + 1 - edges)
            store = BlockStore(len(word), places)
            store.kind = f"{name}_delay"
            m.submodules[f"{name}_delay"] = instantiated(store, platform)
            m.d.comb += [
                store.enable.eq(front_enable),
                store.write_beat.eq(write_place),
                store.word.eq(word),
                store.read_beat.eq(read_place),
            ]
            return store.stored

        numbers = delayed("block", now.x, len(waiting))
        constant = now.d
        if waiting:
            constant = self.kept(m, "d_scale_q", delayed("d", constant, len(waiting) - 1), front_enable)
        valid: Value = self.i_valid
        for place in before:
            valid = self.following(m, place, valid, front_enable)
        m.d.comb += [
            front.x.eq(now.x),
            front.k.eq(delayed("k", now.k, len(tree))),
            cache.i_valid.eq(valid),
            cache.moves.eq(front_enable),
            cache.scale.eq(front.scale),
            cache.d.eq(constant),
            back.x.eq(self.kept(m, "x_lookup_q", numbers, front_enable)),
            back.block_scale.eq(cache.block_scale),
            *(getattr(back, name).eq(getattr(cache, name)) for name in row_shapes(config)),
            back.enable.eq(back_enable),
            self.scale.eq(back.scale),
            self.p.eq(back.p),
        ]
        if "enable" in front.signature.members:
            m.d.comb += front.enable.eq(front_enable)
        valid = self.following(m, "lookup", valid, front_enable) & ~computes
        for place in behind:
            valid = self.following(m, place, valid, back_enable)
        m.d.comb += [self.i_ready.eq(front_enable), self.o_valid.eq(valid)]
        return m

    @staticmethod
    def kept(m: Module, name: str, word: Value, enable: Value) -> Signal:
        """A word in a register."""
        register = Signal(len(word), name=name, reset_less=True)
        with m.If(enable):
            m.d.sync += register.eq(word)
        return register

    @staticmethod
    def following(m: Module, place: str, before: Value, enable: Value) -> Signal:
        """The valid bit behind a stage boundary."""
        valid = Signal(name=f"valid_{place}_q")
        with m.If(enable):
            m.d.sync += valid.eq(before)
        return valid
