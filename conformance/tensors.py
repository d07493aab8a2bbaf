"""Whole tensors for encoders under two levels of scales: software finds the largest magnitude of a tensor itself."""

from __future__ import annotations

import numpy as np

from ..models.source import narrow
from ..sim import two_level
from ..sim import two_level_stimuli as make
from ..sim.transactions import Transactions
from ..spec import FP32, Role, TwoLevelEncode

__all__ = ["BLOCKS_OF_TENSOR", "hard", "usual", "with_constants"]

BLOCKS_OF_TENSOR = 40
"""Blocks of every tensor here."""
DIRECTED = 240
"""Tensors with blocks at and beside boundaries."""
MAGNITUDE = np.uint32(0x7FFFFFFF)
INF = np.uint32(0x7F800000)


def usual(rules: TwoLevelEncode, seed: int, blocks: int) -> Transactions:
    """Tensors of N(0,1), of at least so many blocks together."""
    rng, count = np.random.default_rng(seed), -(-blocks // BLOCKS_OF_TENSOR)
    shape = (count * BLOCKS_OF_TENSOR, rules.block_size)
    return _of(rules, rng.standard_normal(shape, np.float32).view(np.uint32))


def hard(rules: TwoLevelEncode, seed: int) -> Transactions:
    """Tensors of zeros, with one directed block (NaN, Inf, subnormal and largest numbers), and of blocks at and beside
    the boundaries of scales and codes under a largest magnitude of any exponent.
    """
    rng = np.random.default_rng(seed)
    corners = np.unique(make.corners(rules.replace(source="fp32"))[Role.NUMBERS], axis=0)
    around = rng.standard_normal((len(corners), BLOCKS_OF_TENSOR, rules.block_size), np.float32)
    around *= np.exp2(rng.integers(-20, 20, (len(corners), 1, 1))).astype(np.float32)
    directed = around.view(np.uint32).copy()
    directed[:, 0] = corners
    zeros = np.zeros((BLOCKS_OF_TENSOR, rules.block_size), np.uint32)
    return _of(rules, np.concatenate([zeros, *directed, *(_at_boundaries(rules, rng) for _ in range(DIRECTED))]))


def _at_boundaries(rules: TwoLevelEncode, rng: np.random.Generator) -> np.ndarray:
    """One tensor, of FP32 patterns. Blocks that the largest magnitude does not allow become zeros."""
    largest = np.uint32(rng.integers(1, INF))
    wide = rules.replace(source="fp32")
    scales = np.exp2(rng.uniform(-9, 8.9, BLOCKS_OF_TENSOR))
    scaled = make.marks(wide, (BLOCKS_OF_TENSOR, rules.block_size - 1), rng)
    maxima = np.full(BLOCKS_OF_TENSOR, largest)
    patterns = make.around(wide, scales, maxima, scaled, rng)[Role.NUMBERS].copy()
    patterns[((patterns & MAGNITUDE) > largest).any(axis=1)] = 0
    patterns[0, 0] = largest
    return patterns


def _of(rules: TwoLevelEncode, patterns: np.ndarray) -> Transactions:
    """FP32 patterns as those of the source; NaN stays NaN."""
    if rules.source == FP32:
        return Transactions({Role.NUMBERS: patterns})
    is_nan = (patterns & MAGNITUDE) > INF
    cut = narrow(np.where(is_nan, np.uint32(0), patterns), rules.source)
    word = f"u{rules.source.bits // 8}"
    quiet = np.array(rules.source.inf_field | 1 << rules.source.man_bits - 1, word)
    return Transactions({Role.NUMBERS: np.where(is_nan, quiet, cut.view(word))})


def with_constants(rules: TwoLevelEncode, given: Transactions) -> Transactions:
    """The same blocks with the constants of their tensors, as these rules find them."""
    patterns = given[Role.NUMBERS]
    tensors = [patterns[start : start + BLOCKS_OF_TENSOR] for start in range(0, len(patterns), BLOCKS_OF_TENSOR)]
    found = Transactions.joined(two_level.of_tensor(rules, tensor) for tensor in tensors)
    bits = given.get(Role.RANDOM)
    return found if bits is None else found.with_arrays({Role.RANDOM: bits})
