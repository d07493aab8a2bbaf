"""Where two numerics differ: not on samples, on everything.

Three questions, each answered for all there is: the scale byte of every largest magnitude; the code of every number
that a block can hold under a byte that both sides choose; and whole blocks around every NaN and Inf pattern. Every
witness is a block on which `quantize` itself, called with both, gives different bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..spec import FixedFormat, Numerics, Rounding, Subnormals
from .block import SMALLEST_NORMAL, quantize
from .population import Population, Task, as_source, common
from .runs import Runs, merged, runs_of
from .scale import scale_bytes

__all__ = ["Certificate", "Finding", "Side", "Witness", "certificate", "compare"]

Progress = Callable[[int, int], None]

CHUNK = 1 << 16
ONE, INF, NAN, MINUS = 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000000


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A block by its first numbers, as FP32 patterns, the rest of which is zero; under ``a`` and ``b`` the byte and, of
    the numbers given, the codes."""

    block: tuple[int, ...]
    a: tuple[int, ...]
    b: tuple[int, ...]

    def to_dict(self) -> dict[str, object]:
        return {"block": ",".join(f"0x{pattern:08X}" for pattern in self.block),
                **{name: {"byte": byte, "codes": codes} for name, (byte, *codes) in (("a", self.a), ("b", self.b))}}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """How many cases were compared, how many differ, and the first and the last of those."""

    compared: int
    differing: int
    first: Witness | None = None
    last: Witness | None = None

    def to_dict(self) -> dict[str, object]:
        witnesses = {"first": self.first, "last": self.last} if self.differing else {}
        return {"compared": self.compared, "differing": self.differing,
                **{name: witness.to_dict() for name, witness in witnesses.items()}}


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What is equal and what is not between two numerics, over the numbers that both sources have.

    ``scale`` counts largest magnitudes. ``elements`` counts classes: for FP32 sign, fraction and distance of a normal
    number's exponent field to the byte, or the pattern of a subnormal number and the byte; for other sources pattern
    and byte. ``specials`` counts blocks.
    """

    a: Numerics
    b: Numerics
    numbers: str
    scale: Finding
    elements: Finding
    specials: Finding

    @property
    def findings(self) -> dict[str, Finding]:
        return {"scale": self.scale, "elements": self.elements, "specials": self.specials}

    @property
    def equal(self) -> bool:
        return not any(finding.differing for finding in self.findings.values())

    def to_dict(self) -> dict[str, object]:
        return {"a": self.a.to_dict(), "b": self.b.to_dict(), "numbers": self.numbers, "equal": self.equal,
                **{name: finding.to_dict() for name, finding in self.findings.items()}}


class Side:
    """One numerics, evaluated on a whole population; results are kept, so that it can be compared with several others."""

    def __init__(self, numerics: Numerics, population: Population, tick: Callable[[int], None] = lambda count: None) -> None:
        self.numerics, self.population, self.tick = numerics, population, tick
        self._kept: dict[object, Runs] = {}

    def _once(self, key: object, evaluate: Callable[[int, int], np.ndarray], start: int, stop: int, chunk: int) -> Runs:
        def and_tick(begin: int, end: int) -> np.ndarray:
            self.tick(end - begin)
            return evaluate(begin, end)

        if key not in self._kept:
            self._kept[key] = runs_of(and_tick, start, stop, chunk)
        return self._kept[key]

    def scales(self) -> Runs:
        """Scale bytes by the rank of the largest magnitude."""
        flush = self.numerics.input_subnormals is Subnormals.FLUSH

        def evaluate(start: int, stop: int) -> np.ndarray:
            amax = self.population.patterns(start, stop)
            return scale_bytes(amax * (amax >= SMALLEST_NORMAL) if flush else amax, self.numerics)[None]

        return self._once("scales", evaluate, 0, self.population.size, CHUNK)

    def codes(self, task: Task, sign: int) -> Runs:
        """Codes by rank, from the start of the task as far as this side's blocks of its byte go, at least to its end.

        They come from real blocks, which hold the largest magnitude of that byte and, beside it, the numbers.
        """
        size = self.numerics.block_size
        largest = _last_of_each(self.scales())[task.byte]
        stop = min(largest + 1, max(task.stop, task.start + (1 << 23)))

        def evaluate(start: int, stop: int) -> np.ndarray:
            rows = -(-(stop - start) // (size - 1))
            numbers = np.zeros(rows * (size - 1), np.uint32)
            numbers[:stop - start] = self.population.patterns(start, stop) | np.uint32(sign)
            blocks = np.empty((rows, size), np.uint32)
            blocks[:, :-1], blocks[:, -1] = numbers.reshape(rows, size - 1), self.population.patterns(largest, largest + 1)
            q = self.quantized(blocks)
            assert (q.scales == task.byte).all(), "quantize and scale_bytes disagree"
            return q.codes[:, :-1].reshape(1, -1)[:, :stop - start]

        return self._once((task.byte, task.start, sign), evaluate, task.start, stop, 4 * CHUNK)

    def specials(self, context: tuple[int, ...]) -> Runs:
        """Byte and codes of the blocks that hold a special pattern, by its rank, and the numbers of the context.

        Blocks of four numbers (two, if blocks are as small) stand for those of any size: what is added is zeros.
        """
        small = self.numerics.replace(block_size=len(context) + 1)

        def evaluate(start: int, stop: int) -> np.ndarray:
            blocks = np.empty((stop - start, len(context) + 1), np.uint32)
            blocks[:, 0], blocks[:, 1:] = self.population.special_patterns(start, stop), context
            q = quantize(as_source(blocks, small.source), small)
            return np.concatenate([q.scales.T, q.codes.T])

        return self._once(context, evaluate, 0, self.population.special_count, CHUNK // 4)

    def quantized(self, blocks: np.ndarray):
        return quantize(as_source(blocks, self.numerics.source), self.numerics)

    def outcome(self, block: tuple[int, ...]) -> tuple[int, ...]:
        """Byte and codes of one real block, which zeros complete."""
        whole = np.zeros((1, self.numerics.block_size), np.uint32)
        whole[0, :len(block)] = block
        q = self.quantized(whole)
        return tuple(map(int, (*q.scales[0], *q.codes[0, :len(block)])))


def compare(a: Numerics, b: Numerics, progress: Progress | None = None) -> Certificate:
    """Compare two numerics of the same block format on everything (see the module's docstring); minutes at most.

    If the sources differ, their common numbers are compared. ``progress`` is called with what is done and an estimate
    of the total. Raises ValueError for different blocks and for stochastic rounding, whose codes no input determines.
    """
    if a.block != b.block:
        raise ValueError(f"both sides must have the same block format, not {a.block.name} x {a.block_size} and "
                         f"{b.block.name} x {b.block_size}")
    for rules in (a, b):
        if rules.rounding is Rounding.SR:
            raise ValueError("stochastic rounding (sr) cannot be compared, because its codes depend on random bits: "
                             "compare scale rules and specials under another rounding")
    population = common(a.source, b.source)
    tick = _meter(population, a, progress) if progress else lambda count: None
    first = Side(a, population, tick)
    found = certificate(first, first if a == b else Side(b, population, tick))
    if progress:
        progress(1, 1)
    return found


def certificate(a: Side, b: Side) -> Certificate:
    """The certificate of two sides over the same population."""
    return Certificate(a=a.numerics, b=b.numerics, numbers=a.population.name, scale=_scale(a, b), elements=_elements(a, b),
                       specials=_specials(a, b))


def _scale(a: Side, b: Side) -> Finding:
    population = a.population

    def witness(rank: int) -> Witness:
        return _witness(a, b, (int(population.patterns(rank, rank + 1)[0]),), part=slice(0, 1))

    return _finding([(_differences(a.scales(), b.scales(), population.size), witness)], population.size)


def _elements(a: Side, b: Side) -> Finding:
    starts, ends, of_a, of_b = merged(a.scales(), b.scales(), a.population.size)
    shared = [(int(byte), int(start), int(end)) for byte, start, end, same in
              zip(of_a[0], starts, ends, of_a[0] == of_b[0], strict=True) if same]
    reach: dict[int, int] = {}
    for byte, _, end in shared:
        reach[byte] = end - 1
    pieces, compared = [], 0
    for sequence in a.population.tasks(reach):
        for task in sequence:
            all_zero = True
            for sign in (0, MINUS):
                codes = [side.codes(task, sign) for side in (a, b)]
                pieces.append((_differences(*codes, task.stop), _element_witness(a, b, task, sign, shared)))
                compared += task.stop - task.start
                all_zero &= all(_all_zero(runs, task.stop, side.numerics) for runs, side in zip(codes, (a, b)))
            if all_zero and task.stop - task.start == 1 << 23:
                break
    return _finding(pieces, compared)


def _element_witness(a: Side, b: Side, task: Task, sign: int, shared: list) -> Callable[[int], Witness]:
    """Witness by rank: a block of the number alone, if it has the byte itself, or beside the next larger one that has."""
    def witness(rank: int) -> Witness:
        largest = min(max(start, rank) for byte, start, end in shared if byte == task.byte and end > rank)
        number, beside = (int(a.population.patterns(r, r + 1)[0]) for r in (rank, largest))
        return _witness(a, b, (number | sign,) if largest == rank else (number | sign, beside), part=slice(1, 2))

    return witness


def _specials(a: Side, b: Side) -> Finding:
    population = a.population
    smallest, largest = int(population.patterns(1, 2)[0]), int(population.patterns(population.size - 1, population.size)[0])
    beside = [(0,), (smallest,), (ONE,), (largest | MINUS,), (INF, ONE | MINUS), (NAN, ONE | MINUS)]
    width = min(a.numerics.block_size, 4) - 1
    pieces = []
    for numbers in beside:
        context = (*numbers, 0, 0)[:width]
        runs = [side.specials(context) for side in (a, b)]

        def witness(rank: int, numbers: tuple[int, ...] = numbers[:width]) -> Witness:
            pattern = int(population.special_patterns(rank, rank + 1)[0])
            return _witness(a, b, (pattern, *(number for number in numbers if number)), part=slice(None))

        pieces.append((_differences(*runs, population.special_count), witness))
    return _finding(pieces, len(beside) * population.special_count)


def _witness(a: Side, b: Side, block: tuple[int, ...], part: slice) -> Witness:
    found = Witness(block=block, a=a.outcome(block), b=b.outcome(block))
    if found.a[part] == found.b[part]:
        raise AssertionError(f"quantize gives the same bits on {found.to_dict()['block']}, where its parts differ")
    return found


def _finding(pieces: list[tuple[tuple[int, int, int], Callable[[int], Witness]]], compared: int) -> Finding:
    """Add up pieces: (count, first, last) each, and the witness for a rank."""
    differing = [piece for piece in pieces if piece[0][0]]
    if not differing:
        return Finding(compared=compared, differing=0)
    ((_, first, _), first_witness), ((_, _, last), last_witness) = differing[0], differing[-1]
    return Finding(compared=compared, differing=sum(count for (count, _, _), _ in differing),
                   first=first_witness(first), last=last_witness(last))


def _differences(a: Runs, b: Runs, stop: int) -> tuple[int, int, int]:
    """How many numbers up to ``stop`` differ, the first of them and the last."""
    starts, ends, of_a, of_b = merged(a, b, stop)
    differ = (of_a != of_b).any(axis=0)
    if not differ.any():
        return 0, 0, 0
    return int((ends - starts)[differ].sum()), int(starts[differ][0]), int(ends[differ][-1]) - 1


def _all_zero(runs: Runs, stop: int, numerics: Numerics) -> bool:
    element = numerics.block.element
    codes = runs.values[0, runs.starts < stop]
    return not (codes if isinstance(element, FixedFormat) else codes & element.magnitude_mask).any()


def _last_of_each(runs: Runs) -> dict[int, int]:
    """The last rank at which each byte appears."""
    return {int(byte): int(end) - 1 for byte, end in zip(runs.values[0], np.append(runs.starts[1:], runs.stop), strict=True)}


def _meter(population: Population, numerics: Numerics, progress: Progress) -> Callable[[int], None]:
    """Adds up what is done; the number of classes is an estimate from the width of the element's grid."""
    element = numerics.block.element
    grid = element.bits + 2 if isinstance(element, FixedFormat) else element.emax + 2 * (element.man_bits - element.emin) + 8
    total = 2 * (population.size + population.special_count * 6 + min(grid << 24, population.size * 255))
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        progress(min(done, total), total)

    return tick
