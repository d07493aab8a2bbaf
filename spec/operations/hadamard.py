"""The random Hadamard transform of n numbers, which spreads outliers before a tensor is encoded to NVFP4 or MXFP4.

y = x * H with H = diag(s) * Hn / sqrt(n), s the signs and Hn the Hadamard matrix in Sylvester's order,
Hn[i][j] = (-1) ** popcount(i & j). So y[j] is the sum of x[i] * s[i] * Hn[i][j] over i, divided by sqrt(n) and rounded
once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from ..catalogue import constructed, excerpt
from ..formats.number import BF16, NumberFormat
from .operation import Operation
from .ports import Port, Role

SIZES = (16, 32, 64, 128)
"""Numbers that are transformed together."""
TRANSFORMER_ENGINE_SIGNS = 0xD7E8
"""The signs of Transformer Engine (get_wgrad_sign_vector): bit i is set if s[i] is -1."""


@dataclass(frozen=True, kw_only=True)
class Hadamard(Operation):
    """The transform of 16, 32, 64 or 128 BF16 numbers to as many: the exact sums, rounded to nearest even.

    A sum of zero is +0. Inf and NaN follow IEEE 754 for a sum; NaN is 0x7FC0.

    >>> [i for i in range(16) if Hadamard().signs >> i & 1]
    [3, 5, 6, 7, 8, 9, 10, 12, 14, 15]
    """

    name: ClassVar[str] = "hadamard"

    size: int = 16
    signs: int = cast("int", None)  # set when it is made
    """One bit for each number: bit i is set if number i is negated. The default is the signs of Transformer
    Engine for 16 numbers, and 0 for more.
    """
    random_bits: int = 0

    def __post_init__(self) -> None:
        if type(self.size) is not int or self.size not in SIZES:
            raise ValueError(f"size must be {', '.join(map(str, SIZES[:-1]))} or {SIZES[-1]}, not {excerpt(self.size)}")
        if self.signs is None:
            object.__setattr__(self, "signs", TRANSFORMER_ENGINE_SIGNS if self.size == 16 else 0)
        if type(self.signs) is not int or not 0 <= self.signs < 1 << self.size:
            raise ValueError(f"signs must be a number of {self.size} bits, not {excerpt(self.signs)}")
        if self.random_bits != 0:
            raise ValueError(f"a Hadamard transform takes no random bits, not {excerpt(self.random_bits)}")

    @property
    def subject(self) -> str:
        return f"hadamard{self.size}"

    @property
    def block_size(self) -> int:
        return self.size

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
            Port.of_format("x", Role.NUMBERS, "input", BF16, self.size),
            Port.of_format("y", Role.ROTATED, "output", BF16, self.size),
        )

    def is_negative(self, i: int, j: int) -> bool:
        """Is number i subtracted in result j?"""
        return bool((self.signs >> i & 1) ^ ((i & j).bit_count() & 1))

    def by_name(self) -> dict[str, object]:
        fields: dict[str, object] = {"signs": self.signs}
        return fields if self.size == 16 else fields | {"size": self.size}

    @classmethod
    def of_fields(cls, fields: dict[str, object], formats: Mapping[str, Mapping[str, object]]) -> Hadamard:
        if not set(fields) <= {"signs", "size"}:
            raise ValueError(f"a Hadamard transform has signs and size, not {excerpt(sorted(fields))}")
        return constructed(cls, fields)
