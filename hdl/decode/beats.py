"""A beat of a decoder with lanes: the factor of its block, and an element decoder in each lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.decode import DecoderConfig
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..primitives.register import Stage, held
from .block import FORMS

HELD = ("input", "scale")
"""Stage boundaries that can be the first with registers. There the first beat of a block leaves its scale."""


class BeatNumbers(wiring.Component):
    """The numbers of a beat.

    The scale is taken with the first beat of a block and kept for the others, at the first boundary with registers.

    Ports
    -----
    enable : in, enable of all registers
    p, random : in, the codes of a beat and its random bits, the first in the low bits
    scale : in, the scale of the block, with its first beat
    is_first, is_last : in, the place of the beat in its block
    y : out, the numbers of the beat
    o_first, o_last : out, its place in its block
    marks, o_marks : in and out, bits of a packet; if there are ``marks``
    """

    def __init__(self, config: DecoderConfig, marks: int = 0) -> None:
        self.config = config
        rules, lanes = config.numerics, config.lanes
        super().__init__(
            {
                "enable": In(1),
                "p": In(rules.block.element.bits * lanes),
                "scale": In(rules.block.scale.bits),
                **({"random": In(rules.random_bits * lanes)} if rules.random_bits else {}),
                "is_first": In(1),
                "is_last": In(1),
                **({"marks": In(marks)} if marks else {}),
                "y": Out(rules.destination.bits * lanes),
                "o_first": Out(1),
                "o_last": Out(1),
                **({"o_marks": Out(marks)} if marks else {}),
            }
        )

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

        now = Stage(m, self, control=("is_first", "is_last", "marks"))
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
        m.d.comb += [
            self.y.eq(Cat(element.y for element in elements)),
            self.o_first.eq(now.is_first),
            self.o_last.eq(now.is_last),
        ]
        if "marks" in now.control:
            m.d.comb += self.o_marks.eq(now.marks)
        return m
