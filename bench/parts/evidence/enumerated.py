"""Emitted files, compiled by Verilator, compared with the exact definition in fractions on every input of an element.

This path shares no step with the proofs: Yosys reads nothing here. Each operation gives inputs and right results in
parts.

* Decoders: every scale byte with every code, in every lane.
* Casts: every pattern of the source, in every lane. Of FP32 a `SHARE`, and all patterns at which results may change.
* Encoders: every number of the source with a maximum of every exponent, whose sign and fraction are all zeros or all
  ones. The number fills the block, but for one lane with the maximum; where it is larger, it is the maximum itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from mxcast.hdl import HardwareConfig
from mxcast.models.exact.cast import cast_number
from mxcast.models.exact.decode import decode_block
from mxcast.models.exact.encode import quantize_block, round_element, source_number
from mxcast.models.exact.scale import shared_exponent
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.transactions import Transactions, data_ports, word
from mxcast.spec import Cast, CastNan, Decode, Encode, Number, Operation, Role

Parts = Iterator[tuple[Transactions, Transactions]]
"""Inputs with their right results."""

SHORT = 16
"""Bits of a source for which the definition is asked about every pattern."""
SHARE = 16
"""One of so many patterns of a longer source is taken, by a hash of its upper bits."""
CHUNK = 1 << 20
"""Words that are compared at a time."""
STEP = 37
"""Distance between the codes or patterns of neighbouring lanes."""


@dataclass(frozen=True)
class Enumerated:
    """The outcome of `enumerated`."""

    inputs: int
    """Blocks or words that were compared."""
    differ: int
    first: str
    """The first difference in words; empty if nothing differs."""


def enumerated(config: HardwareConfig, text: str) -> Enumerated:
    """Compare module ``dut`` of a Verilog text, without registers, with the definition of its operation."""
    design, rules = driver_of(text, "dut", config), config.numerics
    inputs = differ = 0
    first = ""
    for given, right in DEFINITIONS[rules.name](rules):
        made = design(given)
        wrong = made.differ(right)
        if wrong.any() and not first:
            row = np.flatnonzero(wrong)[:1]
            parts = {"given": given, "right": right, "made": made}
            first = "; ".join(
                f"{what} {role} {part.rows(row)[role][0].tolist()}"
                for what, part in parts.items()
                for role in part.arrays
            )
        inputs, differ = inputs + len(given), differ + int(wrong.sum())
    return Enumerated(inputs, differ, first)


def dtypes(rules: Operation) -> dict[Role, np.dtype]:
    return {port.role: word(port) for side in ("input", "output") for port in data_ports(rules.ports, side)}


def in_every_lane(first: np.ndarray, count: int, lanes: int) -> np.ndarray:
    """Rows (n, lanes) of numbers below ``count``, which lane 0 has in the given order; neighbouring lanes are apart."""
    return (first[:, None] + STEP * np.arange(lanes)) % count


def decoded(rules: Decode) -> Parts:
    kinds, count = dtypes(rules), 1 << rules.block.element.bits
    codes = in_every_lane(np.arange(count), count, rules.block_size)
    for byte in range(256):
        table = np.array(decode_block(byte, range(count), rules), kinds[Role.NUMBERS])
        scales = np.full((count, 1), byte, kinds[Role.SCALE])
        yield (
            Transactions({Role.CODES: codes.astype(kinds[Role.CODES]), Role.SCALE: scales}),
            Transactions({Role.NUMBERS: table[codes]}),
        )


def pieces(rules: Cast) -> np.ndarray:
    """Patterns at which results may change, in increasing order: all of a short source. Of others, those at numbers of
    the destination and at middles between them, and the next ones; between two of these nothing changes by definition.
    """
    source, to = rules.source, rules.destination
    if source.bits <= SHORT:
        return np.arange(1 << source.bits)
    assert to.subnormals and rules.nan is not CastNan.PAYLOAD, "results change elsewhere too"
    numbers = [to.decode(code).magnitude for code in range(to.max_code + 1)]
    numbers.append(2 * numbers[-1] - numbers[-2])  # where the next one would be
    limits = numbers + [(low + high) / 2 for low, high in pairwise(numbers)]
    finite = range(source.max_code + 1)
    places = [bisect_left(finite, limit, key=lambda pattern: source.decode(pattern).magnitude) for limit in limits]
    magnitudes = np.unique([*places, *(place + 1 for place in places), source.max_code + 1, source.max_code + 2])
    return np.concatenate([magnitudes, magnitudes | source.sign_mask])


def cast(rules: Cast) -> Parts:
    entering, leaving = (data_ports(rules.ports, side)[0] for side in ("input", "output"))
    starts, count = pieces(rules), 1 << rules.source.bits
    table = np.array([cast_number(int(start), rules) for start in starts], word(leaving))
    for chosen in _chosen(starts, rules.source.bits):
        patterns = in_every_lane(chosen, count, rules.lanes)
        right = table[np.searchsorted(starts, patterns, side="right") - 1]
        yield (Transactions({entering.role: patterns.astype(word(entering))}), Transactions({leaving.role: right}))


def _chosen(starts: np.ndarray, bits: int) -> Iterator[np.ndarray]:
    """Every pattern of a short source; of others a `SHARE`, and the patterns around those at which results change."""
    yield starts
    if bits > SHORT:
        yield starts - 1
        for first in range(0, (1 << bits) // SHARE, CHUNK):
            rows = np.arange(first, first + CHUNK)
            yield rows * SHARE + (rows * 0x9E3779B1 >> 20) % SHARE


def encoded(rules: Encode) -> Parts:
    source, kinds = rules.source, dtypes(rules)
    assert source.bits <= SHORT, "a source of 32 bits has too many pairs"
    every = np.arange(1 << source.bits)
    numbers = [source_number(pattern, rules) for pattern in range(len(every))]
    finite = np.array([number.kind == "finite" for number in numbers])
    magnitudes = np.array([float(number.magnitude) for number in numbers])  # exact in binary64
    negative = np.array([number.negative for number in numbers])
    bias = rules.block.scale.bias
    bytes_of = np.array(
        [shared_exponent(number.magnitude, rules) + bias if number.kind == "finite" else 0 for number in numbers]
    )
    code_of = cache(partial(_code, rules))
    ones = source.sign_mask | (1 << source.man_bits) - 1
    for turn, (field, others) in enumerate(product(range(1 << source.exp_bits), (0, ones))):
        most, lane = field << source.man_bits | others, turn % rules.block_size
        scales = bytes_of[np.where(magnitudes > magnitudes[most], every, most)]
        codes, largest = (_codes(code_of, magnitudes[of], negative[of], bias - scales) for of in (every, most))
        for pattern in every if not finite[most] else every[~finite]:  # a pair is a block of its own by definition
            scales[pattern], (largest[pattern], codes[pattern]) = quantize_block([most, int(pattern)], rules)
        blocks, right = (
            np.repeat(one[:, None], rules.block_size, axis=1).astype(kinds[role])
            for one, role in ((every, Role.NUMBERS), (codes, Role.CODES))
        )
        blocks[:, lane], right[:, lane] = most, largest
        yield (
            Transactions({Role.NUMBERS: blocks}),
            Transactions({Role.SCALE: scales[:, None].astype(kinds[Role.SCALE]), Role.CODES: right}),
        )


def _code(rules: Encode, value: float, negative: bool) -> int:
    return round_element(Number(negative, Fraction(value)), 0, rules)


def _codes(
    code_of: Callable[[float, bool], int], magnitudes: np.ndarray, negative: np.ndarray, shifts: np.ndarray
) -> np.ndarray:
    """Codes of magnitudes (n,), or of one, each multiplied by a power of two."""
    values, places = np.unique(np.ldexp(magnitudes, shifts), return_inverse=True)
    both = [np.array([code_of(value, sign) for value in values.tolist()]) for sign in (False, True)]
    return np.where(negative, both[1][places], both[0][places])


DEFINITIONS: dict[str, Callable[[Any], Parts]] = {"decode": decoded, "cast": cast, "encode": encoded}
"""By the name of the operation."""
