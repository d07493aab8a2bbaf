"""A beat of a decoder with lanes: what its block decides, and an element decoder in each lane."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeAlias, TypeVar

from amaranth.hdl import Cat, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.decode import DecoderConfig
from ..config.nvfp4_decode import Nvfp4DecoderConfig
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..nvfp4.decoder import decoded
from ..primitives.register import Stage, held
from .block import FORMS

PLACE = ("is_first", "is_last", "marks")
"""Inputs of a beat that leave as they are."""

HELD = ("input", "scale")
"""Stage boundaries that can be the first with registers. There the first beat of a block leaves its scale."""


AnyDecoder: TypeAlias = DecoderConfig | Nvfp4DecoderConfig
"""The configuration of a decoder."""

Decoder = TypeVar("Decoder", bound=AnyDecoder)
"""One kind of them."""


class NumbersPart(wiring.Component, Generic[Decoder]):
    """The part of a decoder with lanes that computes the numbers of a beat.

    Parameters
    ----------
    config : a decoder with lanes or AXI4-Stream
    marks : bits of a packet

    Ports
    -----
    enable : in, enable of all registers
    p, random : in, the codes of a beat and its random bits, the first in the low bits
    scale, g : in, the scale of the block, and of its tensor, with its first beat
    is_first, is_last : in, the place of the beat in its block
    y : out, the numbers of the beat
    o_first, o_last : out, its place in its block
    marks, o_marks : in and out, bits of a packet; if there are ``marks``
    """

    def __init__(self, config: Decoder, marks: int = 0) -> None:
        self.config = config
        rules, lanes = config.numerics, config.lanes
        super().__init__(
            {
                "enable": In(1),
                "p": In(rules.block.element.bits * lanes),
                "scale": In(rules.block.scale.bits),
                **{port.name: In(port.width) for port in config.with_codes},
                "is_first": In(1),
                "is_last": In(1),
                **({"marks": In(marks)} if marks else {}),
                "y": Out(rules.destination.bits * lanes),
                "o_first": Out(1),
                "o_last": Out(1),
                **({"o_marks": Out(marks)} if marks else {}),
            }
        )

    def leave(self, m: Module, now: Stage, numbers: Iterable[Value]) -> None:
        """Connect the outputs to the last stage."""
        m.d.comb += [self.y.eq(Cat(numbers)), self.o_first.eq(now.is_first), self.o_last.eq(now.is_last)]
        if "marks" in now.control:
            m.d.comb += self.o_marks.eq(now.marks)


class BeatNumbers(NumbersPart[DecoderConfig]):
    """`NumbersPart` of a decoder of a shared exponent.

    The scale is taken with the first beat of a block and kept for the others, at the first boundary with registers.
    """

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, rules, lanes = self.config, self.config.numerics, range(self.config.lanes)
        unit_of, element_of = FORMS[config.microarchitecture.lane]
        unit, elements = unit_of(config), [element_of(config) for _ in lanes]
        m.submodules.factor_unit = instantiated(unit, platform)
        told = [name for name in unit.signature.members if name != "scale"]
        registered = config.microarchitecture.registered_after
        first = next(place for place in HELD if place in registered)
        moves = self.enable & self.is_first

        now = Stage(m, self, control=PLACE)
        now = now.crossed("input")
        scale = held(m, moves, "input", {"scale": self.scale})["scale"] if first == "input" else self.scale
        m.d.comb += unit.scale.eq(scale)
        factor = {name: getattr(unit, name) for name in told}
        if first == "scale":
            factor = held(m, moves, "scale", factor)
            now = now.crossed("scale")
        else:
            now = now.crossed("scale", **factor)
            factor = now.values
        for boundary in config.stages[config.stages.index("scale") + 1 :]:  # the elements have their own registers
            now = now.crossed(boundary)
        width, count = rules.block.element.bits, rules.random_bits
        for lane, element in enumerate(elements):
            m.submodules[lane_name("element", lane, rules)] = instantiated(element, platform)
            m.d.comb += [
                element.p.eq(self.p[width * lane : width * (lane + 1)]),
                element.enable.eq(self.enable),
                *(getattr(element, name).eq(value) for name, value in factor.items()),
                *([element.random.eq(self.random[count * lane : count * (lane + 1)])] if count else []),
            ]
        self.leave(m, now, (element.y for element in elements))
        return m


class Nvfp4BeatNumbers(NumbersPart[Nvfp4DecoderConfig]):
    """`NumbersPart` of an NVFP4 decoder. The results of all codes are kept from the first beat of a block."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        now, results = decoded(m, platform, self, PLACE)
        now = now.crossed("output", control=PLACE, **results)
        self.leave(m, now, now.values.values())
        return m


def numbers_of(config: AnyDecoder, marks: int = 0) -> NumbersPart[DecoderConfig] | NumbersPart[Nvfp4DecoderConfig]:
    """The part of a decoder that computes the numbers of a beat."""
    return Nvfp4BeatNumbers(config, marks) if isinstance(config, Nvfp4DecoderConfig) else BeatNumbers(config, marks)
