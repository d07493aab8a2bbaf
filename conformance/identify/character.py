"""Converters that convert nothing: they return zeros, their input, NaN, a constant, or anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...models.arrays.codes import code_values
from ...sim.transactions import Transactions
from ...spec import BlockOperation, Cast, NumberFormat, Role
from ..subject.subject import Subject
from .candidates import Converted

ALONE = 24
"""Blocks that are also converted alone."""

Rules = BlockOperation | Cast


def is_random(subject: Subject, blocks: Converted) -> bool:
    """Whether a second call with the same blocks gives other results."""
    return bool(subject(blocks.given).differ(blocks.made).any())


def depends_on_others(subject: Subject, blocks: Converted) -> bool:
    """Whether a block alone gives other results than among others."""
    count = min(ALONE, len(blocks.given))
    alone = Transactions.joined(subject(blocks.given.rows(slice(row, row + 1))) for row in range(count))
    return bool(alone.differ(blocks.made.rows(slice(count))).any())


def character(rules: Rules, blocks: Converted) -> str | None:
    """Name of a fault that all results for blocks of N(0,1) show, or None if they may be a conversion."""
    for text, holds in CHARACTERS.items():
        if holds(rules, blocks):
            return text
    return None


def _zeros(rules: Rules, blocks: Converted) -> bool:
    results = _elements(blocks.made)
    return not (results & _without_sign(rules, blocks.made)).any()


def _input(rules: Rules, blocks: Converted) -> bool:
    entered = blocks.given.get(Role.NUMBERS)
    left = blocks.made.get(Role.NUMBERS)
    return entered is not None and left is not None and np.array_equal(entered, left)


def _nan(rules: Rules, blocks: Converted) -> bool:
    return all(
        np.isnan(_values(array, _format(rules, role))).all()
        for role, array in blocks.made.arrays.items()
        if role is not Role.SCALE
    ) or (Role.SCALE in blocks.made.arrays and bool(np.isnan(_scales(rules, blocks.made)).all()))


def _constant(rules: Rules, blocks: Converted) -> bool:
    """The same element everywhere, and the same scale."""
    return all(len(np.unique(array)) == 1 for array in blocks.made.arrays.values())


def _one_block(rules: Rules, blocks: Converted) -> bool:
    """The same result for different blocks."""
    return all((array == array[:1]).all() for array in blocks.made.arrays.values())


CHARACTERS: dict[str, Callable[[Rules, Converted], bool]] = {
    "returns zeros": _zeros,
    "returns its input": _input,
    "returns NaN": _nan,
    "returns a constant": _constant,
    "returns the same block for every block": _one_block,
}
"""Tests by their words, tried in this order."""


def _elements(made: Transactions) -> np.ndarray:
    return made[Role.CODES] if Role.CODES in made.arrays else made[Role.NUMBERS]


def _format(rules: Rules, role: Role) -> NumberFormat | None:
    """The format of a result; None for the numbers that an encoder returns, which are FP32."""
    port = next((port for port in rules.ports if port.role is role and port.direction == "output"), None)
    return port.format if port else None


def _without_sign(rules: Rules, made: Transactions) -> np.ndarray:
    array = _elements(made)
    format = _format(rules, Role.CODES if Role.CODES in made.arrays else Role.NUMBERS)
    bits = format.bits if format is not None else array.dtype.itemsize * 8
    return array.dtype.type((1 << bits - 1) - 1 if format is None or format.signed else (1 << bits) - 1)


def _values(array: np.ndarray, format: NumberFormat | None) -> np.ndarray:
    if format is None or format.bits == 32:
        return np.ascontiguousarray(array).view(np.float32)
    return np.take(code_values(format), array)


def _scales(rules: Rules, made: Transactions) -> np.ndarray:
    assert isinstance(rules, BlockOperation)
    return np.take(code_values(rules.block.scale), made[Role.SCALE])
