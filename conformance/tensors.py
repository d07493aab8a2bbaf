"""Whole tensors for NVFP4 encoders, because software finds the largest magnitude of a tensor itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..models.arrays.source import DTYPES, MAGNITUDE, narrow, widen
from ..models.fast.nvfp4_encode import ORDERS
from ..sim.nvfp4 import stimuli as make
from ..sim.nvfp4.encode_ties import of_source, ties
from ..sim.transactions import Transactions
from ..spec import FP32, Nvfp4Encode, Operation, Role

BLOCKS_OF_TENSOR = 16
"""Blocks of every tensor here."""
DIRECTED = 120
"""Tensors with blocks next to boundaries, of any magnitude."""
INF = np.uint32(0x7F800000)


def usual(rules: Nvfp4Encode, seed: int, blocks: int) -> Transactions:
    """Tensors of N(0,1), at least so many blocks in all."""
    rng, count = np.random.default_rng(seed), -(-blocks // BLOCKS_OF_TENSOR)
    shape = (count * BLOCKS_OF_TENSOR, rules.block_size)
    return _of(rules, rng.standard_normal(shape, np.float32).view(np.uint32))


def hard(rules: Nvfp4Encode, seed: int) -> Transactions:
    """`corners` and `boundaries`."""
    return Transactions.joined([corners(rules, seed), boundaries(rules, seed)])


def corners(rules: Nvfp4Encode, seed: int) -> Transactions:
    """A tensor of zeros, and tensors with one directed block: NaN, Inf, subnormal and largest numbers."""
    rng, wide = np.random.default_rng(seed), _wide(rules)
    blocks = np.unique(make.corners(wide)[Role.NUMBERS], axis=0)
    around = rng.standard_normal((len(blocks) + 1, BLOCKS_OF_TENSOR, rules.block_size), np.float32)
    around *= np.exp2(rng.integers(-20, 12, (len(around), 1, 1))).astype(np.float32)
    tensors = around.view(np.uint32)
    tensors[0] = 0
    tensors[1:, 0] = blocks
    return _of(rules, tensors.reshape(-1, rules.block_size))


def boundaries(rules: Nvfp4Encode, seed: int) -> Transactions:
    """Tensors of blocks at ties, and of blocks next to the boundaries of scales and codes under a largest magnitude of
    any exponent.
    """
    rng = np.random.default_rng(seed)
    any_magnitude = [_at_boundaries(rules, rng) for _ in range(DIRECTED)]
    return Transactions.joined([Transactions({Role.NUMBERS: np.concatenate([*_tied(rules, seed)])}), *any_magnitude])


def _tied(rules: Nvfp4Encode, seed: int) -> Iterator[np.ndarray]:
    """Tensors of blocks at ties: the first number of each is its largest magnitude."""
    found = ties(rules, seed)
    found = found.rows(of_source(rules, found.a.view(np.float32)))
    maxima = narrow(found.a, rules.source).view(found.patterns.dtype)
    for largest in np.unique(maxima):
        rows = found.patterns[maxima == largest]
        for start in range(0, len(rows), BLOCKS_OF_TENSOR - 1):
            tensor = np.zeros((BLOCKS_OF_TENSOR, rules.block_size), rows.dtype)
            part = rows[start : start + BLOCKS_OF_TENSOR - 1]
            tensor[0, 0], tensor[1 : len(part) + 1] = largest, part
            yield tensor


def _at_boundaries(rules: Nvfp4Encode, rng: np.random.Generator) -> Transactions:
    """One tensor. Blocks that the largest magnitude does not allow become zeros."""
    source = rules.source
    pattern = np.array(rng.integers(1, source.max_code + 1), f"u{source.bits // 8}")
    largest = widen(pattern.view(DTYPES[source.name]).reshape(1), np.empty(1, np.uint32))
    scales = np.exp2(rng.uniform(-9, 8.9, BLOCKS_OF_TENSOR))
    scaled = make.marks(rules, (BLOCKS_OF_TENSOR, rules.block_size - 1), rng)
    blocks = make.around(_wide(rules), scales, np.repeat(largest, BLOCKS_OF_TENSOR), scaled, rng)
    patterns = _of(rules, blocks[Role.NUMBERS])[Role.NUMBERS].copy()
    patterns[((patterns & source.magnitude_mask) > pattern).any(axis=1)] = 0
    patterns[0, 0] = pattern
    return Transactions({Role.NUMBERS: patterns})


def _wide(rules: Nvfp4Encode) -> Nvfp4Encode:
    return rules.replace(source="fp32")


def _of(rules: Nvfp4Encode, patterns: np.ndarray) -> Transactions:
    """FP32 numbers rounded to the source. NaN stays NaN, and finite numbers stay finite."""
    source = rules.source
    if source == FP32:
        return Transactions({Role.NUMBERS: patterns})
    word, magnitudes = f"u{source.bits // 8}", patterns & MAGNITUDE
    largest = widen(np.array([source.max_code], word).view(DTYPES[source.name]), np.empty(1, np.uint32))
    most = np.where(magnitudes == INF, INF, np.minimum(magnitudes, largest))
    cut = narrow(most | patterns & ~MAGNITUDE, source).view(word)
    quiet = np.array(source.inf_field | 1 << source.man_bits - 1, word)
    return Transactions({Role.NUMBERS: np.where(magnitudes > INF, quiet, cut)})


def seen(rules: Operation, given: Transactions) -> Transactions:
    """Inputs of some rules: blocks with the constants of their tensors for NVFP4, and the same blocks otherwise."""
    return with_constants(rules, given) if isinstance(rules, Nvfp4Encode) else given


def with_constants(rules: Nvfp4Encode, given: Transactions) -> Transactions:
    """Blocks with the constants that these rules compute for their tensors."""
    patterns = given[Role.NUMBERS]
    numbers = np.ascontiguousarray(patterns).view(DTYPES[rules.source.name])
    magnitudes = widen(numbers, np.empty(numbers.shape, np.uint32)) & MAGNITUDE
    if ORDERS[rules.order].ignores_nan:
        magnitudes[magnitudes > INF] = 0
    starts = np.arange(0, len(patterns), BLOCKS_OF_TENSOR)
    maxima = np.maximum.reduceat(magnitudes.max(axis=1), starts)
    found = make.with_constants(rules, patterns, np.repeat(maxima, BLOCKS_OF_TENSOR)[: len(patterns)])
    bits = given.get(Role.RANDOM)
    return found if bits is None else found.with_arrays({Role.RANDOM: bits})
