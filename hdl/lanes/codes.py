"""The way of a beat out of the store: the scale of its block, and its codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from amaranth.hdl import Cat, Const, Module, ShapeLike, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.encode import SCALE_STAGE, ConverterConfig
from ..emission.modules import instantiated
from ..encode.operand import lane_name, operand_config, scale_key_layout, special_flags
from ..encode.quantizers import quantizer_of
from ..encode.scale import ScaleUnit
from ..primitives.register import Stage, held
from .keys import Encoder, number_bits


class BackPart(wiring.Component, Generic[Encoder]):
    """The part of an encoder with lanes behind the store: the codes of a beat, and the scale of its block.

    The scale is computed once for a block, with its first beat, and kept for the others. At that time the key of the
    block is still there, and after it the next block may replace it.

    Parameters
    ----------
    config : an encoder with lanes
    key : the shape of a key
    width : bits of a stored number
    marks : bits of a packet

    Ports
    -----
    enable : in, enable of all registers
    numbers, random : in, a beat as the store holds it
    key : in, the key of the block, with its first beat
    mode, or the constants of a tensor : in, of the block, with its first beat; if the configuration has them
    is_first, is_last : in, the place of the beat in its block
    scale, p : out, the scale of the block, and the codes of the beat
    o_first, o_last : out, its place in its block
    marks, o_marks : in and out, bits of a packet; if there are ``marks``
    next_scale, next_marks : out, ``scale`` and ``o_marks`` before the registers at the output; if there are ``marks``
    """

    def __init__(self, config: Encoder, key: ShapeLike, width: int, marks: int = 0) -> None:
        self.config, self.width, self.marks_width = config, width, marks
        numerics, lanes = config.numerics, config.lanes
        random = numerics.random_bits * lanes
        super().__init__(
            {
                "enable": In(1),
                "numbers": In(width * lanes),
                **({"random": In(random)} if random else {}),
                "key": In(key),
                **{port.name: In(port.width) for port in config.of_block},
                "is_first": In(1),
                "is_last": In(1),
                "scale": Out(numerics.block.scale.bits),
                "p": Out(numerics.block.element.bits * lanes),
                "o_first": Out(1),
                "o_last": Out(1),
                **({"marks": In(marks), "o_marks": Out(marks)} if marks else {}),
                **({"next_scale": Out(numerics.block.scale.bits), "next_marks": Out(marks)} if marks else {}),
            }
        )

    @property
    def place(self) -> dict[str, Value]:
        """The values of a beat that leave as they are."""
        marks = {"marks": self.marks} if self.marks_width else {}
        return {"is_first": self.is_first, "is_last": self.is_last, **marks}

    def leave(self, m: Module, now: Stage, codes: Iterable[Value]) -> None:
        """Connect the outputs to the last stage, which has the values of `place` and ``scale``."""
        if self.marks_width:
            m.d.comb += [self.next_scale.eq(now.scale), self.next_marks.eq(now.marks)]
        by_lane = {lane_name("p", lane, self.config.numerics): code for lane, code in enumerate(codes)}
        now = now.crossed("output", **now.values, **by_lane)
        m.d.comb += [
            self.scale.eq(now.scale),
            self.p.eq(Cat(now.values[name] for name in by_lane)),
            self.o_first.eq(now.is_first),
            self.o_last.eq(now.is_last),
            *([self.o_marks.eq(now.marks)] if self.marks_width else []),
        ]


class BeatCodes(BackPart[ConverterConfig]):
    """`BackPart` of an encoder to formats with a shared exponent: the scale of the block, and a quantizer in each lane.

    Parameters
    ----------
    config : a `ConverterConfig` with lanes
    marks : bits of a packet
    """

    def __init__(self, config: ConverterConfig, marks: int = 0) -> None:
        self.inside = operand_config(config)
        self.elements = [quantizer_of(self.inside) for _ in range(config.lanes)]
        width = number_bits(self.inside.numerics, self.elements[0].decisive_bits)
        super().__init__(config, scale_key_layout(self.inside), width, marks)

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
        kept = held(m, self.enable & self.is_first, SCALE_STAGE, of_block)

        names = [lane_name("x", lane, numerics) for lane in range(config.lanes)]
        lanes = {name: self.numbers[self.width * lane :][: self.width] for lane, name in enumerate(names)}
        now = Stage(m, self, control=("random",)).crossed(SCALE_STAGE, **lanes, **self.place)
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
        now = Stage(m, self, values={"scale": kept["scale"], **{name: now.values[name] for name in self.place}})
        for boundary in config.element_stages:  # the quantizers have their own registers
            now = now.crossed(boundary, **now.values)
        self.leave(m, now, (element.p for element in elements))
        return m
