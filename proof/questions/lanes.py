"""Questions about encoders with lanes: the order of their beats, and then the bits of a whole block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from ...hdl import ConverterConfig, HardwareConfig
from ...spec import Encode
from ..netlist.beats import Beats
from ..netlist.design import Design
from ..netlist.structure import StructureError
from ..netlist.whole_block import at_once, whole_block
from ..specification.encode import Specification
from ..specification.order import Order
from .encode import ProvableEncode
from .question import Question


class ProvableLanes(ProvableEncode):
    """The proof of an encoder with lanes."""

    is_asked_whole: ClassVar[bool] = False
    has_beats: ClassVar[bool] = True

    def composed(
        self, config: HardwareConfig[Encode], design: Design, specify: Callable[[Encode], Specification]
    ) -> Iterator[Question]:
        """Questions about the order of beats, for any numbers, and those about a whole block that `whole_block` puts
        together from the modules of a beat."""
        assert isinstance(config, ConverterConfig)
        order = order_of(config, design)
        order.beats.check_delays()
        whole = whole_block(order.beats)
        yield from order.questions()
        order.beats.check_known()
        yield from super().composed(at_once(config), whole, specify)

    def monolithic(
        self, config: HardwareConfig[Encode], design: Design, nan_codes_free: bool = False
    ) -> list[Question]:
        raise StructureError(f"{config.formats} with lanes is proved in parts only")


def order_of(config: HardwareConfig, design: Design) -> Order:
    """The statements about the order of the beats of a design."""
    assert isinstance(config, ConverterConfig)
    return Order(Beats(design, config))
