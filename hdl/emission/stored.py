"""Blocks at the ports in the layout of a library: wires between these ports and the ports of an operation."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Signal, Value

from ...spec import Layout, Packing, Port, Role, ScalePlace

Bits = list[Value | None]
"""Bits, lowest first. None is a padding bit of a stored byte."""


def _joined(*parts: Bits) -> Bits:
    return [bit for part in parts for bit in part]


def _by_four(codes: list[Bits], store: Callable[[Bits, Bits, Bits, Bits], Bits]) -> Bits:
    return _joined(*(store(*codes[first : first + 4]) for first in range(0, len(codes), 4)))


def _halves(codes: list[Bits]) -> Bits:
    half = len(codes) // 2
    return _joined(*(low + high for low, high in zip(codes[:half], codes[half:])))


PACKINGS: dict[Packing, Callable[[list[Bits]], Bits]] = {
    Packing.BYTES: lambda codes: _joined(*(code + [None] * (8 - len(code)) for code in codes)),
    Packing.LOW_FIRST: lambda codes: _joined(*codes),
    Packing.HIGH_FIRST: lambda codes: _joined(*(low + high for low, high in zip(codes[1::2], codes[::2]))),
    Packing.HALVES: _halves,
    Packing.LITTLE_ENDIAN: lambda codes: _joined(*codes),
    Packing.HIGH_PARTS: lambda codes: _by_four(
        codes, lambda a, b, c, d: _joined(d[4:], c[4:], b[4:], a[4:], b[:4], a[:4], d[:4], c[:4])
    ),
}
"""The bytes of a block from its codes, lowest bit first."""


def stored_bits(layout: Layout, codes: list[Bits], scale: Bits) -> dict[Role, Bits]:
    """The bits of the ports of a layout by role, from the codes of a block and its scale."""
    packed = PACKINGS[layout.packing](codes)
    if layout.place is ScalePlace.APART:
        return {Role.STORED_CODES: packed}
    parts = [scale, packed] if layout.place is ScalePlace.BEFORE else [packed, scale]
    return {Role.STORED_BLOCK: _joined(*parts)}


def wire(m: Module, layout: Layout, ports: dict[Role, Port], signals: dict[Role, Signal]) -> None:
    """Connect the signals at the ports of a layout and of an operation. ``ports`` belong to the operation."""
    codes, width = signals[Role.CODES], ports[Role.CODES].bits
    lanes: list[Bits] = [[codes[at] for at in range(low, low + width)] for low in range(0, len(codes), width)]
    for role, bits in stored_bits(layout, lanes, list(signals[Role.SCALE])).items():
        if ports[Role.CODES].direction == "output":
            m.d.comb += signals[role].eq(Cat(Const(0, 1) if bit is None else bit for bit in bits))
        else:
            m.d.comb += [bit.eq(signals[role][at]) for at, bit in enumerate(bits) if bit is not None]
