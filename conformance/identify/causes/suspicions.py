"""Sentences about the shape of differences, which hints at the fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ....sim.operations import golden, of
from ....sim.transactions import Transactions
from ....spec import FP32, Encode, Nvfp4Encode, Role
from ..candidates import Converted, Rules
from ..expected.scaled import magnitudes, scaled, wide

MOST = 0.05
"""Share of blocks from which a range of magnitudes is named."""
NEAR = 64
"""The most last places from a power of two for which a logarithm in FP32 is suspected."""


def suspicions(asked: Rules, blocks: Converted) -> Iterator[str]:
    """Sentences about the fault that blocks show."""
    expected = golden(asked, blocks.given)
    differs = of(asked).why(blocks.given, expected, blocks.made, False) >= 0
    if differs.any():
        yield from SUSPICIONS[asked.name](asked, blocks, expected, differs)


def _of_encoder(
    asked: Encode | Nvfp4Encode, blocks: Converted, expected: Transactions, differs: np.ndarray
) -> Iterator[str]:
    patterns, scales, codes = blocks.given[Role.NUMBERS], blocks.made[Role.SCALE], blocks.made[Role.CODES]
    if np.array_equal(expected[Role.SCALE], scales):
        yield from _of_codes(asked, expected[Role.CODES], codes)
        if isinstance(asked, Encode):
            yield from _of_ties(asked, patterns, scales, expected[Role.CODES] != codes)
    elif np.array_equal(expected[Role.CODES][~_rows_of(scales, expected)], codes[~_rows_of(scales, expected)]):
        yield from _of_logarithm(asked, patterns, scales, expected)
    apart = np.unique(scales.astype(int) - expected[Role.SCALE])
    if len(apart) == 1 and apart[0]:
        yield f"every scale byte is {abs(apart[0])} too {'large' if apart[0] > 0 else 'small'}"
    magnitude = (patterns & patterns.dtype.type(asked.source.sign_mask - 1)).max(axis=1)
    binades = (magnitude >> asked.source.man_bits).astype(int) - asked.source.bias
    affected = np.unique(binades[differs])
    share = differs[np.isin(binades, affected)].mean()
    is_range = len(affected) <= len(np.unique(binades)) // 2 and np.ptp(affected) == len(affected) - 1
    if is_range and share >= MOST and affected[-1] <= asked.source.emax:
        yield (
            f"the blocks that differ have their largest magnitude in [2^{affected[0]}, 2^{affected[-1] + 1}), "
            f"where {'all' if share == 1 else f'{100 * share:.1f} %'} differ"
        )


def is_exchanged(asked: Encode, blocks: Converted) -> bool:
    """Whether scales are right, and codes are right but in another order."""
    expected, made = golden(asked, blocks.given), blocks.made
    codes = expected[Role.CODES]
    return np.array_equal(expected[Role.SCALE], made[Role.SCALE]) and any(
        np.array_equal(other, made[Role.CODES]) for other in (codes[:, ::-1], _in_pairs(codes))
    )


def _in_pairs(codes: np.ndarray) -> np.ndarray:
    """Codes (n, block_size) with the two of each pair exchanged."""
    return codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)


def _of_codes(asked: Encode | Nvfp4Encode, expected: np.ndarray, codes: np.ndarray) -> Iterator[str]:
    """Sentences about wrong codes under right scales."""
    if np.array_equal(expected, codes[:, ::-1]):
        yield "the codes are right, in the reverse order of elements: does @msb belong to one side of the map?"
    if np.array_equal(_in_pairs(expected), codes):
        yield "the codes are right, with the two of each pair exchanged: are the halves of a byte swapped?"
    different = expected != codes
    element, sign = asked.block.element, asked.block.element.sign_mask
    small = np.array([element.is_subnormal(code) for code in range(1 << element.bits - 1)])
    small[0] = False
    if (codes[different] & sign - 1 == 0).all() and small[expected[different] & sign - 1].all():
        yield "subnormal elements became zeros"
    zeros = {0, sign} if asked.block.element.signed_zero else {0}
    if np.isin(expected[different], list(zeros)).all() and np.isin(codes[different], list(zeros)).all():
        became = "-0 became +0" if not codes[different].any() else "zeros have other signs"
        yield f"only zeros differ: {became}"


def _of_ties(asked: Encode, patterns: np.ndarray, scales: np.ndarray, different: np.ndarray) -> Iterator[str]:
    """A sentence if only numbers halfway between two elements differ."""
    v = np.abs(scaled(asked, Transactions({Role.NUMBERS: patterns}), scales))[different]
    known = magnitudes(asked.block.element)
    if v.size and np.isin(v, (known[:-1] + known[1:]) / 2).all():
        yield "only numbers halfway between two elements differ: ties are rounded otherwise"


def _rows_of(scales: np.ndarray, expected: Transactions) -> np.ndarray:
    """(n,) whether the scale is wrong."""
    return (scales != expected[Role.SCALE])[:, 0]


def _of_logarithm(
    asked: Encode | Nvfp4Encode, patterns: np.ndarray, scales: np.ndarray, expected: Transactions
) -> Iterator[str]:
    """A sentence if only scales of largest magnitudes next to a power of two are wrong."""
    magnitude = wide(asked.source, patterns).view(np.uint32) & np.uint32(FP32.magnitude_mask)
    largest = magnitude.max(axis=1)[_rows_of(scales, expected)]
    fraction = (largest & np.uint32((1 << FP32.man_bits) - 1)).astype(int)
    if ((fraction >= (1 << FP32.man_bits) - NEAR) | ((fraction > 0) & (fraction <= NEAR))).all():
        side = "below" if (fraction > NEAR).all() else "above" if (fraction <= NEAR).all() else "beside"
        yield (
            f"scales differ only where the largest magnitude is at most {NEAR} last places {side} a power of two: "
            "is a logarithm computed in FP32?"
        )


def _of_decoder(asked: Rules, blocks: Converted, expected: Transactions, differs: np.ndarray) -> Iterator[str]:
    if np.array_equal(expected[Role.NUMBERS], blocks.made[Role.NUMBERS][:, ::-1]):
        yield "the numbers are right, in the reverse order of elements: does @msb belong to one side of the map?"


SUSPICIONS: dict[str, Callable[..., Iterator[str]]] = {
    "encode": _of_encoder,
    "decode": _of_decoder,
    "cast": lambda *arguments: iter(()),  # single numbers have no shape
    "two_level_encode": _of_encoder,
    "two_level_decode": _of_decoder,
}
"""By the name of the operation a function of rules, blocks, expected results and (n,) whether blocks differ."""
