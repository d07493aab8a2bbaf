"""Casts in simulations: what the golden model makes of their transactions, stimuli, and differences in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ...hdl.config.command import command_line
from ...models.arrays.source import narrow
from ...models.fast.cast import cast_patterns
from ...spec import Cast, Port, Role
from ..transactions import Transactions, data_ports, word

CHUNK = 1 << 15
"""Words of a stimulus that are made at a time."""
SHORT = 16
"""Bits of a source of which every run tries all patterns."""
AROUND = 32
"""Words around which single bits change."""
STEP = 37
"""Between the patterns of neighbouring lanes."""
INSIDE, COVERED = 12_288, 2048
"""Directed words in the regression at most, those with a number in the range of the destination and the others."""
SAMPLED = 500
"""About so many directed words are in `sample`."""
RANDOM = 32
"""Random words in it."""
SHOWN = 4
"""Numbers of a word that are shown."""


def entering_port(rules: Cast) -> Port:
    """That of the numbers or codes that are cast."""
    return data_ports(rules.ports, "input")[0]


def leaving_port(rules: Cast) -> Port:
    """That of the results."""
    return data_ports(rules.ports, "output")[0]


def golden(rules: Cast, entering: Transactions) -> Transactions:
    """What leaves a cast, by `models.fast.cast.cast_patterns`."""
    port, patterns = leaving_port(rules), np.ascontiguousarray(entering[entering_port(rules).role])
    results = np.empty(patterns.shape, word(port))
    cast_patterns(patterns, rules, results, entering.get(Role.RANDOM) if rules.random_bits else None)
    return Transactions({port.role: results})


def stimuli(rules: Cast, kind: str, blocks: int, seed: int) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """``all`` are all patterns of the source, ``boundary`` those around every code of the destination and every value
    halfway between two, ``random`` so many random words. ``standard`` is ``all`` of a source of at most 16 bits, and
    the other two of FP32.
    """
    is_short = rules.source.bits <= SHORT
    if kind == "all" or (kind == "standard" and is_short):
        yield "all", everything(rules)
    if kind == "boundary" or (kind == "standard" and not is_short):
        yield "boundary", [boundary(rules)]
    if kind == "random" or (kind == "standard" and not is_short):
        yield (
            "random",
            (random(rules, min(CHUNK, blocks - start), seed * 1_000_003 + start) for start in range(0, blocks, CHUNK)),
        )


def _words(rules: Cast, patterns: np.ndarray) -> Transactions:
    """Of patterns (n, lanes)."""
    port = entering_port(rules)
    return Transactions({port.role: patterns.astype(word(port))})


def _apart(rules: Cast, rows: np.ndarray, count: int) -> np.ndarray:
    """Of (n,) places of lane 0 among so many patterns, those of all lanes, (n, lanes), which are different."""
    return (rows[:, None] + STEP * np.arange(rules.lanes)) % count


def everything(rules: Cast) -> Iterator[Transactions]:
    """All patterns of the source, in every lane."""
    count = 1 << rules.source.bits
    for first in range(0, count, CHUNK):
        yield _words(rules, _apart(rules, np.arange(first, min(first + CHUNK, count)), count))


def boundary(rules: Cast) -> Transactions:
    """Every sign and exponent of the source, with each fraction that the destination has with one bit more, and the
    ones beside it: there every rounding changes; and `_sticky`. All patterns, where these are not more.
    """
    source, bits = rules.source, rules.destination.man_bits + 2
    if source.man_bits <= bits:
        return Transactions.joined(everything(rules))
    steps = np.arange(1 << bits) << (source.man_bits - bits)
    fractions = np.unique((steps[:, None] + np.arange(-1, 2)) % (1 << source.man_bits))
    signs_and_fields = np.arange(1 << (source.bits - source.man_bits), dtype=np.uint64)[:, None]
    patterns = (signs_and_fields << np.uint64(source.man_bits) | fractions.astype(np.uint64)).reshape(-1)
    around = _words(rules, patterns[_apart(rules, np.arange(len(patterns)), len(patterns))])
    return Transactions.joined([around, _sticky(rules)])


def _sticky(rules: Cast) -> Transactions:
    """In every binade in the range of the destination its number 2**e, and the one half a place above, with each bit
    of the fraction alone: random numbers have several bits there, which hide one that is not looked at.
    """
    source, to = rules.source, rules.destination
    low, high = _fields_in_range(rules)
    exponents = np.arange(low, high + 1) - source.bias
    half = np.maximum(exponents, to.emin) - to.man_bits - 1 - exponents + source.man_bits  # its bit of the fraction
    halves = np.where((half >= 0) & (half < source.man_bits), 1 << np.clip(half, 0, source.man_bits), 0)
    bits = np.append(0, 1 << np.arange(source.man_bits))
    fractions = np.stack([np.zeros_like(halves), halves], axis=1)[:, :, None] | bits
    patterns = np.unique(np.arange(low, high + 1)[:, None, None] << source.man_bits | fractions)
    return _words(rules, patterns[_apart(rules, np.arange(len(patterns)), len(patterns))])


def _alone(rules: Cast) -> Transactions:
    """Zero, Inf, and every bit of the fraction alone in subnormal numbers and in NaN, with both signs."""
    source = rules.source
    fractions = np.array([0, *(1 << bit for bit in range(source.man_bits))], np.uint64)
    fields = np.array([0, ((1 << source.exp_bits) - 1) << source.man_bits], np.uint64)
    magnitudes = (fields[:, None] | fractions).reshape(-1)
    patterns = np.concatenate([magnitudes, magnitudes | source.sign_mask]) if source.signed else magnitudes
    return _words(rules, patterns[_apart(rules, np.arange(len(patterns)), len(patterns))])


def random(rules: Cast, blocks: int, seed: int) -> Transactions:
    """Random patterns; of every other word numbers that the destination has or nearly has."""
    rng, source = np.random.default_rng(seed), rules.source
    shape = blocks, rules.lanes
    patterns = rng.integers(0, 1 << source.bits, shape, np.uint64)
    low, high = _fields_in_range(rules)
    fields = rng.integers(low, high + 1, shape, np.uint64) << np.uint64(source.man_bits)
    inside = patterns & np.uint64(source.sign_mask | (1 << source.man_bits) - 1) | fields
    patterns[::2] = inside[::2]
    return _words(rules, patterns)


def _fields_in_range(rules: Cast) -> tuple[int, int]:
    """The least and the largest exponent field of the source whose numbers the destination has or nearly has."""
    source, to = rules.source, rules.destination
    low, high = (exponent + source.bias for exponent in (to.lowest_exponent - 2, to.emax + 2))
    last = (1 << source.exp_bits) - 1
    return min(max(low, 0), last), min(max(high, 0), last)


def usual(rules: Cast, seed: int, blocks: int) -> Transactions:
    """Of a cast numbers of N(0,1), of the way back any codes."""
    rng, shape = np.random.default_rng(seed), (blocks, rules.lanes)
    if rules.is_back:
        return _words(rules, rng.integers(0, 1 << rules.source.bits, shape))
    numbers = rng.standard_normal(shape, np.float32).view(np.uint32)
    return _words(rules, narrow(numbers, rules.source).view(word(entering_port(rules))))


def single_bits(rules: Cast, seed: int) -> Transactions:
    """Around each of `AROUND` random words every bit in turn, there and back."""
    around, port = random(rules, AROUND, seed), entering_port(rules)
    whole = around.rows(np.repeat(np.arange(AROUND), 2 * port.width))
    lane, bit = np.divmod(np.tile(np.arange(port.width), AROUND), port.bits)
    patterns = whole[port.role]
    patterns[np.arange(1, len(patterns), 2), lane] ^= (1 << bit).astype(patterns.dtype)
    return whole


def _directed(rules: Cast) -> Transactions:
    """All patterns of a short source, and otherwise `boundary`."""
    return Transactions.joined(everything(rules)) if rules.source.bits <= SHORT else boundary(rules)


def _spread(words: Transactions, chosen: int) -> Transactions:
    """An even choice of so many at most."""
    return words.rows(np.linspace(0, len(words) - 1, min(chosen, len(words))).astype(int))


def hard(rules: Cast, seed: int, blocks: int) -> Transactions:
    """The directed words, and so many random ones."""
    return Transactions.joined([_directed(rules), random(rules, blocks, seed)])


def swept(rules: Cast, blocks: int, seed: int, exhaustive: bool) -> Iterator[tuple[str, Iterable[Transactions]]]:
    """What ``standard`` is, and single bits; all patterns of the source if it is short or ``exhaustive`` is true."""
    yield from stimuli(rules, "all" if exhaustive else "standard", blocks, seed)
    yield "single bits", [single_bits(rules, seed)]


def regression(rules: Cast, blocks: int, seed: int) -> dict[str, Transactions]:
    """Directed words, `INSIDE` at most of which a number is in the range of the destination, and `COVERED` of the
    others; and random ones.
    """
    words, source = _directed(rules), rules.source
    low, high = _fields_in_range(rules)
    fields = (words[entering_port(rules).role] & source.magnitude_mask) >> source.man_bits
    is_inside = np.any((fields >= low) & (fields <= high), axis=1)
    chosen = [
        _spread(words.rows(np.flatnonzero(is_inside)), INSIDE),
        _spread(words.rows(np.flatnonzero(~is_inside)), COVERED),
    ]
    return {
        "boundary": Transactions.joined(chosen),
        "single bits": Transactions.joined([_alone(rules), _spread(_sticky(rules), COVERED)]),
        "random": random(rules, blocks, seed),
    }


def sample(rules: Cast, seed: int) -> Transactions:
    """Some directed words, and some random ones."""
    return Transactions.joined([_spread(_directed(rules), SAMPLED), random(rules, RANDOM, seed)])


def few(rules: Cast, corners: int, singles: int) -> Transactions:
    """Directed words and words that differ in one bit, so many of each at most."""
    return Transactions.joined([_spread(_directed(rules), corners), single_bits(rules, 0).rows(slice(singles))])


def described(rules: Cast, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
    """What differs in the first of some transactions, in words, with the command that explains it."""
    enters, leaves = entering_port(rules), leaving_port(rules)
    numbers, want, got = given[enters.role][0], expected[leaves.role][0], actual[leaves.role][0]
    bits, wrong = given.get(Role.RANDOM), np.flatnonzero(want != got)
    lines = [f"{title}: {rules.subject}"]
    for lane in wrong[:SHOWN]:
        drawn = "" if bits is None else f" with random bits {int(bits[0, lane]):#x}"
        lines.append(
            f"    number {lane}: {_hex(numbers[lane], enters)}{drawn}, expected {_hex(want[lane], leaves)}, got "
            f"{_hex(got[lane], leaves)}"
        )
    option = "--codes" if rules.is_back else "--values"
    drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0]))
    word = ",".join(_hex(number, enters) for number in numbers)
    lines.append(f"    to explain: mxcast explain {command_line(rules)} {option} {word}{drawn}")
    return "\n".join(lines)


def _hex(value: np.integer, port: Port) -> str:
    return f"0x{int(value):0{-(-port.bits // 4)}X}"
