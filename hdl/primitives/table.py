"""Functions of a few bits as truth tables. With `Structure.KEPT` each is a module that synthesis keeps whole."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.architecture import Structure
from ..config.decode import DecoderConfig
from ..config.encode import ConverterConfig
from ..emission.modules import ModuleLibrary, instantiated

LUT_INPUTS = 6
"""Inputs of the LUTs that functions are cut to fit."""


class Table(wiring.Component):
    """``y`` is bit ``i`` of ``truth``, an integer of 2**width bits."""

    whole = True

    def __init__(self, name: str, width: int, truth: int) -> None:
        self.kind, self.truth = name, truth
        super().__init__({"i": In(width), "y": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.y.eq(Const(self.truth, 1 << len(self.i)) >> self.i)
        return m


def table(
    m: Module,
    platform: object,
    config: ConverterConfig | DecoderConfig,
    name: str,
    function: Callable[..., object],
    *inputs: Value,
    signal: str | None = None,
    inverted: bool = False,
) -> Signal:
    """A signal with the value of ``function``, which takes its inputs as the integers 0 and 1. The name of the signal
    is the name of the function by default.

    Equal names mean equal functions within a converter. With `Structure.KEPT` the function is a module of its own,
    which synthesis maps alone. So it costs one LUT, if it has no more inputs than a LUT. An ``inverted`` table holds
    the complement and is followed by an inverter, so that synthesis makes no synchronous reset of a register behind it
    (`Stage.crossed`).
    """
    bits = Cat(inputs)
    width = len(bits)
    truth = truth_of(function, width)
    y = Signal(name=signal or name)
    if config.microarchitecture.structure is Structure.KEPT and isinstance(platform, ModuleLibrary):
        part = Table(name, width, truth)
        m.submodules[f"make_{y.name}"] = instantiated(part, platform)
        m.d.comb += [part.i.eq(bits), y.eq(part.y)]
    elif inverted:
        m.d.comb += y.eq(~(Const(truth ^ (1 << (1 << width)) - 1, 1 << width) >> bits))
    else:
        m.d.comb += y.eq(Const(truth, 1 << width) >> bits)
    return y


def truth_of(function: Callable[..., object], width: int) -> int:
    """The truth table of a function of ``width`` bits."""
    return sum(bool(function(*(number >> i & 1 for i in range(width)))) << number for number in range(1 << width))


def without_zeros(function: Callable[..., object], *inputs: Value | int) -> tuple[Callable[..., object], list[Value]]:
    """The function of the inputs that are signals, and these inputs. The others are the integer 0."""
    real = [i for i, bit in enumerate(inputs) if not isinstance(bit, int)]
    zeros = [0] * len(inputs)

    def of_real(*bits: int) -> object:
        every = list(zeros)
        for i, bit in zip(real, bits):
            every[i] = bit
        return function(*every)

    return of_real, [inputs[i] for i in real]


def fewest(function: Callable[..., bool | None], width: int) -> tuple[tuple[int, ...], int]:
    """The fewest inputs that decide a function, by their numbers, and its truth table for them. The function is None
    for inputs that never occur.
    """
    cases = [(bits, value) for bits in product((0, 1), repeat=width) if (value := function(*bits)) is not None]
    for inputs in (some for size in range(width + 1) for some in combinations(range(width), size)):
        told = {(tuple(bits[i] for i in inputs), value) for bits, value in cases}
        if len(told) == len({bits for bits, _ in told}):
            known = dict(told)
            return inputs, truth_of(lambda *bits, known=known: known.get(bits), len(inputs))
    raise AssertionError("all inputs together decide")
