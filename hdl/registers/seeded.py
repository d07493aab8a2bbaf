"""Random bits of the emitted generator, restarted from a seed while the design runs."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value

from ...spec.operations.random_source import SHIFTS, initial_states


def seeded_bits(m: Module, width: int, seed: Value, restart: Value, enable: Value) -> Value:
    """``width`` random bits, new ones after each cycle with ``enable``, as statements in a top module.

    After a reset, and after ``restart`` with the seed 0, they are the bits of `RandomSource` with its seed 0. In
    general generator n restarts from its initial state, exclusive-ored with the seed rotated left by n bits. If this
    is 0, which a generator never leaves, it restarts from its initial state.
    """
    states = []
    for number, init in enumerate(initial_states(width)):
        state = Signal(32, name=f"state{number}", init=init)
        value: Value = state
        for step, shift in enumerate(SHIFTS):
            shifted = Signal(32, name=f"step{number}_{step}")
            m.d.comb += shifted.eq(value ^ (value << shift if shift > 0 else value >> -shift))
            value = shifted
        first = Signal(32, name=f"first{number}")
        m.d.comb += first.eq(init ^ seed.rotate_left(number % 32))
        with m.If(restart):
            m.d.sync += state.eq(Mux(first.any(), first, init))
        with m.Elif(enable):
            m.d.sync += state.eq(value)
        states.append(state)
    return Cat(states)[:width]
