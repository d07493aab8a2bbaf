"""The encoding of one block, step by step.

The results come from the exact definition. An explanation is only returned if the fast model gives the same block and
the steps lead to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.arrays.codes import code_values
from ..models.arrays.source import DTYPES, as_numbers, widen
from ..models.exact.binary32 import TWO, floor_log2
from ..models.exact.encode import decode, element_value, neighbours, quantize_block, source_number
from ..models.exact.encode import with_sign as signed_code
from ..models.fast.element import largest_value
from ..models.fast.encode import quantize
from ..models.fast.rounding import largest_code
from ..spec import (
    E8M0,
    FP32,
    BlockFormat,
    Encode,
    EncodeFields,
    Kind,
    NumberFormat,
    Rounding,
    ScaleRule,
    Specials,
    Subnormals,
    profile_of,
    signal_codes,
)
from ..spec import numerics as numerics_of
from .encode_steps import ElementStep, Explanation, Largest, ScaleStep
from .explanation import (
    CLASSES,
    as_float,
    class_of,
    code_fields,
    difference,
    random_numbers,
    require_codes,
    require_same,
)
from .rounding import Trace, rounded
from .scale import fp32_pattern, scale_trace


def explain(
    block: Sequence[int] | np.ndarray,
    format: str | BlockFormat | NumberFormat | Encode,
    profile: str | None = None,
    *,
    random: Sequence[int] | None = None,
    **rules: Unpack[EncodeFields],
) -> Explanation:
    """Convert one block and keep every step.

    Parameters
    ----------
    block : at most block_size numbers, which zeros complete: source bit patterns as Python integers, or an array (n,)
        of numbers that `quantize` takes
    format, profile, rules : the numerics, as for `quantize`
    random : random bits of each element under the rounding ``sr``, which zeros complete

    Returns
    -------
    Explanation
        the largest magnitude, the scale under every scale rule, and each element from source number to code

    Raises
    ------
    TypeError
        if the block is not an array of source numbers
    ValueError
        for too many elements, patterns outside the source format, random bits without the rounding ``sr``, or an
        unknown name
    AssertionError
        if the fast model or the steps disagree with the exact definition, which is a defect of mxcast

    >>> why = explain([0x3FF00000, 0x3F880000], "e4m3")     # 1.875 and 1.0625
    >>> why.scale.arithmetic, why.scale.saturates
    ('e - emax = 127 - 8 = 119', True)
    >>> [(step.quotient, step.guard, step.sticky, step.action, step.fields) for step in why.elements[:2]]
    [(480.0, None, None, 'saturated', '0|1111|110'), (272.0, 1, 0, 'tie down', '0|1111|000')]
    """
    numerics = numerics_of(format, profile, **rules)
    size, patterns = numerics.block_size, _patterns(block, numerics)
    given = len(patterns)
    patterns += [0] * (size - given)
    drawn = random_numbers(random, size, numerics)
    kinds = [class_of(numerics.source.decode(p), p, numerics.source) for p in patterns]
    scale_rules = tuple(_scale_step(numerics.replace(scale_rule=rule), patterns, kinds, drawn) for rule in ScaleRule)
    byte, codes = quantize_block(patterns, numerics, drawn)
    elements = tuple(
        _element_step(numerics, lane, patterns[lane], kinds, byte, codes[lane], drawn[lane]) for lane in range(size)
    )
    return Explanation(
        numerics=numerics,
        profile=profile_of(numerics, profile),
        given=given,
        largest=_largest(numerics, patterns),
        classes={kind: kinds.count(kind) for kind in CLASSES},
        remarks=tuple(_remarks(numerics, patterns, kinds)),
        scale_rules=scale_rules,
        elements=elements,
    )


def _patterns(block: Sequence[int] | np.ndarray, numerics: Encode) -> list[int]:
    source = numerics.source
    if isinstance(block, list | tuple) and all(isinstance(p, int) for p in block):
        patterns = list(block)
    else:
        numbers = as_numbers(block, source)
        if numbers.ndim != 1:
            raise ValueError(f"a block must have one axis, not {numbers.ndim}")
        if source is FP32:
            patterns = widen(numbers, np.empty(numbers.size, np.uint32)).view(np.uint32).tolist()
        else:
            patterns = numbers.view(np.uint16).tolist()
    require_codes("patterns", patterns, source, numerics.block_size)
    return patterns


def _number(pattern: int, numerics: Encode) -> float:
    """The source number, exactly, before any rule changes it."""
    return as_float(numerics.source.decode(pattern))


def _largest(numerics: Encode, patterns: list[int]) -> Largest | None:
    numbers = [decode(p, numerics.source, numerics.input_subnormals) for p in patterns]
    magnitudes = [n.magnitude if n.kind == "finite" else Fraction(0) for n in numbers]
    lane = magnitudes.index(max(magnitudes))
    if magnitudes[lane] == 0:
        return None
    return Largest(lane=lane, fp32=fp32_pattern(magnitudes[lane]), value=float(magnitudes[lane]))


def _scale_step(numerics: Encode, patterns: list[int], kinds: list[str], random: list[int]) -> ScaleStep:
    byte, codes = quantize_block(patterns, numerics, random)
    x = np.array(patterns, np.uint32 if numerics.source is FP32 else np.uint16).view(DTYPES[numerics.source.name])
    q = quantize(x, numerics, random=np.array(random) if numerics.random_bits else None)
    require_same((int(q.scales[0]), q.codes.tolist()), (byte, codes))
    largest = _largest(numerics, patterns)
    if not DECISIVE[numerics.specials].isdisjoint(kinds):
        arithmetic = f"specials {numerics.specials} give byte 0x{byte:02X}"
    else:
        computed, arithmetic = scale_trace(largest.fp32 if largest else 0, numerics)
        if computed != byte:
            raise AssertionError(f"the arithmetic shown, {arithmetic}, does not give the byte {byte}")
    factor = _factor(numerics, byte)
    limit = math.inf if math.isnan(factor) else largest_value(numerics) * factor
    values = [_number(p, numerics) for p in patterns]
    pairs = [
        (Fraction(v), Fraction(y))
        for v, y in zip(values, (_decoded(numerics, byte, code) for code in codes))
        if math.isfinite(v) and math.isfinite(y)
    ]
    signal, noise = sum(v**2 for v, _ in pairs), sum((v - y) ** 2 for v, y in pairs)
    return ScaleStep(
        rule=str(numerics.scale_rule),
        arithmetic=arithmetic,
        byte=byte,
        saturated=sum(math.isfinite(v) and abs(v) > limit for v in values),
        saturates=largest is not None and largest.value > limit,
        relative_rms=math.sqrt(noise / signal) if signal else math.nan,
    )


def _decoded(numerics: Encode, byte: int, code: int) -> float:
    return float(code_values(numerics.block.element)[code]) * _factor(numerics, byte)


def _factor(numerics: Encode, byte: int) -> float:
    """The value of a scale code."""
    return float(code_values(numerics.block.scale)[byte])


def _element_step(
    numerics: Encode, lane: int, pattern: int, kinds: Sequence[str], byte: int, code: int, random: int
) -> ElementStep:
    element, kind = numerics.block.element, kinds[lane]
    number = source_number(pattern, numerics)
    if REPLACED[numerics.specials](kind, kinds):
        quotient, trace = None, Trace("specials", code)
    else:
        quotient = number.magnitude / Fraction(_factor(numerics, byte))
        trace = rounding_trace(quotient, kind, numerics, random)
        if signed_code(trace.magnitude, number, numerics) != code:
            raise AssertionError(f"the steps shown for element {lane} do not lead to its code {code:#x}: {trace}")
    value, decoded = _number(pattern, numerics), _decoded(numerics, byte, code)
    error = difference(decoded, value)
    return ElementStep(
        lane=lane,
        pattern=pattern,
        kind=kind,
        value=value,
        cut=trace.cut,
        **trace.bits,
        action=trace.action,
        quotient=None if quotient is None else float(quotient) * (-1 if number.negative else 1),
        code=code,
        fields=code_fields(code, element),
        element=float(code_values(element)[code]),
        decoded=decoded,
        error=error,
        relative_error=error / abs(value) if error is not None and value else None,
    )


def rounding_trace(quotient: Fraction, kind: str, numerics: Encode, random: int) -> Trace:
    """Round a quotient >= 0 to the magnitude of a code, from the bits that hardware uses."""
    element, rounding = numerics.block.element, numerics.rounding
    if quotient == 0:
        return Trace("zero" if kind == "zero" else "flushed", 0)
    largest = largest_code(element, rounding)
    cut, part = _cut_off(quotient, numerics)
    if cut is None:
        return Trace("flushed", 0)
    beyond = quotient > element_value(largest, element)
    if beyond and (cut > largest or part >= 1):
        return Trace("saturated", largest)
    done = rounded(cut, part, rounding, random, numerics.random_bits)
    action, code = done.action, min(cut + done.up, largest)
    flushes = numerics.element_subnormals is Subnormals.FLUSH and rounding is not Rounding.GUARD_HALF_UP
    if flushes and element.is_subnormal(code):
        action, code = "flushed", 0
    return Trace("saturated" if beyond else action, code, cut, done.bits)


def _cut_off(quotient: Fraction, numerics: Encode) -> tuple[int | None, Fraction]:
    """The code of a quotient > 0 rounded toward zero, and the part of a step that was cut off. The code is None if the
    published recipe of `Rounding.GUARD_HALF_UP` gives zero.
    """
    published = numerics.rounding is Rounding.GUARD_HALF_UP and numerics.element_subnormals is Subnormals.FLUSH
    element = numerics.block.element
    if not published or element.kind is Kind.FIXED or quotient >= TWO**element.emin:
        return neighbours(quotient, element)
    binade = floor_log2(quotient)
    if binade + element.bias < 0:
        return None, quotient
    cut, part = divmod((quotient / TWO**binade - 1) * 2**element.man_bits, 1)  # exponent field 0, fraction unshifted
    return int(cut), part


DECISIVE: dict[Specials, frozenset[str]] = {
    Specials.NAN_BLOCK: frozenset(("inf", "nan")),
    Specials.TE: frozenset(("inf",)),
    Specials.INF_SCALE: frozenset(("inf", "nan")),
    Specials.DROP: frozenset(),
}
"""Classes of elements that decide the byte of their block in place of the scale rule."""


def _all_if_any(kind: str, kinds: Sequence[str]) -> bool:
    return "inf" in kinds or "nan" in kinds


REPLACED: dict[Specials, Callable[[str, Sequence[str]], bool]] = {
    Specials.NAN_BLOCK: _all_if_any,
    Specials.TE: lambda kind, kinds: kind in ("inf", "nan"),
    Specials.INF_SCALE: _all_if_any,
    Specials.DROP: lambda kind, kinds: False,
}
"""Do the specials decide the code of an element, in place of the rounding? From its class and its block's classes."""


def _remarks(numerics: Encode, patterns: list[int], kinds: list[str]) -> Iterator[str]:
    """Sentences on the effect of specials and input subnormals on this block."""
    found = {
        kind: f"{name} ({_lanes([lane for lane, other in enumerate(kinds) if other == kind])})"
        for kind, name in (("nan", "NaN"), ("inf", "Inf"))
        if kind in kinds
    }
    if found:
        yield from REMARKS[numerics.specials](found, numerics.block.element)
    if numerics.input_subnormals is Subnormals.FLUSH:
        count = sum(0 < abs(_number(p, numerics)) < 2.0**FP32.emin for p in patterns)
        if count:
            yield f"{count} FP32 subnormal input{'s' * (count > 1)} taken for zero: input_subnormals flush"


def _remark_nan_block(found: dict[str, str], element: NumberFormat) -> Iterator[str]:
    code = "the canonical NaN" if element.nan_code is not None else f"code 0, as {element.name} has no NaN"
    byte = f"byte 0x{E8M0.nan_code:02X}"
    yield f"{' and '.join(found.values())}: under nan_block the block has {byte}, and every element is {code}"


def _remark_te(found: dict[str, str], element: NumberFormat) -> Iterator[str]:
    code = "the canonical NaN" if element.nan_code is not None else f"the largest number, as {element.name} has no NaN"
    if "nan" in found:
        yield f"{found['nan']}: under te left out of the maximum, and {code} as element"
    if "inf" in found:
        byte = f"byte 0x{E8M0.max_code:02X}"
        yield f"{found['inf']}: under te the block has {byte}; the largest number of its sign as element"


def _remark_inf_scale(found: dict[str, str], element: NumberFormat) -> Iterator[str]:
    inf, nan = signal_codes(element)
    byte, code = (E8M0.nan_code, nan) if "nan" in found else (E8M0.max_code, inf)
    yield (
        f"{next(iter(found.values()))}: under inf_scale the block has byte 0x{byte:02X}, and every element is its sign "
        f"and magnitude 0x{code:X}"
    )


def _remark_drop(found: dict[str, str], element: NumberFormat) -> Iterator[str]:
    yield (
        f"{' and '.join(found.values())}: under drop left out of the maximum, then quantized as numbers of exponent 128"
    )


REMARKS: dict[Specials, Callable[[dict[str, str], NumberFormat], Iterator[str]]] = {
    Specials.NAN_BLOCK: _remark_nan_block,
    Specials.TE: _remark_te,
    Specials.INF_SCALE: _remark_inf_scale,
    Specials.DROP: _remark_drop,
}
"""Sentences on the NaN and Inf elements of a block, by class."""


def _lanes(lanes: list[int]) -> str:
    shown = ", ".join(map(str, lanes[:4])) + (f" and {len(lanes) - 4} more" if len(lanes) > 4 else "")
    return f"lane{'s' if len(lanes) > 1 else ''} {shown}"
