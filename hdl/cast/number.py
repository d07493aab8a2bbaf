"""A lane of a cast: a number of one floating-point format, rounded to another format."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec import (
    Cast,
    CastNan,
    CastNegative,
    CastOverflow,
    CastRounding,
    CastUnderflow,
    EncodedZero,
    FloatFormat,
    NanSubstitute,
    Rounding,
    SpecialCodes,
)
from ..config.cast import CastConfig
from ..primitives.register import Stage, enable_port
from ..primitives.rounding import ROUNDINGS as SHARED
from ..primitives.rounding import bits_below
from ..primitives.shape import signed_range

ROUNDINGS: dict[CastRounding, Callable[..., Value | int]] = {
    CastRounding.RNE: SHARED[Rounding.RNE],
    CastRounding.RNA: SHARED[Rounding.RNA],
    CastRounding.RNZ: SHARED[Rounding.RNZ],
    CastRounding.RTZ: SHARED[Rounding.RTZ],
    CastRounding.RP: lambda last, below, sticky, random: below | sticky,
    CastRounding.SR: SHARED[Rounding.SR],
}
"""Is a truncated magnitude increased by one? The arguments are as in `rounding.rounds_up`."""

OVERFLOWS: dict[CastOverflow, Callable[[Cast], tuple[int | None, int | None]]] = {
    CastOverflow.SATURATE: lambda rules: (rules.destination.max_code, rules.destination.max_code),
    CastOverflow.INF: lambda rules: (rules.destination.inf_code, rules.destination.inf_code),
    CastOverflow.IEEE: lambda rules: (
        rules.destination.max_code if rules.rounding is CastRounding.RTZ else rules.destination.inf_code,
        rules.destination.inf_code,
    ),
}
"""The results for numbers above the largest one, and for Inf; None is NaN."""

ZEROS: dict[EncodedZero, Callable[[Value, Value, Value], Value]] = {
    EncodedZero.SIGNED: lambda sign, was_zero, is_zero: sign,
    EncodedZero.POSITIVE: lambda sign, was_zero, is_zero: sign & ~is_zero,
    EncodedZero.TAKEN_POSITIVE: lambda sign, was_zero, is_zero: sign & ~was_zero,
    EncodedZero.TAKEN_NEGATIVE: lambda sign, was_zero, is_zero: sign | was_zero,
}
"""The sign of a result, from the sign of the source and whether source and result are zero."""

NEGATIVES: dict[CastNegative, bool] = {CastNegative.MAGNITUDE: False, CastNegative.NAN: True}
"""Does a negative number become NaN in a format without a sign?"""

UNDERFLOWS: dict[CastUnderflow, Callable[[Value, Value], Value | int]] = {
    CastUnderflow.SMALLEST: lambda gone, is_zero: 0,
    CastUnderflow.NAN_ZERO: lambda gone, is_zero: is_zero,
    CastUnderflow.NAN: lambda gone, is_zero: gone,
}
"""Does a number become NaN in a format without zero, if it is zero or below the smallest number?"""

SUBSTITUTES: dict[NanSubstitute, Callable[[Value, FloatFormat], Value]] = {
    NanSubstitute.LARGEST: lambda sign, to: Const(to.max_code, to.bits),
    NanSubstitute.ZERO: lambda sign, to: Cat(Const(0, to.bits - 1), ~sign),
}
"""The code that replaces NaN in a format without NaN."""


def _quiet(to: FloatFormat) -> int:
    """The NaN with the first fraction bit alone, or the only NaN of a format."""
    return to.magnitude_mask if to.inf_code is None else to.inf_code | 1 << (to.man_bits - 1)


def _signed(magnitude: int, sign: Value, to: FloatFormat) -> Value:
    return Cat(Const(magnitude, to.bits - to.signed), sign)[: to.bits]


def _payload(sign: Value, fraction: Value | None, is_nan: Value, to: FloatFormat) -> Value:
    canonical = Const(_quiet(to), to.bits)
    if fraction is None:
        return canonical
    room = to.man_bits - len(fraction)
    kept = Cat(Const(0, room), fraction) if room >= 0 else fraction[-room:]
    return Mux(is_nan, Cat((canonical | kept)[: to.bits - to.signed], sign)[: to.bits], canonical)


NANS: dict[CastNan, Callable[[Value, Value | None, Value, FloatFormat], Value]] = {
    CastNan.CANONICAL: lambda sign, fraction, is_nan, to: Const(_quiet(to), to.bits),
    CastNan.SIGNED: lambda sign, fraction, is_nan, to: _signed(_quiet(to), sign, to),
    CastNan.ALL_ONES: lambda sign, fraction, is_nan, to: Const(to.magnitude_mask, to.bits),
    CastNan.SIGNED_ALL_ONES: lambda sign, fraction, is_nan, to: _signed(to.magnitude_mask, sign, to),
    CastNan.NEGATIVE: lambda sign, fraction, is_nan, to: Const((1 << to.bits) - 1, to.bits),
    CastNan.PAYLOAD: _payload,
}
"""The code of NaN, from the sign of the source, its fraction, and whether it is NaN."""


class _Limits:
    """The exponent fields of results without limits, and the leading zeros of subnormal sources that matter."""

    def __init__(self, rules: Cast) -> None:
        source, to = rules.source, rules.destination
        self.offset = to.bias - source.bias
        room = bits_below(rules) if to.subnormals else rules.underflow is CastUnderflow.NAN
        matters = to.lowest_exponent - room
        self.zeros = min(max(source.emin - matters, 0), source.man_bits) if source.subnormals else 0
        self.least = self.offset + source.subnormals - self.zeros
        self.most = (source.max_code >> source.man_bits) + self.offset
        least = min(self.least, self.offset)
        self.exponent = signed_range(least, self.most)
        self.carry = signed_range(least, self.most + 1).width - self.exponent.width
        """Further bits of an exponent that is rounded up."""


class NumberCast(wiring.Component):
    """Convert a number of the source to a number of the destination; combinational without registers inside.

    Ports
    -----
    x : in, the number
    random : in, random bits; under stochastic rounding
    y : out, the result
    enable : in, enable of the registers inside
    """

    def __init__(self, config: CastConfig) -> None:
        self.config, self.rules = config, config.numerics
        ports: dict[str, Member] = {
            "x": In(self.rules.source.bits),
            **({"random": In(self.rules.random_bits)} if self.rules.random_bits else {}),
            "y": Out(self.rules.destination.bits),
            **enable_port(config, config.number_stages),
        }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules, to, limits = self.rules, self.rules.destination, _Limits(self.rules)
        sign, field, fraction, kinds = _read(rules.source, self.x)
        told = {"sign": sign, **kinds}
        has_payload = rules.source.man_bits and rules.source.specials is not SpecialCodes.FNUZ and "is_nan" in kinds
        if rules.nan is CastNan.PAYLOAD and has_payload:
            told["payload"] = fraction
        zeros, normal, is_tiny = _normalised(field, fraction, rules.source, limits.zeros)
        cut = _cut(normal, rules)
        exponent = Signal(limits.exponent)
        significand = Signal(len(cut))
        m.d.comb += [exponent.eq(field + limits.offset - zeros), significand.eq(cut)]
        now = Stage(m, self, control=("random",)).crossed(
            "exponent", exponent=exponent, significand=significand, is_gone=is_tiny, **told
        )
        if to.subnormals:
            field, aligned, is_out = _aligned(m, now, rules, limits)
            told = {name: now.values[name] for name in told}
            moved = {"exponent": field, "significand": aligned, "is_gone": now.is_gone | is_out}
            now = now.crossed("shifted", store_inverted=("exponent",), **moved, **told)

        below = len(cut) - 1 - to.man_bits  # the leading one is not part of a code
        code = Cat(now.significand[below:-1], now.exponent)
        sticky = 0 if rules.random_bits else now.significand[0]
        bits = now.significand[below - bits_below(rules) : below]
        up = ROUNDINGS[rules.rounding](code[0], bits, sticky, now.random if rules.random_bits else None)
        number = Signal(signed(len(code) + limits.carry))
        m.d.comb += number.eq(code.as_signed() + up)
        is_gone = Signal()
        m.d.comb += is_gone.eq(now.is_gone | number[-1])
        told = {name: now.values[name] for name in told}
        now = now.crossed("rounded", control=(), number=number[:-1], is_gone=is_gone, **told)

        is_over = Signal()
        if (limits.most + 1) << to.man_bits > to.max_code:
            m.d.comb += is_over.eq(~now.is_gone & (now.number > to.max_code))
        m.d.comb += self.y.eq(_result(is_over, now, rules))
        return m


def _read(source: FloatFormat, x: Value) -> tuple[Value, Value, Value, dict[str, Value]]:
    """Sign, exponent field and fraction of a number, and flags for zero, Inf and NaN."""
    magnitude = x[: source.bits - source.signed]
    fraction, field = magnitude[: source.man_bits], magnitude[source.man_bits :]
    kinds: dict[str, Value] = {"is_zero": ~magnitude.any()} if source.subnormals else {}
    if source.specials is SpecialCodes.FNUZ:
        kinds = {"is_zero": ~x.any(), "is_nan": x[-1] & ~magnitude.any()}
    elif source.inf_code is not None:
        kinds |= {"is_inf": field.all() & ~fraction.any(), "is_nan": field.all() & fraction.any()}
    elif source.nan_code is not None:
        kinds |= {"is_nan": magnitude.all()}
    return x[-1] if source.signed else Const(0, 1), field, fraction, kinds


def _normalised(field: Value, fraction: Value, source: FloatFormat, most: int) -> tuple[Value | int, Value, Value]:
    """The leading zeros of a subnormal number (below ``most``), the fraction after its leading one, and whether the
    first ``most`` bits are zero. A normal number is not changed.
    """
    if not source.subnormals:
        return 0, fraction, Const(0, 1)
    is_subnormal, size = ~field.any(), len(fraction)
    zeros: Value | int = 0
    moved = fraction
    for count in reversed(range(most)):
        leads = fraction[size - 1 - count]
        zeros = Mux(leads, count, zeros)
        moved = Mux(leads, Cat(Const(0, count + 1), fraction[: size - 1 - count]), moved)
    if not most:
        return 0, fraction, is_subnormal
    is_tiny = is_subnormal & ~fraction[size - most :].any()
    return Mux(is_subnormal, zeros, 0), Mux(is_subnormal, moved, fraction)[:size], is_tiny


def _cut(fraction: Value, rules: Cast) -> Value:
    """The significand, cut to the places of the destination and the bits below that the rounding uses. Without random
    bits, the OR of everything below is added as the lowest bit.
    """
    rest = len(fraction) - rules.destination.man_bits - bits_below(rules)
    sticky = [] if rules.random_bits else [fraction[: max(rest, 0)].any()]
    return Cat(*sticky, Const(0, max(-rest, 0)), fraction[max(rest, 0) :], Const(1, 1))


def _aligned(m: Module, now: Stage, rules: Cast, limits: _Limits) -> tuple[Value, Value, Value]:
    """Exponent field and significand of a result that may be subnormal, and whether nothing is left of it.

    A subnormal significand is shifted down by 1 - exponent field.
    """
    exponent, significand = now.exponent.as_signed(), now.significand
    if limits.least > 0:
        return exponent, significand, Const(0, 1)
    depth = min(1 - limits.least, rules.destination.man_bits + bits_below(rules))
    is_small = Signal()
    amount = Signal(range(depth + 1))
    m.d.comb += [is_small.eq(exponent[-1] | ~exponent.any()), amount.eq(Mux(is_small, 1 - exponent, 0))]
    for place in range(len(amount)):
        before, significand = significand, Signal(len(significand), name=f"moved_{place}")
        m.d.comb += significand.eq(Mux(amount[place], _down(before, 1 << place, rules), before))
    is_out = exponent < 1 - depth if limits.least < 1 - depth else Const(0, 1)
    return Mux(is_small, 0, exponent).as_signed(), significand, is_out


def _down(significand: Value, places: int, rules: Cast) -> Value:
    """A significand shifted down by ``places``. Its lowest bit remains the OR of everything below."""
    size = len(significand)
    places = min(places, size)
    if rules.random_bits:
        return Cat(significand[places:], Const(0, places))
    return Cat(significand[: places + 1].any(), significand[places + 1 :], Const(0, places))[:size]


def _result(is_over: Value, now: Stage, rules: Cast) -> Value:
    """The result, from the rounded magnitude and the flags of the number."""
    to, none = rules.destination, Const(0, 1)
    is_nan, is_inf, is_zero = (now.values.get(name, none) for name in ("is_nan", "is_inf", "is_zero"))
    of_over, of_inf = OVERFLOWS[rules.overflow](rules)
    cases = [(is_over | is_inf, of_inf)] if of_over == of_inf else [(is_over, of_over), (is_inf, of_inf)]
    has_no_number = is_nan
    for which, limit in cases:
        has_no_number = has_no_number if limit is not None else has_no_number | which
    if not to.subnormals:
        has_no_number = has_no_number | UNDERFLOWS[rules.underflow](now.is_gone, is_zero)
    if not to.signed and NEGATIVES[rules.negative]:
        has_no_number = has_no_number | now.sign
    if to.nan_code is None:
        nan = SUBSTITUTES[rules.nan_substitute](now.sign, to)
    elif to.specials is SpecialCodes.FNUZ:
        nan = Const(to.nan_code, to.bits)
    else:
        nan = NANS[rules.nan](now.sign, now.values.get("payload"), is_nan, to)
    smallest = ~is_zero if rules.rounding is CastRounding.RP and to.subnormals else 0
    magnitude: Value = Mux(now.is_gone, smallest, now.number[: to.bits - to.signed])
    for which, limit in cases:  # the last one wins
        magnitude = Mux(which, limit or 0, magnitude)
    magnitude = magnitude[: to.bits - to.signed]
    sign = ZEROS[rules.zero](now.sign, is_zero, ~magnitude.any())
    if to.signed and not to.signed_zero:
        sign = sign & magnitude.any()
    return Mux(has_no_number, nan, Cat(magnitude, sign)[: to.bits])
