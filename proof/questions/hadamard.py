"""Questions about Hadamard transforms: lemmas about their modules and the sums between them.

Every number becomes an integer, four levels add and subtract integers, and every sum is rounded once. A level is right
if each of its sums is one of two sums of the level before. Four such levels are the sums of the definition: this is a
law about integers, which needs no design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ...hdl import HardwareConfig
from ...spec import BF16, Hadamard
from ..netlist.design import Cut, Design, Part
from ..netlist.structure import Instances, StructureError, in_lanes, net_of
from ..specification.encode import bits
from ..specification.hadamard import INF, MAGNITUDE, WIDTH, HadamardSpecification
from ..specification.mutants.hadamard import HADAMARD_MUTANTS
from .provable import Provable
from .question import Question, constant, declared, lemma, vector

LEVELS = 4
SIZE = 1 << LEVELS
"""Numbers that hardware transforms."""
SPECIALS = ("is_nan", "is_infinite", "inf_sign")
"""Flags that each rounding receives, as they follow one another on the wire `FLAGS`."""
FLAGS = "specials"


class ProvableHadamard(Provable[Hadamard, HadamardSpecification]):
    """The proof of a Hadamard transform."""

    mutants = HADAMARD_MUTANTS
    is_asked_whole = False

    def specification(self, rules: Hadamard) -> HadamardSpecification:
        return HadamardSpecification(rules)

    def composed(
        self, config: HardwareConfig[Hadamard], design: Design, specify: Callable[[Hadamard], HadamardSpecification]
    ) -> Iterator[Question]:
        s, wires = specify(config.numerics), _wiring(design, config.numerics)
        yield order_question(s)
        for number, part in enumerate(_copies(design, wires.integers)):
            yield _integers(s, part, next(iter(wires.levels[0].values())), number)
        yield _specials(s, *design.parts(Cut(design.top, wires.cells, (FLAGS,))))
        kept = " ".join(f"{design.top}/w:{wire}" for row in wires.levels for wire in row)
        cuts = (
            Cut(design.top, wires.cells, tuple(after), kept, tuple(before)) for before, after in pairwise(wires.levels)
        )
        for level, part in enumerate(design.parts(*cuts)):
            yield level_question(part, wires.levels, level)
        yield sums_question(s)
        for number, part in enumerate(_copies(design, wires.results)):
            yield _results(s, part, next(iter(wires.levels[-1].values())), number)

    def monolithic(
        self, config: HardwareConfig[Hadamard], design: Design, nan_codes_free: bool = False
    ) -> list[Question]:
        raise StructureError("no solver answers in one question whether a design is a Hadamard transform")


@dataclass(frozen=True, kw_only=True)
class _Wiring:
    cells: tuple[str, ...]
    """The modules in the top module."""
    integers: tuple[str, ...]
    """The module of every integer, one or copies of it."""
    results: tuple[str, ...]
    """The module of every rounding."""
    levels: tuple[dict[str, int], ...]
    """The widths of the wires of the integers, and of the sums of every level."""


def _wiring(design: Design, rules: Hadamard) -> _Wiring:
    """The parts of a transform. Raises `StructureError` unless it consists of a module for each integer and one for
    each rounding, each with its own inputs.
    """
    top, parts = design.top, Instances(design.modules, design.top)
    nets = {name: net["bits"] for name, net in design.modules[top]["netnames"].items()}
    sums = [[f"level{level + 1}_sum_{lane:02}" for lane in range(rules.size)] for level in range(LEVELS)]
    if missing := [name for name in (*(one for row in sums for one in row), FLAGS) if name not in nets]:
        raise StructureError(f"{top} has no wire {missing[0]}")

    def cell_with(inputs: dict[str, list], what: str) -> str:
        found = [name for name in parts.making("y") if parts.inputs(name) == inputs]
        if not found:
            raise StructureError(f"{what} of {top} does not come from one module")
        return found[0]

    integers, results = [], []
    entering, leaving = (in_lanes(parts.ports[port], BF16.bits) for port in "xy")
    for lane, (x, flags) in enumerate(zip(entering, in_lanes(nets[FLAGS], len(SPECIALS)))):
        sign = [str(rules.signs >> lane & 1)]
        integers.append(cell_with({"x": x, "is_negated": sign}, f"the integer {lane}"))
        total = {"total": nets[sums[-1][lane]], **{name: [bit] for name, bit in zip(SPECIALS, flags)}}
        results.append(cell_with(total, f"the result {lane}"))
    if [parts.cells[name]["y"] for name in results] != leaving:
        raise StructureError(f"the results of {top} are exchanged")
    if {*integers, *results} != set(parts.cells):
        raise StructureError(f"{top} has other modules")
    names = [net_of(design.modules[top], parts.cells[name]["y"]) for name in integers]
    widths = [{len(nets[name]) for name in row} for row in (names, *sums)]
    if any(len(one) > 1 for one in widths) or sorted(set().union(*widths)) != [one for (one,) in widths]:
        raise StructureError(f"the sums of {top} may overflow")
    return _Wiring(
        cells=tuple(parts.cells),
        integers=tuple(dict.fromkeys(parts.kinds[name] for name in integers)),
        results=tuple(dict.fromkeys(parts.kinds[name] for name in results)),
        levels=tuple({name: len(nets[name]) for name in row} for row in (names, *sums)),
    )


def _copies(design: Design, modules: tuple[str, ...]) -> list[Part]:
    """Modules that differ by more than their names."""
    return list(dict.fromkeys(part.named("part") for part in design.parts(*map(Cut, modules))))


def order_question(s: HadamardSpecification) -> Question:
    """Otherwise several results could be nearest to one sum."""
    return lemma(
        "order",
        "numbers rise with their codes",
        ("c",),
        s.definitions,
        declared({"c": MAGNITUDE}),
        holds=f"(=> (bvult c {INF}) (bvult (units c) (units (bvadd c {bits(1, MAGNITUDE)}))))",
    )


def _integers(s: HadamardSpecification, part: Part, width: int, number: int) -> Question:
    found = f"((_ sign_extend {WIDTH - width}) {part.wire('y', 's')})"
    value = f"(ite {part.wire('is_negated', 's')} (bvneg (integer x)) (integer x))"
    return lemma(
        f"integers-{number}" if number else "integers",
        "every finite number becomes its integer, negated or not",
        ("x",),
        s.definitions,
        part.text,
        part.state("s"),
        constant("x", BF16.bits, part.wire("x", "s")),
        holds=f"(or (is_nan x) (is_inf x) (= {found} {value}))",
        is_inner=True,
    )


def entering(part: Part) -> dict[str, str]:
    """The numbers that enter a part at ``x``: their constants by name."""
    wires = (
        f"((_ extract {place + BF16.bits - 1} {place}) {part.wire('x', 's')})"
        for place in range(0, SIZE * BF16.bits, BF16.bits)
    )
    return {f"x{lane}": constant(f"x{lane}", BF16.bits, wire) for lane, wire in enumerate(wires)}


def _specials(s: HadamardSpecification, part: Part) -> Question:
    """NaN and Inf are noticed in every result."""
    numbers, claims = entering(part), []
    for j in range(s.rules.size):
        places = range(len(SPECIALS) * j, len(SPECIALS) * (j + 1))
        flags = [f"(= ((_ extract {place} {place}) {part.wire(FLAGS, 's')}) #b1)" for place in places]
        claims.append(s.has_flags([*numbers], j, *flags))
    return lemma(
        "specials",
        "NaN and Inf are noticed in every result",
        tuple(numbers),
        s.definitions,
        part.text,
        part.state("s"),
        *numbers.values(),
        holds=f"(and {' '.join(claims)})",
        has_block=True,
    )


def _butterfly(before: Sequence[str], level: int) -> list[str]:
    """The sums and differences of a level."""
    bit = 1 << level
    pairs = ((lane, before[lane & ~bit], before[lane | bit]) for lane in range(len(before)))
    return [f"({'bvsub' if lane & bit else 'bvadd'} {first} {second})" for lane, first, second in pairs]


def level_question(part: Part, levels: Sequence[dict[str, int]], level: int, is_limb: bool = False) -> Question:
    """Sums have one bit more than what they add, so none overflows. Limbs have no sign, and sums of limbs neither."""
    before, after = levels[level], levels[level + 1]
    (width,), (more,) = set(before.values()), set(after.values())
    entering = {f"a{lane}": part.wire(wire, "s") for lane, wire in enumerate(before)}
    leaving = {f"b{lane}": part.wire(wire, "s") for lane, wire in enumerate(after)}

    def extended(name: str, lane: int, given: int, of_level: int) -> str:
        has_sign = not is_limb or lane & (1 << of_level) - 1
        return f"((_ {'sign' if has_sign else 'zero'}_extend {more + 1 - given}) {name})"

    sums = _butterfly([extended(name, lane, width, level) for lane, name in enumerate(entering)], level)
    found = [extended(name, lane, more, level + 1) for lane, name in enumerate(leaving)]
    claims = (f"(= {name} {one})" for name, one in zip(found, sums))
    return lemma(
        f"level-{level + 1}",
        f"the sums of level {level + 1} are sums and differences of two before",
        (*entering, *leaving),
        part.text,
        part.state("s"),
        *(constant(name, width, wire) for name, wire in entering.items()),
        *(constant(name, more, wire) for name, wire in leaving.items()),
        holds=f"(and {' '.join(claims)})",
        is_inner=True,
    )


def sums_question(s: HadamardSpecification) -> Question:
    numbers = [f"x{lane}" for lane in range(s.rules.size)]
    level = [f"(bvneg {x})" if s.rules.signs >> lane & 1 else x for lane, x in enumerate(numbers)]
    text = ""
    for number in range(LEVELS):
        sums = {f"level{number + 1}_{lane}": one for lane, one in enumerate(_butterfly(level, number))}
        text += "".join(f"(define-fun {name} () (_ BitVec {WIDTH}) {one})\n" for name, one in sums.items())
        level = list(sums)
    claims = (f"(= {found} {s.total(numbers, j)})" for j, found in enumerate(level))
    return lemma(
        "sums",
        "four such levels are the sums of the definition",
        tuple(numbers),
        declared(dict.fromkeys(numbers, WIDTH)),
        text,
        holds=f"(and {' '.join(claims)})",
    )


def _results(s: HadamardSpecification, part: Part, width: int, number: int) -> Question:
    is_nan, is_infinite, sign = (part.wire(name, "s") for name in SPECIALS)
    nan = bits(BF16.inf_field | 1 << BF16.man_bits - 1, BF16.bits)
    return lemma(
        f"results-{number}" if number else "results",
        "every sum has its result, rounded once; NaN and Inf replace it",
        ("t", "y"),
        s.definitions,
        part.text,
        part.state("s"),
        constant("t", WIDTH, f"((_ sign_extend {WIDTH - width}) {part.wire('total', 's')})"),
        constant("y", BF16.bits, part.wire("y", "s")),
        holds=f"(ite {is_nan} (= y {nan}) (ite {is_infinite} (= y (concat {vector(sign, 1)} {INF})) (is_result t y)))",
        is_inner=True,
    )
