"""Questions about NVFP4 encoders with a cache: the order of blocks, the rows that are stored, and the bits.

docs/verification.md explains how they prove the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from ...hdl import HardwareConfig, Nvfp4Config
from ...hdl.nvfp4_cache.rows import bank_widths
from ...spec import Nvfp4Encode
from ..netlist.beats.cached import FRONT, CachedParts, delays
from ..netlist.design import Cut, Design, Part
from ..specification.beats.cached import flow, rows
from ..specification.nvfp4 import Nvfp4Specification
from .nvfp4.arithmetic import laws, limits, two_roundings
from .nvfp4.element import of_rows
from .nvfp4.encoder import ProvableNvfp4, largest
from .nvfp4.row_division import division, factor, near
from .nvfp4.scale import product_scale, row_sums
from .question import Question


class ProvableCached(ProvableNvfp4):
    """The proof of an NVFP4 encoder with a cache."""

    handshake: ClassVar[str] = (
        "scales and codes come from pure delays with an enable, and memories delay numbers as long"
    )

    def composed(
        self, config: HardwareConfig[Nvfp4Encode], design: Design, specify: Callable[[Nvfp4Encode], Nvfp4Specification]
    ) -> Iterator[Question]:
        assert isinstance(config, Nvfp4Config)
        parts, s = CachedParts(design, config), specify(config.numerics)
        parts.check_ways()
        yield from flow(parts).questions()
        yield from rows(parts).questions()
        maximum, scale_unit = parts.scale_parts()
        functions = design.of_netlist({design.top: {**parts.functions[parts.kinds[FRONT]]}, **parts.inside(FRONT)})

        def part(module: str) -> Callable[..., Part]:
            def found(*wires: str, without: tuple[str, ...] = (), freed: tuple[str, ...] = ()) -> Part:
                (one,) = functions.parts(Cut(module, without, wires, freed=freed))
                return one.named("part")

            return found

        yield largest(part(maximum)(), config.numerics, s)
        yield from row_sums(part(scale_unit), s)
        yield from product_scale(part(scale_unit), s, is_summed=True)

        def divider(*wires: str, freed: tuple[str, ...] = ()) -> Part:
            (one,) = parts.division.parts(Cut(design.top, (), wires, freed=freed))
            return one.named("part")

        yield from division(divider, s)
        yield from factor(divider, s)
        yield near(s)
        lanes = list(dict.fromkeys(lane.parts(Cut(design.top))[0].named("lane") for lane in parts.lanes()))
        yield from of_rows(divider, lanes, s)
        yield from (two_roundings(s), limits(s))
        yield from laws()

    def knows_addresses(self, config: HardwareConfig[Nvfp4Encode], written: list[str]) -> bool:
        assert isinstance(config, Nvfp4Config)
        delayed = len(delays(config))
        banks = len({*bank_widths(config)}) if delayed else 0  # modules; the scale is x if what a memory delays is x
        return len(written) == delayed + 1 + banks
