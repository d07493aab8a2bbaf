"""Where two numerics differ: not on samples, on everything.

Three questions, each answered for all there is: the scale byte of every largest magnitude; the code of every number
that a block can hold under a byte that both sides choose; and whole blocks around every NaN and Inf pattern. Every
witness is a block on which `quantize` itself, called with both, gives different bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from ..spec import Numerics, Rounding
from .population import Population, Task, common
from .runs import Runs, merged
from .side import COST, Outcome, Side

__all__ = [
    "Certificate",
    "Finding",
    "Outcome",
    "Side",
    "Witness",
    "certificate",
    "compare",
    "compare_elements",
    "compare_scales",
    "compare_specials",
]

Progress = Callable[[int, int], None]

ONE, INF, NAN, MINUS = 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000000


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A block on which `quantize` gives different bits under ``a`` and ``b``."""

    a: Outcome
    b: Outcome


@dataclass(frozen=True, kw_only=True)
class Finding:
    """How many cases were compared, how many differ, and the first and the last of those."""

    compared: int
    differing: int
    first: Witness | None = None
    last: Witness | None = None


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
        return {
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "numbers": self.numbers,
            "equal": self.equal,
            **{name: asdict(finding) for name, finding in self.findings.items()},
        }


def compare(a: Numerics, b: Numerics, progress: Progress | None = None) -> Certificate:
    """Compare two numerics of the same block format on everything (see the module's docstring); minutes at most.

    If the sources differ, their common numbers are compared. ``progress`` is called with what is done and an estimate
    of the total. Raises ValueError for different blocks and for stochastic rounding, whose codes no input determines.
    """
    if a.block != b.block:
        raise ValueError(
            f"both sides must have the same block format, not {a.block.name} x {a.block_size} and "
            f"{b.block.name} x {b.block_size}"
        )
    for rules in (a, b):
        if rules.rounding is Rounding.SR:
            raise ValueError(
                "stochastic rounding (sr) cannot be compared, because its codes depend on random bits: "
                "compare scale rules and specials under another rounding"
            )
    population = common(a.source, b.source)
    tick = _meter(population, a, progress) if progress else lambda count: None
    first = Side(a, population, tick)
    found = certificate(first, first if a == b else Side(b, population, tick))
    if progress:
        progress(1, 1)
    return found


def certificate(a: Side, b: Side) -> Certificate:
    """The certificate of two sides over the same population."""
    return Certificate(
        a=a.numerics,
        b=b.numerics,
        numbers=a.population.name,
        scale=compare_scales(a, b),
        elements=compare_elements(a, b),
        specials=compare_specials(a, b),
    )


def compare_scales(a: Side, b: Side) -> Finding:
    """The bytes of all largest magnitudes; witnesses in increasing order."""
    population = a.population

    def witness(rank: int) -> Witness:
        return _witness(
            a, b, (int(population.patterns(rank, rank + 1)[0]),), *(side.scales().at(rank) for side in (a, b))
        )

    return _finding([(_differences(a.scales(), b.scales(), population.size), witness)], population.size)


def compare_elements(a: Side, b: Side) -> Finding:
    """The codes of all classes that a block can hold whose byte both sides give; witnesses from saturation down (see
    `Population.tasks`), the positive ones of a task first."""
    starts, ends, of_a, of_b = merged(a.scales(), b.scales(), a.population.size)
    shared = [
        (int(byte), int(start), int(end))
        for byte, start, end, same in zip(of_a[0], starts, ends, of_a[0] == of_b[0], strict=True)
        if same
    ]
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
    """Witness by rank: a block of the number alone, if it has the byte itself, or beside the next larger one
    that has.
    """

    def witness(rank: int) -> Witness:
        largest = min(max(start, rank) for byte, start, end in shared if byte == task.byte and end > rank)
        number, beside = (int(a.population.patterns(r, r + 1)[0]) for r in (rank, largest))
        return _witness(
            a,
            b,
            (number | sign,) if largest == rank else (number | sign, beside),
            *((task.byte, *side.codes(task, sign).at(rank)) for side in (a, b)),
        )

    return witness


def compare_specials(a: Side, b: Side) -> Finding:
    """Blocks of every Inf and NaN pattern with each of six neighbourhoods; witnesses in this order, then by pattern."""
    population = a.population
    smallest, largest = (
        int(population.patterns(1, 2)[0]),
        int(population.patterns(population.size - 1, population.size)[0]),
    )
    beside = [(), (smallest,), (ONE,), (largest | MINUS,), (INF, ONE | MINUS), (NAN, ONE | MINUS)]
    width = min(a.numerics.block_size, 4) - 1
    pieces = []
    for numbers in beside:
        context = (*numbers, 0, 0, 0)[:width]
        runs = [side.specials(context) for side in (a, b)]

        def witness(rank: int, context: tuple[int, ...] = context, runs: list[Runs] = runs) -> Witness:
            pattern = int(population.special_patterns(rank, rank + 1)[0])
            return _witness(a, b, (pattern, *filter(None, context)), *(one.at(rank) for one in runs))

        pieces.append((_differences(*runs, population.special_count), witness))
    return _finding(pieces, len(beside) * population.special_count)


def _witness(a: Side, b: Side, block: tuple[int, ...], of_a: tuple[int, ...], of_b: tuple[int, ...]) -> Witness:
    """The real block, which must give what the walk gave: byte and, as far as it looked, codes."""
    outcomes = [side.outcome(block) for side in (a, b)]
    for outcome, walked in zip(outcomes, (of_a, of_b)):
        bits = outcome.byte, *outcome.codes
        if any(x != y for x, y in zip(bits, walked)):
            raise AssertionError(f"quantize gives {bits} for {outcome.values}, where {walked} was found")
    return Witness(a=outcomes[0], b=outcomes[1])


def _finding(pieces: list[tuple[tuple[int, int, int], Callable[[int], Witness]]], compared: int) -> Finding:
    """Add up pieces: (count, first, last) each, and the witness for a rank."""
    differing = [piece for piece in pieces if piece[0][0]]
    if not differing:
        return Finding(compared=compared, differing=0)
    ((_, first, _), first_witness), ((_, _, last), last_witness) = differing[0], differing[-1]
    return Finding(
        compared=compared,
        differing=sum(count for (count, _, _), _ in differing),
        first=first_witness(first),
        last=last_witness(last),
    )


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
    return bool(np.isin(codes, [element.signed_code(0, negative) for negative in (False, True)]).all())


def _meter(population: Population, numerics: Numerics, progress: Progress) -> Callable[[int], None]:
    """Adds up what is done; the number of classes is an estimate from the width of the element's grid."""
    element = numerics.block.element
    binades = element.emax - 2 * element.lowest_exponent + 8
    classes = min(binades << 24, population.size * 255)
    total = 2 * (
        COST["scales"] * population.size + COST["codes"] * classes + COST["specials"] * 6 * population.special_count
    )
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        progress(min(done, total), total)

    return tick
