"""Many small converters in one Verilated design, to compare whole families of numerics at once.

A build costs seconds and a converter of few lanes next to nothing, so hundreds of them share one input and one build.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....hdl import BlockConverter, ConverterConfig
from ....hdl.emission.emit import WAIVER
from ....hdl.emission.modules import convert_all
from ....models.arrays.source import code_dtype
from ....models.exact.encode import quantize_block
from ....spec import Encode, Port, Role
from ... import stimuli as make
from ...check.scoreboard import Scoreboard
from ...encode.simulation import blocks_of
from ...operations import drawn, golden
from ...transactions import Transactions
from .driver import Driver, build

TOP = "side_by_side"


def shape_of(numerics: Encode) -> tuple:
    """The properties that decide the widths of ports, which must be equal in an array."""
    return numerics.source, numerics.block_size, numerics.block.element.bits, numerics.random_bits


class ConverterArray:
    """Verilated converters of equal `shape_of` on one input, each with its own outputs."""

    def __init__(self, family: Sequence[Encode]) -> None:
        if len({shape_of(numerics) for numerics in family}) != 1:
            raise ValueError("converters side by side must have ports of the same widths")
        self.family, first = list(family), family[0]
        tops = {f"c{number}": ConverterConfig(numerics=numerics) for number, numerics in enumerate(family)}
        text = convert_all({top: BlockConverter(config) for top, config in tops.items()})
        # one input for all, an output for each
        ports = [
            port if port.direction == "input" else replace(port, lanes=port.lanes * len(family)) for port in first.ports
        ]
        whole = "\n".join([WAIVER, _side_by_side(list(tops), first, ports), *text.values()])
        self._driver = Driver(build(whole, TOP, ports), ports)

    def __call__(self, entering: Transactions) -> list[Transactions]:
        """The results of each converter."""
        made, size = self._driver(entering), self.family[0].block_size
        return [
            Transactions(
                {
                    Role.SCALE: made[Role.SCALE][:, number : number + 1],
                    Role.CODES: made[Role.CODES][:, number * size : (number + 1) * size],
                }
            )
            for number in range(len(self.family))
        ]


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

    RTL and model are compared on corner blocks (a choice of each family), boundary blocks and ``blocks`` random ones,
    and the exact definition on ``exact_blocks`` of them. Returns a scoreboard for each, with the stimuli "rtl" and
    "exact".
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
    entering = drawn(first, blocks_of(patterns), seed)
    chosen = np.linspace(0, len(patterns) - 1, exact_blocks).astype(int)
    return [_judged(numerics, entering, made, chosen) for numerics, made in zip(family, design(entering))]


def _judged(numerics: Encode, entering: Transactions, made: Transactions, chosen: np.ndarray) -> Scoreboard:
    board = Scoreboard(ConverterConfig(numerics=numerics))
    model, few = golden(numerics, entering), entering.rows(chosen)
    board.compare("rtl", numerics, entering, model, made)
    random = few.get(Role.RANDOM)
    found = [
        quantize_block(block.tolist(), numerics, None if random is None else random[row].tolist())
        for row, block in enumerate(few[Role.NUMBERS])
    ]
    exact = Transactions(
        {
            Role.SCALE: np.array([[byte] for byte, _ in found], np.uint8),
            Role.CODES: np.array([codes for _, codes in found], code_dtype(numerics.block.element)),
        }
    )
    board.compare("exact", numerics, few, exact, model.rows(chosen))
    return board
