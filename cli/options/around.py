"""Options of modules around a converter with AXI4-Stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...hdl.emission.around import Around

Registers = Annotated[
    bool, typer.Option("--registers", help="Put an encoder with AXI4-Stream behind registers: modes, seed, counters.")
]
Bus = Annotated[
    str | None,
    typer.Option(
        "--bus",
        metavar="BITS",
        show_default=False,
        help="Give AXI4-Stream words of a bus: 32 to 1024 bits, or 256,64 to enter and to leave.",
    ),
]

BlockDesign = Annotated[
    bool, typer.Option("--block-design", help="Add NAME_bd, whose attributes name its AXI interfaces to Vivado.")
]


def around(registers: bool, bus: str | None, block_design: bool = False) -> Around:
    """The modules that options ask for. Raises ValueError for impossible words of a bus."""
    from ...hdl.bus.pins import BusWidths
    from ...hdl.emission.around import Around

    return Around(registers=registers, bus=None if bus is None else BusWidths.parsed(bus), block_design=block_design)
