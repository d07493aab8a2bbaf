"""The scale of a block whose product is a sum, so that it needs no block with a multiplier."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

from ...spec import FP32, FloatFormat
from ..nvfp4.encoder import Nvfp4Maximum
from ..nvfp4.scale import Nvfp4Scale
from ..primitives.binary32.arithmetic import TOP, Number, carried, joined_rows, row_sums, with_field
from ..primitives.register import Stage


class CachedMaximum(Nvfp4Maximum):
    """An `Nvfp4Maximum` without a reset at its registers, which would gate their enable with a NaN."""

    @staticmethod
    def without(magnitude: Value, is_left_out: Value) -> Value:
        return magnitude & (~is_left_out).replicate(len(magnitude))


class SummedScale(Nvfp4Scale):
    """An `Nvfp4Scale` of the sum of products with two bits each. Exponents are fields, with a bias, which no adder has
    to remove.
    """

    def patterns(self, m: Module, now: Stage, format: FloatFormat) -> tuple[dict[str, Value], Stage]:
        b, b_field = with_field(m, "b", now.b, format, zeros=now.values.get("zeros"))
        k_fraction = Signal(FP32.man_bits)
        m.d.comb += k_fraction.eq(now.k[: FP32.man_bits])
        numbers = {"b": b, "k": Cat(k_fraction, Const(1, 1))}  # k is a normal number
        fields = {"b_field": b_field, "k_field": now.k[FP32.man_bits : -1]}
        now = now.crossed("normalised", control=(), store_inverted=numbers, is_inf=now.is_inf, **numbers, **fields)
        kept = {"field": now.b_field + now.k_field - format.bias, "is_inf": now.is_inf}  # the bias of k is the one of t
        bits, sums = 2, list[Value]()
        for number, sum_of_two in enumerate(row_sums(now.b, now.k)):
            sums.append(Signal(len(sum_of_two), name=f"t_rows{number}"))
            m.d.comb += sums[-1].eq(sum_of_two)
        exact = Signal(len(now.b) + len(now.k), name="t_exact")
        for boundary in ("partials", "sums", "joined"):
            now = now.crossed(boundary, **kept, **{f"sum{number}": one for number, one in enumerate(sums)})
            kept = {name: now.values[name] for name in kept}
            sums = joined_rows([now.values[f"sum{number}"] for number in range(len(sums))], bits)
            bits *= 2
        while len(sums) > 1:
            sums, bits = joined_rows(sums, bits), 2 * bits
        m.d.comb += exact.eq(sums[0])
        shifted = Mux(exact[-1], exact, Cat(Const(0, 1), exact[:-1]))
        now = now.crossed("ratio", is_inf=now.is_inf, significand=shifted, field=now.field, above=exact[-1])
        field, is_zero = now.field + now.above, ~now.significand[-1]
        significand, carry = carried(m, "t", Number(now.significand, field))
        limits = {}
        for name, added in (("", 0), ("_carried", 1)):  # both, as the carry is late
            limits[f"small{name}"] = ~now.is_inf & (is_zero | (field < 1 - added))
            limits[f"large{name}"] = now.is_inf | (field > TOP - added)
        now = now.crossed("nearest", significand=significand, field=field, carry=carry, **limits)
        is_small, is_large = (
            Mux(now.carry, now.values[f"{name}_carried"], now.values[name]) for name in ("small", "large")
        )
        field = (now.field + now.carry)[: FP32.exp_bits]
        now = now.crossed("field", significand=now.significand, field=field, is_small=is_small, is_large=is_large)
        pattern = Cat(now.significand[:-1], Mux(now.is_large, TOP, now.field))
        return {"scale": pattern & (~now.is_small).replicate(len(pattern))}, now  # a multiplexer would become a reset
