"""The decoding of one block, step by step.

The results come from the exact definition. An explanation is only returned if the fast model gives the same numbers and
the steps lead to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.arrays.source import DTYPES, code_dtype
from ..models.exact.binary32 import TWO, floor_log2
from ..models.exact.decode import OVERFLOWS, SCALE_READINGS, ZEROS, decode_block, product
from ..models.fast.decode import decode_blocks
from ..spec import (
    E8M0,
    BlockFormat,
    Decode,
    DecodedOverflow,
    DecodeFields,
    Number,
    NumberFormat,
    ScaleReading,
    Subnormals,
    decoding,
    profile_of,
)
from .explanation import (
    Record,
    StepByStep,
    as_float,
    class_of,
    code_fields,
    difference,
    finite_fields,
    random_numbers,
    require_codes,
    require_same,
)
from .rounding import Trace, rounded


@dataclass(frozen=True, kw_only=True)
class DecodedStep(Record):
    """One element, from its code to the pattern of the destination."""

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
    """Magnitude of the product, rounded toward zero. None if nothing is rounded, or beyond the largest number."""
    guard: int | None
    sticky: int | None
    tail: int | None
    random: int | None
    """The bits that decided the rounding (`Rounded`)."""
    action: str
    """exact, down, up, tie down, tie up, overflow to Inf, saturated, flushed, zero, inf or nan."""
    pattern: int
    result: float
    """Value of the pattern."""
    result_kind: str
    """The class of the result."""
    error: float | None
    """``result`` minus ``product``; None unless both are finite."""


@dataclass(frozen=True, kw_only=True)
class DecodeExplanation(StepByStep):
    """One block of codes with every step of its decoding."""

    numerics: Decode
    byte: int
    meaning: str
    """The factor of the scale byte in words."""
    factor: float
    """The factor, which can be inf or nan."""
    elements: tuple[DecodedStep, ...]

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        found = super().to_dict()
        return found | {"scale": finite_fields({name: found.pop(name) for name in ("byte", "meaning", "factor")})}


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
    format, profile, rules : the decoder, as for `dequantize`
    random : random bits of each element under the rounding ``sr``, which zeros complete

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
        if the fast model or the steps disagree with the exact definition, which is a defect of mxcast

    >>> why = explain_decoder(127, [0x7E, 0x01], "e4m3", destination="bf16")
    >>> why.meaning, [(step.product, step.action, hex(step.pattern)) for step in why.elements]
    ('2^(127 - 127) = 2^0', [(448.0, 'exact', '0x43e0'), (0.001953125, 'exact', '0x3b00')])
    """
    chosen = decoding(format, profile, **rules)
    require_codes("scales", [scale], E8M0)
    require_codes("codes", codes, chosen.block.element, chosen.block_size)
    bits = random_numbers(random, len(codes), chosen)
    patterns = decode_block(scale, codes, chosen, bits)
    require_same(_fast(scale, codes, chosen, bits), patterns)
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
"""The factor of a scale byte in words."""

BEYOND: dict[DecodedOverflow, str] = {DecodedOverflow.INF: "overflow to Inf", DecodedOverflow.SATURATE: "saturated"}
"""Action for a product beyond the largest number."""


def _step(lane: int, code: int, factor: Number, pattern: int, random: int, rules: Decode) -> DecodedStep:
    element, to = rules.block.element, rules.destination
    number = element.decode(code)
    exact = product(number, factor, Fraction(1))
    trace = Trace(exact.kind)
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
        **trace.bits,
        action=trace.action,
        pattern=pattern,
        result=both[1],
        result_kind=class_of(result, pattern, to),
        error=difference(both[1], both[0]),
    )


def _rounding(value: Fraction, random: int, rules: Decode) -> Trace:
    """Round a finite product >= 0 to a magnitude pattern, from the bits that hardware uses."""
    to = rules.destination
    if value == 0:
        return Trace("zero")
    if rules.subnormals is Subnormals.FLUSH and value < TWO**to.emin:
        return Trace("flushed")
    binade = max(floor_log2(value), to.emin)
    whole, part = divmod(value / TWO ** (binade - to.man_bits), 1)
    cut = (binade - to.emin << to.man_bits) + int(whole)
    done = rounded(cut, part, rules.rounding, random, rules.random_bits)
    action, magnitude = done.action, cut + done.up
    if magnitude > to.max_code:
        magnitude, action = OVERFLOWS[rules.overflow](to), BEYOND[rules.overflow]
    if cut > to.max_code:
        return Trace(action, magnitude)
    return Trace(action, magnitude, cut, done.bits)
