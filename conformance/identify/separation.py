"""Search for a block that two sets of rules convert differently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...compare.cast import compare_casts
from ...compare.decode import compare_decoders
from ...compare.encode import compare_elements, compare_scales, compare_specials
from ...compare.evaluation import Evaluation
from ...compare.input_domain import common_domain
from ...compare.nvfp4_encode import compare_nvfp4
from ...models.arrays.source import DTYPES
from ...sim.operations import element_role, golden, of
from ...sim.stimuli import random_bits
from ...sim.transactions import Transactions
from ...spec import Cast, Decode, Encode, Nvfp4Encode, Role
from .. import tensors
from ..tensors import BLOCKS_OF_TENSOR
from .candidates import Rules, to_nearest

FEW = 2000
"""Random blocks that are tried with the directed ones."""


@dataclass(frozen=True)
class Separation:
    """A block that two sets of rules convert differently, if one was found."""

    block: Transactions | None
    """The inputs of the block, or None."""
    is_whole: bool = True
    """Whether the search covered all inputs, so that None means equal rules."""


def separation(a: Rules, b: Rules) -> Separation:
    """Compare two operations of the same formats, on all inputs if possible, which takes up to a minute. With random
    bits they are compared as if they rounded to nearest, and the random bits of the block are zeros. Raises KeyError
    for operations that are not compared.
    """
    if a.random_bits and b.random_bits:
        found = separation(to_nearest(a), to_nearest(b))
        if found.block is None:
            return found
        shape = next(array.shape for role, array in found.block.arrays.items() if role is not Role.SCALE)
        return Separation(found.block.with_arrays({Role.RANDOM: np.zeros(shape, np.uint16)}))
    return SEPARATIONS[a.name](a, b)


def soon_separated(a: Rules, b: Rules) -> Separation:
    """`separation`, with hard blocks first, which take no time."""
    inputs = tensors.hard(a, 0) if isinstance(a, Nvfp4Encode) else _hard(a)
    bits = random_bits(a, (len(inputs), a.block_size), 0)
    given = inputs if bits is None else inputs.with_arrays({Role.RANDOM: bits})
    first, other = (golden(one, tensors.seen(one, given)) for one in (a, b))
    rows = np.flatnonzero(first.differ(other))
    if not len(rows):
        return separation(a, b)
    if not isinstance(a, Nvfp4Encode):
        simplest = rows[np.count_nonzero(given[element_role(a)][rows], axis=1).argmin()]
        return Separation(given.rows(slice(simplest, simplest + 1)))
    start = int(rows[0]) // BLOCKS_OF_TENSOR * BLOCKS_OF_TENSOR
    return Separation(given.rows(slice(start, start + BLOCKS_OF_TENSOR)))


def _hard(rules: Rules) -> Transactions:
    every = of(rules).stimuli("standard", FEW, 0)
    return Transactions.joined(part for _, parts in every for part in parts)


def _encoders(a: Encode, b: Encode) -> Separation:
    domain = common_domain(a.source, b.source)
    first, other = Evaluation(a, domain), Evaluation(b, domain)
    for compared in (compare_scales, compare_specials, compare_elements):  # the quickest first
        example = compared(first, other).first
        if example is not None:
            return Separation(_block(a, [int(text, 16) for text in example.a.values.split(",")]))
    return Separation(None)


def _block(rules: Encode | Nvfp4Encode, patterns: list[int]) -> Transactions:
    whole = np.zeros((1, rules.block_size), f"u{DTYPES[rules.source.name].itemsize}")
    whole[0, : len(patterns)] = patterns
    return Transactions({Role.NUMBERS: whole})


def _casts(a: Cast, b: Cast) -> Separation:
    causes = compare_casts(a, b).causes.values()
    first = next((finding.first.pattern for finding in causes), None)
    if first is None:
        return Separation(None)
    role = Role.CODES if a.is_back else Role.NUMBERS
    word = f"u{(a.source.bits + 7) // 8}"
    return Separation(Transactions({role: np.full((1, a.lanes), first, word)}))


def _decoders(a: Decode, b: Decode) -> Separation:
    causes = compare_decoders(a, b).causes.values()
    first = next((finding.first for finding in causes), None)
    if first is None:
        return Separation(None)
    scales = np.array([[first.byte]], np.uint8)
    return Separation(Transactions({Role.SCALE: scales, Role.CODES: np.full((1, a.block_size), first.code, np.uint8)}))


def _nvfp4(a: Nvfp4Encode, b: Nvfp4Encode) -> Separation:
    """The block is a tensor: the block that differs, one with the largest magnitude, and zeros. Not all inputs are
    compared.
    """
    for finding in compare_nvfp4(a, b).findings.values():
        if finding.first is not None:
            patterns = [int(text, 16) for text in finding.first.values.split(",")]
            tensor = np.zeros((BLOCKS_OF_TENSOR, a.block_size), np.uint32)
            tensor[0, : len(patterns)] = patterns
            tensor[1, 0] = np.float32(finding.first.tensor_amax).view(np.uint32)
            return Separation(Transactions({Role.NUMBERS: tensor}))
    return Separation(None, is_whole=False)


SEPARATIONS: dict[str, Callable[..., Separation]] = {
    "encode": _encoders,
    "decode": _decoders,
    "cast": _casts,
    "two_level_encode": _nvfp4,
}
"""By the name of the operation."""
