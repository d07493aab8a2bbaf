"""NVFP4 elements by comparisons with a row of thresholds (`threshold_row`)."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec import E2M1, E4M3, Role
from ..config.nvfp4_encode import BY_DIVISOR, Nvfp4Config
from ..primitives.binary32.arithmetic import with_field
from ..primitives.register import Stage, enable_port
from .element import SUBNORMAL_PLACES, flags_of, with_specials
from .threshold_row import ALWAYS, CELL_BITS, CELLS, CODES, MARKS, START_BITS, row_ports

FIRST = tuple(CODES.index(code) for code in range(1, E2M1.max_code + 1))
"""The number of marks that a number of each code from 1 on has passed."""


BELOW, ABOVE = 1, 4
"""Binades below and above the start in which cells matter. Below them no mark is passed, and above them all marks are.
"""


def row_shapes(config: Nvfp4Config) -> dict[str, Shape | int]:
    """Signals of a row to the lanes: the fields of `threshold_row.Row`."""
    source = config.numerics.source
    row = {"start": signed(START_BITS), "cells": CELLS * CELL_BITS, "thresholds": len(MARKS) * (source.man_bits - 3)}
    return row | ({"underflow": source.bits - 1} if config.numerics.order in BY_DIVISOR else {})


def chosen(words: Value, number: Value) -> Value:
    """The word that a number selects, word 0 being in the low bits."""
    if not len(number):
        return words
    half = len(words) // 2
    return Mux(number[-1], chosen(words[half:], number[:-1]), chosen(words[:half], number[:-1]))


class TableUnit(wiring.Component):
    """Prepare a row of the table for the lanes.

    Ports
    -----
    scale : in, the scale byte
    row_start, row_cells, row_thresholds : in, its row
    start, cells, thresholds : out, the row
    is_zero, is_infinite, is_nan : out, flags of the factor, in the orders ``ao`` and ``ao_single``
    """

    def __init__(self, config: Nvfp4Config) -> None:
        rows = {port.name: In(port.width) for port in row_ports(config.numerics.source)}
        outputs: dict[str, Member] = {name: Out(shape) for name, shape in row_shapes(config).items()}
        flags = {name: Out(1) for name in flags_of(config) if name != "nan_sign"}
        super().__init__({"scale": In(E4M3.bits), **rows, **outputs, **flags})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.start.eq(getattr(self, Role.ROW_START)),
            self.cells.eq(getattr(self, Role.ROW_CELLS)),
            self.thresholds.eq(getattr(self, Role.ROW_THRESHOLDS)),
        ]
        if "is_nan" in self.signature.members:
            m.d.comb += [
                self.is_nan.eq(self.scale[:-1].all()),
                self.is_infinite.eq(self.start == ALWAYS),
                self.is_zero.eq(0),  # its row begins above all numbers
            ]
        return m


class ThresholdElement(wiring.Component):
    """One element, from the number of marks that its number has passed.

    Ports
    -----
    x : in, the number
    start, cells, thresholds : in, the row of the scale
    underflow : in, the largest magnitude whose quotient is zero, in the orders that divide numbers
    is_zero, is_infinite, is_nan, nan_sign, by_zero : in, the `FLAGS` of the order
    p : out, the code
    """

    def __init__(self, config: Nvfp4Config) -> None:
        self.config = config
        rows = {name: In(shape) for name, shape in row_shapes(config).items()}
        told = {**rows, **flags_of(config), **enable_port(config, config.lane_stages)}
        super().__init__({"x": In(config.numerics.source.bits), **told, "p": Out(E2M1.bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source = self.config.numerics.source
        low = source.man_bits - 3
        by_divisor = self.config.numerics.order in BY_DIVISOR
        places = None if by_divisor else SUBNORMAL_PLACES  # a divisor may be the smallest number
        significand, field = with_field(m, "x", self.x[:-1], source, places=places)
        entry = Signal(CELL_BITS)  # the cell of the number
        threshold = Signal(low)
        is_passed = Signal()
        binades = Signal(signed(START_BITS + 1))  # above the start
        passed = Signal(range(4 * (ABOVE + BELOW) + CELLS + 1))
        magnitude = Signal(E2M1.bits - 1)
        m.d.comb += [
            entry.eq(chosen(self.cells, significand[low:-1])),
            threshold.eq(chosen(self.thresholds, entry[:2])),
        ]
        now = Stage(m, self, control=("x", "underflow", *flags_of(self.config))).crossed(
            "entry", entry=entry, threshold=threshold, binades=binades, significand=significand
        )
        m.d.comb += [
            is_passed.eq(now.entry[3] & (now.significand[:low] >= now.threshold)),
            binades.eq(field - self.start),
            passed.eq(Cat(Const(0, 2), (now.binades + BELOW)[:3]) + now.entry[:3] + is_passed),
        ]
        is_small = ~now.significand[-1] | (now.binades < -BELOW)
        is_large = now.binades > ABOVE
        if self.config.numerics.scale_max < E4M3.max_value:  # otherwise Inf is read as 2**128, which passes all marks
            is_large = is_large | now.x[source.man_bits : -1].all()
        if flags_of(self.config):
            has_no_mark = now.by_zero if by_divisor else now.is_infinite
            is_large = is_large | has_no_mark
            is_small = is_small & ~has_no_mark
        code = sum((passed >= first + 4 * BELOW for first in FIRST), Const(0, 1))
        m.d.comb += [
            magnitude.eq(Mux(is_small, 0, Mux(is_large, E2M1.max_code, code))),
            self.p.eq(with_specials(now, self.config, magnitude)),
        ]
        return m
