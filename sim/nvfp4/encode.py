"""Encoders under two levels of scales in simulations: what the golden model makes of their transactions, stimuli, and
differences in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...hdl.config.command import command_line
from ...models.arrays.codes import code_values
from ...models.arrays.source import DTYPES
from ...models.fast.nvfp4_encode import Constants, encode_blocks, tensor_amax
from ...spec import FourOverSix, Nvfp4Encode, Role
from ..transactions import Transactions
from . import stimuli as make
from .encode_ties import ties
from .nearest import nearest

CHUNK = 1 << 15
"""Blocks of a stimulus that are made at a time."""
BOUNDARY = 1 << 15
"""Blocks of the stimulus ``boundary``."""
AROUND = 8
"""Blocks around which single bits change."""
SAMPLED = 500
"""Directed blocks in `sample`."""
RANDOM = 32
"""Random blocks in it."""
SHOWN = 4
"""Elements of a block that are shown."""

CONSTANTS = {Role.SCALE_CONSTANT: "k", Role.ELEMENT_CONSTANT: "d", Role.TENSOR_AMAX: "a"}


def golden(rules: Nvfp4Encode, entering: Transactions) -> Transactions:
    """What leaves an encoder, by `models.fast.nvfp4_encode.encode_blocks`."""
    blocks = np.ascontiguousarray(entering[Role.NUMBERS])
    one = np.ones(len(blocks), np.float32)
    has = {port.role for port in rules.ports}  # what enters may have what other rules take
    k, d, a = (entering[role][:, 0].view(np.float32) if role in has else one for role in CONSTANTS)
    scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, np.uint8)
    numbers = blocks.view(DTYPES[rules.source.name])
    random = entering.get(Role.RANDOM) if rules.random_bits else None
    encode_blocks(numbers, rules, Constants(k, d, a), scales, codes, random)
    return Transactions({Role.SCALE: scales[:, None], Role.CODES: codes})


def of_tensor(rules: Nvfp4Encode, patterns: np.ndarray) -> Transactions:
    """Blocks (n, block_size) of source patterns, in a tensor of their own."""
    a = tensor_amax(patterns.view(DTYPES[rules.source.name]), rules.order).view(np.uint32)
    return make.with_constants(rules, patterns, np.broadcast_to(a, len(patterns)))


def stimuli(rules: Nvfp4Encode, kind: str, blocks: int, seed: int) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """``corner`` are directed blocks in tensors of all magnitudes, ``boundary`` blocks whose scale and elements are at
    or beside boundaries, with random bits also those of `nvfp4_stimuli.carries`, or whose candidates have equal
    errors. ``ties`` are blocks of `nvfp4_ties`, ``nearest`` blocks of `nvfp4_nearest`, ``random`` so many
    random ones. ``standard`` is all of them.
    """
    if kind in ("standard", "corner"):
        yield "corner", [make.corners(rules)]
    if kind in ("standard", "boundary"):
        yield "boundary", [make.boundary(rules, BOUNDARY, seed)]
        if rules.random_bits:
            yield "carry", [make.carries(rules, seed)]
        if rules.four_over_six is not FourOverSix.OFF:
            yield "ties of 4 and 6", [make.ties(rules, BOUNDARY, seed)]
    if kind in ("standard", "ties"):
        yield "ties", [tied(rules, seed)]
    if kind in ("standard", "nearest"):
        yield "nearest", [nearest(rules, seed)]
    if kind in ("standard", "random"):
        yield (
            "random",
            (random(rules, min(CHUNK, blocks - start), seed * 1_000_003 + start) for start in range(0, blocks, CHUNK)),
        )


def tied(rules: Nvfp4Encode, seed: int) -> Transactions:
    """Blocks at ties."""
    found = ties(rules, seed)
    return make.with_constants(rules, found.patterns, found.a)


def random(rules: Nvfp4Encode, blocks: int, seed: int) -> Transactions:
    """Seeded random blocks."""
    return make.random(rules, blocks, seed)


def usual(rules: Nvfp4Encode, seed: int, blocks: int) -> Transactions:
    """Blocks of N(0,1)."""
    return make.normal(rules, blocks, seed)


def hard(rules: Nvfp4Encode, seed: int, blocks: int) -> Transactions:
    """Directed blocks, the nearest ones and so many random ones."""
    rare = [make.carries(rules, seed)] if rules.random_bits else []
    directed = [make.corners(rules), tied(rules, seed), *rare, nearest(rules, seed)]
    return Transactions.joined([*directed, random(rules, blocks, seed)])


def tried_as(asked: Nvfp4Encode, candidate: Nvfp4Encode) -> Nvfp4Encode:
    """The rules asked for in the order of a candidate, whose constants of a tensor are its own; those asked for where
    they do not have the same ports.
    """
    if [port.role for port in asked.ports] != [port.role for port in candidate.ports]:
        return asked
    return asked.replace(order=candidate.order)


def swept(rules: Nvfp4Encode, blocks: int, seed: int, exhaustive: bool) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """What ``standard`` is, and single bits; there is no sweep over all inputs."""
    yield from stimuli(rules, "standard", blocks, seed)
    yield "single bits", [single_bits(rules, seed)]


def single_bits(rules: Nvfp4Encode, seed: int) -> Transactions:
    """Around each of `AROUND` blocks of N(0,1) every bit of the numbers in turn, there and back."""
    around, bits = make.normal(rules, AROUND, seed), rules.source.bits
    width = bits * rules.block_size
    whole = around.rows(np.repeat(np.arange(AROUND), 2 * width))
    lane, bit = np.divmod(np.tile(np.arange(width), AROUND), bits)
    patterns = whole[Role.NUMBERS]
    patterns[np.arange(1, len(patterns), 2), lane] ^= (1 << bit.astype(np.uint64)).astype(patterns.dtype)
    return whole


def regression(rules: Nvfp4Encode, blocks: int, seed: int) -> dict[str, Transactions]:
    """Directed blocks, blocks at boundaries, the nearest ones and random ones."""
    directed = {"corner": make.corners(rules), "boundary": make.boundary(rules, blocks, seed)}
    if rules.random_bits:
        directed["carry"] = make.carries(rules, seed)
    if rules.four_over_six is not FourOverSix.OFF:
        directed["ties"] = make.ties(rules, blocks, seed)
    return {**directed, "nearest": nearest(rules, seed), "random": random(rules, blocks, seed)}


def _spread(blocks: Transactions, chosen: int) -> Transactions:
    """An even choice of so many at most."""
    return blocks.rows(np.linspace(0, len(blocks) - 1, min(chosen, len(blocks))).astype(int))


def sample(rules: Nvfp4Encode, seed: int) -> Transactions:
    """Some directed blocks, and some random ones."""
    return Transactions.joined([_spread(make.corners(rules), SAMPLED), random(rules, RANDOM, seed)])


def few(rules: Nvfp4Encode, corners: int, singles: int) -> Transactions:
    """Directed blocks and blocks that differ in one bit, so many of each at most."""
    return Transactions.joined([_spread(make.corners(rules), corners), single_bits(rules, 0).rows(slice(singles))])


def described(rules: Nvfp4Encode, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
    """What differs in the first of some transactions, in words."""
    block, digits = given[Role.NUMBERS][0], rules.source.bits // 4
    codes, got = expected[Role.CODES][0], actual[Role.CODES][0]
    scale, got_scale = (int(side[Role.SCALE][0, 0]) for side in (expected, actual))
    values, bits = code_values(rules.block.element), given.get(Role.RANDOM)
    words = {name: f"0x{int(given[role][0, 0]):08X}" for role, name in CONSTANTS.items() if role in given.arrays}
    constants = "".join(f", {name} = {word}" for name, word in words.items())
    lines = [f"{title}: scale expected 0x{scale:02X}, got 0x{got_scale:02X}{constants}"]
    for lane in np.flatnonzero(codes != got)[:SHOWN]:
        drawn = "" if bits is None else f" with random bits {int(bits[0, lane]):#x}"
        lines.append(
            f"    element {lane}: input 0x{int(block[lane]):0{digits}X}{drawn}, expected {codes[lane]} "
            f"({values[codes[lane]]:g}), got {got[lane]} ({values[got[lane]]:g})"
        )
    end = int(np.flatnonzero(block).max(initial=0)) + 1  # zeros complete a block
    numbers = ",".join(f"0x{int(number):0{digits}X}" for number in block[:end])
    tensor = f" --constants {','.join(words.values())}" if words else ""
    drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0]))
    lines.append(f"    to explain: mxcast explain {command_line(rules)}{tensor} --values {numbers}{drawn}")
    return "\n".join(lines)
