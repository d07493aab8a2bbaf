"""Random bits on the chip, for the ``random`` input of a converter with stochastic rounding."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec.operations.random_source import SHIFTS, initial_states


class RandomSource(wiring.Component):
    """``width`` random bits in every clock cycle with ``enable``, from xorshift32 generators in parallel.

    ``random`` is the state itself, so the first bits after reset are `spec.operations.random_source.initial_states`.
    They are good enough for rounding, and not for cryptography.
    """

    def __init__(self, width: int, seed: int = 0) -> None:
        self.states = initial_states(width, seed)
        super().__init__({"enable": In(1), "random": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers = [Signal(32, name=f"state{number}", init=state) for number, state in enumerate(self.states)]
        for number, state in enumerate(registers):
            value = state
            for step, shift in enumerate(SHIFTS):
                shifted = Signal(32, name=f"step{number}_{step}")
                m.d.comb += shifted.eq(value ^ (value << shift if shift > 0 else value >> -shift))
                value = shifted
            m.d.sync += state.eq(Mux(self.enable, value, state))
        m.d.comb += self.random.eq(Cat(registers))
        return m
