"""Functions of a few bits, written down as truth tables; where asked, each is a module that synthesis keeps whole."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..spec import ConverterConfig, Structure
from .modules import ModuleLibrary, placed

__all__ = ["Table", "table"]


class Table(wiring.Component):
    """``y`` is bit number ``i`` of ``truth``, an integer of 2**width bits."""

    whole = True

    def __init__(self, name: str, width: int, truth: int) -> None:
        self.kind, self.truth = name, truth
        super().__init__({"i": In(width), "y": Out(1)})

    def elaborate(self, platform) -> Module:
        m = Module()
        m.d.comb += self.y.eq(Const(self.truth, 1 << len(self.i)) >> self.i)
        return m


def table(m: Module, platform: object, config: ConverterConfig, name: str, function: Callable[..., object], *inputs: Value,
          signal: str | None = None) -> Signal:
    """A signal, of the name of the function unless another is given, that is ``function`` of bits, given to it as integers 0 and 1.

    Equal names are equal functions within one converter. With `Structure.KEPT` the function is a module of its own, which
    synthesis maps alone: it then costs one LUT if it has no more inputs than a LUT, whatever stands around it.
    """
    bits = Cat(inputs)
    width = len(bits)
    truth = sum(bool(function(*(number >> i & 1 for i in range(width)))) << number for number in range(1 << width))
    y = Signal(name=signal or name)
    if config.microarchitecture.structure is Structure.KEPT and isinstance(platform, ModuleLibrary):
        part = Table(name, width, truth)
        m.submodules[f"make_{y.name}"] = placed(part, platform)
        m.d.comb += [part.i.eq(bits), y.eq(part.y)]
    else:
        m.d.comb += y.eq(Const(truth, 1 << width) >> bits)
    return y
