"""Inputs with unknown bits (X), and what a simulator of four states has to make of them.

X has a value that nobody knows. The emitted Verilog is continuous assignments of operators only, so a bit that is known
in spite of an X is right for every value in its place: no bit may be known and wrong, whatever was unknown. The other
way round the operators are pessimistic: one X in a sum, a comparison or a shift makes the whole result X, although some
of its bits may not depend on it. So little more can be required to be known than what the structure keeps apart:

* without any X in the inputs, every bit, in every mode number, those beyond the last mode among them; whatever was X
  before, for nothing is stored;
* with X for signs: all bits of scale and codes that are the same for both signs;
* with X for the random bits: the scale, the signs of codes that have one, the codes of special blocks (and under `te`
  of special elements), codes that are the largest before they are rounded, inputs that are flushed; and with X for
  those of one lane, everything of all others.

Not claimed, because it is not so: that an element that is exact, or too small for any code, stays known with X for its
random bits (they are added to its zeros); that anything is known with X in a magnitude or in the mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..hdl import ConverterConfig
from ..models import quantize
from ..models.block import Quantized
from ..models.source import DTYPES
from ..spec import Numerics, Specials, Subnormals
from .stimuli import random_bits

__all__ = ["Trial", "four_state", "mode_trials", "packed", "random_trials", "sign_trials", "tests_of"]

Outputs = tuple[int, int]
"""The scale, and the codes as in the port ``p``."""


@dataclass(frozen=True)
class Trial:
    """Inputs as digits 0, 1 and X, and what must be seen."""

    x: str
    random: str | None
    mode: str | None
    known: Outputs
    """Bits that have to be known."""
    possible: Sequence[Outputs]
    """Right results for some values in place of the X: a known bit is that of all of them."""


def tests_of(config: ConverterConfig) -> list[str]:
    """Names of the tests with unknown inputs that a configuration asks for, in each of its modes; the last is for all
    modes.
    """
    random = ["unknown_random"] if config.numerics.random_bits else []
    each = ["unknown_start", "unknown_signs", *random]
    if not config.alternatives:
        return each
    return [*(f"{name} mode {number}" for number in range(len(config.modes)) for name in each), "unknown_mode"]


def packed(fields: np.ndarray, bits: int) -> int:
    """One number of all fields, the first in the low bits."""
    return sum(int(field) << (bits * lane) for lane, field in enumerate(fields))


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
    signs = packed(np.full(numerics.block_size, sign), numerics.source.bits)
    scale_bits, code_bits = _widths(numerics)
    for row, block in enumerate(patterns):
        (scale, codes), (other_scale, other_codes), _ = possible = [result[row] for result in results]
        yield Trial(
            x=_x(numerics, block, signs),
            random=_random(numerics, random, row),
            mode=_mode(config, mode),
            possible=possible,
            known=((1 << scale_bits) - 1 & ~(scale ^ other_scale), (1 << code_bits) - 1 & ~(codes ^ other_codes)),
        )


def random_trials(config: ConverterConfig, mode: int, patterns: np.ndarray, seed: int) -> Iterator[Trial]:
    """X for the random bits of all elements of (n, block_size) patterns; then for those of one, in another lane from
    block to block.
    """
    numerics = config.modes[mode]
    drawn, largest = random_bits(numerics, patterns.shape, seed), (1 << numerics.random_bits) - 1
    lanes = np.arange(len(patterns)) % numerics.block_size
    here = np.arange(numerics.block_size) == lanes[:, None]
    settled = _settled(numerics, patterns)
    element = numerics.block.element
    sign = element.sign_mask if element.signed_zero else 0  # the bit is the sign of the input, whatever the magnitude
    whole = (1 << element.bits) - 1
    scale_known = (1 << _widths(numerics)[0]) - 1
    for unknown, known_codes in (
        (np.ones_like(here), np.where(settled, whole, sign)),
        (here, np.where(here & ~settled, sign, whole)),
    ):
        results = [
            _results(numerics, patterns, np.where(unknown, value, drawn).astype(np.uint16))
            for value in (0, largest, drawn)
        ]
        for row, block in enumerate(patterns):
            digits = four_state(
                packed(drawn[row], numerics.random_bits),
                packed(unknown[row] * largest, numerics.random_bits),
                numerics.block_size * numerics.random_bits,
            )
            yield Trial(
                x=_x(numerics, block),
                random=digits,
                mode=_mode(config, mode),
                possible=[result[row] for result in results],
                known=(scale_known, packed(known_codes[row], element.bits)),
            )


def mode_trials(config: ConverterConfig, patterns: np.ndarray, seed: int) -> Iterator[Trial]:
    """Mode numbers beyond the last, which mean the last; then X for the mode."""
    numerics = config.modes[-1]
    random = random_bits(numerics, patterns.shape, seed)
    results = [_results(mode, patterns, random) for mode in config.modes]
    everything = tuple((1 << width) - 1 for width in _widths(numerics))
    for row, block in enumerate(patterns):
        inputs = {"x": _x(numerics, block), "random": _random(numerics, random, row)}
        for number in range(len(config.modes), 1 << config.mode_bits):
            yield Trial(**inputs, mode=_mode(config, number), known=everything, possible=[results[-1][row]])
        yield Trial(**inputs, mode="X" * config.mode_bits, known=(0, 0), possible=[result[row] for result in results])


def _settled(numerics: Numerics, patterns: np.ndarray) -> np.ndarray:
    """(n, block_size) elements whose code does not wait for the rounding: a choice before or after it is made without
    it.
    """
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


def _quantized(numerics: Numerics, patterns: np.ndarray, random: np.ndarray | None) -> Quantized:
    return quantize(patterns.view(DTYPES[numerics.source.name]), numerics, random=random)


def _results(numerics: Numerics, patterns: np.ndarray, random: np.ndarray | None) -> list[Outputs]:
    q, bits = _quantized(numerics, patterns, random), numerics.block.element.bits
    return [(int(scale), packed(codes, bits)) for scale, codes in zip(q.scales[:, 0], q.codes)]


def _widths(numerics: Numerics) -> Outputs:
    return numerics.block.scale.bits, numerics.block_size * numerics.block.element.bits


def _x(numerics: Numerics, block: np.ndarray, unknown: int = 0) -> str:
    return four_state(packed(block, numerics.source.bits), unknown, numerics.block_size * numerics.source.bits)


def _random(numerics: Numerics, random: np.ndarray | None, row: int) -> str | None:
    if random is None:
        return None
    return four_state(packed(random[row], numerics.random_bits), 0, numerics.block_size * numerics.random_bits)


def _mode(config: ConverterConfig, mode: int) -> str | None:
    return four_state(mode, 0, config.mode_bits) if config.alternatives else None
