"""The random Hadamard transform of 16 numbers, which spreads outliers before a tensor is encoded to NVFP4.

y = x * H with H = (1/4) * diag(s) * H16, s the signs and H16 the Hadamard matrix in Sylvester's order,
H16[i][j] = (-1) ** popcount(i & j). So y[j] is a quarter of the sum of x[i] * s[i] * H16[i][j] over i, rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..catalogue import excerpt
from ..formats.number import BF16, NumberFormat
from .operation import Operation
from .ports import Port, Role

SIZE = 16

TRANSFORMER_ENGINE_SIGNS = 0xD7E8
"""The signs that Transformer Engine uses throughout (get_wgrad_sign_vector): bit i is set where s[i] is -1."""


@dataclass(frozen=True, kw_only=True)
class Hadamard(Operation):
    """The transform of 16 BF16 numbers to 16 BF16 numbers: the exact sum, rounded to nearest even.

    A sum that is zero is +0. Inf and NaN are those of IEEE 754 for a sum; NaN is 0x7FC0.

    >>> [i for i in range(16) if Hadamard().signs >> i & 1]
    [3, 5, 6, 7, 8, 9, 10, 12, 14, 15]
    """

    name: ClassVar[str] = "hadamard"

    signs: int = TRANSFORMER_ENGINE_SIGNS
    """16 bits: bit i is set where number i is negated."""
    random_bits: int = 0

    def __post_init__(self) -> None:
        if type(self.signs) is not int or not 0 <= self.signs < 1 << SIZE:
            raise ValueError(f"signs must be a number of {SIZE} bits, not {excerpt(self.signs)}")
        if self.random_bits != 0:
            raise ValueError(f"a Hadamard transform takes no random bits, not {excerpt(self.random_bits)}")

    @property
    def subject(self) -> str:
        return f"hadamard{SIZE}"

    @property
    def block_size(self) -> int:
        return SIZE

    @property
    def formats(self) -> dict[str, NumberFormat]:
        return {"numbers": BF16}

    @property
    def ports(self) -> tuple[Port, ...]:
        """``x`` and ``y``.

        >>> [(port.name, port.direction, port.width) for port in Hadamard().ports]
        [('x', 'input', 256), ('y', 'output', 256)]
        """
        return (
            Port(name="x", role=Role.NUMBERS, direction="input", bits=BF16.bits, lanes=SIZE, format=BF16),
            Port(name="y", role=Role.ROTATED, direction="output", bits=BF16.bits, lanes=SIZE, format=BF16),
        )

    def is_negative(self, i: int, j: int) -> bool:
        """Is number i subtracted in result j?"""
        return bool((self.signs >> i & 1) ^ ((i & j).bit_count() & 1))

    def by_name(self) -> dict[str, object]:
        """The fields as plain strings and numbers."""
        return {"signs": self.signs}

    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Hadamard:
        """The operation that `to_dict` wrote. Raises ValueError for what it cannot have written.

        >>> Hadamard.from_dict(Hadamard(signs=5).to_dict()).signs
        5
        """
        given: dict[str, Any] = dict(fields)
        if (operation := given.pop("operation", cls.name)) != cls.name:
            raise ValueError(f"the operation must be {cls.name}, not {excerpt(operation)}")
        given.pop("formats", None)
        if set(given) - {"signs"}:
            raise ValueError(f"a Hadamard transform has signs, not {excerpt(sorted(given))}")
        return cls(**given)
