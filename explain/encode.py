"""One block, step by step: why its bits are what they are.

The numbers come from the exact definition. The fast model must give the same block, and the steps shown must lead to
it; otherwise there is an error and no explanation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Unpack

import numpy as np

from ..models.arrays.codes import code_values
from ..models.arrays.source import DTYPES, as_numbers, widen
from ..models.exact.encode import decode, quantize_block, source_number, with_sign
from ..models.fast.element import largest_value
from ..models.fast.encode import quantize
from ..spec import (
    E8M0,
    FP32,
    BlockFormat,
    Encode,
    EncodeFields,
    NumberFormat,
    ScaleRule,
    Specials,
    Subnormals,
    profile_of,
    signal_codes,
)
from ..spec import numerics as numerics_of
from .bit_trace import RoundingTrace, fp32_pattern, rounding_trace, scale_trace
from .explanation import CLASSES, ElementStep, Explanation, Largest, ScaleStep

TWO = Fraction(2)


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
    block : at most block_size numbers, the rest being zeros: source bit patterns as Python integers, or an array (n,)
        of numbers that `quantize` takes
    format, profile, rules : the numerics, as `quantize` takes them
    random : random bits for each element under the rounding ``sr``, the rest being zeros

    Returns
    -------
    Explanation
        the largest magnitude, the scale under every scale rule, and each element from source number to code

    Raises
    ------
    TypeError
        where the block is no array of source numbers
    ValueError
        for too many elements, patterns outside the source format, random bits without the rounding ``sr``, or an
        unknown name
    AssertionError
        where the fast model or the steps shown disagree with the exact definition, which is a defect of mxcast

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
    if numerics.random_bits:
        random = list(random or ())
        if len(random) > size:
            raise ValueError(f"a block has {size} elements and as many random numbers, not {len(random)}")
        random += [0] * (size - len(random))
    elif random is not None:
        raise ValueError(f"random bits are for the rounding sr, not for {numerics.rounding}")
    kinds = [_kind(p, numerics) for p in patterns]
    scale_rules = tuple(_scale_step(numerics.replace(scale_rule=rule), patterns, kinds, random) for rule in ScaleRule)
    byte, codes = quantize_block(patterns, numerics, random)
    elements = tuple(
        _element_step(numerics, lane, patterns[lane], kinds, byte, codes[lane], random[lane] if random else 0)
        for lane in range(size)
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
        wrong = next((p for p in patterns if not 0 <= p < 1 << source.bits), None)
        if wrong is not None:
            raise ValueError(f"patterns of {source.name} must be numbers of {source.bits} bits, not {wrong:#x}")
    else:
        numbers = as_numbers(block, source)
        if numbers.ndim != 1:
            raise ValueError(f"a block must have one axis, not {numbers.ndim}")
        if source is FP32:
            patterns = widen(numbers, np.empty(numbers.size, np.uint32)).view(np.uint32).tolist()
        else:
            patterns = numbers.view(np.uint16).tolist()
    if len(patterns) > numerics.block_size:
        raise ValueError(f"a block has {numerics.block_size} elements, not {len(patterns)}")
    return patterns


def _kind(pattern: int, numerics: Encode) -> str:
    source = numerics.source
    field, fraction = divmod(pattern & source.magnitude_mask, 1 << source.man_bits)
    if field == (1 << source.exp_bits) - 1:
        return "nan" if fraction else "inf"
    return "normal" if field else "subnormal" if fraction else "zero"


def _number(pattern: int, numerics: Encode) -> float:
    """The source number, exactly, before anything is done to it."""
    number = decode(pattern, numerics.source)
    magnitude = {"nan": math.nan, "inf": math.inf}.get(number.kind, float(number.magnitude))
    return -magnitude if number.negative else magnitude


def _largest(numerics: Encode, patterns: list[int]) -> Largest | None:
    numbers = [decode(p, numerics.source, numerics.input_subnormals) for p in patterns]
    magnitudes = [n.magnitude if n.kind == "finite" else Fraction(0) for n in numbers]
    lane = magnitudes.index(max(magnitudes))
    if magnitudes[lane] == 0:
        return None
    return Largest(lane=lane, fp32=fp32_pattern(magnitudes[lane]), value=float(magnitudes[lane]))


def _scale_step(numerics: Encode, patterns: list[int], kinds: list[str], random: list[int] | None) -> ScaleStep:
    byte, codes = quantize_block(patterns, numerics, random)
    x = np.array(patterns, np.uint32 if numerics.source is FP32 else np.uint16).view(DTYPES[numerics.source.name])
    q = quantize(x, numerics, random=None if random is None else np.array(random))
    if (int(q.scales[0]), q.codes.tolist()) != (byte, codes):
        raise AssertionError("the model disagrees with the exact definition")
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
        quotient, trace = None, RoundingTrace(action="specials", code=code)
    else:
        quotient = number.magnitude / Fraction(_factor(numerics, byte))
        trace = rounding_trace(quotient, kind, numerics, random)
        if with_sign(trace.code, number, numerics) != code:
            raise AssertionError(f"the steps shown for element {lane} do not lead to its code {code:#x}: {trace}")
    signed = -1 if number.negative else 1
    value, decoded = _number(pattern, numerics), _decoded(numerics, byte, code)
    error = float(Fraction(decoded) - Fraction(value)) if math.isfinite(decoded) and math.isfinite(value) else None
    return ElementStep(
        lane=lane,
        pattern=pattern,
        kind=kind,
        value=value,
        cut=trace.cut,
        guard=trace.guard,
        sticky=trace.sticky,
        tail=trace.tail,
        random=trace.random,
        action=trace.action,
        quotient=None if quotient is None else float(quotient) * signed,
        code=code,
        fields=code_fields(code, element),
        element=float(code_values(element)[code]),
        decoded=decoded,
        error=error,
        relative_error=error / abs(value) if error is not None and value else None,
    )


DECISIVE: dict[Specials, frozenset[str]] = {
    Specials.NAN_BLOCK: frozenset(("inf", "nan")),
    Specials.TE: frozenset(("inf",)),
    Specials.INF_SCALE: frozenset(("inf", "nan")),
    Specials.DROP: frozenset(),
}
"""Classes of which one element makes the specials, and not the scale rule, give the byte of its block."""


def _all_if_any(kind: str, kinds: Sequence[str]) -> bool:
    return "inf" in kinds or "nan" in kinds


REPLACED: dict[Specials, Callable[[str, Sequence[str]], bool]] = {
    Specials.NAN_BLOCK: _all_if_any,
    Specials.TE: lambda kind, kinds: kind in ("inf", "nan"),
    Specials.INF_SCALE: _all_if_any,
    Specials.DROP: lambda kind, kinds: False,
}
"""Whether the specials, and not the rounding, give the code of an element of this class in a block of these classes."""


def _remarks(numerics: Encode, patterns: list[int], kinds: list[str]) -> Iterator[str]:
    """Sentences on what the specials and the subnormals of the input do to this block."""
    there = {
        kind: f"{name} ({_lanes([lane for lane, other in enumerate(kinds) if other == kind])})"
        for kind, name in (("nan", "NaN"), ("inf", "Inf"))
        if kind in kinds
    }
    if there:
        yield from REMARKS[numerics.specials](there, numerics.block.element)
    if numerics.input_subnormals is Subnormals.FLUSH:
        count = sum(0 < abs(_number(p, numerics)) < 2.0**FP32.emin for p in patterns)
        if count:
            yield f"{count} FP32 subnormal input{'s' * (count > 1)} taken for zero: input_subnormals flush"


def _remark_nan_block(there: dict[str, str], element: NumberFormat) -> Iterator[str]:
    code = "the canonical NaN" if element.nan_code is not None else f"code 0, as {element.name} has no NaN"
    byte = f"byte 0x{E8M0.nan_code:02X}"
    yield f"{' and '.join(there.values())}: under nan_block the block has {byte}, and every element is {code}"


def _remark_te(there: dict[str, str], element: NumberFormat) -> Iterator[str]:
    code = "the canonical NaN" if element.nan_code is not None else f"the largest number, as {element.name} has no NaN"
    if "nan" in there:
        yield f"{there['nan']}: under te left out of the maximum, and {code} as element"
    if "inf" in there:
        byte = f"byte 0x{E8M0.max_code:02X}"
        yield f"{there['inf']}: under te the block has {byte}; the largest number of its sign as element"


def _remark_inf_scale(there: dict[str, str], element: NumberFormat) -> Iterator[str]:
    inf, nan = signal_codes(element)
    byte, code = (E8M0.nan_code, nan) if "nan" in there else (E8M0.max_code, inf)
    yield (
        f"{next(iter(there.values()))}: under inf_scale the block has byte 0x{byte:02X}, and every element is its sign "
        f"and magnitude 0x{code:X}"
    )


def _remark_drop(there: dict[str, str], element: NumberFormat) -> Iterator[str]:
    yield (
        f"{' and '.join(there.values())}: under drop left out of the maximum, then quantized as numbers of exponent 128"
    )


REMARKS: dict[Specials, Callable[[dict[str, str], NumberFormat], Iterator[str]]] = {
    Specials.NAN_BLOCK: _remark_nan_block,
    Specials.TE: _remark_te,
    Specials.INF_SCALE: _remark_inf_scale,
    Specials.DROP: _remark_drop,
}
"""Sentences on the NaN and Inf elements, by class, of a block."""


def _lanes(lanes: list[int]) -> str:
    shown = ", ".join(map(str, lanes[:4])) + (f" and {len(lanes) - 4} more" if len(lanes) > 4 else "")
    return f"lane{'s' if len(lanes) > 1 else ''} {shown}"


def code_fields(code: int, element: NumberFormat) -> str:
    """The binary code with bars between its fields.

    >>> from mxcast.spec import E4M3, INT8
    >>> code_fields(0xFC, E4M3), code_fields(0x81, INT8)
    ('1|1111|100', '1|0000001')
    """
    digits = f"{code:0{element.bits}b}"
    ends = list(accumulate(element.fields, initial=0))
    return "|".join(digits[start:end] for start, end in pairwise(ends))
