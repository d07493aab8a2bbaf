"""The OR of many bits, on a carry chain where that saves LUTs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config.architecture import Structure
from ..config.encode import ConverterConfig
from ..emission.modules import ModuleLibrary, instantiated
from .table import LUT_INPUTS, truth_of


@dataclass(frozen=True)
class Term:
    """A function of a few bits."""

    function: Callable[..., object]
    inputs: list[Value]

    def __or__(self, other: Term) -> Term:
        count = len(self.inputs)
        return Term(lambda *b: self.function(*b[:count]) or other.function(*b[count:]), [*self.inputs, *other.inputs])

    @property
    def truth(self) -> int:
        return truth_of(self.function, len(self.inputs))


def carry_or(m: Module, y: Signal, positions: list[Value]) -> None:
    """Connect ``y`` to the OR of positions, on a carry chain: a set position makes a carry, and all propagate it."""
    chain = Signal(len(positions) + 1)
    m.d.comb += [chain.eq(Cat(positions) + Const((1 << len(positions)) - 1, len(positions))), y.eq(chain[-1])]


class Sticky(wiring.Component):
    """``y``: is any function set? Each function has its own bits of ``i`` and a LUT, and the carry chain is the OR."""

    kind, whole = "sticky", True

    def __init__(self, widths: list[int], truths: list[int]) -> None:
        self.widths, self.truth = tuple(widths), tuple(truths)
        super().__init__({"i": In(sum(widths)), "y": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        positions, first = [], 0
        for width, truth in zip(self.widths, self.truth):
            positions.append((Const(truth, 1 << width) >> self.i[first : first + width])[0])
            first += width
        carry_or(m, self.y, positions)
        return m


def any_of(m: Module, platform: object, config: ConverterConfig, terms: list[Term]) -> Signal:
    """The OR of the terms. Terms of a few inputs share a LUT."""
    packed: list[Term] = []
    for term in sorted(terms, key=lambda term: -len(term.inputs)):
        room = next((i for i, other in enumerate(packed) if len(other.inputs) + len(term.inputs) <= LUT_INPUTS), None)
        if room is None:
            packed.append(term)
        else:
            packed[room] |= term
    y = Signal(name="sticky")
    if not packed:
        return y
    if config.microarchitecture.structure is Structure.KEPT and isinstance(platform, ModuleLibrary):
        part = Sticky([len(term.inputs) for term in packed], [term.truth for term in packed])
        m.submodules.make_sticky = instantiated(part, platform)
        m.d.comb += [part.i.eq(Cat(bit for term in packed for bit in term.inputs)), y.eq(part.y)]
    else:
        m.d.comb += y.eq(
            Cat((Const(term.truth, 1 << len(term.inputs)) >> Cat(term.inputs))[0] for term in packed).any()
        )
    return y
