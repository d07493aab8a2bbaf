"""Formats by name: what a name can spell, and the format that it means."""

from __future__ import annotations

import re

from .catalogue import unknown_name
from .formats import (BLOCKS, E8M0, ELEMENTS, SOURCES, BlockFormat, ElementFormat, FixedFormat, FloatFormat, SpecialCodes,
                      block_name)

__all__ = ["source_format", "element_format", "block_format"]

# What a name can spell: ExMy with its special codes, and INTn. The OCP formats have the names without special codes.
N = "0|[1-9][0-9]{0,8}"  # without leading zeros: e04m3 is no e4m3; and a number of more digits is in no format
FLOAT_NAME = re.compile(f"(?:mxfp(?P<bits>{N})_)?e(?P<exp>{N})m(?P<man>{N})(?:_(?P<specials>ieee|nan_only|none))?")
FIXED_NAME = re.compile(f"(?:mx)?int(?P<bits>{N})")


def source_format(name: str | FloatFormat) -> FloatFormat:
    """The source format of this name."""
    if isinstance(name, FloatFormat):
        return name
    if not isinstance(name, str) or name not in SOURCES:
        raise ValueError(unknown_name("source", name, list(SOURCES)))
    return SOURCES[name]


def element_format(name: str) -> ElementFormat:
    """The element format that a name spells: ``eXmY`` and ``intN``, with or without the family's prefix.

    ``e4m3`` and the other OCP names are the OCP formats. Any other ``eXmY`` has the bias 2**(X - 1) - 1 and no special
    codes, unless ``_nan_only`` or ``_ieee`` follows (`SpecialCodes`); ``_none`` says it aloud. ``intN`` is symmetric
    and has N - 2 fraction bits, as INT8 has.

    >>> element_format("e3m3").max_value, element_format("e3m4_ieee").nan_code, element_format("int4").max_value
    (Fraction(30, 1), 127, Fraction(7, 4))
    """
    if name in ELEMENTS:
        return ELEMENTS[name]
    if name in BLOCKS:
        return BLOCKS[name].element
    if match := FIXED_NAME.fullmatch(name):
        return _fixed(int(match["bits"]))
    if match := FLOAT_NAME.fullmatch(name):
        made = _float(int(match["exp"]), int(match["man"]), match["specials"] or "none")
        if match["bits"] not in (None, str(made.bits)):
            raise ValueError(f"{made.name} has {made.bits} bits, which {name} contradicts")
        return made
    raise ValueError(unknown_name("format", name, [*ELEMENTS, *BLOCKS]))


def _fixed(bits: int) -> FixedFormat:
    if not 2 <= bits <= 16:
        raise ValueError(f"INT formats have 2 to 16 bits, not {bits}")
    return FixedFormat(name=f"int{bits}", bits=bits, frac_bits=bits - 2, symmetric=True,
                       source="INT8 of OCP MX v1.0, at another width")


def _float(exp_bits: int, man_bits: int, specials: str) -> FloatFormat:
    plain = f"e{exp_bits}m{man_bits}"
    if not (1 <= exp_bits <= 5 and man_bits <= 10):
        raise ValueError(f"ExMy formats have 1 to 5 exponent bits and 0 to 10 fraction bits, not {plain}")
    if plain in ELEMENTS and ELEMENTS[plain].specials == specials:
        return ELEMENTS[plain]
    name = plain if specials == "none" and plain not in ELEMENTS else f"{plain}_{specials}"
    return FloatFormat(name=name, exp_bits=exp_bits, man_bits=man_bits, bias=(1 << (exp_bits - 1)) - 1,
                       specials=SpecialCodes(specials), source="IEEE 754 field layout, OCP MX v1.0 subnormals")


def block_format(name: str | BlockFormat | ElementFormat) -> BlockFormat:
    """The block format of this name (see `element_format`), or of this element under an E8M0 scale.

    >>> block_format("e4m3") is block_format("mxfp8_e4m3")
    True
    >>> block_format("e3m3").name
    'mxfp7_e3m3'
    """
    if isinstance(name, BlockFormat):
        return name
    if isinstance(name, FloatFormat | FixedFormat):
        element = name
        try:
            spelt = element_format(element.name)
        except ValueError:
            spelt = element  # a name of its own
        if not _same_codes(spelt, element):
            raise ValueError(f"{element.name!r} is the name of another element format: give this one a name of its own")
        element = spelt
    elif isinstance(name, str):
        element = element_format(name)
    else:
        raise TypeError(f"a block format is given by name or as a BlockFormat, not {type(name).__name__}")
    block = BLOCKS.get(block_name(element))
    return block or BlockFormat(name=block_name(element), element=element, scale=E8M0)


def _same_codes(a: ElementFormat, b: ElementFormat) -> bool:
    """Do two formats have the same codes with the same values? Where they were published does not matter."""
    return {**vars(a), "source": ""} == {**vars(b), "source": ""}
