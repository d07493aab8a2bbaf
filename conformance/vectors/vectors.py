"""Conformance vectors: blocks in categories, with the results of the exact model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ...models.arrays.codes import code_values
from ...models.arrays.source import narrow
from ...sim.encode.simulation import EncodeSimulation
from ...sim.nvfp4.encode import Nvfp4EncodeSimulation
from ...sim.operations import drawn, element_role, golden, of
from ...sim.simulation import EncoderSimulation
from ...sim.transactions import Transactions, data_ports, word
from ...spec import E8M0, Cast, Decode, Encode, FloatFormat, Nvfp4Decode, Nvfp4Encode, Operation, Port, Role
from .. import tensors
from ..identify.expected.exact_results import exact_results

SIZES = ("small", "full")
RANDOM_BLOCKS = {"small": 400, "full": 4096}
WEIGHT_BLOCKS = {"small": 400, "full": 2048}
OF_EACH = 500
"""Blocks of each category in a small set, in addition to blocks for every scale and code."""
SEVERAL = 1 << 16
"""Most directed blocks; an even choice if there are more."""


class Category(StrEnum):
    """The purpose of a block. If several fit, it is the first of: weights, special, boundary, subnormal, tie, corner,
    random.
    """

    RANDOM = "random"
    CORNER = "corner"
    """Directed blocks: zeros, largest numbers, single bits, numbers far apart; for a decoder scales with codes."""
    BOUNDARY = "boundary"
    """Numbers at and next to the boundaries of scales and codes."""
    TIE = "tie"
    """A number is halfway between two codes of the result."""
    SUBNORMAL = "subnormal"
    """An input or a result is subnormal."""
    SPECIAL = "special"
    """An input or a result is NaN or Inf."""
    WEIGHTS = "weights"
    """Blocks of real FP32 weights, or their codes by OCP's rules."""


OF_KIND = {
    "pairs": Category.CORNER,
    "corner": Category.CORNER,
    "distance": Category.CORNER,
    "all": Category.BOUNDARY,
    "boundary": Category.BOUNDARY,
    "nearest": Category.BOUNDARY,
    "ties": Category.TIE,
}
"""Categories of the kinds of stimuli that sets contain."""

TENSORS_OF = {Category.CORNER: 60, Category.BOUNDARY: 90}
"""Most tensors of a category in a small set; one block of a tensor is a corner."""

SHORT = 16
"""If a source has at most so many bits, a set has all its patterns."""


@dataclass(frozen=True, kw_only=True)
class VectorSet:
    """Inputs of an operation with the results expected."""

    rules: Operation
    """The operation."""
    size: str
    seed: int
    given: Transactions
    expected: Transactions
    """By rational arithmetic."""
    categories: np.ndarray
    """(n,) numbers of `Category`, in its order."""
    tensors: np.ndarray | None = None
    """(n,) the number of the tensor of each block, if tensors have scales."""

    def __len__(self) -> int:
        return len(self.given)

    @property
    def ports(self) -> list[tuple[Port, np.ndarray]]:
        """The ports with their words, (n, lanes); inputs come first."""
        sides = (("input", self.given), ("output", self.expected))
        return [(port, side[port.role]) for way, side in sides for port in data_ports(self.rules.ports, way)]

    @property
    def counts(self) -> dict[str, int]:
        """The number of blocks of each category that occurs."""
        numbers = np.bincount(self.categories, minlength=len(Category)).tolist()
        return {str(category): count for category, count in zip(Category, numbers) if count}


def distinct(ports: Iterable[tuple[Port, np.ndarray]]) -> dict[str, int]:
    """The number of different words of each port."""
    return {port.name: len(np.unique(words)) for port, words in ports}


def least_distinct(port: Port) -> int:
    """The least number of different words at a port in a set of vectors: a quarter of all codes, up to 256.

    A set of zeros has fewer, and so has a set in which all numbers saturate.
    """
    return 1 if port.role in CONSTANTS else min(1 << port.bits, 1024) // 4


CONSTANTS = (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX, Role.TENSOR_SCALE)
"""Roles of words that belong to a tensor, not to a block."""


def made(rules: Operation, weights: np.ndarray, *, size: str = "small", seed: int = 0) -> VectorSet:
    """The set of an operation.

    Parameters
    ----------
    rules : `Encode`, `Decode`, `Cast`, `Nvfp4Encode` or `Nvfp4Decode`
    weights : (n,) float32 numbers of real tensors
    size : ``small``, a few thousand blocks, or ``full``, all directed blocks
    seed : seed of random blocks and choices

    Raises
    ------
    ValueError
        for another size, and for an operation without an exact model
    """
    if size not in SIZES:
        raise ValueError(f"a set is {' or '.join(SIZES)}, not {size!r}")
    if rules.name not in MADE:
        raise ValueError(f"there are no vectors of {rules.name}: known are {', '.join(MADE)}")
    numbers = np.ascontiguousarray(weights, np.float32).reshape(-1)
    return MADE[rules.name](rules, numbers, size, seed)


def _blocks(rules: Operation, weights: np.ndarray, size: str, seed: int) -> VectorSet:
    """A set of blocks that do not depend on one another."""
    parts = list(_pool(rules, weights, size, seed))
    given = drawn(rules, Transactions.joined(blocks for _, blocks in parts), seed)
    origins = np.repeat([_number(category) for category, _ in parts], [len(blocks) for _, blocks in parts])
    # the fast model is good enough to choose blocks; the results come from the exact one
    quick = golden(rules, given)
    categories = _categories(rules, given, quick, origins)
    if size == "small":
        rows = _chosen(rules, given, quick, categories, seed)
        given, categories = given.rows(rows), categories[rows]
    return VectorSet(
        rules=rules, size=size, seed=seed, given=given, expected=exact_results(rules, given), categories=categories
    )


def _tensors(rules: Nvfp4Encode, weights: np.ndarray, size: str, seed: int) -> VectorSet:
    """A set of whole tensors of `tensors.BLOCKS_OF_TENSOR` blocks."""
    length = tensors.BLOCKS_OF_TENSOR
    parts = [
        (Category.CORNER, tensors.corners(rules, seed)),
        (Category.BOUNDARY, tensors.boundaries(rules, seed)),
        (Category.RANDOM, tensors.usual(rules, seed, RANDOM_BLOCKS[size])),
        (Category.WEIGHTS, _of_weights(rules, weights, WEIGHT_BLOCKS[size] // length * length)),
    ]
    if size == "small":
        parts = [
            (category, _few_tensors(blocks, length, TENSORS_OF[category]) if category in TENSORS_OF else blocks)
            for category, blocks in parts
        ]
    given = tensors.with_constants(rules, Transactions.joined(blocks for _, blocks in parts))
    given = drawn(rules, given, seed)
    origins = np.repeat([_number(category) for category, _ in parts], [len(blocks) for _, blocks in parts])
    expected = exact_results(rules, given)
    return VectorSet(
        rules=rules,
        size=size,
        seed=seed,
        given=given,
        expected=expected,
        categories=_categories(rules, given, expected, origins),
        tensors=np.arange(len(given)) // length,
    )


def _few_tensors(blocks: Transactions, length: int, most: int) -> Transactions:
    count = len(blocks) // length
    chosen = np.linspace(0, count - 1, min(most, count)).astype(int)
    return blocks.rows((chosen[:, None] * length + np.arange(length)).reshape(-1))


MADE: dict[str, Callable[..., VectorSet]] = {
    "encode": _blocks,
    "decode": _blocks,
    "cast": _blocks,
    "two_level_encode": _tensors,
    "two_level_decode": _blocks,
}
"""By the name of an operation."""


def _number(category: Category) -> int:
    return list(Category).index(category)


def _pool(rules: Operation, weights: np.ndarray, size: str, seed: int) -> Iterator[tuple[Category, Transactions]]:
    """All blocks from which a set is chosen, by their origin."""
    know = of(rules)
    for kind, category in OF_KIND.items():
        too_many = isinstance(rules, Cast) and kind == "all" and rules.source.bits > SHORT
        if kind in know.kinds and not too_many:
            for _, parts in know.stimuli(kind, 0, seed):
                yield category, _positive(Transactions.joined(parts).spread(SEVERAL))
    yield Category.RANDOM, _positive(know.random(RANDOM_BLOCKS[size], seed))
    yield Category.WEIGHTS, _of_weights(rules, weights, WEIGHT_BLOCKS[size])


def _positive(blocks: Transactions) -> Transactions:
    """Blocks whose tensor scale is not negative."""
    words = blocks.get(Role.TENSOR_SCALE)
    return blocks if words is None else blocks.with_arrays({Role.TENSOR_SCALE: words & np.uint32(0x7FFFFFFF)})


def _of_weights(rules: Operation, weights: np.ndarray, most: int) -> Transactions:
    """Blocks from all parts of the weights, or their codes for a decoder."""
    lanes = rules.block_size
    count = min(most, len(weights) // lanes)
    rows = np.linspace(0, len(weights) // lanes - 1, count).astype(int)
    blocks = weights[: len(weights) // lanes * lanes].reshape(-1, lanes)[rows]
    entering = rules.ports[0]
    if isinstance(rules, Decode):
        return _left(EncodeSimulation(Encode(block=rules.block)), blocks, rules)
    if isinstance(rules, Nvfp4Decode):
        left = _left(Nvfp4EncodeSimulation(Nvfp4Encode(block=rules.block)), blocks, rules)
        g = np.full((count, 1), np.float32(1 / 256).view(np.uint32))
        has_scale = any(port.role is Role.TENSOR_SCALE for port in rules.ports)
        return left.with_arrays({Role.TENSOR_SCALE: g}) if has_scale else left
    if isinstance(rules, Cast) and rules.is_back:
        codes = (np.ascontiguousarray(blocks).view(np.uint32) >> 8) % np.uint32(1 << entering.bits)
        return Transactions({entering.role: codes.astype(word(entering))})
    assert isinstance(rules, Encode | Nvfp4Encode | Cast)
    patterns = narrow(np.ascontiguousarray(blocks).view(np.uint32), rules.source)
    return Transactions({entering.role: np.ascontiguousarray(patterns).view(word(entering))})


def _left(encoder: EncoderSimulation[Any], blocks: np.ndarray, rules: Operation) -> Transactions:
    """Scales and codes of blocks, as inputs of a decoder."""
    found = encoder.golden(encoder.of_tensor(np.ascontiguousarray(blocks).view(np.uint32)))
    words = {port.role: word(port) for port in rules.ports if port.role in found.arrays}
    return Transactions({role: found[role].astype(dtype) for role, dtype in words.items()})


def _chosen(
    rules: Operation, given: Transactions, quick: Transactions, categories: np.ndarray, seed: int
) -> np.ndarray:
    """The rows of a small set: for each scale and each code the first block that has it, and some random blocks of each
    category.
    """
    mixed = np.random.default_rng(seed).permutation(len(given))
    rows: set[int] = set()
    for port in rules.ports:
        if port.role in (Role.SCALE, Role.CODES):
            words = (given if port.direction == "input" else quick)[port.role][mixed]
            _, first = np.unique(words, return_index=True)
            rows.update(mixed[first // words.shape[1]].tolist())
    for category in range(len(Category)):
        rows.update(mixed[categories[mixed] == category][:OF_EACH].tolist())
    return np.array(sorted(rows))


def _categories(rules: Operation, given: Transactions, left: Transactions, origins: np.ndarray) -> np.ndarray:
    """(n,) the category of each block."""
    found = origins.copy()
    for category, is_of in (
        (Category.TIE, _ties(rules, given, left)),
        (Category.SUBNORMAL, _any(rules, given, left, _is_subnormal)),
        (Category.SPECIAL, _any(rules, given, left, _is_special)),
    ):
        # all directed words of a cast are at boundaries
        kept = [Category.WEIGHTS]
        kept += [Category.BOUNDARY] if category is not Category.SPECIAL and not isinstance(rules, Cast) else []
        found[is_of & ~np.isin(origins, list(map(_number, kept)))] = _number(category)
    return found


def _any(
    rules: Operation, given: Transactions, left: Transactions, holds: Callable[[np.ndarray, FloatFormat], np.ndarray]
) -> np.ndarray:
    """(n,) whether something holds for an input or a result of a block; it gets words with their format."""
    found = np.zeros(len(given), bool)
    for way, side in (("input", given), ("output", left)):
        for port in data_ports(rules.ports, way):
            format = port.format
            if isinstance(format, FloatFormat) and port.role not in CONSTANTS:
                found |= holds(side[port.role], format).any(axis=1)
    return found


def _is_special(words: np.ndarray, format: FloatFormat) -> np.ndarray:
    if format.bits <= 10:
        kinds = np.array([format.decode(code).kind != "finite" for code in range(1 << format.bits)])
        return kinds[words]
    return (words & np.array(format.inf_field, words.dtype)) == format.inf_field


def _is_subnormal(words: np.ndarray, format: FloatFormat) -> np.ndarray:
    if format.bits <= 10 and not (format.signed and format.bits > 8):
        return np.zeros(words.shape, bool)  # every block has subnormal codes of elements
    magnitudes = words & np.array(format.magnitude_mask, words.dtype)
    return (magnitudes > 0) & (magnitudes >> format.man_bits == 0)


def _ties(rules: Operation, given: Transactions, left: Transactions) -> np.ndarray:
    """(n,) whether a number of a block is halfway between two neighbouring values of the result. For NVFP4, which
    rounds numbers twice, always False.
    """
    none = np.zeros(len(given), bool)
    if isinstance(rules, Encode):
        element, numbers = rules.block.element, _values(rules.source, given[Role.NUMBERS])
        exponents = left[Role.SCALE].astype(int) - E8M0.bias
    elif isinstance(rules, Cast) and not rules.is_back and rules.destination.bits <= 10:
        element, numbers = rules.destination, _values(rules.source, given[element_role(rules)])
        exponents = np.zeros((len(given), 1), int)
    else:
        return none
    values = np.unique(np.abs(code_values(element)[np.isfinite(code_values(element))]).astype(np.float64))
    halves = (values[1:] + values[:-1]) / 2
    with np.errstate(all="ignore"):
        return np.asarray(np.isin(np.abs(np.ldexp(numbers, -exponents)), halves).any(axis=1))


def _values(source: FloatFormat, words: np.ndarray) -> np.ndarray:
    """float64 numbers of patterns, which are exact."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        if source.name == "bf16":
            return (words.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
        return np.ascontiguousarray(words).view(f"f{words.dtype.itemsize}").astype(np.float64)
