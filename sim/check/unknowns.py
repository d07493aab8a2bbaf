"""Inputs with unknown bits (X), and the bits that a simulator of four states must know in spite of them.

X is a value that nobody knows. The emitted Verilog has only continuous assignments of operators, so a bit that is known
in spite of an X is right for every value of it: no bit may be known and wrong. But operators are pessimistic: one X in
a sum, a comparison or a shift makes the whole result X, although some of its bits may not depend on it. So these bits
must be known:

* without any X in the inputs every bit, in every mode number, also beyond the last mode, and whatever was X before, as
  nothing is stored;
* with X for signs all bits of scale and codes that are the same for both signs;
* with X for the random bits the scale, the signs of codes, the codes of special blocks (and under `te` of special
  elements), codes that are the largest before rounding, and flushed inputs;
* with X for the random bits of one lane everything in all other lanes.

An exact element, or one that is too small for any code, becomes unknown with X for its random bits, as they are added
to its zeros. Nothing is known with X in a magnitude or in the mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...hdl import ConverterConfig, HardwareConfig
from ...models import Quantized, quantize
from ...models.arrays.source import DTYPES
from ...spec import Encode, Role, Specials, Subnormals
from ..stimuli import random_bits
from ..transactions import data_ports, packed, values

NOTHING: Mapping[Role, Sequence[int]] = {}

Outputs = Mapping[str, int]
"""Values by port name."""


@dataclass(frozen=True)
class Trial:
    """Inputs as digits 0, 1 and X, and the outputs required, by port name."""

    inputs: Mapping[str, str]
    known: Outputs
    """Bits that must be known."""
    possible: Sequence[Outputs]
    """Right results for some values of the X: a known bit must agree with all of them."""


def tests_of(config: HardwareConfig) -> list[str]:
    """Names of the tests with unknown inputs for a configuration: tests of each mode, then a test of all modes."""
    return TESTS[config.numerics.name](config)


def _of_encoder(config: HardwareConfig) -> list[str]:
    random = ["unknown_random"] if config.numerics.random_bits else []
    each = ["unknown_start", "unknown_signs", *random]
    if not config.alternatives:
        return each
    return [*(f"{name} mode {number}" for number in range(len(config.modes)) for name in each), "unknown_mode"]


TESTS: dict[str, Callable[[HardwareConfig], list[str]]] = {
    "encode": _of_encoder,
    "decode": lambda config: ["unknown_start"],
    "cast": lambda config: ["unknown_start"],
    "two_level_encode": lambda config: ["unknown_start"],
    "two_level_decode": lambda config: ["unknown_start"],
    "hadamard": lambda config: ["unknown_start"],
    **dict.fromkeys(("tile", "nvfp4_tile"), lambda config: []),  # they always have registers
}
"""By the name of the operation."""


def four_state(value: int, unknown: int, width: int) -> str:
    """Digits of a value with X where bits are unknown.

    >>> four_state(0b0110, 0b0011, 4)
    '01XX'
    """
    return "".join("X" if unknown >> bit & 1 else str(value >> bit & 1) for bit in reversed(range(width)))


def sign_trials(config: ConverterConfig, mode: int, patterns: np.ndarray, seed: int) -> Iterator[Trial]:
    """X for the sign of every element of (n, block_size) patterns."""
    numerics = config.modes[mode]
    random, sign = random_bits(numerics, patterns.shape, seed), patterns.dtype.type(numerics.source.sign_mask)
    results = [_results(numerics, signed, random) for signed in (patterns & ~sign, patterns | sign, patterns)]
    unknown = {Role.NUMBERS: np.full(patterns.shape[1], sign)}
    for row in range(len(patterns)):
        positive, negative, _ = possible = [result[row] for result in results]
        yield Trial(
            inputs=_digits(config, mode, patterns[row], random, row, unknown),
            possible=possible,
            known={name: _all(numerics)[name] & ~(positive[name] ^ negative[name]) for name in positive},
        )


def random_trials(config: ConverterConfig, mode: int, patterns: np.ndarray, seed: int) -> Iterator[Trial]:
    """X for the random bits of all elements of (n, block_size) patterns, then of one element, in another lane from
    block to block.
    """
    numerics = config.modes[mode]
    drawn, largest = random_bits(numerics, patterns.shape, seed), (1 << numerics.random_bits) - 1
    assert drawn is not None  # only a rounding with random bits has these trials
    lanes = np.arange(len(patterns)) % numerics.block_size
    here = np.arange(numerics.block_size) == lanes[:, None]
    settled = _settled(numerics, patterns)
    element = numerics.block.element
    sign = element.sign_mask if element.signed_zero else 0  # the bit is the sign of the input, whatever the magnitude
    whole = (1 << element.bits) - 1
    for unknown, known_codes in (
        (np.ones_like(here), np.where(settled, whole, sign)),
        (here, np.where(here & ~settled, sign, whole)),
    ):
        results = [
            _results(numerics, patterns, np.where(unknown, value, drawn).astype(np.uint16))
            for value in (0, largest, drawn)
        ]
        for row, block in enumerate(patterns):
            known = {Role.SCALE: [(1 << numerics.block.scale.bits) - 1], Role.CODES: known_codes[row]}
            yield Trial(
                inputs=_digits(config, mode, block, drawn, row, {Role.RANDOM: unknown[row] * largest}),
                possible=[result[row] for result in results],
                known=values(numerics.ports, "output", known),
            )


def mode_trials(config: ConverterConfig, patterns: np.ndarray, seed: int) -> Iterator[Trial]:
    """Mode numbers beyond the last, which mean the last; then X for the mode."""
    numerics = config.modes[-1]
    random = random_bits(numerics, patterns.shape, seed)
    results = [_results(mode, patterns, random) for mode in config.modes]
    everything, whole = _all(numerics), {Role.MODE: [(1 << config.mode_bits) - 1]}
    for row, block in enumerate(patterns):
        for number in range(len(config.modes), 1 << config.mode_bits):
            inputs = _digits(config, number, block, random, row)
            yield Trial(inputs=inputs, known=everything, possible=[results[-1][row]])
        inputs = _digits(config, 0, block, random, row, whole)
        yield Trial(inputs=inputs, known=dict.fromkeys(everything, 0), possible=[result[row] for result in results])


def _settled(numerics: Encode, patterns: np.ndarray) -> np.ndarray:
    """(n, block_size) elements whose code does not depend on the rounding."""
    source, element = numerics.source, numerics.block.element
    magnitude = patterns & patterns.dtype.type(source.magnitude_mask)
    special = magnitude >= ((1 << source.exp_bits) - 1) << source.man_bits
    codes = _quantized(numerics, patterns, np.zeros(patterns.shape, np.uint16)).codes.astype(np.int64)
    settled = np.isin(codes, [element.signed_code(element.max_code, negative) for negative in (False, True)])
    if numerics.specials in (Specials.NAN_BLOCK, Specials.INF_SCALE):
        settled |= special.any(axis=1, keepdims=True)
    if numerics.specials is Specials.TE:
        settled |= special
    if numerics.input_subnormals is Subnormals.FLUSH and source.exp_bits == 8:  # widened numbers have no subnormals
        settled |= magnitude >> source.man_bits == 0
    return settled


def _quantized(numerics: Encode, patterns: np.ndarray, random: np.ndarray | None) -> Quantized:
    return quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)


def _results(numerics: Encode, patterns: np.ndarray, random: np.ndarray | None) -> list[Outputs]:
    q = _quantized(numerics, patterns, random)
    return [
        values(numerics.ports, "output", {Role.SCALE: scale, Role.CODES: codes})
        for scale, codes in zip(q.scales, q.codes)
    ]


def _all(numerics: Encode) -> Outputs:
    """Every bit of the outputs."""
    return {port.name: (1 << port.width) - 1 for port in data_ports(numerics.ports, "output")}


def _digits(
    config: ConverterConfig,
    mode: int,
    block: np.ndarray,
    random: np.ndarray | None,
    row: int,
    unknown: Mapping[Role, Sequence[int] | np.ndarray] = NOTHING,
) -> dict[str, str]:
    """The inputs of a block, with X for unknown bits of each lane."""
    drawn = {} if random is None else {Role.RANDOM: random[row]}
    inputs = values(config.ports, "input", {Role.NUMBERS: block, Role.MODE: [mode], **drawn})
    return {
        port.name: four_state(inputs[port.name], packed(unknown.get(port.role, ()), port.bits), port.width)
        for port in data_ports(config.ports, "input")
    }
