"""A lane of a decoder by tables: two short additions, and functions of a few bits that select.

The functions are derived from the right result for every pair of a scale byte and a magnitude (`decoded_words`). This
file only says which bits each function uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import DecodedNan, DecodedOverflow, DecodedZero, Subnormals
from ..config.decode import DecoderConfig
from ..primitives.elaboration import set_elaborated
from ..primitives.known import Function, Known, Tables, function_of, known_bits, truth
from ..primitives.register import Stage, enable_port
from ..primitives.table import LUT_INPUTS
from .table_factor import FactorPlan
from .word import decoded_words

Bits = dict[str, list[Known]]
"""The bits of a lane by name."""

ADDED = ("base", "carry")
"""Signals to a lane that are added, and enter no table."""
TOLD = (*ADDED, "reach", "beyond", "nan", "lowest", "near")
"""All signals that a lane may receive."""


class ElementDecoder(wiring.Component):
    """Convert an element code to a number, for the rules in `architecture.SUPPORTS`; combinational without registers
    inside.

    Ports
    -----
    p : in, the code
    base, carry, reach, beyond, nan, lowest, near : in, from `table_factor.FactorUnit`
    y : out, the number
    enable : in, enable of the registers inside
    """

    kind = "element_decoder"

    def __init__(self, config: DecoderConfig) -> None:
        self.config, self.rules = config, config.numerics
        self.plan = FactorPlan(self.rules)
        self.element, self.to = self.plan.element, self.plan.to
        super().__init__(
            {
                "p": In(self.element.bits),
                **{name: In(width) for name, (width, _) in self.plan.told.items()},
                "y": Out(self.to.bits),
                **enable_port(config, config.stages),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        set_elaborated(m)  # in case the tables are refused
        self.m, self.tables = m, Tables(m, platform, self.config)
        codes = range(self.element.sign_mask)
        self.pairs = [(byte, code) for byte in range(1 << self.rules.block.scale.bits) for code in codes]
        self.every = (1 << len(self.pairs)) - 1
        self.words = decoded_words(self.rules)
        unlimited = self.rules.replace(overflow=DecodedOverflow.INF, nan=DecodedNan.CANONICAL)
        self.unlimited = self.words if unlimited == self.rules else decoded_words(unlimited)
        now = Stage(m, self, control=("p",)).crossed("input").crossed("scale")
        now, bits = self.crossed(now, "read", self.read(now.p))
        now, bits = self.crossed(now, "sum", self.sums(bits))
        bits["state"] = self.state(bits)
        if self.rules.subnormals is Subnormals.FLUSH or not self.subnormal_sums:
            fraction = [
                self.result(f"fraction{bit}", bit, [*bits["fraction"], *bits["state"], *bits["normal"]], bits)
                for bit in range(self.to.man_bits)
            ]
        else:
            now, bits = self.crossed(now, "shifted", bits | self.windows(bits))
            fraction = [self.placed(bit, bits) for bit in range(self.to.man_bits)]
        y = Cat(known.value for known in (*fraction, *self.fields(bits), self.sign(bits)))
        m.d.comb += self.y.eq(now.crossed("output", control=(), y=y).y)
        return m

    def crossed(self, now: Stage, boundary: str, bits: Bits) -> tuple[Stage, Bits]:
        """The stage after a boundary, and the bits of the lane there."""
        if boundary not in self.config.microarchitecture.registered_after:
            return now, bits
        first: dict[Known, str] = {}
        for name, known_ in bits.items():
            first |= {known: name for known in known_ if known not in first}
        stored = {name: [known for known in first if first[known] == name] for name in dict.fromkeys(first.values())}
        now = now.crossed(boundary, **{name: Cat(known.value for known in known_) for name, known_ in stored.items()})
        after = {
            known: Known(now.values[name][place], known.truth)
            for name, known_ in stored.items()
            for place, known in enumerate(known_)
        }
        return now, {name: [after[known] for known in known_] for name, known_ in bits.items()}

    def table(self, name: str, wanted: int, inputs: Iterable[Known], more: Iterable[Known] = ()) -> Known:
        return self.tables.of(name, function_of(wanted, self.every, inputs, more))

    def told(self, name: str) -> list[Known]:
        """The signal to the lane with this name."""
        if name not in self.plan.told:
            return []
        if name in ADDED:
            return [Known(bit, 0) for bit in getattr(self, name)]
        return known_bits(getattr(self, name), [self.plan.told[name][1][byte] for byte, _ in self.pairs])

    def sum_of(self, byte: int, code: int, other: bool = False) -> int:
        """The exponent field of a result without limits, or the other sum."""
        if self.plan.own_carry:
            carry = 0 if other else code >> self.element.man_bits - 1 != 0
        else:
            carry = self.plan.told["carry"][1][byte] ^ other
        return self.plan.base(byte) + (code >> self.element.man_bits) + carry

    def read(self, p: Value) -> Bits:
        """The fields of the code, and the signals to the lane."""
        man, size = self.element.man_bits, self.element.bits - 1
        code = known_bits(p[:size], [code for _, code in self.pairs])
        fraction, field = code[:man], code[man:]
        normal = lead = self.table("is_normal", truth(code >> man for _, code in self.pairs), field)
        if self.plan.own_carry:
            lead = self.table("has_lead", truth(code >> man - 1 for _, code in self.pairs), [*field, fraction[-1]])
        return {
            "fraction": fraction,
            "field": field,
            "normal": [normal],
            "lead": [lead],
            **{name: self.told(name) for name in TOLD},
            "sign": [Known(p[-1], 0)],
        }

    def sums(self, bits: Bits) -> Bits:
        """The two sums, and the other bits that later steps use."""
        carries: tuple[Value, Value] = bits["lead"][0].value, Const(0, 1)
        if not self.plan.own_carry:
            carries = bits["carry"][0].value, ~bits["carry"][0].value
        total, other = (
            known_bits(self.added(name, carry, bits), [self.sum_of(*pair, other=bool(place)) for pair in self.pairs])
            for place, (name, carry) in enumerate(zip(("total", "other"), carries))
        )
        special = self.special([*bits["fraction"], *bits["field"]])
        return {
            **{name: bits[name] for name in ("fraction", "field", "normal", "lead")},
            "special": special,
            "total": total,
            "small": [other[-1]],
            "large": [*(self.reaches(bits) if self.plan.own_carry else other[-2:]), *special],
            **{name: bits[name] for name in ("lowest", "near", "sign")},
        }

    def added(self, name: str, carry: Value, bits: Bits) -> Value:
        """The sum of base, exponent field and carry. The carry enters below the lowest place, so it needs no adder."""
        found = Signal(self.plan.sum_bits + 1, name=name)
        base, field = (Cat(known.value for known in bits[term]) for term in ("base", "field"))
        self.m.d.comb += found.eq(Cat(carry, base) + Cat(carry, field))
        return found[1:]

    def special(self, code: list[Known]) -> list[Known]:
        """Are the bits set that all codes of NaN and Inf share? From the top, as many bits as fit in one table are
        used.
        """
        codes = range(self.element.max_code + 1, self.element.sign_mask)
        if not codes:
            return []
        same = [bit for bit in reversed(range(len(code))) if all(one >> bit & 1 for one in codes)][:LUT_INPUTS]
        wanted = truth(all(one >> bit & 1 for bit in same) for _, one in self.pairs)
        return [self.table("is_special", wanted, [code[bit] for bit in same])]

    def reaches(self, bits: Bits) -> list[Known]:
        """Bits that decide whether a finite element exceeds the destination, if no sum does."""
        field, reach = bits["field"], bits["reach"]
        low = min(len(field), LUT_INPUTS // 2)
        first = [*field[:low], *reach[:low]]
        if low == LUT_INPUTS // 2:  # a shorter field fits in the table that uses it
            mask, man = (1 << low) - 1, self.element.man_bits
            known = self.plan.told["reach"][1]
            wanted = truth(code >> man & mask >= known[byte] & mask for byte, code in self.pairs)
            first = [self.table("reaches", wanted, first)]
        return [*first, *field[low:], *bits["beyond"], *bits["nan"], *reach[low:]]

    def is_subnormal(self, word: int) -> bool:
        return 0 < word < 1 << self.to.man_bits

    def state(self, bits: Bits) -> list[Known]:
        """Flags of a result with another exponent field than the sum: ``is_none`` for 0, ``is_all`` for all ones, and
        both for NaN. For a short element, the few bits that decide them take their place.
        """
        said = dict.fromkeys([*bits["small"], *bits["large"], *bits["fraction"], *bits["field"]])
        if len(said) < LUT_INPUTS:
            return list(said)
        least = self.to.inf_field
        nan = truth(word > least for word in self.unlimited)
        none = nan | truth(word >> self.to.man_bits == 0 for word in self.unlimited)
        every = nan | truth(word == least for word in self.unlimited)
        care = self.every
        if self.plan.own_carry and self.rules.subnormals is Subnormals.FLUSH:
            care &= ~truth(code == 1 for _, code in self.pairs) | ~none | nan  # then ``lowest`` is 0
        asked = [*bits["small"], *bits["lead"], *bits["fraction"][:2], *bits["special"], *bits["near"]]
        return [
            self.tables.of("is_none", function_of(none, care, asked, bits["fraction"])),
            self.table("is_all", every, bits["large"], [*bits["fraction"], *bits["normal"]]),
        ]

    def result(self, name: str, bit: int, inputs: list[Known], bits: Bits) -> Known:
        """A bit of the magnitude, from these inputs and more if they do not decide it."""
        more = [known for name in ("special", "small", "fraction", "normal", "near") for known in bits[name]]
        return self.table(name, truth(word >> bit & 1 for word in self.words), inputs, more)

    def start(self, sum_: int) -> int:
        """The place at which the window of a result with this sum begins. The significand of a subnormal result is at
        the upper end of the window or one place below, and the significand of a normal result is below the end.
        """
        top = self.to.man_bits - self.element.man_bits - 1
        return top + 2 * (min(sum_, 0) >> 1)

    @cached_property
    def subnormal_sums(self) -> set[int]:
        """The sums of subnormal results."""
        return {self.sum_of(*pair) for pair, word in zip(self.pairs, self.words) if self.is_subnormal(word)}

    def windows(self, bits: Bits) -> Bits:
        """The significand of a result, shifted up by one place or not. It begins two places higher every two sums."""
        starts = [self.start(self.sum_of(*pair)) for pair in self.pairs]
        finite = truth(word < self.to.inf_field for word in self.unlimited)
        negative = bits["total"][-1]
        readers = [place for bit in range(self.to.man_bits) for place in self.places(bit)]
        found: Bits = {}
        for place in range(self.element.man_bits + 2):
            reached = (start + place for start in starts)
            wanted = finite & truth(
                0 <= at < self.to.man_bits and word >> at & 1 for word, at in zip(self.words, reached)
            )
            # the topmost place of a normal result is its leading one, which is not used
            care = negative.truth if place > self.element.man_bits else self.every
            inputs = [*bits["normal"], *bits["fraction"], bits["total"][0], *bits["state"]]
            window = function_of(wanted, care, inputs)
            if len(window.inputs) > LUT_INPUTS:  # then the reader of the window uses the rest of the state
                window = function_of(wanted, care & ~bits["state"][-1].truth, inputs[:-1])
            has_room = len(window.inputs) <= LUT_INPUTS // 2 and readers.count(place) == 1
            found[f"window{place}"] = [*window.inputs] if has_room else [self.tables.of(f"window{place}", window)]
        return found

    def places(self, bit: int) -> list[int]:
        """The places of this bit of the fraction in the windows."""
        starts = {self.start(0), *map(self.start, self.subnormal_sums)}
        return [bit - start for start in sorted(starts) if 0 <= bit - start < self.element.man_bits + 2]

    def placed(self, bit: int, bits: Bits) -> Known:
        """A bit of the fraction, from the window that the upper bits of the sum select."""
        depth = -min(self.subnormal_sums)
        upper = bits["total"][1 : max(depth - 1, 0).bit_length()]
        looked_at = [known for place in self.places(bit) for known in bits[f"window{place}"]]
        inputs = [*looked_at, *upper, bits["total"][-1], *bits["state"]]
        return self.result(f"fraction{bit}", bit, inputs, bits)

    def fields(self, bits: Bits) -> list[Known]:
        """The exponent field: the sum, the field of the smallest element, or the field that the state says."""
        apart = [*bits["lead"], bits["fraction"][1]] if bits["lowest"] else []
        own = [[lowest, *apart] for lowest in bits["lowest"]] or [[] for _ in range(self.to.exp_bits)]
        return [
            self.result(f"field{bit}", self.to.man_bits + bit, [bits["total"][bit], *own[bit], *bits["state"]], bits)
            for bit in range(self.to.exp_bits)
        ]

    def sign(self, bits: Bits) -> Known:
        """The sign of the element, if the result keeps it."""
        payload, positive = self.rules.nan is DecodedNan.PAYLOAD, self.rules.zero is DecodedZero.POSITIVE
        nans = [self.element.decode(code).kind == "nan" for code in range(self.element.sign_mask)]
        kept = truth(
            (payload and nans[code]) if word > self.to.inf_field else code or not positive
            for word, (_, code) in zip(self.unlimited, self.pairs)
        )
        more = [*bits["special"], *bits["fraction"], *bits["normal"]]
        keeps = function_of(kept, self.every, bits["state"], more)
        return self.tables.of("sign", Function((*keeps.inputs, *bits["sign"]), keeps.table << (1 << len(keeps.inputs))))
