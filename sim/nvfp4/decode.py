"""Decoders under two levels of scales in simulations: what the golden model makes of their transactions, stimuli, and
differences in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...hdl.config.command import command_line
from ...models.arrays.source import DTYPES
from ...models.fast.nvfp4_decode import decode_blocks
from ...models.fast.nvfp4_encode import quantize_nvfp4
from ...spec import FP32, Nvfp4Decode, Role
from ..transactions import Transactions, data_ports
from .decode_ties import ties
from .stimuli import TENSORS

CHUNK = 1 << 15
"""Blocks of a stimulus that are made at a time."""
AROUND = 8
"""Blocks around which single bits change."""
COVERED = 4096
"""Blocks of pairs in the regression at most."""
SAMPLED = 500
"""Blocks of pairs in `sample`."""
RANDOM = 32
"""Random blocks in it."""
SHOWN = 4
"""Elements of a block that are shown."""
ENCODED = 16
"""Elements of a block that the encoder makes."""

NAN = FP32.inf_field | 1 << FP32.man_bits - 1
TENSOR_SCALES = np.array([*TENSORS, NAN, *(FP32.sign_mask | one for one in (0, TENSORS[-3], NAN))], np.uint32)
"""Patterns of tensor scales: zero, subnormal numbers, all exponents, Inf and NaN, and some with a sign."""


def golden(rules: Nvfp4Decode, entering: Transactions) -> Transactions:
    """What leaves a decoder, by `models.fast.nvfp4_decode.decode_blocks`."""
    codes = entering[Role.CODES]
    y = np.empty(codes.shape, DTYPES[rules.destination.name])
    words = entering.get(Role.TENSOR_SCALE)
    g = np.array(1, np.float32) if words is None else np.ascontiguousarray(words[:, 0]).view(np.float32)
    decode_blocks(entering[Role.SCALE][:, 0], codes, rules, g, y)
    return Transactions({Role.NUMBERS: y.view(f"u{y.itemsize}")})


def _blocks(rules: Nvfp4Decode, scales: np.ndarray, codes: np.ndarray, g: np.ndarray) -> Transactions:
    """Of bytes (n,), codes (n, block_size) and patterns of tensor scales (n,)."""
    found: dict[Role, np.ndarray] = {Role.CODES: codes.astype(np.uint8), Role.SCALE: scales.astype(np.uint8)[:, None]}
    if any(port.role is Role.TENSOR_SCALE for port in rules.ports):
        found[Role.TENSOR_SCALE] = g.astype(np.uint32)[:, None]
    return Transactions(found)


def stimuli(rules: Nvfp4Decode, kind: str, blocks: int, seed: int) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """``pairs`` is every scale byte with every code, under each of `TENSOR_SCALES`. ``ties`` are blocks of
    `nvfp4_decoding_ties`, ``random`` are ``blocks`` random blocks, ``standard`` is all of them.
    """
    if kind in ("standard", "pairs"):
        yield "pairs", [pairs(rules)]
    if kind in ("standard", "ties"):
        yield "ties", [tied(rules, seed)]
    if kind in ("standard", "random"):
        yield (
            "random",
            (random(rules, min(CHUNK, blocks - start), seed * 1_000_003 + start) for start in range(0, blocks, CHUNK)),
        )


def pairs(rules: Nvfp4Decode) -> Transactions:
    """Every scale byte with every code, under each of `TENSOR_SCALES`; lanes have different codes at a time."""
    count, size = 1 << rules.block.element.bits, rules.block_size
    rounds = -(-count // size)  # blocks in which every code has its turn
    tensor, byte, turn = np.indices((len(TENSOR_SCALES), 1 << rules.block.scale.bits, rounds)).reshape(3, -1)
    codes = (turn[:, None] * size + byte[:, None] + np.arange(size)) % count
    return _blocks(rules, byte, codes, TENSOR_SCALES[tensor])


def tied(rules: Nvfp4Decode, seed: int) -> Transactions:
    """Every code under scales and tensor scales with which some results are at ties."""
    scales, g = ties(rules, seed)
    count, size = 1 << rules.block.element.bits, rules.block_size
    codes = (np.arange(len(scales))[:, None] + np.arange(size)) % count
    return _blocks(rules, scales, codes, g)


def random(rules: Nvfp4Decode, blocks: int, seed: int) -> Transactions:
    """Random bytes and codes under random patterns of tensor scales."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 1 << rules.block.element.bits, (blocks, rules.block_size))
    return _blocks(rules, rng.integers(0, 256, blocks), codes, rng.integers(0, 1 << 32, blocks))


def usual(rules: Nvfp4Decode, seed: int, blocks: int) -> Transactions:
    """Codes, scale bytes and the tensor scale that an encoder makes of N(0,1)."""
    rng, count = np.random.default_rng(seed), blocks * rules.block_size
    x = rng.standard_normal((-(-count // ENCODED), ENCODED), np.float32)
    q = quantize_nvfp4(x, "nvfp4")
    codes = q.codes.reshape(-1)[:count].reshape(blocks, rules.block_size)
    g = np.full(blocks, np.asarray(q.tensor_scale).view(np.uint32))
    return _blocks(rules, np.resize(q.scales[:, 0], blocks), codes, g)


def hard(rules: Nvfp4Decode, seed: int, blocks: int) -> Transactions:
    """`pairs`, `tied` and so many random blocks."""
    return Transactions.joined([pairs(rules), tied(rules, seed), random(rules, blocks, seed)])


def swept(rules: Nvfp4Decode, blocks: int, seed: int, exhaustive: bool) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """What ``standard`` is, and single bits; there is no sweep over all inputs."""
    yield from stimuli(rules, "standard", blocks, seed)
    yield "single bits", [single_bits(rules, seed)]


def single_bits(rules: Nvfp4Decode, seed: int) -> Transactions:
    """Around each of `AROUND` random blocks every bit that enters in turn, there and back."""
    ports = data_ports(rules.ports, "input")
    width = sum(port.width for port in ports)
    whole = random(rules, AROUND, seed).rows(np.repeat(np.arange(AROUND), 2 * width))
    changed, places = np.arange(1, len(whole), 2), np.tile(np.arange(width), AROUND)
    first = 0
    for port in ports:
        inside = (places >= first) & (places < first + port.width)
        lane, bit = np.divmod(places[inside] - first, port.bits)
        words = whole[port.role]
        words[changed[inside], lane] ^= (1 << bit.astype(np.uint64)).astype(words.dtype)
        first += port.width
    return whole


def _spread(blocks: Transactions, chosen: int) -> Transactions:
    """An even choice of so many at most."""
    return blocks.rows(np.linspace(0, len(blocks) - 1, min(chosen, len(blocks))).astype(int))


def regression(rules: Nvfp4Decode, blocks: int, seed: int) -> dict[str, Transactions]:
    """An even choice of `pairs`, and random blocks."""
    return {"pairs": _spread(pairs(rules), COVERED), "random": random(rules, blocks, seed)}


def sample(rules: Nvfp4Decode, seed: int) -> Transactions:
    """Some of `pairs`, and some random blocks."""
    return Transactions.joined([_spread(pairs(rules), SAMPLED), random(rules, RANDOM, seed)])


def few(rules: Nvfp4Decode, corners: int, singles: int) -> Transactions:
    """Some of `pairs` and blocks that differ in one bit, so many of each at most."""
    return Transactions.joined([_spread(pairs(rules), corners), single_bits(rules, 0).rows(slice(singles))])


def described(rules: Nvfp4Decode, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
    """What differs in the first of some transactions, in words, with the command that explains it."""
    want, got, codes = expected[Role.NUMBERS][0], actual[Role.NUMBERS][0], given[Role.CODES][0]
    words, digits = given.get(Role.TENSOR_SCALE), rules.destination.bits // 4
    tensor = "" if words is None else f", tensor scale 0x{int(words[0, 0]):08X}"
    wrong = np.flatnonzero(want != got)
    lines = [f"{title}: scale 0x{int(given[Role.SCALE][0, 0]):02X}{tensor}"]
    for lane in wrong[:SHOWN]:
        lines.append(
            f"    element {lane}: code {codes[lane]}, expected 0x{int(want[lane]):0{digits}X}, got "
            f"0x{int(got[lane]):0{digits}X}"
        )
    if len(wrong) > SHOWN:
        lines.append(f"    and {len(wrong) - SHOWN} more elements of this block")
    scale = f" --scale 0x{int(given[Role.SCALE][0, 0]):02X}"
    g = "" if words is None else f" --tensor-scale 0x{int(words[0, 0]):08X}"
    shown = ",".join(f"0x{code:X}" for code in codes[: int(wrong.max(initial=0)) + 1])
    lines.append(f"    to explain: mxcast explain {command_line(rules)}{scale}{g} --codes {shown}")
    return "\n".join(lines)
