"""Questions about NVFP4 decoders. The factor of decoders that divide is proved by lemmas about its division.

The division is restoring: each step doubles the remainder, and subtracts the divisor where that is not larger. So
twenty-six steps telescope to S * 2**45 = Q * v + r with r < v, for the significands S and v of both scales. The factor
is the rounding of Q with a last bit for r. The quotient has the same rounding: a rounding changes only at numbers and
at middles between them, which are whole values of Q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from ....hdl import HardwareConfig
from ....spec import E4M3, FP32, Convention, Nvfp4Decode
from ...netlist.design import Cut, Design, Part
from ...netlist.lanes import check_lanes
from ...netlist.structure import StructureError
from ...specification.encode import DOUBLE_BIAS, bits, double, extended
from ...specification.mutants.nvfp4_decode import NVFP4_DECODE_MUTANTS
from ...specification.nvfp4 import SIGNIFICAND, signed, widened
from ...specification.nvfp4_decode import Nvfp4DecodeSpecification
from ..elementwise import ElementSpecification, Elementwise, elements
from ..question import Question, constant, declared, lemma, vector
from .lemma import is_normalised, steps

UNIT = "scaled_factor"
"""The cell that combines both scales; its outputs have the names of wires."""
PLACES = SIGNIFICAND + 2
"""Digits of the quotient."""
TOGETHER = 5
"""Steps in a question."""
SHORT = E4M3.man_bits + 1
"""Bits of the significand of a block scale."""
SMALL = E4M3.emin - E4M3.man_bits - FP32.emax - 1
"""Under tensor scales up to two to this power every factor is infinite."""


class ProvableNvfp4Decode(Elementwise[Nvfp4Decode]):
    """The proof of an NVFP4 decoder."""

    mutants = NVFP4_DECODE_MUTANTS
    is_asked_whole = False

    def specification(self, rules: Nvfp4Decode) -> Nvfp4DecodeSpecification:
        return Nvfp4DecodeSpecification(rules)

    def composed(
        self,
        config: HardwareConfig[Nvfp4Decode],
        design: Design,
        specify: Callable[[Nvfp4Decode], ElementSpecification],
    ) -> Iterable[Question]:
        rules = config.numerics
        if rules.convention is not Convention.DIVISOR:
            return super().composed(config, design, specify)
        check_lanes(design, rules)
        s = specify(rules)
        assert isinstance(s, Nvfp4DecodeSpecification)
        return _of_quotients(design, s)

    def monolithic(
        self, config: HardwareConfig[Nvfp4Decode], design: Design, nan_codes_free: bool = False
    ) -> list[Question]:
        raise StructureError(f"no solver answers in one question whether a design decodes {config.formats}")


def _of_quotients(design: Design, s: Nvfp4DecodeSpecification) -> Iterator[Question]:
    unit = _unit(design)
    yield from _division(design, unit)
    yield _bounds()
    yield _opened(design, unit, s)
    yield _factor(design, unit, s)
    yield from elements(s.rules, design, s.with_factor("F"), equal=True, given={"factor": "F"})


def _unit(design: Design) -> str:
    """The module of the factor. Raises `StructureError` unless its ports are the inputs and wires of its names."""
    module = design.modules[design.top]
    nets = {name: net["bits"] for name, net in module["netnames"].items()}
    cell = module["cells"].get(UNIT)
    if cell is None or cell["type"] not in design.modules:
        raise StructureError(f"{design.top} has no {UNIT}")
    for port, wires in cell["connections"].items():
        if nets.get(port) != wires:
            raise StructureError(f"the wire {port} of {design.top} does not come from its {UNIT}")
    return cell["type"]


def _part(design: Design, unit: str, *wires: str, freed: tuple[str, ...] = ()) -> Part:
    (found,) = design.parts(Cut(unit, wires=wires, freed=freed))
    return found


def _division(design: Design, unit: str) -> Iterator[Question]:
    """Every step of the division is right, for every significand of the divisor."""
    lefts = [f"ratio_left{place}" for place in reversed(range(PLACES))]
    digits = [f"ratio_digit{place}" for place in reversed(range(PLACES))]
    width = SIGNIFICAND + 2
    v = extended("v", SIGNIFICAND, width)
    for turn in range(2):  # every other remainder is free, so that a step depends on one before
        shown = lefts[turn::2]
        part = _part(design, unit, *shown, *digits, "s_significand", freed=(*lefts[1 - turn :: 2], "g_significand"))
        for first in range(0, len(shown), TOGETHER):
            claims, some = [], shown[first : first + TOGETHER]
            for at in map(lefts.index, some):
                if at:
                    before = f"(concat #b0 {part.wire(lefts[at - 1], 's')} #b0)"
                    small = f"(bvult {part.wire(lefts[at - 1], 's')} v)"
                else:
                    top = part.wire("s_significand", "s")
                    before, small = f"(concat #b00 {top} {bits(0, SIGNIFICAND - SHORT)})", "true"
                after = extended(part.wire(lefts[at], "s"), SIGNIFICAND, width)
                taken = f"(ite {part.wire(digits[at], 's')} {v} {bits(0, width)})"
                claims.append(f"(=> {small} (and (= {before} (bvadd {taken} {after})) (bvult {after} {v})))")
            number = turn + first // TOGETHER * 2 + 1
            about = f"steps of the division subtract the divisor where it fits ({', '.join(some)})"
            yield steps(f"ratio-{number}", about, part, "v", "g_significand", claims)


def _bounds() -> Question:
    """The quotient of significands has its first bit in one of two places."""
    width = PLACES + SIGNIFICAND + 1
    total = f"(concat {bits(0, width - SHORT - 45)} S {bits(0, 45)})"
    wide = {name: extended(name, size, width) for name, size in (("Q", PLACES), ("v", SIGNIFICAND), ("r", SIGNIFICAND))}
    return lemma(
        "quotient",
        "the quotient of two significands is below 2**26 and at least 2**24",
        ("S", "v", "Q", "r"),
        declared({"S": SHORT, "v": SIGNIFICAND, "Q": PLACES, "r": SIGNIFICAND}),
        f"(assert (and {is_normalised('v')} (= ((_ extract {SHORT - 1} {SHORT - 1}) S) #b1) (bvult r v) "
        f"(= {total} (bvadd (bvmul {wide['Q']} {wide['v']}) {wide['r']}))))\n",
        holds=f"(bvuge Q {bits(1 << SIGNIFICAND, PLACES)})",
    )


def _number(significand: str, size: int, exponent: str, less: int) -> str:
    """The binary64 number significand * 2**(exponent - less), for an exponent of 11 bits."""
    field = f"(bvadd {exponent} {signed(DOUBLE_BIAS - less, 11)})"
    return f"(fp.mul RNE ((_ to_fp_unsigned 11 53) RNE {significand}) (fp #b0 {field} {bits(0, 52)}))"


def is_below_small(exponent: str) -> str:
    return f"(bvslt {exponent} {signed(SMALL, 11)})"


def _opened(design: Design, unit: str, specification: Nvfp4DecodeSpecification) -> Question:
    """The unit reads the significands and exponents of both scales, or an exponent below `SMALL`."""
    wires = ("s_significand", "s_exponent", "g_significand", "g_exponent")
    part = _part(design, unit, *wires)
    s_exponent = widened(part.wire("s_exponent", "s"), E4M3.exp_bits + 1, 11)
    g_exponent = widened(part.wire("g_exponent", "s"), FP32.exp_bits + 1, 11)
    s = _number(part.wire("s_significand", "s"), SHORT, s_exponent, SHORT - 1)
    g = _number(part.wire("g_significand", "s"), SIGNIFICAND, g_exponent, SIGNIFICAND - 1)
    g32 = "((_ to_fp 8 24) g)"
    first = f"((_ extract {SIGNIFICAND - 1} {SIGNIFICAND - 1}) {part.wire('g_significand', 's')})"
    is_small = f"(fp.lt magnitude {double(Fraction(2) ** SMALL)})"
    infinite = f"(fp.leq (fp.mul RNE {double(2 ** (FP32.emax + 1))} magnitude) (scale_magnitude b))"
    is_infinite = f"(or (scale_nan b) (fp.isZero (scale_magnitude b)) {infinite})"
    is_read = (
        f"(and (= {first} #b1) (ite {is_small} (and {is_below_small(g_exponent)} {is_infinite}) (fp.eq {g} magnitude)))"
    )
    holds = (
        f"(and (=> (not (scale_nan b)) (fp.eq {s} (scale_magnitude b))) "
        f"(=> (not (or (fp.isNaN {g32}) (fp.isInfinite {g32}) (fp.isZero {g32}))) {is_read}))"
    )
    return lemma(
        "scales",
        "the unit reads the significands and exponents of both scales",
        ("b", "g"),
        specification.definitions,
        part.text,
        part.state("s"),
        constant("b", E4M3.bits, part.wire("scale", "s")),
        constant("g", FP32.bits, part.wire("g", "s")),
        f"(define-fun magnitude () (_ FloatingPoint 11 53) ((_ to_fp 11 53) RNE (fp.abs {g32})))\n",
        holds=holds,
        is_inner=True,
    )


def _factor(design: Design, unit: str, specification: Nvfp4DecodeSpecification) -> Question:
    """The factor is the quotient, rounded once."""
    digits = [f"ratio_digit{place}" for place in reversed(range(PLACES))]
    freed = (*digits, "ratio_left0")
    inner = ("s_significand", "s_exponent", "g_significand", "g_exponent")
    part = _part(design, unit, *inner, freed=freed)
    quotient = f"(concat {' '.join(vector(part.wire(digit, 's'), 1) for digit in digits)})"
    g_exponent = widened(part.wire("g_exponent", "s"), FP32.exp_bits + 1, 11)
    exponent = f"(bvsub {widened(part.wire('s_exponent', 's'), E4M3.exp_bits + 1, 11)} {g_exponent})"
    some = f"(ite (= {part.wire('ratio_left0', 's')} {bits(0, SIGNIFICAND)}) #b0 #b1)"
    exact = _number("(concat Q rest)", PLACES + 1, exponent, PLACES)
    g32 = "((_ to_fp 8 24) g)"
    infinite, zero = bits(FP32.inf_field, FP32.bits - 1), bits(0, FP32.bits - 1)
    none = f"((_ extract {FP32.bits - 2} 0) g)"
    is_nan = f"(or (scale_nan b) (fp.isNaN {g32}) (and (fp.isZero {g32}) (fp.isZero (scale_magnitude b))))"
    right = (
        f"(ite (= {none} {zero}) (= F {infinite}) (ite (or (fp.isZero (scale_magnitude b)) (= {none} {infinite})) "
        f"(= F {zero}) (and (= ((_ to_fp 8 24) (concat #b0 F)) ((_ to_fp 8 24) RNE {exact})) "
        f"(=> {is_below_small(g_exponent)} (= F {infinite})))))"
    )
    return lemma(
        "factor",
        "the factor is the quotient of both scales, rounded to nearest even",
        ("b", "g", "Q", "rest", "F"),
        specification.definitions,
        part.text,
        part.state("s"),
        constant("b", E4M3.bits, part.wire("scale", "s")),
        constant("g", FP32.bits, part.wire("g", "s")),
        constant("Q", PLACES, quotient),
        constant("rest", 1, some),
        constant("F", FP32.bits - 1, part.wire("factor", "s")),
        f"(assert (or (fp.isZero (scale_magnitude b)) (fp.isZero {g32}) (bvuge Q {bits(1 << SIGNIFICAND, PLACES)})))\n",
        holds=f"(and (bvule F {infinite}) (or {is_nan} {right}))",
        is_inner=True,
    )
