"""Lemmas about converters that try both 4 and 6 (`spec.FourOverSix`): the values of the elements under a scale, their
errors, the sum of these, and the choice.

docs/verification.md explains how they prove the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice

from ....hdl import Nvfp4Config
from ....spec import E2M1, E4M3, FP32, FourOverSix
from ...netlist.design import Cut, Design, Part
from ...netlist.nvfp4_structure import BEFORE_CODES, CodesWiring, Nvfp4Wiring, check_scale, codes_wiring
from ...netlist.structure import Instances, StructureError, in_lanes, net_of
from ...specification.encode import bits, shifted
from ...specification.nvfp4 import SIGNIFICAND, Nvfp4Specification
from ...specification.nvfp4_error import BEYOND, INF, MOST, MOST_OF_SUMS, ErrorSpecification
from ..question import Question, constant, lemma
from .arithmetic import product_range
from .lemma import multiplied, multiplying

TRIED = {"scale_candidate": "scale", "larger_candidate": "larger"}
"""The modules that try a scale, and the output of the scale unit that each of them receives."""
WORD = FP32.bits
CODES = range(1, E2M1.max_code + 1)
"""Magnitudes of elements other than zero."""


@dataclass(frozen=True, kw_only=True)
class CandidateWiring(CodesWiring):
    """The modules of a candidate: also of the values, of the errors and of their sum."""

    grid_unit: str
    errors: tuple[str, ...]
    sums: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FourOverSixWiring(Nvfp4Wiring):
    """The modules of the parts of a converter that tries both 4 and 6."""

    codes: tuple[CandidateWiring, ...]
    cells: tuple[str, ...]
    """The modules in the top module."""
    given: dict[str, str]
    """The wires of the top module from them to the choice, by what they carry."""


def four_over_six_wiring(modules: dict[str, dict], top: str, config: Nvfp4Config) -> FourOverSixWiring:
    """Check that the top module has one module each for the largest magnitude, both scales and both candidates, each
    with its own inputs; raises `StructureError` otherwise."""
    try:
        return _wiring(Instances(modules, top), config)
    except KeyError as missing:
        raise StructureError(f"{top} has a part without the port {missing}") from None


def _wiring(parts: Instances, config: Nvfp4Config) -> FourOverSixWiring:
    modules, top = parts.modules, parts.name
    if set(parts.cells) != {*BEFORE_CODES, *TRIED}:
        raise StructureError(f"{top} does not consist of {', '.join((*BEFORE_CODES, *TRIED))} and a choice")
    check_scale(parts, config)
    scales, codes = parts.cells["scale_unit"], {}
    given: dict[str, str] = {}
    for name, scale in TRIED.items():
        own = {port: parts.ports[port] for port in ("x", "d", "a")}
        parts.check_inputs(name, {**own, "scale": scales[scale]})
        found = {"scale": scales[scale], **{port: parts.cells[name][port] for port in ("p", "error")}}
        given |= {f"{scale}_{what}": net_of(modules[top], wires) for what, wires in found.items()}
        codes[parts.kinds[name]] = _candidate(Instances(modules, parts.kinds[name]), config)
    return FourOverSixWiring(
        maximum=parts.kinds["maximum"],
        scale_unit=parts.kinds["scale_unit"],
        codes=tuple(codes.values()),
        cells=tuple(parts.cells),
        given=given,
    )


def _candidate(parts: Instances, config: Nvfp4Config) -> CandidateWiring:
    """The modules of a candidate. Every error has the number and the code of its lane, and sums add them in order."""
    rules, cells, ports = config.numerics, parts.cells, parts.ports
    codes, sums = codes_wiring(parts, config), parts.making("total")
    errors = [name for name in parts.making("error") if "grid" in cells[name]]
    size = rules.block_size
    if parts.has_logic or {"factor_unit", "grid_unit"} - set(cells) or len(cells) != 3 * size + 1:
        raise StructureError(f"{parts.name} does not consist of factor_unit, grid_unit, elements, errors and sums")
    parts.check_inputs("grid_unit", {port: ports[port] for port in ("scale", "a")})
    numbers, found = in_lanes(ports["x"], rules.source.bits), in_lanes(ports["p"], rules.block.element.bits)
    total: list = []
    for lane, (x, p) in enumerate(zip(numbers, found)):
        own = {"x": x, "p": p, "grid": cells["grid_unit"]["grid"]}
        error = next((cells[name]["error"] for name in errors if parts.inputs(name) == own), None)
        if error is None:
            raise StructureError(f"{parts.name} has no error of the element {lane}")
        added = [cells[name]["total"] for name in sums if parts.inputs(name) == {"a": total, "b": error}]
        if lane and not added:
            raise StructureError(f"{parts.name} does not add the error of the element {lane}")
        total = added[0] if lane else error
    if total != ports["error"]:
        raise StructureError(f"the error of {parts.name} is not the sum of all")
    return CandidateWiring(
        **vars(codes),
        grid_unit=parts.kinds["grid_unit"],
        errors=tuple(dict.fromkeys(parts.kinds[name] for name in errors)),
        sums=tuple(dict.fromkeys(parts.kinds[name] for name in sums)),
    )


def of_candidate(design: Design, wires: CandidateWiring, s: Nvfp4Specification) -> Iterator[Question]:
    """Lemmas about the error of a candidate."""
    e = s.errors
    products = tuple(f"product{code}_pattern" for code in CODES)
    grid = (Cut(wires.grid_unit, wires=products), Cut(wires.grid_unit, freed=products))
    distances = [Cut(kind, wires=("distance",)) for kind in wires.errors]
    terms = [Cut(kind, freed=("distance",)) for kind in wires.errors]
    parts = [part.named("part") for part in design.parts(*grid, *distances, *terms, *map(Cut, wires.sums))]
    yield from _products(e, s, parts[0])
    yield from (_quotient(e, parts[1], code) for code in CODES)
    found = iter(parts[2:])
    for part in dict.fromkeys(islice(found, len(distances))):
        yield _distance(e, s, part)
    for part in dict.fromkeys(islice(found, len(terms))):
        yield from _term(e, s, part)
    for part in dict.fromkeys(found):
        yield from _sum(e, part)


def _word(part: Part, name: str, wire: str) -> str:
    return constant(name, WORD, part.wire(wire, "s"))


def _value(part: Part, code: int) -> str:
    """The value of a code on the wires of the grid."""
    return f"((_ extract {WORD * code + WORD - 1} {WORD * code}) {part.wire('grid', 's')})"


def _products(e: ErrorSpecification, s: Nvfp4Specification, part: Part) -> Iterator[Question]:
    """Elements times both scales, rounded to binary32; zero has the value zero."""
    size = E4M3.man_bits + 1
    yield product_range(size)
    claims = [e.is_product("exact", code, part.wire(f"product{code}_pattern", "s")) for code in CODES]
    yield multiplying(
        size,
        partial(lemma, "grid-products", "every element has its product with both scales", ("b", "a")),
        e.definitions,
        multiplied(part, size).text,
        part.state("s"),
        constant("b", E4M3.bits, part.wire("scale", "s")),
        _word(part, "a", "a"),
        f"(assert (and {s.is_byte('b')} (bvult a {INF})))\n",
        s.small("s64", "((_ extract 6 0) b)"),
        s.number("a64", f"((_ extract {WORD - 2} 0) a)", WORD - 1),
        s.product("exact", "s64", "a64", size),
        holds=f"(and (= {_value(part, 0)} {bits(0, WORD)}) {' '.join(claims)})",
        is_inner=True,
    )


def _quotient(e: ErrorSpecification, part: Part, code: int) -> Question:
    return lemma(
        f"grid-quotient-{code}",
        f"every product with the element {code} has its quotient by {e.divisor}, rounded once",
        ("product", "v"),
        e.definitions,
        part.text,
        part.state("s"),
        _word(part, "product", f"product{code}_pattern"),
        constant("v", WORD, _value(part, code)),
        holds=e.is_quotient("product", "v"),
        is_inner=True,
    )


def _distance(e: ErrorSpecification, s: Nvfp4Specification, part: Part) -> Question:
    code = f"(concat {bits(0, 248)} ((_ extract 2 0) p) {bits(0, 5)})"
    return lemma(
        "distances",
        "every element has its distance to the number",
        ("x", "p", "v", "e"),
        e.definitions,
        part.text,
        part.state("s"),
        constant("x", s.source.bits, part.wire("x", "s")),
        constant("p", E2M1.bits, part.wire("p", "s")),
        constant("v", WORD, f"((_ extract {WORD - 1} 0) (bvlshr {part.wire('grid', 's')} {code}))"),
        _word(part, "e", "distance"),
        f"(define-fun m () (_ BitVec {WORD}) "
        f"{shifted(f'(concat #b0 ((_ extract {s.source.bits - 2} 0) x))', s.source.bits, WORD)})\n",
        f"(assert (and (bvult m {INF}) {e.is_value('v')}))\n",
        holds=f"(and (bvule e {BEYOND}) {e.is_distance('v', 'm', 'e')})",
        is_inner=True,
    )


def _term(e: ErrorSpecification, s: Nvfp4Specification, part: Part) -> Iterator[Question]:
    """The error is the distance, or its square."""
    words = (_word(part, "e", "distance"), _word(part, "f", "error"), f"(assert (bvule e {BEYOND}))\n")
    if e.rules.four_over_six is FourOverSix.MAE:
        says = "the error is the distance"
        yield lemma("errors", says, ("e", "f"), part.text, part.state("s"), *words, holds="(= e f)", is_inner=True)
        return
    yield product_range(SIGNIFICAND)
    yield multiplying(
        SIGNIFICAND,
        partial(lemma, "errors", "every distance has its square", ("e", "f")),
        e.definitions,
        multiplied(part, SIGNIFICAND).text,
        part.state("s"),
        *words,
        s.number("e64", f"(ite (bvult e {INF}) ((_ extract {WORD - 2} 0) e) {bits(0, WORD - 1)})", WORD - 1),
        s.product("exact", "e64", "e64", SIGNIFICAND),
        holds=f"(and (bvule f {MOST}) {e.is_square('e', 'exact', 'f')})",
        is_inner=True,
    )


def _sum(e: ErrorSpecification, part: Part) -> Iterator[Question]:
    about = (
        e.definitions,
        part.text,
        part.state("s"),
        *(_word(part, name, name) for name in ("a", "b", "total")),
        f"(assert (and (bvule a {MOST_OF_SUMS}) (bvule b {MOST_OF_SUMS})))\n",
    )
    names, words = ("a", "b", "total"), "every two errors have their sum"
    yield lemma("sums", words, names, *about, holds=e.is_sum(*names), is_inner=True)
    yield lemma("sum-range", "no sum overflows", names, *about, holds=e.is_bounded(*names), is_inner=True)


def choice(design: Design, wires: FourOverSixWiring, s: Nvfp4Specification) -> Question:
    """The larger scale and its codes leave if their error is less, and no number or ``a`` is NaN or Inf."""
    e, size, top = s.errors, s.rules.block_size, design.top
    kept = " ".join(f"{top}/w:{wire}" for wire in wires.given.values())
    (part,) = design.parts(Cut(top, wires.cells, tuple(wires.given.values()), kept))
    widths = {"scale": E4M3.bits, "p": E2M1.bits * size, "error": WORD}
    texts = [constant(name, widths[name.split("_")[1]], part.wire(wire, "s")) for name, wire in wires.given.items()]
    for lane in range(size):
        first = s.source.bits * lane
        number = f"((_ extract {first + s.magnitude_bits - 1} {first}) {part.wire('x', 's')})"
        texts.append(constant(f"x{lane}", s.magnitude_bits, number))
    special = [f"(bvuge x{lane} {bits(s.inf, s.magnitude_bits)})" for lane in range(size)]
    special.append(f"(bvuge ((_ extract {WORD - 2} 0) a) {bits(FP32.inf_field, WORD - 1)})")

    def leaves(scale: str) -> str:
        return f"(and (= found {scale}_scale) (= codes {scale}_p))"

    return lemma(
        "choice",
        "the scale with the smaller error leaves, and its codes",
        (*wires.given, "a", "found", "codes"),
        e.definitions,
        part.text,
        part.state("s"),
        *texts,
        _word(part, "a", "a"),
        constant("found", E4M3.bits, part.wire("scale", "s")),
        constant("codes", widths["p"], part.wire("p", "s")),
        holds=f"(ite (and (not (or {' '.join(special)})) {e.is_less('larger_error', 'scale_error')}) "
        f"{leaves('larger')} {leaves('scale')})",
        is_inner=True,
    )
