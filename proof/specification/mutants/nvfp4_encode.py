"""Mutants of the specification of a converter to NVFP4."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ....spec import E2M1, E4M3, FP32, FourOverSix, Nvfp4Encode, Order, casting
from ..cast import CastSpecification
from ..encode import bits
from ..nvfp4 import MAGNITUDE_OF_P, Nvfp4Specification
from ..nvfp4_quotient import QuotientSpecification
from .cast import CAST_MUTANTS
from .mutant import Mutant, StatementMutant

Nvfp4Mutant = StatementMutant[Nvfp4Encode, Nvfp4Specification]

OF_QUOTIENTS = (Order.AO, Order.AO_SINGLE, Order.MODELOPT)
"""Orders whose scale is a quotient."""
WITHOUT_SIGN = (Order.MODELOPT, Order.COMPRESSED_TENSORS)
"""Orders whose zeros have no sign."""
WRONG = bits(1, E2M1.bits)
"""A code that no special number has."""


def _of(*orders: Order) -> Callable[[Nvfp4Encode], bool]:
    return lambda rules: rules.order in orders


def _is_tried(rules: Nvfp4Encode) -> bool:
    return rules.four_over_six is not FourOverSix.OFF


def _is_nearest(rules: Nvfp4Encode) -> bool:
    return not rules.random_bits


def _next(code: str) -> str:
    return f"(bvadd {code} {bits(1, E4M3.bits)})"


def _before(constant: str) -> str:
    return f"(bvsub {constant} {bits(1, FP32.bits)})"


def _scales(
    name: str, description: str, wrong: Callable[[Nvfp4Specification, Callable[[str], str], str, str], str]
) -> dict[str, Nvfp4Mutant]:
    """A mutant of scales that are products, and of those that are quotients. ``wrong`` has the right claim about a
    byte, the largest magnitude, and the byte."""

    def product(s: Nvfp4Specification, right: Callable[[str, str, str], tuple[str, str]]) -> object:
        def scale(b: str, k: str, byte: str) -> tuple[str, str]:
            return right(b, k, byte)[0], wrong(s, lambda one: right(b, k, one)[1], b, byte)

        return scale

    def quotient(s: Nvfp4Specification, right: Callable[[str, str, str, str], str]) -> object:
        return lambda b, a, k, byte: wrong(s, lambda one: right(b, a, k, one), b, byte)

    return {
        name: Nvfp4Mutant(
            description=description,
            statement="scale",
            wrong=product,
            applies=lambda rules: rules.order not in OF_QUOTIENTS,
        ),
        f"{name} of a quotient": Nvfp4Mutant(
            description=description, statement="is_scale", wrong=quotient, applies=_of(*OF_QUOTIENTS)
        ),
    }


def _counting(s: Nvfp4Specification, right: object) -> object:
    """The statement about the largest magnitude, with NaN where the order leaves it out, and without it elsewhere."""
    other = Nvfp4Specification if isinstance(s, QuotientSpecification) else QuotientSpecification
    return lambda lanes, b: other.is_largest(s, lanes, b)


def _next_largest(s: Nvfp4Specification, right: Callable[[Collection[str], str], str]) -> object:
    return lambda lanes, b: right(lanes, f"(bvadd {b} {bits(1, s.magnitude_bits)})")


def _ties_up(s: Nvfp4Specification, right: str) -> str:
    cast = CastSpecification(casting("e4m3", "ocp", source="fp32"))
    return CAST_MUTANTS["ties"].planted(cast).definitions


def _in_specials(
    change: Callable[[Nvfp4Specification, Callable[[str], str], str, str], str],
) -> Callable[[Nvfp4Specification, Callable[[str, str, str], str]], object]:
    """A change of the statement about the code ``p`` of a number ``x``; it has the right claim about a number."""
    return lambda s, right: lambda x, p, finite: change(s, lambda one: right(one, p, finite), x, p)


def _magnitude(s: Nvfp4Specification, x: str) -> str:
    return f"((_ extract {s.magnitude_bits - 1} 0) {x})"


def _when(is_special: str, claim: str, otherwise: str) -> str:
    return f"(ite {is_special} {claim} {otherwise})"


def _is_zero(s: Nvfp4Specification, x: str) -> str:
    return f"(= {_magnitude(s, x)} {bits(0, s.magnitude_bits)})"


def _is_nan(s: Nvfp4Specification, x: str) -> str:
    return "is_nan" if "is_nan" in s.flags else f"(bvugt {_magnitude(s, x)} {bits(s.inf, s.magnitude_bits)})"


NVFP4_ENCODE_MUTANTS: dict[str, Mutant[Nvfp4Encode, Nvfp4Specification]] = {
    "largest": Nvfp4Mutant(
        description="the largest magnitude is the one before", statement="is_largest", wrong=_next_largest
    ),
    "nan": Nvfp4Mutant(
        description="NaN counts as the largest magnitude where it does not, and does not where it does",
        statement="is_largest",
        wrong=_counting,
    ),
    **_scales("scale", "the scale is one code too small", lambda s, claim, b, byte: claim(_next(byte))),
    **_scales(
        "scale of inf",
        "the scale of Inf is zero",
        lambda s, claim, b, byte: _when(
            f"(= {b} {bits(s.inf, s.magnitude_bits)})", f"(= {byte} {bits(0, E4M3.bits)})", claim(byte)
        ),
    ),
    "ties of scales": Nvfp4Mutant(
        description="ties between scales go up",
        statement="to_scale",
        wrong=_ties_up,
        applies=lambda rules: rules.order not in OF_QUOTIENTS,
    ),
    "ties of quotients": Nvfp4Mutant(
        description="ties between scales go up",
        statement="keeps_ties",
        wrong=lambda s, right: lambda code: "false",
        applies=_of(*OF_QUOTIENTS),
    ),
    "divisor": Nvfp4Mutant(
        description="the divisor belongs to the constant before",
        statement="divisor",
        wrong=lambda s, right: lambda scale, d: right(scale, _before(d)),
        applies=_of(Order.TE, Order.PAPER, Order.MODELOPT),
    ),
    "factor": Nvfp4Mutant(
        description="the factor belongs to the constant before",
        statement="factor",
        wrong=lambda s, right: lambda scale, d: right(scale, _before(d)),
        applies=_of(Order.AO, Order.AO_SINGLE),
    ),
    "operands": Nvfp4Mutant(
        description="the divisor belongs to the constant before",
        statement="operands_of_divisor",
        wrong=lambda s, right: lambda scale, d: right(scale, _before(d)),
        applies=_of(Order.COMPRESSED_TENSORS),
    ),
    "ties": Nvfp4Mutant(
        description="ties go away from zero",
        statement="boundaries",
        wrong=lambda s, right: tuple(replace(one, is_beyond=False) for one in right),
        applies=_is_nearest,
    ),
    "smallest": Nvfp4Mutant(
        description="numbers below the smallest element are zero",
        statement="boundaries",
        wrong=lambda s, right: (replace(right[0], exponent=right[0].exponent + 1), *right[1:]),
        applies=_is_nearest,
    ),
    "clamp": Nvfp4Mutant(
        description="the largest code begins at twice its limit",
        statement="boundaries",
        wrong=lambda s, right: (*right[:-1], replace(right[-1], exponent=right[-1].exponent + 1)),
        applies=_is_nearest,
    ),
    "random bits": Nvfp4Mutant(
        description="random bits have the other sign",
        statement="rounding",
        wrong=lambda s, right: lambda: right().replace(" random)", " (bvnot random))"),
        applies=lambda rules: rules.random_bits > 0,
    ),
    "random clamp": Nvfp4Mutant(
        description="the largest code is not used",
        statement="is_code",
        wrong=lambda s, right: lambda: f"(and (distinct {MAGNITUDE_OF_P} {bits(E2M1.max_code, 3)}) {right()})",
        applies=lambda rules: rules.random_bits > 0,
    ),
    "sign": Nvfp4Mutant(
        description="numbers have no sign",
        statement="specials",
        wrong=_in_specials(lambda s, claim, x, p: claim(f"(concat #b0 {_magnitude(s, x)})")),
    ),
    "zero": Nvfp4Mutant(
        description="zeros have no sign",
        statement="specials",
        wrong=_in_specials(lambda s, claim, x, p: _when(_is_zero(s, x), f"(= {p} {bits(0, E2M1.bits)})", claim(x))),
        applies=lambda rules: rules.order not in WITHOUT_SIGN,
    ),
    "negative zero": Nvfp4Mutant(
        description="zeros have a sign",
        statement="specials",
        wrong=_in_specials(
            lambda s, claim, x, p: _when(_is_zero(s, x), f"(= {p} {bits(E2M1.sign_mask, E2M1.bits)})", claim(x))
        ),
        applies=_of(*WITHOUT_SIGN),
    ),
    "nan of elements": Nvfp4Mutant(
        description="NaN becomes another code",
        statement="specials",
        wrong=_in_specials(lambda s, claim, x, p: _when(_is_nan(s, x), f"(= {p} {WRONG})", claim(x))),
    ),
    "inf of elements": Nvfp4Mutant(
        description="Inf becomes another code",
        statement="specials",
        wrong=_in_specials(
            lambda s, claim, x, p: _when(
                f"(= {_magnitude(s, x)} {bits(s.inf, s.magnitude_bits)})", f"(= {p} {WRONG})", claim(x)
            )
        ),
    ),
    "larger scale": Nvfp4Mutant(
        description="the larger scale is one code too small",
        statement="larger",
        wrong=lambda s, right: lambda b, byte: right(b, _next(byte)),
        applies=_is_tried,
    ),
    "distance": Nvfp4Mutant(
        description="errors are distances to zero",
        statement="is_distance",
        of=lambda s: s.errors,
        wrong=lambda s, right: lambda value, x, word: right(bits(0, FP32.bits), x, word),
        applies=_is_tried,
    ),
    "quotient": Nvfp4Mutant(
        description="values are divided by one more",
        statement="divisor",
        of=lambda s: s.errors,
        wrong=lambda s, right: right + 1,
        applies=_is_tried,
    ),
    "sum": Nvfp4Mutant(
        description="errors are added to themselves",
        statement="is_sum",
        of=lambda s: s.errors,
        wrong=lambda s, right: lambda a, b, total: right(a, a, total),
        applies=_is_tried,
    ),
    "square": Nvfp4Mutant(
        description="errors are not squared",
        statement="is_square",
        of=lambda s: s.errors,
        wrong=lambda s, right: lambda distance, exact, word: f"(= {distance} {word})",
        applies=lambda rules: rules.four_over_six is FourOverSix.MSE,
    ),
    "equal errors": Nvfp4Mutant(
        description="of equal errors the larger scale is taken",
        statement="is_less",
        of=lambda s: s.errors,
        wrong=lambda s, right: lambda one, other: f"(not {right(other, one)})",
        applies=_is_tried,
    ),
}

OF_FACTOR = ("divisor", "factor", "operands")
"""Mutants of the factor, which a table with rows does not compute."""
