"""Families of numerics for a complete comparison by `array.compare_all`.

They follow from the catalogues, so a new rule or format joins by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product

from ...spec import (
    BLOCK_SIZES,
    ELEMENTS,
    SOURCES,
    Encode,
    EncodedZero,
    NumberFormat,
    Rounding,
    ScaleRule,
    SpecialCodes,
    Specials,
    Subnormals,
    block_format,
    element_format,
)
from ..stimuli.scale_steps import last_fraction

Family = list[Encode]


def _numerics(element: str | NumberFormat, source: str, size: int, **rules: object) -> Encode:
    return Encode(block=block_format(element)).replaced(source=source, block_size=size, **rules)


def rules() -> Iterator[Family]:
    """For each source and OCP format in blocks of 4: every scale rule x rounding x specials x subnormals of inputs and
    of elements; stochastic rounding with 5 random bits.
    """
    for source, element in product(SOURCES, ELEMENTS):
        combined = [
            dict(zip(("scale_rule", "rounding", "specials", "input_subnormals", "element_subnormals"), chosen))
            for chosen in product(ScaleRule, Rounding, Specials, Subnormals, Subnormals)
        ]
        yield [_numerics(element, source, 4, **c) for c in combined if c["rounding"] is not Rounding.SR]
        yield [_numerics(element, source, 4, **c, random_bits=5) for c in combined if c["rounding"] is Rounding.SR]


def sizes() -> Iterator[Family]:
    """For each block size, source and OCP format: a scale rule that looks at the fraction and one that does not, and
    specials, in turn."""
    without = [rule for rule in ScaleRule if last_fraction(_numerics("e4m3", "fp32", 4, scale_rule=rule)) is None]
    pairs = list(zip((rule for rule in ScaleRule if rule not in without), cycle(without)))
    for (size, source, element), (specials, pair) in zip(
        product(BLOCK_SIZES, SOURCES, ELEMENTS), cycle(product(Specials, pairs))
    ):
        yield [_numerics(element, source, size, scale_rule=rule, specials=specials) for rule in pair]


def every_element() -> dict[int, list[NumberFormat]]:
    """Every ExMy with each kind of special codes that it can have, and every INTn, by width."""
    names = [f"e{e}m{m}_{codes}" for e, m, codes in product(range(1, 6), range(11), SpecialCodes)]
    names += [f"int{bits}" for bits in range(2, 17)]
    by_width: dict[int, list[NumberFormat]] = {}
    for name in names:
        try:
            element = element_format(name)
        except ValueError:  # all its codes would be special
            continue
        by_width.setdefault(element.bits, []).append(element)
    return dict(sorted(by_width.items()))


def formats() -> Iterator[Family]:
    """For each source and width of an element, in blocks of 2: every format under every scale rule, with roundings,
    specials and subnormals in turn; stochastic rounding with 7 random bits."""
    turns = cycle(product(Rounding, Specials, Subnormals))
    for source, elements in product(SOURCES, every_element().values()):
        chosen = [(element, rule, *next(turns)) for element, rule in product(elements, ScaleRule)]
        for stochastic in (False, True):
            family = [
                _numerics(
                    element,
                    source,
                    2,
                    scale_rule=rule,
                    rounding=rounding,
                    specials=specials,
                    element_subnormals=subnormals,
                    random_bits=7 if stochastic else 0,
                )
                for element, rule, rounding, specials, subnormals in chosen
                if (rounding is Rounding.SR) == stochastic
            ]
            if family:
                yield family


def random_bits() -> Iterator[Family]:
    """For each number of random bits and OCP format, in blocks of 2: subnormal elements exact and flushed."""
    for count, width in product(range(1, 17), sorted({element.bits for element in ELEMENTS.values()})):
        yield [
            _numerics(name, "fp32", 2, rounding="sr", random_bits=count, element_subnormals=subnormals)
            for name, element in ELEMENTS.items()
            if element.bits == width
            for subnormals in Subnormals
        ]


def zeros() -> Iterator[Family]:
    """For each source and OCP format in blocks of 4: every sign of zero but the usual one x rounding x subnormals of
    elements; stochastic rounding with 5 random bits."""
    for source, element in product(SOURCES, ELEMENTS):
        combined = list(product([zero for zero in EncodedZero if zero is not EncodedZero.SIGNED], Rounding, Subnormals))
        for stochastic in (False, True):
            yield [
                _numerics(
                    element,
                    source,
                    4,
                    zero=zero,
                    rounding=rounding,
                    element_subnormals=subnormals,
                    random_bits=5 if stochastic else 0,
                )
                for zero, rounding, subnormals in combined
                if (rounding is Rounding.SR) == stochastic
            ]


FAMILIES = {function.__name__: function for function in (rules, sizes, formats, random_bits, zeros)}
"""The families by name."""
