"""Decoding of NVFP4 and its relatives: a tensor scale, block scales and codes become numbers, by binary32 arithmetic.

Notation: ``q`` is the value of an element, ``s`` the value of its block scale, ``C`` the largest element times
``scale_max``. Every operation is one of binary32, rounded to nearest even; the result is then rounded to
the destination.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import ClassVar, TypedDict, Unpack

from ..catalogue import Rule
from ..formats.block import BlockFormat, Convention
from ..formats.number import FP32, FloatFormat, NumberFormat
from .decode import DecodedNan, DecodedRounding
from .nvfp4 import Nvfp4Operation
from .ports import Port, Role


class Nvfp4DecodeFields(TypedDict, total=False):
    """Fields of `Nvfp4Decode` by name, and the block size of its block format."""

    destination: str | FloatFormat
    block_size: int
    convention: str
    nan: str
    rounding: str
    scale_max: int


@dataclass(frozen=True, kw_only=True)
class Nvfp4Decode(Nvfp4Operation):
    """A complete rule that turns a tensor scale ``g``, a block scale and E2M1 codes into a block of numbers.

    The convention decides the order of the operations: q * (s * g) for ``multiplier``, q * (s / g) for ``divisor``,
    q * ((s * g) * (1 / C)) for ``amax`` and q * s for ``none``. `DecodedNan.PAYLOAD` is the sign and fraction of a
    NaN block scale. The convention also decides the tensor scale of the block format.

    >>> Nvfp4Decode(block="nvfp4", convention="divisor").block.tensor_scale.convention
    <Convention.DIVISOR: 'divisor'>
    """

    name: ClassVar[str] = "two_level_decode"
    NUMBERS: ClassVar[str] = "destination"
    SIZES: ClassVar[Container[int]] = range(1, 1025)
    SIZES_IN_WORDS: ClassVar[str] = "1 to 1024, or 16 x 16"

    block: BlockFormat
    destination: FloatFormat = FP32
    convention: Convention = Convention.AMAX
    nan: DecodedNan = DecodedNan.CANONICAL
    rounding: DecodedRounding = DecodedRounding.RNE
    scale_max: int = 0
    """Scale of the largest block of a tensor under ``amax``: 448 by default, or 256."""
    random_bits: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounding is not DecodedRounding.RNE:
            raise ValueError(f"numbers are rounded by rne, not by {self.rounding}")

    @property
    def stored(self) -> Convention:
        return self.convention

    @classmethod
    def rules(cls) -> Mapping[str, type[Rule]]:
        return NVFP4_DECODE_RULES

    @property
    def ports(self) -> tuple[Port, ...]:
        """``p``, ``scale``, ``g`` if the convention has a tensor scale, and ``y``.

        >>> [(port.name, port.direction, port.width) for port in Nvfp4Decode(block="nvfp4").ports]
        [('p', 'input', 64), ('scale', 'input', 8), ('g', 'input', 32), ('y', 'output', 512)]
        """
        has_tensor_scale = self.convention is not Convention.NONE
        return (
            Port.of_format("p", Role.CODES, "input", self.block.element, self.block_size),
            Port.of_format("scale", Role.SCALE, "input", self.block.scale),
            *([Port.of_format("g", Role.TENSOR_SCALE, "input", FP32)] if has_tensor_scale else []),
            Port.of_format("y", Role.NUMBERS, "output", self.destination, self.block_size),
        )

    def replace(
        self, *, block: str | BlockFormat | NumberFormat | None = None, **fields: Unpack[Nvfp4DecodeFields]
    ) -> Nvfp4Decode:
        """A copy with this block format and these fields. Raises ValueError for an unknown field."""
        return self.replaced(block, **fields)


NVFP4_DECODE_RULES: dict[str, type[Rule]] = {"convention": Convention, "nan": DecodedNan, "rounding": DecodedRounding}
"""Enumerations among the fields of `Nvfp4Decode`."""
