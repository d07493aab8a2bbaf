"""The way of a beat out of the store: the scale of its block, and a quantizer in each lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.encode import SCALE_STAGE, ConverterConfig
from ..emission.modules import instantiated
from ..encode.mode import mode_port
from ..encode.operand import lane_name, operand_config, scale_key_layout, special_flags
from ..encode.quantizers import quantizer_of
from ..encode.scale import ScaleUnit
from ..primitives.register import Stage
from .keys import number_bits


class BeatCodes(wiring.Component):
    """The codes of a beat from the store, and the scale of its block.

    The scale is computed once for a block, with its first beat, and kept for the others. At that time the key of the
    block is still there, and after it the next block may replace it.

    Ports
    -----
    enable : in, enable of all registers
    numbers, random : in, a beat as the store holds it
    key, mode : in, the key and the mode of the block, with its first beat
    is_first, is_last : in, the place of the beat in its block
    scale, p : out, the scale of the block, and the codes of the beat
    o_first, o_last : out, its place in its block
    marks, o_marks : in and out, bits of a packet; if there are ``marks``
    next_first, next_scale, next_marks : out, ``o_first``, ``scale`` and ``o_marks`` before the registers at the output;
        if there are ``marks``
    """

    def __init__(self, config: ConverterConfig, marks: int = 0) -> None:
        self.config, self.marks_width = config, marks
        self.inside = operand_config(config)
        numerics, lanes = self.inside.numerics, config.lanes
        self.elements = [quantizer_of(self.inside) for _ in range(lanes)]
        self.width = number_bits(numerics, self.elements[0].decisive_bits)
        random = numerics.random_bits * lanes
        super().__init__(
            {
                "enable": In(1),
                "numbers": In(self.width * lanes),
                **({"random": In(random)} if random else {}),
                "key": In(scale_key_layout(self.inside)),
                **mode_port(config),
                "is_first": In(1),
                "is_last": In(1),
                "scale": Out(numerics.block.scale.bits),
                "p": Out(numerics.block.element.bits * lanes),
                "o_first": Out(1),
                "o_last": Out(1),
                **({"marks": In(marks), "o_marks": Out(marks)} if marks else {}),
                **(
                    {"next_first": Out(1), "next_scale": Out(numerics.block.scale.bits), "next_marks": Out(marks)}
                    if marks
                    else {}
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, numerics, elements = self.inside, self.inside.numerics, self.elements
        unit = ScaleUnit(config)
        m.submodules.scale_unit = instantiated(unit, platform)
        m.d.comb += unit.key.eq(self.key)
        of_block = {"scale": unit.scale, **{flag: getattr(unit, flag) for flag in special_flags(numerics)}}
        if "is_large" in elements[0].signature.members:
            of_block["is_large"] = elements[0].larger(unit.scale)
        if config.alternatives:
            m.d.comb += unit.mode.eq(self.mode)
            of_block["mode"] = self.mode
        kept = {}
        with m.If(self.enable & self.is_first):
            for name, value in of_block.items():
                kept[name] = Signal(len(value), name=f"{name}_{SCALE_STAGE}_q", reset_less=True)
                m.d.sync += kept[name].eq(value)

        names = [lane_name("x", lane, numerics) for lane in range(config.lanes)]
        lanes = {name: self.numbers[self.width * lane :][: self.width] for lane, name in enumerate(names)}
        place = {"is_first": self.is_first, "is_last": self.is_last}
        if self.marks_width:
            place["marks"] = self.marks
        now = Stage(m, self, control=("random",)).crossed(SCALE_STAGE, **lanes, **place)
        count = numerics.random_bits
        for lane, (name, element) in enumerate(zip(names, elements)):
            m.submodules[lane_name("element", lane, numerics)] = instantiated(element, platform)
            number, ports = now.values[name], element.signature.members
            m.d.comb += [
                element.x.eq(Cat(Const(0, len(element.x) - len(number)), number)),
                *(getattr(element, port).eq(value) for port, value in kept.items() if port in ports),
                *([element.random.eq(now.random[count * lane :][:count])] if count else []),
                *([element.enable.eq(self.enable)] if "enable" in ports else []),
            ]
        now = Stage(m, self, values={"scale": kept["scale"], **{name: now.values[name] for name in place}})
        for boundary in config.element_stages:  # the quantizers have their own registers
            now = now.crossed(boundary, **now.values)
        codes = {lane_name("p", lane, numerics): element.p for lane, element in enumerate(elements)}
        if self.marks_width:
            m.d.comb += [self.next_first.eq(now.is_first), self.next_scale.eq(now.scale), self.next_marks.eq(now.marks)]
        now = now.crossed("output", **now.values, **codes)
        m.d.comb += [
            self.scale.eq(now.scale),
            self.p.eq(Cat(now.values[name] for name in codes)),
            self.o_first.eq(now.is_first),
            self.o_last.eq(now.is_last),
            *([self.o_marks.eq(now.marks)] if self.marks_width else []),
        ]
        return m
