"""Named causes of wrong results. Each predicts the results of a converter with this fault.

A cause holds if nearly all results that it predicts to be wrong are returned so. It then explains these results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ....models.arrays.codes import code_values
from ....sim.operations import golden
from ....sim.transactions import Transactions
from ....spec import BF16, E8M0, FP16, BlockOperation, Cast, Decode, Encode, FloatFormat, Nvfp4Encode, Role
from ..candidates import Converted, Rules
from ..expected.scaled import element_of, magnitudes, patterns_of, rounded_to, scaled, wide

SHARE = 0.9
"""The share of the predicted faults that must be found for a cause to hold."""
FEW = 256
"""Blocks by which the distance of straddling blocks is found."""
BIAS = np.uint8(E8M0.bias)

Encoder = Encode | Nvfp4Encode
Prediction = Callable[[Transactions, Transactions], np.ndarray]
"""Inputs and right results -> results with the fault, of one role."""


@dataclass(frozen=True)
class Named:
    """A cause with its name."""

    text: str
    role: Role
    """The results that it explains."""
    predict: Prediction
    is_of_batch: bool = False
    """Whether a block depends on other blocks of the call."""

    def explains(self, blocks: Converted, expected: Transactions) -> np.ndarray:
        """(n, lanes) wrong results that are as predicted. Elements are compared under right scales only."""
        return self._compared(blocks, expected)[1]

    def explained(self, rules: Rules, blocks: Converted, expected: Transactions) -> int | None:
        """The number of results that it explains; None if it does not hold for these blocks. NaN scale bytes do not
        count, because a converter with the fault may keep them.
        """
        predicted, explained = self._compared(blocks, expected)
        is_number = np.ones(predicted.shape, bool)
        if self.role is Role.SCALE and isinstance(rules, BlockOperation):
            is_number = ~np.isnan(code_values(rules.block.scale)[expected[Role.SCALE]])
        holds = (explained & is_number).sum() >= SHARE * (predicted & is_number).sum()
        return int(explained.sum()) if holds else None

    def _compared(self, blocks: Converted, expected: Transactions) -> tuple[np.ndarray, np.ndarray]:
        """(n, lanes) whether the cause makes a result wrong, and whether the result is as predicted."""
        right, made = expected[self.role], blocks.made[self.role]
        with np.errstate(all="ignore"):
            predicted = self.predict(blocks.given, expected)
        is_wrong = predicted != right
        if self.role is not Role.SCALE and Role.SCALE in expected.arrays:
            is_wrong &= (expected[Role.SCALE] == blocks.made[Role.SCALE]).all(axis=1, keepdims=True)
        return is_wrong, is_wrong & (predicted == made)


def _of_encoder(rules: Encoder, blocks: Converted, expected: Transactions) -> Iterator[Named]:
    if rules.block.scale == E8M0:
        yield Named(INVERSE, Role.SCALE, lambda given, right: 254 - right[Role.SCALE])
        yield Named(SIGNED, Role.SCALE, lambda given, right: right[Role.SCALE] - BIAS)
    yield Named("the scale byte is the scale as an integer", Role.SCALE, partial(_integers, rules))
    for format in (BF16, FP16):
        text = f"the maximum of a block goes through {format.name.upper()}"
        yield Named(text, Role.SCALE, partial(_of_maximum, rules, through=partial(rounded_to, format=format)))
    yield Named("the maximum of a block is cut off to BF16", Role.SCALE, partial(_of_maximum, rules, through=_cut))
    yield from _straddling(rules, blocks, _maxima_apart, "scale bytes", Role.SCALE)
    for format in (BF16, FP16):
        text = f"numbers are rounded twice: to {format.name.upper()}, and then to the element"
        yield Named(text, Role.CODES, partial(_twice, rules, format=format))
        text = f"numbers go through {format.name.upper()} before all else"
        yield Named(text, Role.CODES, partial(_all_through, rules, format=format))
    yield from _of_codes(rules, blocks, expected)


def _of_cast(rules: Cast, blocks: Converted, expected: Transactions) -> Iterator[Named]:
    if rules.is_back:
        if rules.scalar == E8M0:
            yield Named(
                INVERSE, Role.NUMBERS, partial(_with_words, rules, role=Role.CODES, change=lambda byte: 254 - byte)
            )
            yield Named(SIGNED, Role.NUMBERS, partial(_with_words, rules, role=Role.CODES, change=_signed))
        return
    if rules.scalar == E8M0:
        yield Named(INVERSE, Role.CODES, lambda given, right: 254 - right[Role.CODES])
        yield Named(SIGNED, Role.CODES, lambda given, right: right[Role.CODES] - BIAS)
    for format in (BF16, FP16):
        text = f"numbers are rounded twice: to {format.name.upper()}, and then to the code"
        yield Named(text, Role.CODES, partial(_cast_twice, rules, format=format))
    yield from _of_codes(rules, blocks, expected)


def _of_decoder(rules: Decode, blocks: Converted, expected: Transactions) -> Iterator[Named]:
    yield Named(INVERSE, Role.NUMBERS, partial(_with_words, rules, role=Role.SCALE, change=lambda byte: 254 - byte))
    yield Named(SIGNED, Role.NUMBERS, partial(_with_words, rules, role=Role.SCALE, change=_signed))
    yield Named("the scale byte is read as a number", Role.NUMBERS, partial(_times_byte, rules))
    for format in (BF16, FP16):
        if format != rules.destination:
            text = f"products are rounded twice: to {format.name.upper()}, and then to {rules.destination.name.upper()}"
            yield Named(text, Role.NUMBERS, partial(_product_through, rules, format=format))
    yield from _straddling(rules, blocks, _scales_apart, "scales", Role.NUMBERS)


FAULTS: dict[str, Callable[..., Iterator[Named]]] = {
    "encode": _of_encoder,
    "two_level_encode": _of_encoder,
    "decode": _of_decoder,
    "cast": _of_cast,
    "two_level_decode": lambda rules, blocks, expected: iter(()),
}
"""By the name of the operation."""

INVERSE = "the scale byte is the inverse, 254 - byte"
SIGNED = "the scale byte is a signed exponent, without its bias"


def _signed(byte: np.ndarray) -> np.ndarray:
    """The E8M0 byte of 2^n, from n as a byte in two's complement."""
    return byte + BIAS


def _integers(rules: Encoder, given: Transactions, right: Transactions) -> np.ndarray:
    values = np.nan_to_num(code_values(rules.block.scale)[right[Role.SCALE]], nan=0)
    return np.clip(values, 0, 255).astype(np.uint8)


def _cut(numbers: np.ndarray) -> np.ndarray:
    """float64 numbers cut off to BF16."""
    return (numbers.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def _with_numbers(rules: Encoder | Cast, given: Transactions, numbers: np.ndarray) -> Transactions:
    return golden(rules, given.with_arrays({Role.NUMBERS: patterns_of(rules.source, numbers)}))


def _of_maximum(
    rules: Encoder, given: Transactions, right: Transactions, through: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Scale bytes of changed maxima; blocks with NaN or Inf keep the right ones."""
    x = wide(rules.source, given[Role.NUMBERS])
    maxima = np.abs(x).max(axis=1, keepdims=True).astype(np.float64)
    alone = np.where(np.arange(x.shape[1]) == 0, through(np.where(np.isfinite(maxima), maxima, 0)), 0)
    return np.where(np.isfinite(maxima), _with_numbers(rules, given, alone)[Role.SCALE], right[Role.SCALE])


def _twice(rules: Encoder, given: Transactions, right: Transactions, format: FloatFormat) -> np.ndarray:
    """Codes of scaled numbers that are rounded to a format first, under the right scales."""
    x, v = wide(rules.source, given[Role.NUMBERS]).astype(np.float64), scaled(rules, given, right[Role.SCALE])
    with_scale = np.isfinite(v) & (v != 0)
    changed = np.where(with_scale, rounded_to(v, format) * (x / np.where(with_scale, v, 1)), x)
    changed = np.where(np.isfinite(changed), changed, x)
    most = np.abs(x).max(axis=1, keepdims=True)
    free, limited = (_with_numbers(rules, given, one) for one in (changed, np.clip(changed, -most, most)))
    kept = np.where((free[Role.SCALE] == right[Role.SCALE]), free[Role.CODES], limited[Role.CODES])
    is_known = (limited[Role.SCALE] == right[Role.SCALE]) & np.isfinite(most)
    return np.where(is_known, kept, right[Role.CODES])


def _all_through(rules: Encoder, given: Transactions, right: Transactions, format: FloatFormat) -> np.ndarray:
    """Codes of numbers that are rounded to a format first, if the scales stay right."""
    x = wide(rules.source, given[Role.NUMBERS]).astype(np.float64)
    made = _with_numbers(rules, given, np.where(np.isfinite(x), rounded_to(x, format), x))
    return np.where(made[Role.SCALE] == right[Role.SCALE], made[Role.CODES], right[Role.CODES])


def _cast_twice(rules: Cast, given: Transactions, right: Transactions, format: FloatFormat) -> np.ndarray:
    x = wide(rules.source, given[Role.NUMBERS]).astype(np.float64)
    return np.where(np.isfinite(x), _with_numbers(rules, given, rounded_to(x, format))[Role.CODES], right[Role.CODES])


def _of_codes(rules: Encoder | Cast, blocks: Converted, expected: Transactions) -> Iterator[Named]:
    """Ties that go one way, and numbers that become the largest too early."""
    format = element_of(rules)
    known = magnitudes(format)
    v = scaled(rules, blocks.given, expected.get(Role.SCALE))
    values = code_values(format).astype(np.float64)
    wrong = (expected[Role.CODES] != blocks.made[Role.CODES]) & np.isfinite(v)
    early = wrong & (np.abs(values[blocks.made[Role.CODES]]) == known[-1]) & (np.abs(v) < known[-1])
    if early.any():
        first = float(np.abs(v)[early].min())
        text = f"numbers from {first:.9g} on become the largest, {known[-1]:g}: they saturate too early"
        yield Named(text, Role.CODES, partial(_saturated, rules, first=first))
    for text, goes_up in TIES.items():
        yield Named(text, Role.CODES, partial(_ties, rules, goes_up=goes_up))


TIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ties go away from zero": lambda v: np.ones(v.shape, bool),
    "ties go toward zero": lambda v: np.zeros(v.shape, bool),
    "ties go up": lambda v: v > 0,
    "ties go down": lambda v: v < 0,
}
"""Does a number that is halfway between two elements get the larger magnitude?"""


def _codes_of(rules: Encoder | Cast, numbers: np.ndarray) -> np.ndarray:
    """The codes of numbers that an element has, with the sign of zero."""
    values = code_values(element_of(rules)).astype(np.float64)
    patterns, codes = np.unique(values.view(np.uint64), return_index=True)
    places = np.searchsorted(patterns, np.ascontiguousarray(numbers).view(np.uint64))
    return codes[np.minimum(places, len(codes) - 1)]


def _saturated(rules: Encoder | Cast, given: Transactions, right: Transactions, first: float) -> np.ndarray:
    v = scaled(rules, given, right.get(Role.SCALE))
    largest = _codes_of(rules, np.copysign(magnitudes(element_of(rules))[-1], v))
    return np.where(np.isfinite(v) & (np.abs(v) >= first), largest, right[Role.CODES])


def _ties(
    rules: Encoder | Cast, given: Transactions, right: Transactions, goes_up: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    v, known = scaled(rules, given, right.get(Role.SCALE)), magnitudes(element_of(rules))
    lower = np.clip(np.searchsorted(known, np.abs(v)) - 1, 0, len(known) - 2)
    is_tie = np.abs(v) == (known[lower] + known[lower + 1]) / 2
    codes = _codes_of(rules, np.copysign(known[lower + goes_up(v)], v))
    return np.where(is_tie, codes, right[Role.CODES])


def _with_words(
    rules: Decode | Cast,
    given: Transactions,
    right: Transactions,
    role: Role,
    change: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Numbers of changed bytes; NaN bytes keep the right numbers."""
    made = golden(rules, given.with_arrays({role: change(given[role])}))[Role.NUMBERS]
    return np.where(given[role] == E8M0.nan_code, right[Role.NUMBERS], made)


def _elements(rules: Decode, given: Transactions) -> np.ndarray:
    return code_values(rules.block.element).astype(np.float64)[given[Role.CODES]]


def _times_byte(rules: Decode, given: Transactions, right: Transactions) -> np.ndarray:
    numbers = _elements(rules, given) * given[Role.SCALE]
    return _decoded(rules, right, numbers, np.isfinite(numbers))


def _product_through(rules: Decode, given: Transactions, right: Transactions, format: FloatFormat) -> np.ndarray:
    factors = code_values(rules.block.scale).astype(np.float64)[given[Role.SCALE]]
    numbers = _elements(rules, given) * factors
    return _decoded(rules, right, rounded_to(numbers, format), np.isfinite(numbers))


def _decoded(rules: Decode, right: Transactions, numbers: np.ndarray, is_known: np.ndarray) -> np.ndarray:
    """Patterns of numbers, rounded to the destination, where they are known, and the right ones otherwise."""
    rounded = patterns_of(rules.destination, rounded_to(numbers, rules.destination))
    return np.where(is_known, rounded, right[Role.NUMBERS])


def _straddling(
    rules: BlockOperation, blocks: Converted, predict: Callable[..., np.ndarray], what: str, role: Role
) -> Iterator[Named]:
    """Scales of blocks that begin some elements later; the distance is the one that fits the first blocks best."""
    few = blocks.first(FEW)
    right = golden(rules, few.given)
    distances = [distance for distance in range(1 - rules.block_size, rules.block_size) if distance]
    made = few.made[role]
    alike = [int((predict(rules, few.given, right, distance) == made).sum()) for distance in distances]
    best = distances[int(np.argmax(alike))]
    text = f"blocks straddle: {what} are of blocks that begin {abs(best)} elements {'later' if best > 0 else 'earlier'}"
    yield Named(text, role, partial(predict, rules, distance=best), is_of_batch=True)


def _maxima_apart(rules: Encoder, given: Transactions, right: Transactions, distance: int) -> np.ndarray:
    patterns = given[Role.NUMBERS]
    moved = np.roll(patterns.reshape(-1), -distance).reshape(patterns.shape)
    return golden(rules, given.with_arrays({Role.NUMBERS: moved}))[Role.SCALE]


def _scales_apart(rules: Decode, given: Transactions, right: Transactions, distance: int) -> np.ndarray:
    neighbour = np.roll(given[Role.SCALE], -int(np.sign(distance)), axis=0)
    numbers = golden(rules, given.with_arrays({Role.SCALE: neighbour}))[Role.NUMBERS]
    lanes = np.arange(numbers.shape[1])
    is_of_neighbour = lanes >= len(lanes) - distance if distance > 0 else lanes < -distance
    return np.where(is_of_neighbour, numbers, right[Role.NUMBERS])
