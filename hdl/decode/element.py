"""A lane of a decoder, which multiplies an element by the factor of its block and rounds to the destination, and the
unit that prepares the factor for the lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member, Out

from ...spec import (
    Decode,
    DecodedNan,
    DecodedZero,
    FixedFormat,
    FloatFormat,
    Kind,
    NumberFormat,
    Rounding,
    ScaleReading,
    Subnormals,
)
from ..config.decode import DecoderConfig
from ..primitives.register import Stage, enable_port
from ..primitives.rounding import bits_below, rounds_up
from ..primitives.shape import signed_range
from .factor import EXPONENTS, FLAGS
from .word import OVERFLOWS


def _reference(element: NumberFormat) -> int:
    """The exponent of an element with the exponent field 0 and a fraction that begins with a one, or of a fixed-point
    element with its top bit set.
    """
    return -element.bias if element.kind is Kind.FLOAT else element.bits - 1 - element.frac_bits


def _most_zeros(element: NumberFormat) -> int:
    """The most zeros before the leading one, counted from the place of `_reference`."""
    return max(element.man_bits - 1, 0) if element.kind is Kind.FLOAT else element.bits - 1


def _largest_field(element: NumberFormat) -> int:
    return element.inf_field >> element.man_bits if element.kind is Kind.FLOAT else 0


class Range:
    """The exponent fields of results without limits: ``least`` to ``most``."""

    def __init__(self, rules: Decode) -> None:
        low, high = EXPONENTS[rules.scale_reading]
        self.offset = _reference(rules.block.element) + rules.destination.bias
        self.base = low + self.offset, high + self.offset
        self.least = self.base[0] - _most_zeros(rules.block.element)
        self.most = self.base[1] + _largest_field(rules.block.element)


def factor_ports(config: DecoderConfig) -> dict[str, Shape]:
    """Signals from `FactorUnit` to the lanes.

    ``base``, signed, is the exponent field without limits of the result for an element with the exponent of
    `_reference`. ``nan``, ``inf`` and ``zero`` are flags of the factor, if it can be that.
    """
    return {
        "base": signed_range(*Range(config.numerics).base),
        **dict.fromkeys(FLAGS[config.numerics.scale_reading], Shape(1)),
    }


class FactorUnit(wiring.Component):
    """Prepare the scale byte of a block for the lanes; combinational.

    Ports
    -----
    scale : in, the scale byte
    base, nan, inf, zero : out, as `factor_ports` lists them
    """

    def __init__(self, config: DecoderConfig) -> None:
        self.config, self.rules = config, config.numerics
        told = {name: Out(shape) for name, shape in factor_ports(config).items()}
        super().__init__({"scale": In(self.rules.block.scale.bits), **told})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_signed = self.rules.scale_reading is ScaleReading.SIGNED
        exponent = self.scale.as_signed() if is_signed else self.scale - self.rules.block.scale.bias
        m.d.comb += self.base.eq(exponent + Range(self.rules).offset)
        for flag, byte in FLAGS[self.rules.scale_reading].items():
            is_byte = self.scale == byte if byte else ~self.scale.any()  # a comparison with 0 is printed as !
            m.d.comb += getattr(self, flag).eq(is_byte)
        return m


class ElementDecoder(wiring.Component):
    """Convert an element code to a number; combinational without registers inside.

    Ports
    -----
    p : in, the code
    base, nan, inf, zero : in, from `FactorUnit`
    random : in, random bits; under stochastic rounding
    y : out, the number
    enable : in, enable of the registers inside
    """

    def __init__(self, config: DecoderConfig) -> None:
        self.config, self.rules = config, config.numerics
        rules = self.rules
        ports: dict[str, Member] = {
            "p": In(rules.block.element.bits),
            **{name: In(shape) for name, shape in factor_ports(config).items()},
            **({"random": In(rules.random_bits)} if rules.random_bits else {}),
            "y": Out(rules.destination.bits),
            **enable_port(config, config.stages),
        }
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rules, to, limits = self.rules, self.rules.destination, Range(self.rules)
        element = rules.block.element
        now = Stage(m, self, control=("p", "random")).crossed("input").crossed("scale")
        sign, field, magnitude, kinds = READERS[element.kind](element, now.p)
        zeros, fraction = _normalised(magnitude, field, element)
        kinds |= {name: getattr(self, name) for name in FLAGS[rules.scale_reading]}
        carried = {"payload": magnitude} if rules.nan is DecodedNan.PAYLOAD and "is_nan" in kinds else {}
        later = {"fraction": fraction, "sign": sign, **kinds, **carried}
        now = now.crossed("read", control=("random",), base=self.base, field=field, zeros=Value.cast(zeros), **later)
        exponent = Signal(signed_range(limits.least, limits.most))
        m.d.comb += exponent.eq(now.base + now.field - now.zeros)
        now = now.crossed("sum", exponent=exponent, **{name: now.values[name] for name in later})
        exponent = now.exponent.as_signed()
        is_small = Signal()
        is_large = Signal()
        exponent_field: Value = Signal(to.exp_bits, name="exponent_field")
        m.d.comb += [
            is_small.eq((exponent[-1] | ~exponent.any()) if limits.least <= 0 else 0),
            is_large.eq(~exponent[-1] & (exponent[:-1] >= to.inf_field >> to.man_bits)),
        ]
        flushes = rules.subnormals is Subnormals.FLUSH
        wide, below = _significand(m, exponent, now.fraction, is_small, rules, limits)
        m.d.comb += exponent_field.eq(exponent if flushes else Mux(is_small, 0, exponent))
        later = {name: now.values[name] for name in ("sign", *kinds, *carried)}
        if not flushes:
            moved = {"field": exponent_field, "wide": wide, "is_small": is_small, "is_large": is_large}
            now = now.crossed("shifted", store_inverted=("field", "wide"), **moved, **later)
            exponent_field, wide, is_small, is_large = now.field, now.wide, now.is_small, now.is_large

        number = Cat(wide[below:], exponent_field)
        is_over = is_large
        if below:
            count = bits_below(rules)
            room = max(count - below, 0)
            bits = Cat(Const(0, room), wide[max(below - count, 0) : below])
            sticky = wide[: below - count].any() if below > count else 0
            random = now.random if rules.random_bits else None
            up = rounds_up(Rounding.named("rounding", rules.rounding), wide[below], bits, sticky, random)
            rounded = Signal(len(number))
            m.d.comb += rounded.eq(number + up)
            number, is_over = rounded, is_large | rounded[to.man_bits :].all()
        number = Mux(is_over, OVERFLOWS[rules.overflow](to), number)

        told = now.values
        none = Const(0, 1)
        element_nan, element_inf, element_zero = (told.get(name, none) for name in ("is_nan", "is_inf", "is_zero"))
        nan, inf, zero = (told.get(name, none) for name in ("nan", "inf", "zero"))
        gone = element_zero | zero | (is_small if flushes else none)
        is_nan = element_nan | nan | (element_inf & zero) | (element_zero & inf)
        magnitude = Mux(
            is_nan, to.inf_field | 1 << (to.man_bits - 1), Mux(element_inf | inf, to.inf_field, Mux(gone, 0, number))
        )
        negative = told["sign"]
        if rules.zero is DecodedZero.POSITIVE:
            negative = negative & ~element_zero
        y = NANS[rules.nan](now, magnitude, negative, is_nan, rules)
        m.d.comb += self.y.eq(now.crossed("output", control=(), y=y).y)
        return m


def _read_float(element: FloatFormat, p: Value) -> tuple[Value, Value, Value, dict[str, Value]]:
    """Sign, exponent field and fraction of a code, and flags for zero, Inf and NaN."""
    magnitude = p[: element.man_bits + element.exp_bits]
    fraction, field = magnitude[: element.man_bits], magnitude[element.man_bits :]
    kinds: dict[str, Value] = {"is_zero": ~magnitude.any()}
    if element.inf_code is not None:
        kinds |= {"is_inf": field.all() & ~fraction.any(), "is_nan": field.all() & fraction.any()}
    elif element.nan_code is not None:
        kinds |= {"is_nan": magnitude.all()}
    return p[-1], field, fraction, kinds


def _read_fixed(element: FixedFormat, p: Value) -> tuple[Value, Value, Value, dict[str, Value]]:
    magnitude = Mux(p[-1], -p.as_signed(), p)[: element.bits]
    return p[-1], Const(0, 0), magnitude, {"is_zero": ~p.any()}


READERS: dict[Kind, Callable[..., tuple[Value, Value, Value, dict[str, Value]]]] = {
    Kind.FLOAT: _read_float,
    Kind.FIXED: _read_fixed,
}


def _normalised(magnitude: Value, field: Value, element: NumberFormat) -> tuple[Value | int, Value]:
    """The number of leading zeros of a magnitude with the exponent field 0, and the bits after its leading one. A
    magnitude with another field is not changed, and counts no zeros.
    """
    size = len(magnitude)
    if size == 0:
        return 0, magnitude
    zeros: Value | int = size - 1
    fraction: Value = Const(0, size)
    for count in reversed(range(size - 1)):
        leads = magnitude[size - 1 - count]
        zeros = Mux(leads, count, zeros)
        fraction = Mux(leads, Cat(Const(0, count + 1), magnitude[: size - 1 - count]), fraction)
    if len(field):
        zeros, fraction = Mux(field.any(), 0, zeros), Mux(field.any(), magnitude, fraction)
        return zeros, fraction[:size]
    return zeros, fraction[1:size]  # the top bit is the leading one, so the fraction has one bit less


def _significand(
    m: Module, exponent: Value, fraction: Value, is_small: Value, rules: Decode, limits: Range
) -> tuple[Value, int]:
    """The fraction of a result with the bits below its last place, and the number of these bits.

    The significand of a small result is shifted down to the exponent of the smallest normal number. Bits below those
    that the rounding uses are dropped.
    """
    to, size = rules.destination, len(fraction)
    below = max(size - to.man_bits, 0)
    if rules.subnormals is Subnormals.FLUSH or limits.least > 0:
        return Cat(Const(0, to.man_bits + below - size), fraction), below
    depth = min(-limits.least, to.man_bits - 1 + bits_below(rules))
    places = max(depth - 1, 0).bit_length()  # exponents down to -2**places
    last = size + (1 << places) - to.man_bits + 1
    below = max(below, last)
    amount = Cat(exponent[:places], ~exponent[places])
    shifted = Signal(size + 1 + (1 << places))
    m.d.comb += shifted.eq(Cat(fraction, Const(1, 1)) << amount)
    is_gone = ~exponent[places:].all() & exponent[-1] if -limits.least > 1 << places else Const(0, 1)
    small = Cat(Const(0, below - last), shifted)[: to.man_bits + below]
    normal = Cat(Const(0, to.man_bits + below - size), fraction)
    wide = Signal(to.man_bits + below)
    m.d.comb += wide.eq(Mux(is_small, Mux(is_gone, 0, small), normal))
    return wide, below


def _quiet(now: Stage, magnitude: Value, negative: Value, is_nan: Value, rules: Decode) -> Value:
    """A result with a positive NaN without payload, as in the magnitude."""
    return Cat(magnitude, negative & ~is_nan)


def _all_ones(now: Stage, magnitude: Value, negative: Value, is_nan: Value, rules: Decode) -> Value:
    return Cat(Mux(is_nan, rules.destination.magnitude_mask, magnitude), negative & ~is_nan)


def _with_payload(now: Stage, magnitude: Value, negative: Value, is_nan: Value, rules: Decode) -> Value:
    if "is_nan" not in now.values:
        return _quiet(now, magnitude, negative, is_nan, rules)
    to, payload = rules.destination, now.payload
    room = to.man_bits - len(payload)
    fraction = Cat(Const(0, room), payload) if room >= 0 else payload[-room:]
    own = to.inf_field | 1 << (to.man_bits - 1) | fraction
    return Cat(Mux(now.is_nan, own, magnitude), negative & (now.is_nan | ~is_nan))


NANS: dict[DecodedNan, Callable[[Stage, Value, Value, Value, Decode], Value]] = {
    DecodedNan.CANONICAL: _quiet,
    DecodedNan.ALL_ONES: _all_ones,
    DecodedNan.PAYLOAD: _with_payload,
}
"""A result, from its magnitude, its sign, and whether it is NaN."""
