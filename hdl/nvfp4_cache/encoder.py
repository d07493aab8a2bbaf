"""The NVFP4 encoder with a cache of rows of thresholds (`threshold_row`).

Everything behind the scale depends on the scale and on a constant of the tensor. So a row is computed when its scale
first comes, in `ROW_CYCLES` cycles, and read from a memory from then on.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import E2M1, E4M3, FP32
from ..config.nvfp4_encode import Nvfp4Config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..lanes.control import FlowControl
from ..lanes.store import BlockStore
from ..nvfp4.encoder import Nvfp4Converter, connect_enable
from ..nvfp4.thresholds import row_shapes
from ..primitives.register import Stage, enable_port, held
from .lane import CachedElement, NumberParts
from .rows import RowCache
from .scale import CachedMaximum, SummedScale


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
        maximum, unit = CachedMaximum(self.config), SummedScale(self.config)
        unit.kind = "scale_unit"
        m.submodules.maximum = instantiated(maximum, platform)
        m.submodules.scale_unit = instantiated(unit, platform)
        m.d.comb += maximum.x.eq(self.x)
        now = Stage(m, self).crossed("amax", amax=maximum.amax)
        m.d.comb += [unit.amax.eq(now.amax), unit.k.eq(self.k)]
        now = now.crossed("scale", scale=unit.scale)
        m.d.comb += self.scale.eq(now.scale)
        connect_enable(m, self, maximum)
        connect_enable(m, self, unit)
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
            connect_enable(m, self, element)
        for boundary in config.lane_stages:
            now = now.crossed(boundary, scale=now.scale)
        now = now.crossed("output", scale=now.scale, p=Cat(element.p for element in elements))
        m.d.comb += [self.scale.eq(now.scale), self.p.eq(now.p)]
        return m


class Delays:
    """Memories of distributed RAM, which delay words of blocks in front of the cache. All have one place to write, and
    each reads as many edges later as its word has to wait.
    """

    def __init__(self, m: Module, platform: object, enable: Value, most: int) -> None:
        self.m, self.platform, self.enable = m, platform, enable
        self.places = max(2, 1 << (most - 1).bit_length()) if most else 1
        self.write_place = Signal(range(self.places), name="write_place")
        with m.If(enable):
            m.d.sync += self.write_place.eq(self.write_place + 1)

    def delayed(self, name: str, word: Value, edges: int) -> Value:
        """A word so many edges later."""
        if not edges:
            return word
        m = self.m
        read_place = Signal(range(self.places), name=f"read_{name}", init=-edges % self.places)
        with m.If(self.enable):
            m.d.sync += read_place.eq(self.write_place + 1 - edges)
        store = BlockStore(len(word), self.places)
        store.kind = f"{name}_delay"
        m.submodules[f"{name}_delay"] = instantiated(store, self.platform)
        m.d.comb += [
            store.enable.eq(self.enable),
            store.write_beat.eq(self.write_place),
            store.word.eq(word),
            store.read_beat.eq(read_place),
        ]
        return store.stored


class CachedEncoder(Nvfp4Converter):
    """An `Nvfp4Converter` whose blocks stop while a row is computed."""

    IS_STEADY = False
    SIGNALS = frozenset(("front", "cache", "back", "advance", "front_enable", "back_enable", "reads"))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, FlowControl(self.config)
        front, cache, back = BlockScale(config), RowCache(config), BlockCodes(config)
        m.submodules.front = instantiated(front, platform)
        m.submodules.cache = instantiated(cache, platform)
        m.submodules.back = instantiated(back, platform)
        moves = FrontEnable()
        m.submodules.advance = instantiated(moves, platform)
        front_enable = Signal()
        m.d.comb += [
            front_enable.eq(moves.y),
            moves.ready.eq(self.o_ready),
            moves.valid.eq(self.o_valid),
            moves.waits.eq(cache.waits),
            moves.done.eq(cache.done),
            self.enable.eq(front_enable),
        ]
        registered = config.microarchitecture.registered_after
        before, behind = (registered[: registered.index("lookup")], registered[registered.index("factor") :])
        offered = control.chain(m, self.i_valid, [*before], front_enable)
        has_block = control.chain(m, offered, ["lookup"], front_enable)
        control.leave(m, [*behind], self.o_valid, self.o_ready)

        now = Stage(m, self, control=("x", "k", "d")).crossed("input")
        waiting = [place for place in before if place != "input"]
        tree = [place for place in waiting if place in config.tree_stages]
        delays = Delays(m, platform, front_enable, len(waiting))
        numbers, constant = delays.delayed("block", now.x, len(waiting)), now.d
        if waiting:
            constant = delays.delayed("d", constant, len(waiting) - 1)
            constant = held(m, front_enable, "scale", {"d": constant})["d"]
        m.d.comb += [
            control.reads.eq(has_block & ~(cache.waits & ~cache.done)),
            self.i_ready.eq(front_enable),
            front.x.eq(now.x),
            front.k.eq(delays.delayed("k", now.k, len(tree))),
            cache.i_valid.eq(offered),
            cache.moves.eq(front_enable),
            cache.scale.eq(front.scale),
            cache.d.eq(constant),
            back.x.eq(held(m, front_enable, "lookup", {"x": numbers})["x"]),
            back.block_scale.eq(cache.block_scale),
            *(getattr(back, name).eq(getattr(cache, name)) for name in row_shapes(config)),
            back.enable.eq(control.back_enable),
            self.scale.eq(back.scale),
            self.p.eq(back.p),
        ]
        connect_enable(m, self, front)
        return m
