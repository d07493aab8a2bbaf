"""The element quantizers by their method and the kind of their elements."""

from __future__ import annotations

from typing import TypeAlias

from ...spec import Kind
from ..config.architecture import Quantizer
from ..config.encode import ConverterConfig
from .element import ElementQuantizer
from .gates.element import GateQuantizer
from .gates.fixed import FixedGateQuantizer
from .table_element import TableQuantizer
from .table_fixed import FixedQuantizer

AnyQuantizer: TypeAlias = ElementQuantizer | GateQuantizer | FixedGateQuantizer | TableQuantizer | FixedQuantizer

QUANTIZERS: dict[tuple[Quantizer, Kind], type[AnyQuantizer]] = {
    (Quantizer.SHIFT, Kind.FLOAT): ElementQuantizer,
    (Quantizer.SHIFT, Kind.FIXED): ElementQuantizer,
    (Quantizer.GATES, Kind.FLOAT): GateQuantizer,
    (Quantizer.GATES, Kind.FIXED): FixedGateQuantizer,
    (Quantizer.TABLE, Kind.FLOAT): TableQuantizer,
    (Quantizer.TABLE, Kind.FIXED): FixedQuantizer,
}


def quantizer_of(config: ConverterConfig) -> AnyQuantizer:
    """The element quantizer of a configuration."""
    return QUANTIZERS[config.microarchitecture.quantizer, config.numerics.block.element.kind](config)
