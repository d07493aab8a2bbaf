"""Decoders in simulations: what the golden model makes of their transactions, stimuli, and differences in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...hdl.config.command import command_line
from ...models import quantize
from ...models.arrays.codes import code_dtype
from ...models.arrays.source import DTYPES
from ...models.fast.decode import decode_blocks
from ...spec import Decode, Role
from ..transactions import Transactions

CHUNK = 1 << 15
"""Blocks of a stimulus that are made at a time."""
AROUND = 8
"""Blocks around which single bits change."""
STEP = 37
"""Between the codes of neighbouring lanes."""
COVERED = 4096
"""Blocks of pairs in the regression at most."""
ENCODED = 32
"""Elements of a block that the encoder makes."""
PAIRED = 500
"""About so many pairs are in `sample`, two or more for each scale byte."""
RANDOM = 32
"""Random blocks in it."""
SHOWN = 4
"""Elements of a block that are shown."""


def golden(rules: Decode, entering: Transactions) -> Transactions:
    """What leaves a decoder, by `models.fast.decode.decode_blocks`."""
    codes = entering[Role.CODES]
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    random = entering.get(Role.RANDOM) if rules.random_bits else None
    decode_blocks(entering[Role.SCALE][:, 0], codes, rules, y, random)
    return Transactions({Role.NUMBERS: y.view(f"u{y.itemsize}")})


def _blocks(rules: Decode, scales: np.ndarray, codes: np.ndarray) -> Transactions:
    """Of bytes (n,) and codes (n, block_size)."""
    words = codes.astype(code_dtype(rules.block.element))
    return Transactions({Role.CODES: words, Role.SCALE: scales.astype(np.uint8)[:, None]})


def stimuli(rules: Decode, kind: str, blocks: int, seed: int) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """``pairs`` is every scale byte with every code, in every lane; ``random`` are ``blocks`` random blocks;
    ``standard`` is both.
    """
    if kind in ("standard", "pairs"):
        yield "pairs", pairs(rules)
    if kind in ("standard", "random"):
        yield (
            "random",
            (random(rules, min(CHUNK, blocks - start), seed * 1_000_003 + start) for start in range(0, blocks, CHUNK)),
        )


def pairs(rules: Decode) -> Iterator[Transactions]:
    """Every scale byte with every code, in every lane; lanes have different codes at a time. Codes of more than ten
    bits are too many: of these, an even choice of 1024.
    """
    codes = _codes(rules)
    for first in range(0, 256 * len(codes), CHUNK):
        rows = np.arange(first, min(first + CHUNK, 256 * len(codes)))
        chosen = _apart(rules, rows % len(codes))
        yield _blocks(rules, rows // len(codes), codes[chosen])


def _codes(rules: Decode) -> np.ndarray:
    bits = rules.block.element.bits
    return np.arange(1 << min(bits, 10)) << max(bits - 10, 0)


def _apart(rules: Decode, first: np.ndarray) -> np.ndarray:
    """Of (n,) numbers of codes of lane 0, those of all lanes, (n, block_size): all different, as far as there are so
    many codes, whose number has no divisor in common with `STEP`.
    """
    return (first[:, None] + STEP * np.arange(rules.block_size)) % len(_codes(rules))


def random(rules: Decode, blocks: int, seed: int) -> Transactions:
    """Random bytes and codes; every other byte is one under which results are of the destination's range."""
    rng = np.random.default_rng(seed)
    scales = rng.integers(0, 256, blocks)
    scales[::2] = rng.integers(97, 158, len(scales[::2]))
    return _blocks(rules, scales, rng.integers(0, 1 << rules.block.element.bits, (blocks, rules.block_size)))


def usual(rules: Decode, seed: int, blocks: int) -> Transactions:
    """Codes and scale bytes that OCP's encoder makes of N(0,1)."""
    rng, count = np.random.default_rng(seed), blocks * rules.block_size
    q = quantize(rng.standard_normal((-(-count // ENCODED), ENCODED), np.float32), rules.block.resized(ENCODED))
    codes = q.codes.reshape(-1)[:count].reshape(blocks, rules.block_size)
    return _blocks(rules, np.resize(q.scales[:, 0], blocks), codes)


def hard(rules: Decode, seed: int, blocks: int) -> Transactions:
    """Every pair in two lanes at least, and so many random blocks."""
    return Transactions.joined([*pairs(rules), random(rules, blocks, seed)])


def swept(rules: Decode, blocks: int, seed: int, exhaustive: bool) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """Every pair, which are all inputs of a lane, random blocks, and single bits."""
    yield from stimuli(rules, "standard", blocks, seed)
    yield "single bits", [single_bits(rules, seed)]


def single_bits(rules: Decode, seed: int) -> Transactions:
    """Around each of `AROUND` random blocks every bit of codes and scale in turn, there and back."""
    around, bits = random(rules, AROUND, seed), rules.block.element.bits
    inputs = rules.block_size * bits + rules.block.scale.bits
    whole = around.rows(np.repeat(np.arange(AROUND), 2 * inputs))
    codes, scales = whole[Role.CODES], whole[Role.SCALE]
    lane, bit = np.divmod(np.tile(np.arange(inputs), AROUND), bits)
    changed, is_code = np.arange(1, len(codes), 2), lane < rules.block_size
    codes[changed[is_code], lane[is_code]] ^= (1 << bit[is_code]).astype(codes.dtype)
    scale_bit = np.tile(np.arange(inputs), AROUND)[~is_code] - rules.block_size * bits
    scales[changed[~is_code], 0] ^= (1 << scale_bit).astype(scales.dtype)
    return whole


def regression(rules: Decode, blocks: int, seed: int) -> dict[str, Transactions]:
    """Every pair in some lane, or as many as `COVERED` blocks have, and random blocks."""
    codes = _codes(rules)
    count = -(-len(codes) // rules.block_size)  # blocks of a scale byte
    rows = _spread(256 * count, min(256 * count, COVERED))
    chosen = _apart(rules, rows % count * rules.block_size * STEP)
    return {"pairs": _blocks(rules, rows // count, codes[chosen]), "random": random(rules, blocks, seed)}


def _spread(count: int, chosen: int) -> np.ndarray:
    """An even choice of so many rows."""
    return np.linspace(0, count - 1, chosen).astype(int)


def sample(rules: Decode, seed: int) -> Transactions:
    """Some blocks with every scale byte, and some random ones."""
    every = Transactions.joined(pairs(rules))
    return Transactions.joined([every.rows(slice(None, None, len(every) // PAIRED | 1)), random(rules, RANDOM, seed)])


def few(rules: Decode, corners: int, singles: int) -> Transactions:
    """An even choice of pairs and blocks that differ in one bit, so many of each at most."""
    every = Transactions.joined(pairs(rules))
    chosen = every.rows(_spread(len(every), min(corners, len(every))))
    return Transactions.joined([chosen, single_bits(rules, 0).rows(slice(singles))])


def described(rules: Decode, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
    """What differs in the first of some transactions, in words, with the command that explains it."""
    want, got, codes = expected[Role.NUMBERS][0], actual[Role.NUMBERS][0], given[Role.CODES][0]
    bits, digits = given.get(Role.RANDOM), rules.destination.bits // 4
    scale = f"0x{int(given[Role.SCALE][0, 0]):02X}"
    written = [f"0x{int(code):0{-(-rules.block.element.bits // 4)}X}" for code in codes]
    wrong = np.flatnonzero(want != got)
    lines = [f"{title}: scale {scale}"]
    for lane in wrong[:SHOWN]:
        drawn = "" if bits is None else f" with random bits {int(bits[0, lane]):#x}"
        lines.append(
            f"    element {lane}: code {written[lane]}{drawn}, expected 0x{int(want[lane]):0{digits}X}, got "
            f"0x{int(got[lane]):0{digits}X}"
        )
    if len(wrong) > SHOWN:
        lines.append(f"    and {len(wrong) - SHOWN} more elements of this block")
    end = int(np.flatnonzero((codes != 0) | (want != got)).max(initial=0)) + 1  # zeros that are right explain nothing
    drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0, :end]))
    lines.append(
        f"    to explain: mxcast explain {command_line(rules)} --scale {scale} --codes {','.join(written[:end])}{drawn}"
    )
    return "\n".join(lines)
