"""Formats by name. Many names spell a format: ``e3m3``, ``int4``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping

from ..catalogue import constructed, excerpt, known_name, unknown_name
from ..operations import ptx
from .block import BLOCKS, OTHER_BLOCKS, TILED, BlockFormat, block_name
from .number import (
    E4M3FNUZ,
    E5M2FNUZ,
    E8M0,
    ELEMENTS,
    FP64,
    OTHER_ELEMENTS,
    SCALES,
    SOURCES,
    TF32,
    FixedFormat,
    FloatFormat,
    Kind,
    NumberFormat,
    SpecialCodes,
)

ALONE = (*SCALES.values(), E4M3FNUZ, E5M2FNUZ)
"""Formats that are not elements of blocks."""

KINDS: dict[Kind, type[FloatFormat] | type[FixedFormat]] = {Kind.FLOAT: FloatFormat, Kind.FIXED: FixedFormat}

# Names spell ExMy with its special codes, and INTn. The OCP formats have the names without special codes.
N = "0|[1-9][0-9]{0,8}"  # e04m3 is not e4m3, and no format needs more digits
FLOAT_NAME = re.compile(f"(?:mxfp(?P<bits>{N})_)?e(?P<exp>{N})m(?P<man>{N})(?:_(?P<specials>ieee|nan_only|none))?")
WELL_FORMED = re.compile(f"u?e(?:{N})m(?:{N})(?:b(?:{N}))?(?:fnuz)?")
"""Names of formats in any library. Names with ``fn`` at the end are formats with shorter names here."""
FIXED_NAME = re.compile(f"(?:mx)?int(?P<bits>{N})")


def source_format(name: object, kind: str = "source") -> FloatFormat:
    """The format of data with this name. ``kind`` names the argument in the error."""
    if isinstance(name, FloatFormat):
        return name
    return SOURCES[known_name(kind, name, SOURCES)]


def scalar_format(name: object, kind: str, known: Mapping[str, FloatFormat]) -> FloatFormat:
    """The known format with this name, or with this name in PTX. ``kind`` names the argument in the error."""
    given = name.name if isinstance(name, FloatFormat) else name
    if isinstance(given, str):
        given = ptx.FORMATS.get(given.lower(), given)
    if not isinstance(given, str) or given.lower() not in known:
        raise ValueError(unknown_format(kind, given, known))
    found = known[given.lower()]
    if isinstance(name, FloatFormat) and name != found:
        raise ValueError(f"{name.name!r} is the name of another format: give it by its name")
    return found


def element_format(name: str) -> NumberFormat:
    """The element format that a name spells: ``eXmY`` and ``intN``, with or without the family's prefix.

    ``e4m3`` and the other OCP names are the OCP formats. Any other ``eXmY`` has the bias 2**(X - 1) - 1 and no special
    codes, unless ``_nan_only`` or ``_ieee`` follows (`SpecialCodes`); ``_none`` is the explicit form. ``intN`` is
    symmetric with N - 2 fraction bits, like INT8. Case does not matter.

    >>> element_format("e3m3").max_value, element_format("e3m4_ieee").nan_code, element_format("int4").max_value
    (Fraction(30, 1), 127, Fraction(7, 4))
    """
    given, name = name, whole_name(name)
    if name in ELEMENTS:
        return ELEMENTS[name]
    for element in OTHER_ELEMENTS.values():
        if name in (element.name, block_name(element)):
            return element
    if name in BLOCKS:
        return BLOCKS[name].element
    if match := FIXED_NAME.fullmatch(name):
        return _fixed(int(match["bits"]))
    if match := FLOAT_NAME.fullmatch(name):
        made = _float(int(match["exp"]), int(match["man"]), match["specials"] or "none")
        if match["bits"] not in (None, str(made.bits)):
            raise ValueError(f"{made.name} has {made.bits} bits, which {given} contradicts")
        return made
    if name in (known.name for known in ALONE):
        raise ValueError(f"{given} is a format of single numbers, which casts convert to, and not of blocks")
    raise ValueError(unknown_format("format", given, [*ELEMENTS, *OTHER_ELEMENTS, *BLOCKS, *OTHER_BLOCKS]))


def whole_name(name: str) -> str:
    """A name of a block format in small letters. ``mxfp4`` becomes the name of the only format of its family.

    >>> whole_name("MXFP4"), whole_name("mxfp8")
    ('mxfp4_e2m1', 'mxfp8')
    """
    name = name.lower()
    family = [block for block in BLOCKS if block.startswith(f"{name}_")]
    return family[0] if len(family) == 1 else name


def unknown_format(kind: str, name: object, known: Iterable[str]) -> str:
    """The message of `unknown_name`. A well-formed name gets no hint, because it means another format.

    >>> unknown_format("format", "e4m3b11fnuz", ["e4m3"]), unknown_format("format", "e4m3fn", ["e4m3"])
    ("unknown format 'e4m3b11fnuz': known are e4m3", "unknown format 'e4m3fn': did you mean 'e4m3'?")
    """
    known = list(known)
    if isinstance(name, str) and WELL_FORMED.fullmatch(name.lower()):
        return f"unknown {kind} {excerpt(name)}: known are {', '.join(known)}"
    return unknown_name(kind, name, known)


def _fixed(bits: int) -> FixedFormat:
    if not 2 <= bits <= 16:
        raise ValueError(f"INT formats have 2 to 16 bits, not {bits}")
    most = (1 << (bits - 1)) - 1
    return FixedFormat(
        name=f"int{bits}",
        bits=bits,
        frac_bits=bits - 2,
        lowest=-most,
        highest=most,
        source="INT8 of OCP MX v1.0, at another width",
    )


def _float(exp_bits: int, man_bits: int, specials: str) -> FloatFormat:
    plain = f"e{exp_bits}m{man_bits}"
    if not (1 <= exp_bits <= 5 and man_bits <= 10):
        raise ValueError(f"ExMy formats have 1 to 5 exponent bits and 0 to 10 fraction bits, not {plain}")
    known = ELEMENTS.get(plain)
    if isinstance(known, FloatFormat) and known.specials == specials:
        return known
    name = plain if specials == "none" and plain not in ELEMENTS else f"{plain}_{specials}"
    return FloatFormat(
        name=name,
        exp_bits=exp_bits,
        man_bits=man_bits,
        bias=(1 << (exp_bits - 1)) - 1,
        specials=SpecialCodes.named("specials", specials),
        source="IEEE 754 field layout, OCP MX v1.0 subnormals",
    )


def block_format(name: object) -> BlockFormat:
    """The block format of this name (see `element_format`), or of this element under an E8M0 scale.

    The suffix ``_2d`` means one scale for each tile of 32 x 32 elements.

    >>> block_format("e4m3") is block_format("mxfp8_e4m3")
    True
    >>> block_format("e3m3").name
    'mxfp7_e3m3'
    >>> block_format("e4m3_2d").name, block_format("e4m3_2d").shape
    ('mxfp8_e4m3_2d', (32, 32))
    """
    if isinstance(name, BlockFormat):
        return name
    if isinstance(name, NumberFormat) and name.signed:
        element = name
        try:
            spelt = element_format(element.name)
        except ValueError:
            spelt = element  # the name spells no format
        if spelt != element:
            raise ValueError(f"{element.name!r} is the name of another element format: give this one a name of its own")
        element = spelt
    elif isinstance(name, str):
        if name.lower() in OTHER_BLOCKS:
            return OTHER_BLOCKS[name.lower()]
        if name.lower().endswith(TILED):
            return block_format(element_format(name[: -len(TILED)])).tiled()
        element = element_format(name)
    else:
        raise TypeError(f"a block format is given by name or as a BlockFormat, not {excerpt(name)}")
    block = BLOCKS.get(block_name(element))
    return block or BlockFormat(name=block_name(element), element=element, scale=E8M0)


def named_blocks() -> dict[str, BlockFormat]:
    """The block formats of the catalogue by name. Names spell many more (`element_format`)."""
    return BLOCKS | {block.name: block for block in map(block_format, OTHER_ELEMENTS)}


def format_fields(format: NumberFormat) -> dict[str, object]:
    """The fields of a format as plain strings and numbers, without its source."""
    fields = {
        one.name: value if isinstance(value := getattr(format, one.name), int) else str(value)
        for one in dataclasses.fields(format)
        if one.name != "source"
    }
    return {"kind": str(format.kind), **fields}


def is_spelt(format: NumberFormat) -> bool:
    """Does the name of a format define it completely?"""
    return format.name not in OTHER_ELEMENTS and _named(format.name) == format


def _named(name: str) -> NumberFormat | None:
    """The format that a name defines; None if it defines none."""
    for known in (*SOURCES.values(), *ALONE, FP64, TF32):
        if known.name == name:
            return known
    try:
        return element_format(name)
    except ValueError:
        return None


def format_of(fields: Mapping[str, object]) -> NumberFormat:
    """The format that `format_fields` wrote. Raises ValueError or TypeError for other fields."""
    if not isinstance(fields, Mapping):
        raise TypeError(f"a format must have fields by name, not {excerpt(fields)}")
    given = dict(fields)
    # files of version 0.1 have no kind
    kind = str(given.pop("kind", None) or ("float" if "exp_bits" in given else "fixed"))
    if given.pop("symmetric", None) is True and isinstance(bits := given.get("bits"), int) and 0 < bits < 64:
        given |= {"lowest": -(1 << bits - 1) + 1, "highest": (1 << bits - 1) - 1}
    if kind not in list(Kind):
        raise ValueError(unknown_name("kind of number format", kind, list(Kind)))
    names = [one.name for one in dataclasses.fields(KINDS[Kind(kind)])]
    if not set(given) <= set(names) or not {"name"} <= set(given):
        raise ValueError(f"a {kind} format has the fields {', '.join(names)}, not {excerpt(list(given))}")
    given = {"source": ""} | given
    needed = (one for one in dataclasses.fields(KINDS[Kind(kind)]) if one.default is one.default_factory)
    if missing := [one.name for one in needed if one.name not in given]:
        raise ValueError(f"{missing[0]} of the {kind} format {excerpt(given['name'])} is missing")
    try:
        kind_of_format: Callable[..., NumberFormat] = KINDS[Kind(kind)]
        found = constructed(kind_of_format, given)
    except TypeError as error:
        raise ValueError(str(error)) from None
    named = _named(found.name)
    return named if named is not None and named == found else found
