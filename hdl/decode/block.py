"""The block decoder: one unit for the scale byte, and an element decoder in each lane."""

from __future__ import annotations

from typing import Unpack

from amaranth.hdl import Module

from ...spec import BlockFormat, Decode, NumberFormat
from ..config.architecture import Lane
from ..config.decode import DecoderConfig, DecoderFields, decoder_config
from ..emission.modules import instantiated
from ..encode.operand import lane_name
from ..primitives.pipeline import Pipeline
from ..primitives.register import Enable, Stage
from . import element as element_decoder
from . import table_element as table_decoder
from . import table_factor

Unit = type[element_decoder.FactorUnit] | type[table_factor.FactorUnit]
Element = type[element_decoder.ElementDecoder] | type[table_decoder.ElementDecoder]

FORMS: dict[Lane, tuple[Unit, Element]] = {
    Lane.SHIFT: (element_decoder.FactorUnit, element_decoder.ElementDecoder),
    Lane.TABLES: (table_factor.FactorUnit, table_decoder.ElementDecoder),
}
"""The unit for the scale byte and the element decoder, by the kind of lane."""


class BlockDecoder(Pipeline[DecoderConfig]):
    """Convert a scale byte and element codes to a block of numbers. It is combinational without registers, and has the
    handshake of `BlockConverter` with registers.

    Parameters
    ----------
    config, profile, fields : the decoder, as for `hdl.decoder_config`, with its errors

    Ports
    -----
    p : in, ``block_size`` codes, element 0 in the low bits
    scale : in, the scale byte
    random : in, ``random_bits`` for each element, element 0 in the low bits; under stochastic rounding
    y : out, ``block_size`` numbers of the destination, element 0 in the low bits
    """

    SIGNALS = frozenset(("base", "nan", "inf", "zero", "carry", "reach", "beyond", "lowest", "near"))

    def __init__(
        self,
        config: str | BlockFormat | NumberFormat | Decode | DecoderConfig,
        profile: str | None = None,
        **fields: Unpack[DecoderFields],
    ) -> None:
        super().__init__(decoder_config(config, profile, **fields))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, rules = self.config, self.config.numerics
        lanes, width, bits = range(rules.block_size), rules.block.element.bits, rules.destination.bits
        unit_of, element_of = FORMS[config.microarchitecture.lane]
        unit = unit_of(config)
        m.submodules.factor_unit = instantiated(unit, platform)
        now = Stage(m, self, control=("scale",)).crossed("input")
        m.d.comb += unit.scale.eq(now.scale)
        told = {name: getattr(unit, name) for name in unit.signature.members if name != "scale"}
        now = now.crossed("scale", control=(), **told)
        elements = [element_of(config) for _ in lanes]
        for lane, element in enumerate(elements):
            m.submodules[lane_name("element", lane, rules)] = instantiated(element, platform)
            m.d.comb += element.p.eq(self.p[width * lane : width * (lane + 1)])
            m.d.comb += [getattr(element, name).eq(now.values[name]) for name in told]
            if count := rules.random_bits:
                m.d.comb += element.random.eq(self.random[count * lane : count * (lane + 1)])
            if config.latency:
                enable = Enable()
                m.submodules[lane_name("enable", lane, rules)] = instantiated(enable, platform)
                m.d.comb += [enable.ready.eq(self.o_ready), enable.valid.eq(self.o_valid), element.enable.eq(enable.y)]
        m.d.comb += [self.y[bits * lane : bits * (lane + 1)].eq(element.y) for lane, element in enumerate(elements)]
        self.store(m)
        if config.latency:
            self.handshake(m)
        return m
