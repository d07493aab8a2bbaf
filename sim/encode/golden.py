"""Encoders in simulations: what the golden model makes of their transactions, stimuli, and differences in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...hdl.config.command import command_line
from ...models import quantize
from ...models.arrays.codes import code_values
from ...models.arrays.source import DTYPES, narrow, widen
from ...spec import Encode, Role
from .. import stimuli as make
from ..transactions import Transactions

CHUNK = 1 << 15
"""Blocks of a stimulus that are made at a time."""
AROUND = 8
"""Blocks around which single bits change."""
SWEPT = 1 << 20
"""Blocks of a sweep over all inputs, unless it is exhaustive: about so many."""
OF_EACH = 3
"""Blocks of each family of corners in `sample`."""
RANDOM = 32
"""Random blocks in it."""


def blocks_of(patterns: np.ndarray) -> Transactions:
    """Blocks (n, block_size) of source patterns."""
    return Transactions({Role.NUMBERS: patterns})


def golden(numerics: Encode, entering: Transactions) -> Transactions:
    """What leaves an encoder, by `models.quantize`."""
    x = entering[Role.NUMBERS].view(DTYPES[numerics.source.name])
    q = quantize(x, numerics, random=entering.get(Role.RANDOM) if numerics.random_bits else None)
    return Transactions({Role.SCALE: q.scales, Role.CODES: q.codes})


def stimuli(numerics: Encode, kind: str, blocks: int, seed: int) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """``standard`` is corner, boundary, distance and ``blocks`` random blocks; ``exhaustive`` is every source pattern
    and every relevant distance below the maximum, ``stratified`` a 64th of that.
    """
    if kind in ("standard", "corner"):
        yield "corner", [blocks_of(make.corner_blocks(numerics))]
    if kind in ("standard", "boundary"):
        yield "boundary", [blocks_of(make.boundary_blocks(numerics))]
    if kind in ("standard", "distance"):
        yield "distance", [blocks_of(make.distance_blocks(numerics))]
    if kind in ("standard", "random"):
        yield (
            "random",
            (
                random(numerics, min(CHUNK, blocks - start), seed * 1_000_003 + start)
                for start in range(0, blocks, CHUNK)
            ),
        )
    if kind == "exhaustive":
        yield "exhaustive", map(blocks_of, make.exhaustive_blocks(numerics))
    if kind == "stratified":
        yield "stratified", map(blocks_of, make.stratified_blocks(numerics, seed))


def normal_blocks(numerics: Encode, seed: int, blocks: int) -> np.ndarray:
    """Seeded blocks of N(0,1) numbers as source patterns (blocks, block_size)."""
    source, rng = numerics.source, np.random.default_rng(seed)
    numbers = rng.standard_normal((blocks, numerics.block_size), dtype=np.float32)
    dtype = DTYPES[source.name]
    return narrow(numbers.view(np.uint32), source).view(f"u{dtype.itemsize}")


def usual(numerics: Encode, seed: int, blocks: int) -> Transactions:
    """Blocks of N(0,1)."""
    return blocks_of(normal_blocks(numerics, seed, blocks))


def hard(numerics: Encode, seed: int, blocks: int) -> Transactions:
    """Directed blocks and so many random ones."""
    return Transactions.joined([blocks_of(make.corner_blocks(numerics)), random(numerics, blocks, seed)])


def swept(numerics: Encode, blocks: int, seed: int, exhaustive: bool) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """Directed and random blocks, single bits, and a sweep over all inputs, or about `SWEPT` of them if not
    ``exhaustive``.
    """
    yield from stimuli(numerics, "standard", blocks, seed)
    yield "single bits", [single_bits(numerics, seed)]
    total = make.exhaustive_total(numerics)
    if exhaustive or total <= SWEPT:
        yield from stimuli(numerics, "exhaustive", blocks, seed)
    else:
        share = 1 << (total // SWEPT).bit_length()
        yield f"1/{share} of all", map(blocks_of, make.stratified_blocks(numerics, seed, share))


def single_bits(numerics: Encode, seed: int) -> Transactions:
    """Around each of `AROUND` blocks of N(0,1) every bit in turn, there and back: a design that misses the change of
    a signal, because its sensitivity list does, shows an old result.
    """
    around = normal_blocks(numerics, seed, AROUND)
    bits = numerics.source.bits
    pairs = np.repeat(around[:, None, None], around.shape[1] * bits, axis=1).repeat(2, axis=2)
    lane, bit = np.divmod(np.arange(around.shape[1] * bits), bits)
    pairs[:, np.arange(len(lane)), 1, lane] ^= (np.uint64(1) << bit.astype(np.uint64)).astype(around.dtype)
    return blocks_of(pairs.reshape(-1, around.shape[1]))


def random(numerics: Encode, blocks: int, seed: int) -> Transactions:
    """Seeded random blocks."""
    return blocks_of(make.random_blocks(numerics, blocks, seed))


def regression(numerics: Encode, blocks: int, seed: int) -> dict[str, Transactions]:
    """Every family of directed blocks, the neighbours of every rounding boundary, and random blocks."""
    return {
        **{name: blocks_of(patterns) for name, patterns in make.corner_cases(numerics).items()},
        "boundary": blocks_of(make.boundary_blocks(numerics)),
        "random": random(numerics, blocks, seed),
    }


def sample(numerics: Encode, seed: int) -> Transactions:
    """Directed blocks of every family and some random ones."""
    return Transactions.joined([blocks_of(make.corner_blocks(numerics, OF_EACH)), random(numerics, RANDOM, seed)])


def few(numerics: Encode, corners: int, singles: int) -> Transactions:
    """Corner blocks and blocks that differ in one bit, so many of each at most."""
    directed = blocks_of(make.corner_blocks(numerics)[:corners])
    return Transactions.joined([directed, single_bits(numerics, 0).rows(slice(singles))])


def described(numerics: Encode, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
    """What differs in the first of some transactions, in words, with the command that explains it."""
    block, codes, got_codes = given[Role.NUMBERS][0], expected[Role.CODES][0], actual[Role.CODES][0]
    scale, got_scale = (int(side[Role.SCALE][0, 0]) for side in (expected, actual))
    bits = given.get(Role.RANDOM)
    element, source_digits = numerics.block.element, numerics.source.bits // 4
    values, digits = code_values(element), -(-element.bits // 4)
    numbers = widen(block.view(DTYPES[numerics.source.name]), np.empty(block.shape, np.uint32)).view(np.float32)
    lines = [
        f"{title}: "
        + (
            f"scale expected 0x{scale:02X}, got 0x{got_scale:02X} (differs)"
            if scale != got_scale
            else f"scale 0x{scale:02X} as expected"
        )
    ]
    for lane in np.flatnonzero(codes != got_codes)[:4]:
        want, got = int(codes[lane]), int(got_codes[lane])
        drawn = "" if bits is None else f" with random bits {bits[0, lane]:#x}"
        lines.append(
            f"    element {lane}: input 0x{block[lane]:0{source_digits}X} = {numbers[lane]:.9g}{drawn}, "
            f"expected 0x{want:0{digits}X} ({values[want]:.9g}), got 0x{got:0{digits}X} ({values[got]:.9g})"
        )
    more = int((codes != got_codes).sum()) - 4
    if more > 0:
        lines.append(f"    and {more} more elements of this block")
    end = int(np.flatnonzero(block).max(initial=0)) + 1  # zeros complete a block
    whole = ",".join(f"0x{v:0{source_digits}X}" for v in block[:end])
    drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0]))
    lines.append(f"    to explain: mxcast explain {command_line(numerics)} --values {whole}{drawn}")
    return "\n".join(lines)
