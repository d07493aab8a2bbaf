"""Results of an operation by the exact models: rational numbers, one block at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from ....models.exact.binary32 import Value, value_of
from ....models.exact.cast import cast_number
from ....models.exact.decode import decode_block
from ....models.exact.encode import quantize_block
from ....models.exact.nvfp4_decode import decode_block as decode_under_two
from ....models.exact.nvfp4_encode import Constants, encode_under
from ....sim.operations import element_role
from ....sim.transactions import Transactions, data_ports, word
from ....spec import FP32, Cast, Decode, Encode, Nvfp4Decode, Nvfp4Encode, Operation, Role

Lanes = dict[Role, list[int]]
"""The fields of one transaction, by the roles of its ports."""


def _encoded(rules: Encode, given: Lanes) -> tuple[Sequence[int], ...]:
    scale, codes = quantize_block(given[Role.NUMBERS], rules, given.get(Role.RANDOM))
    return [scale], codes


def _decoded(rules: Decode, given: Lanes) -> tuple[Sequence[int], ...]:
    return (decode_block(given[Role.SCALE][0], given[Role.CODES], rules, given.get(Role.RANDOM)),)


def _cast(rules: Cast, given: Lanes) -> tuple[Sequence[int], ...]:
    numbers = given[element_role(rules)]
    drawn = given.get(Role.RANDOM) or [0] * len(numbers)
    return ([cast_number(number, rules, bits) for number, bits in zip(numbers, drawn, strict=True)],)


def _constant(given: Lanes, role: Role) -> Value:
    """A binary32 constant of the tensor, by default 1."""
    return value_of(FP32.decode(given[role][0])) if role in given else Fraction(1)


def _encoded_under_two(rules: Nvfp4Encode, given: Lanes) -> tuple[Sequence[int], ...]:
    roles = Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX
    constants = Constants(*(_constant(given, role) for role in roles))
    scale, codes = encode_under(given[Role.NUMBERS], rules, constants, given.get(Role.RANDOM))
    return [scale], codes


def _decoded_under_two(rules: Nvfp4Decode, given: Lanes) -> tuple[Sequence[int], ...]:
    g = _constant(given, Role.TENSOR_SCALE)
    return (decode_under_two(given[Role.SCALE][0], given[Role.CODES], rules, g),)


BLOCKS: dict[str, Callable[..., tuple[Sequence[int], ...]]] = {
    "encode": _encoded,
    "decode": _decoded,
    "cast": _cast,
    "two_level_encode": _encoded_under_two,
    "two_level_decode": _decoded_under_two,
}
"""By the name of an operation the results of one transaction, in the order of its ports."""


def exact_results(rules: Operation, given: Transactions) -> Transactions:
    """The results of an operation. Raises ValueError for an operation without an exact model of blocks."""
    if rules.name not in BLOCKS:
        raise ValueError(f"there are no vectors of {rules.name}: known are {', '.join(BLOCKS)}")
    wanted = {port.role for port in data_ports(rules.ports, "input")}
    lists = {role: array.tolist() for role, array in given.arrays.items() if role in wanted}
    rows = [BLOCKS[rules.name](rules, {role: rows[row] for role, rows in lists.items()}) for row in range(len(given))]
    return Transactions(
        {
            port.role: np.array([one[place] for one in rows], word(port))
            for place, port in enumerate(data_ports(rules.ports, "output"))
        }
    )
