"""An element quantizer: from a source number and the scale of its block to an element code (``P_i`` in the FPGA paper).

The datapath is narrow. Whatever the shift, a code depends on the hidden bit, ``fraction_bits`` of fraction, one guard
bit (or as many as there are random bits), and on whether any lower bit is set. So only these bits are shifted, and the
rest of the fraction is reduced to one sticky bit before the shift.

Several element formats of one width share a datapath for the longest fraction. Shorter fractions are shifted down to
its end, so that rounding and packing are the same for all formats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ...spec import Encode, EncodedZero, Kind, Rounding, Specials, Subnormals, signal_codes
from ..config.encode import ConverterConfig
from ..primitives.register import Stage, enable_port
from ..primitives.rounding import bits_below, rounds_up
from .mode import by_mode, mode_port
from .operand import operand, special_flags
from .threshold import exponent_offset


@dataclass(frozen=True)
class Target:
    """An element format as an exponent field above ``fraction_bits`` of fraction.

    A fixed-point magnitude is such a code with a field of one bit: its leading bit is the hidden bit of the top binade,
    and all lower binades are subnormal.
    """

    field_bits: int
    fraction_bits: int
    bias: int
    """The exponent field for the unbiased exponent 0."""
    max_code: int
    lowest_field: int
    """Numbers below this exponent field are shifted down."""
    flushes: bool
    """Do codes of field 0 become zero?"""
    overflows: bool
    """Can numbers be above the top field?"""

    @classmethod
    def of(cls, numerics: Encode) -> Target:
        element = numerics.block.element
        # through numbers that the maximum leaves out, or a scale offset above the exponent of the largest element
        overflows = numerics.specials is Specials.DROP or exponent_offset(numerics) > element.emax
        if element.kind is Kind.FIXED:
            return cls(1, element.fraction_bits, 1 - element.emax, element.max_code, 1, False, overflows)
        max_code, lowest_field, flushes = element.max_code, 1, numerics.element_subnormals is Subnormals.FLUSH
        if numerics.rounding is Rounding.GUARD_HALF_UP:  # its largest field is one below all ones
            max_code = element.inf_field - 1
            if flushes:  # as published: field 0 keeps the unshifted fraction
                lowest_field, flushes = 0, False
        return cls(element.exp_bits, element.man_bits, element.bias, max_code, lowest_field, flushes, overflows)


class ElementQuantizer(wiring.Component):
    """Quantize one number under the scale of its block; combinational without registers inside.

    The steps: normalise subnormal inputs, align numbers below the lowest exponent field, round and saturate, and add
    the sign.

    Parameters
    ----------
    config : a `ConverterConfig` whose ``quantizer`` is ``shift``

    Ports
    -----
    x : in, a number of the source
    scale : in, the scale byte of its block
    mode : in, the number of the mode; if the configuration has several
    random : in, ``random_bits`` random bits; under stochastic rounding
    nan, inf : in, whether the block is special, which replaces the code; if `operand.special_flags` lists them
    enable : in, enable of the registers inside
    p : out, the code
    """

    def __init__(self, config: ConverterConfig) -> None:
        self.config, self.numerics = config, config.numerics
        self.targets = [Target.of(mode) for mode in config.modes]
        self.fraction_bits = max(target.fraction_bits for target in self.targets)
        random = {"random": In(self.numerics.random_bits)} if self.numerics.random_bits else {}
        self.significant_bits = self.numerics.source.man_bits
        """Leading bits of the fraction that the quantizer uses; the others only as a sticky bit."""
        self.decisive_bits = min(self.kept + self.places, self.numerics.source.man_bits)
        """The same, but as few as possible. Registers before version 0.3 have `significant_bits`."""
        super().__init__(
            {
                "x": In(self.numerics.source.bits),
                "scale": In(self.numerics.block.scale.bits),
                **mode_port(config),
                **random,
                **{flag: In(1) for flag in special_flags(self.numerics)},
                **enable_port(config, config.element_stages),
                "p": Out(self.numerics.block.element.bits),
            }
        )

    @property
    def kept(self) -> int:
        """Bits of a fraction that are rounded or decide the rounding."""
        return self.fraction_bits + bits_below(self.numerics)

    @property
    def bases(self) -> list[int]:
        """The exponent field of a number of biased exponent e under byte s, minus (e - s), in each mode."""
        return [target.bias + self.numerics.block.scale.bias - self.numerics.source.bias for target in self.targets]

    @property
    def rooms(self) -> list[int]:
        """The longest shift up of a subnormal number under the smallest scale, in each mode."""
        return [max(base + 1 - target.lowest_field, 0) for base, target in zip(self.bases, self.targets)]

    @property
    def places(self) -> int:
        """The longest shift up of a subnormal number."""
        if self.numerics.input_subnormals is Subnormals.FLUSH:
            return 0
        return min(max(self.rooms), self.numerics.source.man_bits)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        number = operand(self.numerics, self.x)
        flags = special_flags(self.numerics)
        now = Stage(m, self, control=("mode", "random", *flags))
        top, tail, field = self.normalise(m, number)
        if "enable" in self.signature.members:
            number = self.remembered(number)
        now = now.crossed("normalised", number=number, top=top, tail=tail, field=field)
        fraction, below, sticky = self.align(m, now)
        now = now.crossed(
            "aligned",
            store_inverted=["fraction", "below"],
            number=now.number,
            top=now.top,
            field=now.field,
            fraction=fraction,
            below=below,
            sticky=sticky,
        )
        magnitude = self.round(m, now)
        now = now.crossed(
            "rounded", control=("mode", *flags), store_inverted=["magnitude"], number=now.number, magnitude=magnitude
        )
        self.pack(m, now)
        return m

    def remembered(self, number: data.View) -> data.View:
        """The bits of a number that packing uses: its sign and, under `Specials.TE`, whether it is NaN or Inf."""
        kind = int(self.numerics.specials is Specials.TE)
        layout = data.StructLayout({"fraction": unsigned(kind), "exponent": unsigned(kind), "sign": unsigned(1)})
        return data.View(layout, Cat(*([number.fraction.any(), number.exponent.all()] if kind else []), number.sign))

    def normalise(self, m: Module, number: data.View) -> tuple[Value, Value, Value]:
        """The leading bits (hidden bit, fraction, bits below it), the sticky bit of the rest, and the exponent field.

        A subnormal input is shifted up until its hidden bit is set, but not below the lowest field. ``room`` bounds the
        shift, and is zero except under the smallest scales. It is the same for all lanes, so flattened lanes share it.
        """
        source, scale = self.numerics.source, self.numerics.block.scale
        kept, bases, mosts, places = self.kept, self.bases, self.rooms, self.places
        base, most = by_mode(self, bases), by_mode(self, mosts)
        is_normal = Signal()
        m.d.comb += is_normal.eq(number.exponent.any())

        # at most kept + places bits of fraction can enter the window; a short fraction is padded with zeros
        missing = max(kept + places - source.man_bits, 0)
        fraction = Cat(Const(0, missing), number.fraction)
        window = Signal(1 + kept + places)
        m.d.comb += window.eq(Cat(fraction[len(fraction) - kept - places :], is_normal))
        room = Signal(places.bit_length())
        steps = []  # the bits of the shift, largest first
        if places:
            enough = (1 << len(room)) - 1  # for any fraction
            some = Mux(self.scale < most, (most - self.scale)[: len(room)], 0)
            m.d.comb += room.eq(some if max(mosts) <= enough else Mux(self.scale + enough < most, enough, some))
        slack = Const(0)  # a larger step left room, which is enough for all smaller steps
        for i in reversed(range(len(room))):
            step = Signal(name=f"up{1 << i}")
            moved = Signal.like(window, name=f"window{i}")
            m.d.comb += [
                step.eq(~window[-(1 << i) :].any() & (room[i] | slack)),
                moved.eq(Mux(step, Cat(Const(0, 1 << i), window[: -(1 << i)]), window)),
            ]
            slack = slack | (room[i] & ~step)
            window = moved
            steps.append(step)
        tail = Signal()
        m.d.comb += tail.eq(Cat(window[:places], fraction[: len(fraction) - kept - places]).any())

        exponent = Signal(signed(source.exp_bits + 1))  # 1 minus the shift
        offset = Signal(signed(scale.bits + 1 + (min(bases) < 0)))
        field = Signal(signed(source.exp_bits + 2))
        m.d.comb += exponent.eq(Mux(is_normal, number.exponent, 1 - Cat(reversed(steps))))
        m.d.comb += offset.eq(base - self.scale)
        m.d.comb += field.eq(exponent + offset)
        return window[places:], tail, field

    def align(self, m: Module, now: Stage) -> tuple[Value, Value, Value]:
        """Fraction, bits below it and sticky bit. They are shifted down if the number is below the lowest field, or if
        another mode has a longer fraction.
        """
        top, tail, field, below = now.top, now.tail, now.field, bits_below(self.numerics)
        shorter = [self.fraction_bits - target.fraction_bits for target in self.targets]
        shifts = by_mode(
            now, [target.lowest_field for target in self.targets]
        )  # a number below the lowest field is shifted
        placed, lost = (top[:-1], [tail])  # without the hidden bit, which the field implies from 1 on
        is_low = Signal()
        if isinstance(shifts, Value) or shifts:
            m.d.comb += is_low.eq(_gated(field[-1] | ~field[:-1].any(), shifts))
            placed, lost = Mux(is_low, top[1:], placed), [is_low & top[0], tail]
        if any(shorter):
            longest = Signal(len(placed))  # for the mode with the longest fraction
            m.d.comb += longest.eq(placed)
            lost.append(by_mode(now, [longest[:by].any() if by else Const(0) for by in shorter]))
            placed = by_mode(now, [Cat(longest[by:], Const(0, by)) for by in shorter])
        if not isinstance(shifts, Value) and not shifts:
            return placed[below:], placed[:below], reduce(or_, lost)
        # Fields 0, -1, ..., -last shift down by 1, 2, ..., 1 + last places. Below, nothing is left to round.
        width = len(placed)
        last = width - 1
        reach = last.bit_length()
        is_gone = Signal()
        near = field[:reach]
        in_reach = (
            field[reach:-1].all() & Cat(near != too_far for too_far in range((1 << reach) - last)).all() if reach else 0
        )
        more = Signal(reach)
        shifted = Signal(2 * width)
        aligned = Signal(width)
        sticky = Signal()
        m.d.comb += [
            is_gone.eq(_gated(field[-1] & ~in_reach if reach else field[-1], shifts)),
            more.eq(Cat(is_low & (near[i] ^ near[:i].any() if i else near[i]) for i in range(reach))),  # -field
            shifted.eq(Cat(Const(0, width), placed) >> more if reach else Cat(Const(0, width), placed)),
            aligned.eq(Mux(is_gone, 0, shifted[width:])),
            sticky.eq(reduce(or_, lost, shifted[:width].any())),
        ]
        return aligned[below:], aligned[:below], sticky

    def round(self, m: Module, now: Stage) -> Value:
        """The rounded and saturated magnitude code."""
        numerics, targets, top, field, fraction = self.numerics, self.targets, now.top, now.field, now.fraction
        max_code = by_mode(now, [target.max_code for target in targets])
        is_kept = ~field[-1] & top[-1]  # otherwise the hidden bit is lost or in the fraction
        truncated = Signal(targets[0].field_bits + targets[0].fraction_bits)
        rounded = Signal(
            max(target.max_code.bit_length() for target in targets)
        )  # narrower if the format does not use the whole field
        up = Signal()
        saturates = Signal()
        magnitude = Signal.like(rounded)
        m.d.comb += [
            truncated.eq(
                by_mode(
                    now,
                    [
                        Cat(
                            fraction[: target.fraction_bits],
                            field[: target.field_bits] & is_kept.replicate(target.field_bits),
                        )
                        for target in targets
                    ],
                )
            ),
            up.eq(rounds_up(numerics.rounding, truncated[0], now.below, now.sticky, getattr(now, "random", None))),
            # a fraction that reaches the next power of two carries into the field
            rounded.eq(truncated + up),
            saturates.eq(truncated >= max_code),
        ]
        too_large = saturates
        if any(target.overflows for target in targets):
            too_large = saturates | by_mode(
                now,
                [
                    ~field[-1] & field[target.field_bits : -1].any() & top[-1] if target.overflows else Const(0)
                    for target in targets
                ],
            )
        m.d.comb += magnitude.eq(Mux(too_large, max_code, rounded))
        flushes = []
        if any(target.lowest_field == 0 for target in targets):  # below field 0
            flushes.append(
                by_mode(now, [field[-1] | ~top[-1] if target.lowest_field == 0 else Const(0) for target in targets])
            )
        if any(target.flushes for target in targets):
            flushes.append(
                by_mode(
                    now,
                    [~magnitude[target.fraction_bits :].any() if target.flushes else Const(0) for target in targets],
                )
            )
        if numerics.input_subnormals is Subnormals.FLUSH:
            flushes.append(~top[-1])
        if not flushes:
            return magnitude
        flushed = Signal.like(magnitude)
        m.d.comb += flushed.eq(Mux(Cat(flushes).any(), 0, magnitude))
        return flushed

    def pack(self, m: Module, now: Stage) -> None:
        """Connect the signed code, or the code of a special block or, under `Specials.TE`, of a special number."""
        number, magnitude, flags = now.number, now.magnitude, special_flags(self.numerics)
        elements = [mode.block.element for mode in self.config.modes]
        bits = elements[0].bits
        nan_code = by_mode(
            now,
            [
                (e.max_code if self.numerics.specials is Specials.TE else 0) if e.nan_code is None else e.nan_code
                for e in elements
            ],
        )
        code = magnitude
        if "inf" in flags:  # signal codes are signed
            inf_codes, nan_codes = zip(*map(signal_codes, elements))
            code = Mux(now.nan, by_mode(now, list(nan_codes)), Mux(now.inf, by_mode(now, list(inf_codes)), magnitude))
        if self.numerics.specials is Specials.TE:
            code = Mux(number.exponent.all(), by_mode(now, [e.max_code for e in elements]), magnitude)
        magnitude = Value.cast(code)
        padding = Const(0, max(bits - 1 - len(magnitude), 0))
        sign = number.sign & magnitude.any() if self.numerics.zero is EncodedZero.POSITIVE else number.sign
        code = by_mode(
            now,
            [
                Mux(number.sign, -code, code)[:bits]
                if e.kind is Kind.FIXED
                else Cat(magnitude[: bits - 1], padding, sign)
                for e in elements
            ],
        )
        if flags == ("nan",):
            code = Mux(now.nan, nan_code, code)
        if self.numerics.specials is Specials.TE:
            code = Mux(number.exponent.all() & number.fraction.any(), nan_code, code)
        m.d.comb += self.p.eq(code)


def _gated(signal: Value, enable: Value | int) -> Value:
    """``signal & enable``. An ``enable`` that is an integer is 1."""
    return signal & enable if isinstance(enable, Value) else signal
