"""A slave of AXI4-Lite for a table of registers, as statements in a top module. All its outputs are registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from .table import ADDRESS_BITS, WIDTH, Access, Field, Register

OKAY, SLVERR = 0, 2
"""Responses of AXI4-Lite."""


class RegisterBus:
    """The registers behind AXI4-Lite: constants, settings and pulses are here, and the state is connected to it.

    A write has effect in the cycle before its response. It is refused with SLVERR, without effect, at an address
    without settings or pulses and for a value without a meaning; a read is refused at an address without a register.
    The low two bits of an address are not used.

    Attributes
    ----------
    settings : the value of each field that software writes, by the name of its register
    pulses : set for one cycle if 1 is written to the field, by its name
    written : set for one cycle if the register is written, by its name; its setting changes after this cycle
    """

    def __init__(self, m: Module, pins: Mapping[str, Signal], registers: Sequence[Register]) -> None:
        self.m, self.pins, self.registers = m, pins, registers
        self.settings: dict[str, Signal] = {}
        self.pulses: dict[str, Signal] = {}
        self.written: dict[str, Signal] = {}
        for register in registers:
            for field in register.fields:
                if field.access is Access.SETTING:
                    self.settings[register.name] = Signal(
                        field.width, name=f"{register.name}_setting", init=field.value
                    )
                    self.written[register.name] = Signal(name=f"{register.name}_written")
                elif field.access is Access.PULSE:
                    self.pulses[field.name] = Signal(name=f"{field.name}_pulse")

    def connect(self, states: Mapping[str, Value]) -> None:
        """Add the slave. ``states`` are the values of fields that the hardware changes, by the name of the register."""
        self._write()
        self._read(states)

    def _write(self) -> None:
        m, pin = self.m, self.pins
        address = Signal(ADDRESS_BITS, name="write_address")
        data = Signal(WIDTH, name="write_data")
        strobes = Signal(WIDTH // 8, name="write_strobes")
        has_address = Signal(name="has_write_address")
        has_data = Signal(name="has_write_data")
        answers = Signal(name="answers_write")
        answer = Signal(2, name="write_answer")
        writes = Signal()
        is_accepted = Signal()
        m.d.comb += [
            pin["awready"].eq(~has_address),
            pin["wready"].eq(~has_data),
            pin["bvalid"].eq(answers),
            pin["bresp"].eq(answer),
            writes.eq(has_address & has_data & ~answers),
        ]
        with m.If(pin["awvalid"] & ~has_address):
            m.d.sync += [address.eq(pin["awaddr"]), has_address.eq(1)]
        with m.If(pin["wvalid"] & ~has_data):
            m.d.sync += [data.eq(pin["wdata"]), strobes.eq(pin["wstrb"]), has_data.eq(1)]
        with m.If(writes):
            m.d.sync += [has_address.eq(0), has_data.eq(0), answers.eq(1), answer.eq(Mux(is_accepted, OKAY, SLVERR))]
        with m.If(answers & pin["bready"]):
            m.d.sync += answers.eq(0)
        accepted = list[Value]()
        for register in self.registers:
            for field in register.fields:
                if field.access in (Access.SETTING, Access.PULSE):
                    is_meant = self._selected("writes", register, address)
                    accepted.append(self._write_field(register, field, data, strobes, is_meant, writes))
        m.d.comb += is_accepted.eq(Cat(accepted).any())

    def _selected(self, verb: str, register: Register, address: Signal) -> Signal:
        """Whether an address is the one of a register."""
        selected = Signal(name=f"{verb}_{register.name}")
        word = address[2:]
        self.m.d.comb += selected.eq(word == register.address >> 2 if register.address else ~word.any())
        return selected

    def _write_field(
        self, register: Register, field: Field, data: Signal, strobes: Signal, is_meant: Signal, writes: Signal
    ) -> Value:
        """Add a field that is written while ``is_meant`` and ``writes``. Returns whether the write has an effect."""
        m, bits = self.m, range(field.low, field.low + field.width)
        if field.access is Access.PULSE:
            m.d.comb += self.pulses[field.name].eq(is_meant & writes & data[field.low] & strobes[field.low // 8])
            return is_meant
        setting, written = self.settings[register.name], self.written[register.name]
        kept = (Mux(strobes[bit // 8], data[bit], setting[bit - field.low]) for bit in bits)
        wanted = Signal(field.width, name=f"{register.name}_wanted")
        accepted = Signal(name=f"{register.name}_accepted")
        has_all = len(field.choices) in (0, 1 << field.width)
        m.d.comb += [
            wanted.eq(Cat(*kept)),
            accepted.eq(is_meant if has_all else is_meant & (wanted < len(field.choices))),
            written.eq(accepted & writes),
        ]
        with m.If(written):
            m.d.sync += setting.eq(wanted)
        return accepted

    def _read(self, states: Mapping[str, Value]) -> None:
        m, pin = self.m, self.pins
        address = Signal(ADDRESS_BITS, name="read_address")
        has_address = Signal(name="has_read_address")
        answers = Signal(name="answers_read")
        read = Signal(WIDTH, name="read_data")
        answer = Signal(2, name="read_answer")
        word = Signal(WIDTH)
        is_known = Signal()
        m.d.comb += [
            pin["arready"].eq(~has_address),
            pin["rvalid"].eq(answers),
            pin["rdata"].eq(read),
            pin["rresp"].eq(answer),
        ]
        with m.If(pin["arvalid"] & ~has_address):
            m.d.sync += [address.eq(pin["araddr"]), has_address.eq(1)]
        with m.If(has_address & ~answers):
            m.d.sync += [has_address.eq(0), answers.eq(1), read.eq(word), answer.eq(Mux(is_known, OKAY, SLVERR))]
        with m.If(answers & pin["rready"]):
            m.d.sync += answers.eq(0)
        known, words = list[Value](), list[Value]()
        for register in self.registers:
            selected = self._selected("reads", register, address)
            known.append(selected)
            for field in register.fields:
                value = Cat(Const(0, field.low), self._value(register, field, states))
                words.append(Mux(selected, value, 0))
        m.d.comb += [is_known.eq(Cat(known).any()), word.eq(reduce(or_, words))]

    def _value(self, register: Register, field: Field, states: Mapping[str, Value]) -> Value:
        """The value that software reads in a field."""
        return {
            Access.CONSTANT: lambda: Const(field.value, field.width),
            Access.STATE: lambda: states[register.name],
            Access.SETTING: lambda: self.settings[register.name],
            Access.PULSE: lambda: Const(0, field.width),
        }[field.access]()
