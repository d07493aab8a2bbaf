"""Many small converters side by side in one Verilated design: how whole families of numerics are compared at once.

A build costs seconds and a converter of few lanes next to nothing, so hundreds of them share one input and one build.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..hdl import BlockConverter, ConverterConfig
from ..hdl.emission import WAIVER
from ..hdl.modules import convert_all
from ..models import quantize
from ..models.element import code_dtype
from ..models.exact import quantize_block
from ..models.source import DTYPES
from ..spec import Encode, Port, Role
from . import stimuli as make
from .driver import Driver, build
from .scoreboard import Scoreboard
from .transactions import named

__all__ = ["ConverterArray", "compare_all", "shape_of"]

TOP = "side_by_side"


def shape_of(numerics: Encode) -> tuple:
    """What converters must have in common to stand side by side: the widths of their ports."""
    return numerics.source, numerics.block_size, numerics.block.element.bits, numerics.random_bits


class ConverterArray:
    """Verilated converters of equal `shape_of` on one input, each with its own outputs."""

    def __init__(self, family: Sequence[Encode]) -> None:
        if len({shape_of(numerics) for numerics in family}) != 1:
            raise ValueError("converters side by side must have ports of the same widths")
        self.family, first = list(family), family[0]
        tops = {f"c{number}": ConverterConfig(numerics=numerics) for number, numerics in enumerate(family)}
        text = convert_all({top: BlockConverter(config) for top, config in tops.items()})
        # inputs are shared, outputs stand side by side
        ports = [
            port if port.direction == "input" else replace(port, lanes=port.lanes * len(family)) for port in first.ports
        ]
        whole = "\n".join([WAIVER, _side_by_side(list(tops), first, ports), *text.values()])
        self._driver = Driver(build(whole, TOP, ports), ports)

    def __call__(self, patterns: np.ndarray, random: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Source patterns (n, block_size) to scales (n, designs) and codes (n, designs, block_size)."""
        first, designs = self.family[0], len(self.family)
        scales = np.empty((len(patterns), designs), np.uint8)
        codes = np.empty((len(patterns), designs * first.block_size), code_dtype(first.block.element))
        entering = {Role.NUMBERS: patterns, **({} if random is None else {Role.RANDOM: random})}
        ports = self._driver.ports
        self._driver(named(ports, "input", entering), named(ports, "output", {Role.SCALE: scales, Role.CODES: codes}))
        return scales, codes.reshape(len(patterns), designs, first.block_size)


def _side_by_side(tops: list[str], numerics: Encode, ports: list[Port]) -> str:
    declared = ", ".join(f"{port.direction} [{port.width - 1}:0] {port.name}" for port in ports)
    lines = [f"module {TOP}({declared});"]
    for number, top in enumerate(tops):
        pins = (
            f".{port.name}({port.name}"
            + (f"[{(number + 1) * port.width - 1}:{number * port.width}]" * (port.direction == "output"))
            + ")"
            for port in numerics.ports
        )
        lines.append(f"  {top} u{number} ({', '.join(pins)});")
    return "\n".join([*lines, "endmodule", ""])


def compare_all(family: Sequence[Encode], *, blocks: int, exact_blocks: int, seed: int) -> list[Scoreboard]:
    """Compare RTL with model and model with the exact definition, for each numerics of a family, bit for bit.

    RTL and model meet on corner (a choice of each family), boundary and ``blocks`` random blocks; the exact definition
    on ``exact_blocks`` of them, an even choice. Returns a scoreboard for each, with the stimuli "rtl" and "exact".
    """
    design, first = ConverterArray(family), family[0]
    boundary = make.boundary_blocks(first)
    patterns = np.concatenate(
        [
            make.corner_blocks(first, most=100),
            boundary[:: -(-len(boundary) // blocks)],
            make.random_blocks(first, blocks, seed),
        ]
    )
    random = make.random_bits(first, patterns.shape, seed)
    scales, codes = design(patterns, random)
    chosen = np.linspace(0, len(patterns) - 1, exact_blocks).astype(int)
    return [
        _judged(numerics, patterns, random, scales[:, number], codes[:, number], chosen)
        for number, numerics in enumerate(family)
    ]


def _judged(
    numerics: Encode,
    patterns: np.ndarray,
    random: np.ndarray | None,
    scales: np.ndarray,
    codes: np.ndarray,
    chosen: np.ndarray,
) -> Scoreboard:
    board = Scoreboard(ConverterConfig(numerics=numerics))
    model = quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)
    board.compare("rtl", patterns, model, type(model)(scales=scales[:, None], codes=codes, numerics=numerics), random)
    drawn = None if random is None else random[chosen]
    found = [
        quantize_block(patterns[row].tolist(), numerics, None if drawn is None else drawn[i].tolist())
        for i, row in enumerate(chosen)
    ]
    exact = type(model)(
        scales=np.array([[byte] for byte, _ in found], np.uint8),
        numerics=numerics,
        codes=np.array([c for _, c in found], codes.dtype),
    )
    picked = type(model)(scales=model.scales[chosen], codes=model.codes[chosen], numerics=numerics)
    board.compare("exact", patterns[chosen], exact, picked, drawn)
    return board
