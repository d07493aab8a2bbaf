"""Functions of a few bits that are found by search, from the value of each bit in every case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Const, Module, Value

from ..config.decode import DecoderConfig
from .table import table


@dataclass(frozen=True, eq=False)
class Known:
    """A bit of hardware with its truth: bit ``n`` of ``truth`` is its value in case number ``n``."""

    value: Value
    truth: int


@dataclass(frozen=True)
class Function:
    """A function of known bits. Bit ``i`` of ``table`` is its value if the inputs, lowest bit first, form the number
    ``i``.
    """

    inputs: tuple[Known, ...]
    table: int

    def __call__(self, *bits: int) -> int:
        """The value for these inputs."""
        return self.table >> sum(bit << place for place, bit in enumerate(bits)) & 1

    @property
    def truth(self) -> int:
        """The value in each case, as in `Known`."""
        found = 0
        for index in range(1 << len(self.inputs)):
            if self.table >> index & 1:
                cases = -1
                for place, known in enumerate(self.inputs):
                    cases &= known.truth if index >> place & 1 else ~known.truth
                found |= cases
        return found


def truth(cases: Iterable[object]) -> int:
    """An integer with a one for each case that is true, the first case in bit 0."""
    return int("".join("01"[bool(case)] for case in cases)[::-1], 2)


def known_bits(value: Value, numbers: Sequence[int]) -> list[Known]:
    """The bits of a value, lowest first. ``numbers`` are the value in each case."""
    return [Known(value[bit], truth(number >> bit & 1 for number in numbers)) for bit in range(len(value))]


def function_of(wanted: int, care: int, inputs: Iterable[Known], more: Iterable[Known] = ()) -> Function:
    """The function that equals ``wanted`` in each case of ``care``.

    If ``inputs`` do not decide it, inputs of ``more`` are added one by one. Then inputs that it does not need are
    dropped, the last ones first. Raises ValueError if all inputs together do not decide it.
    """
    chosen, rest = list(dict.fromkeys(inputs)), list(more)
    while _table(wanted, care, chosen) is None:
        if not rest:
            raise ValueError("the inputs of a table do not decide it")
        chosen.append(rest.pop(0))
    for known in reversed(tuple(chosen)):
        fewer = [other for other in chosen if other is not known]
        if _table(wanted, care, fewer) is not None:
            chosen = fewer
    return Function(tuple(chosen), _table(wanted, care, chosen) or 0)


def _table(wanted: int, care: int, inputs: Sequence[Known]) -> int | None:
    """The truth table of a function of these inputs, or None if they do not decide it."""
    if not inputs:
        found = wanted & care
        return None if found not in (0, care) else int(found != 0)
    *fewer, last = inputs
    low = _table(wanted, care & ~last.truth, fewer)
    high = None if low is None else _table(wanted, care & last.truth, fewer)
    return None if low is None or high is None else low | high << (1 << len(fewer))


class Tables:
    """The tables of a component. Equal functions share a table."""

    def __init__(self, m: Module, platform: object, config: DecoderConfig) -> None:
        self.m, self.platform, self.config = m, platform, config
        self.made: dict[Function, Known] = {}

    def of(self, name: str, function: Function) -> Known:
        """The value of a function, as a signal with this name."""
        if not function.inputs:
            return Known(Const(function.table, 1), function.truth)
        if len(function.inputs) == 1 and function.table == 0b10:
            return function.inputs[0]
        if function not in self.made:
            values = [known.value for known in function.inputs]
            inverted = self.config.latency > 0
            y = table(self.m, self.platform, self.config, name, function, *values, inverted=inverted)
            self.made[function] = Known(y, function.truth)
        return self.made[function]
