"""One block of codes, decoded step by step: why its bits are what they are.

The numbers come from the exact definition. The fast model must give the same bits, and the steps shown must lead to
them; otherwise there is an error and no explanation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.arrays.codes import code_dtype
from ..models.arrays.source import DTYPES
from ..models.exact.decode import OVERFLOWS, SCALE_READINGS, ZEROS, decode_block
from ..models.exact.encode import TWO, floor_log2, product
from ..models.fast.decode import decode_blocks
from ..spec import (
    BlockFormat,
    Decode,
    DecodedOverflow,
    DecodedRounding,
    DecodeFields,
    Number,
    NumberFormat,
    Rounding,
    ScaleReading,
    Subnormals,
    decoding,
    profile_of,
)
from .bit_trace import INCREMENTS, TIES
from .encode import code_fields
from .explanation import as_float, class_of, finite_fields


@dataclass(frozen=True, kw_only=True)
class DecodedStep:
    """One element, from its code to the pattern of the destination. Numbers are exact in double precision."""

    lane: int
    code: int
    fields: str
    """The code in binary: sign, exponent field and fraction, or sign and number."""
    kind: str
    """The class of the element: normal, subnormal, zero, inf or nan."""
    element: float
    """Value of the code."""
    product: float
    """The element times the factor of the scale byte, not rounded."""
    cut: int | None
    """The magnitude pattern of the product rounded toward zero; None where nothing is rounded, and beyond the largest
    number."""
    guard: int | None
    sticky: int | None
    """The first bit cut off, and whether any bit below it is set; not under `DecodedRounding.SR`."""
    tail: int | None
    random: int | None
    """Under `DecodedRounding.SR`, the first random_bits bits that are cut off, and the bits that are added to them."""
    action: str
    """What happened: exact, down, up, tie down, tie up, overflow to Inf, saturated, flushed, zero, inf or nan."""
    pattern: int
    result: float
    """Value of the pattern."""
    result_kind: str
    """The class of the result."""
    error: float | None
    """``result`` minus ``product``; None unless both are finite."""

    def to_dict(self) -> dict[str, object]:
        return finite_fields(vars(self))


@dataclass(frozen=True, kw_only=True)
class DecodeExplanation:
    """One block of codes with every step of its decoding."""

    numerics: Decode
    profile: str | None
    byte: int
    meaning: str
    """What the scale byte stands for, in words."""
    factor: float
    """Its value, inf and nan among them."""
    elements: tuple[DecodedStep, ...]

    def to_dict(self) -> dict[str, object]:
        """For JSON: infinities and NaN, which JSON lacks, are None."""
        return {
            "profile": self.profile,
            "numerics": self.numerics.to_dict(),
            "scale": finite_fields({"byte": self.byte, "meaning": self.meaning, "factor": self.factor}),
            "elements": [step.to_dict() for step in self.elements],
        }


def explain_decoder(
    scale: int,
    codes: Sequence[int],
    format: str | BlockFormat | NumberFormat | Decode,
    profile: str | None = None,
    *,
    random: Sequence[int] | None = None,
    **rules: Unpack[DecodeFields],
) -> DecodeExplanation:
    """Decode one block and keep every step.

    Parameters
    ----------
    scale : the scale byte
    codes : at most block_size element codes
    format, profile, rules : the decoder, as `dequantize` takes profile and rules
    random : random bits for each element under the rounding ``sr``, the rest being zeros

    Returns
    -------
    DecodeExplanation
        the factor of the byte, and each element from code to pattern

    Raises
    ------
    ValueError
        for a byte or a code outside its format, for too many codes or random bits, for random bits without the
        rounding ``sr``, or an unknown name
    AssertionError
        where the fast model or the steps shown disagree with the exact definition, which is a defect of mxcast

    >>> why = explain_decoder(127, [0x7E, 0x01], "e4m3", destination="bf16")
    >>> why.meaning, [(step.product, step.action, hex(step.pattern)) for step in why.elements]
    ('2^(127 - 127) = 2^0', [(448.0, 'exact', '0x43e0'), (0.001953125, 'exact', '0x3b00')])
    """
    chosen = decoding(format, profile, **rules)
    _check(scale, codes, random, chosen)
    bits = [*(random or ()), *[0] * (len(codes) - len(random or ()))]
    patterns = decode_block(scale, codes, chosen, bits)
    if patterns != _fast(scale, codes, chosen, bits):
        raise AssertionError("the model disagrees with the exact definition")
    factor = SCALE_READINGS[chosen.scale_reading](scale)
    return DecodeExplanation(
        numerics=chosen,
        profile=profile_of(chosen, profile),
        byte=scale,
        meaning=MEANINGS[chosen.scale_reading](scale),
        factor=as_float(factor),
        elements=tuple(
            _step(lane, code, factor, pattern, drawn, chosen)
            for lane, (code, pattern, drawn) in enumerate(zip(codes, patterns, bits))
        ),
    )


def _check(scale: int, codes: Sequence[int], random: Sequence[int] | None, rules: Decode) -> None:
    element, size = rules.block.element, rules.block_size
    if not 0 <= scale < 256:
        raise ValueError(f"a scale byte is 0 to 255, not {scale}")
    if len(codes) > size:
        raise ValueError(f"a block has {size} elements, not {len(codes)}")
    for code in codes:
        if not 0 <= code < 1 << element.bits:
            raise ValueError(f"codes of {element.name} must be 0 to {(1 << element.bits) - 1}, not {code}")
    if random is None:
        return
    if not rules.random_bits:
        raise ValueError(f"random bits are for the rounding sr, not for {rules.rounding}")
    if len(random) > len(codes):
        raise ValueError(f"there are {len(codes)} codes and at most as many random numbers, not {len(random)}")
    for bits in random:
        if not 0 <= bits < 1 << rules.random_bits:
            raise ValueError(f"random must be numbers of {rules.random_bits} bits, not {bits}")


def _fast(scale: int, codes: Sequence[int], rules: Decode, random: Sequence[int]) -> list[int]:
    """The patterns by the fast model."""
    size = rules.block_size
    block = np.zeros((1, size), code_dtype(rules.block.element))
    block[0, : len(codes)] = codes
    drawn = np.zeros((1, size), np.uint16)
    drawn[0, : len(codes)] = random
    y = np.empty((1, size), DTYPES[rules.destination.name])
    decode_blocks(np.array([scale], np.uint8), block, rules, y, drawn if rules.random_bits else None)
    return y.view(f"u{y.itemsize}")[0, : len(codes)].tolist()


def _power(exponent: str, value: int) -> str:
    return f"2^({exponent}) = 2^{value}"


MEANINGS: dict[ScaleReading, Callable[[int], str]] = {
    ScaleReading.E8M0: lambda byte: "NaN" if byte == 255 else _power(f"{byte} - 127", byte - 127),
    ScaleReading.POWER: lambda byte: _power(f"{byte} - 127", byte - 127),
    ScaleReading.FIELD: lambda byte: (
        f"FP32 exponent field {byte}: " + {0: "0", 255: "Inf"}.get(byte, _power(f"{byte} - 127", byte - 127))
    ),
    ScaleReading.SIGNED: lambda byte: f"2^{byte - 256 if byte >= 128 else byte}, the byte in two's complement",
}
"""What a scale byte stands for."""

BEYOND: dict[DecodedOverflow, str] = {DecodedOverflow.INF: "overflow to Inf", DecodedOverflow.SATURATE: "saturated"}
"""What happens to a product beyond the largest number."""


def _step(lane: int, code: int, factor: Number, pattern: int, random: int, rules: Decode) -> DecodedStep:
    element, to = rules.block.element, rules.destination
    number = element.decode(code)
    exact = product(number, factor, Fraction(1))
    trace = _Trace(action=exact.kind)
    if exact.kind == "finite":
        trace = _rounding(exact.magnitude, random, rules)
        is_zero = number.magnitude == 0
        negative = ZEROS[rules.zero](number.negative) if is_zero else number.negative
        if trace.magnitude | (to.sign_mask if negative else 0) != pattern:
            raise AssertionError(f"the steps shown for element {lane} do not lead to {pattern:#x}: {trace}")
    result = to.decode(pattern)
    both = as_float(exact), as_float(result)
    return DecodedStep(
        lane=lane,
        code=code,
        fields=code_fields(code, element),
        kind=class_of(number, code, element),
        element=as_float(number),
        product=both[0],
        cut=trace.cut,
        guard=trace.guard,
        sticky=trace.sticky,
        tail=trace.tail,
        random=trace.random,
        action=trace.action,
        pattern=pattern,
        result=both[1],
        result_kind=class_of(result, pattern, to),
        error=both[1] - both[0] if all(map(math.isfinite, both)) else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Trace:
    """How one product was rounded. The fields but ``magnitude`` are those of `DecodedStep`."""

    action: str
    magnitude: int = 0
    """The magnitude pattern."""
    cut: int | None = None
    guard: int | None = None
    sticky: int | None = None
    tail: int | None = None
    random: int | None = None


def _rounding(value: Fraction, random: int, rules: Decode) -> _Trace:
    """How a finite product >= 0 becomes a magnitude pattern, from the bits that hardware uses."""
    to = rules.destination
    if value == 0:
        return _Trace(action="zero")
    if rules.subnormals is Subnormals.FLUSH and value < TWO**to.emin:
        return _Trace(action="flushed")
    binade = max(floor_log2(value), to.emin)
    whole, part = divmod(value / TWO ** (binade - to.man_bits), 1)
    cut = (binade - to.emin << to.man_bits) + int(whole)
    guard, sticky, tail = int(part >= Fraction(1, 2)), int(2 * part % 1 > 0), math.floor(part * 2**rules.random_bits)
    rounding = Rounding.named("rounding", rules.rounding)
    up = INCREMENTS[rounding](guard, sticky, cut & 1, tail + random >> rules.random_bits)
    action = "exact" if part == 0 and not up else "up" if up else "down"
    if guard and not sticky and rounding in TIES:
        action = f"tie {action}"
    magnitude = cut + up
    if magnitude > to.max_code:
        magnitude, action = OVERFLOWS[rules.overflow](to), BEYOND[rules.overflow]
    if cut > to.max_code:
        return _Trace(action=action, magnitude=magnitude)
    if rules.rounding is DecodedRounding.SR:
        return _Trace(action=action, magnitude=magnitude, cut=cut, tail=tail, random=random)
    return _Trace(action=action, magnitude=magnitude, cut=cut, guard=guard, sticky=sticky)
