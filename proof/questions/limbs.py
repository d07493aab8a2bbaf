"""Questions about Hadamard transforms that add limb by limb: their control, and lemmas about their modules.

The sums of limbs are pure functions of the numbers and of the number of a limb, so the lemmas about levels hold as in
the other form. Each sum carries its high bits to its next limb. Whatever its registers held before, after all limbs it
has its window: the limb with its leading bit, and the one below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import ClassVar

from ...hdl import HardwareConfig
from ...hdl.config.hadamard import ROUNDING_STAGES, SUM_STAGES, HadamardConfig
from ...hdl.hadamard.schedule import LEVELS, LIMB, LIMB_NUMBER, LIMB_SUM, LIMBS, NUMBER, RESULTS, SPECIALS, SUM, WINDOW
from ...spec import BF16, Hadamard
from ..netlist.beats.cuts import seen
from ..netlist.beats.limbs import FLAGS, ROUNDED, RUNNING, SUMS, LimbParts
from ..netlist.design import Cut, Design, Part
from ..specification.beats.induction import Induction, joined, transitions
from ..specification.encode import bits, extended
from ..specification.hadamard import WIDTH, HadamardSpecification
from .hadamard import SPECIALS as RESULT_FLAGS
from .hadamard import ProvableHadamard, entering, level_question, order_question, sums_question
from .question import Question, constant, declared, lemma, vector

CARRY = 5
"""Bits that a sum carries to its next limb."""
TOTAL = LIMB_SUM + 1

WRONG = (
    "i_ready is not: o_ready or no o_valid, and no block entered in the last 16 moves",
    "o_valid is not set when the results of a block are there, or is set without one",
    "registers do not move with: o_ready or no o_valid",
    "the sums have other numbers than the block, or another limb than the next one",
    "a result has the flags of another block or of another result",
    "the window or the flags of another sum are rounded",
    "a result is at the place of another",
)
"""Faults by the bits of ``wrong`` in `limbs.sv`."""


class ProvableLimbs(ProvableHadamard):
    """The proof of a Hadamard transform in limbs."""

    handshake: ClassVar[str] = (
        "sums of limbs and results come from pure delays with an enable, and limbs follow in order"
    )

    def composed(
        self, config: HardwareConfig[Hadamard], design: Design, specify: Callable[[Hadamard], HadamardSpecification]
    ) -> Iterator[Question]:
        assert isinstance(config, HadamardConfig)
        parts, s = LimbParts(design, config), specify(config.numerics)
        parts.check_delays()
        yield from flow(parts).questions()
        yield order_question(s)
        for number, part in enumerate(parts.limbs()):
            yield _limbs(s, part, number)
        *levels, about = parts.sums()
        wires = [dict.fromkeys(names, LIMB + level) for level, names in enumerate(parts.levels)]
        for level, part in enumerate(levels):
            yield level_question(part, wires, level, is_limb=True)
        yield _about(s, about)
        yield _flags(s, parts.part(FLAGS))
        yield sums_question(s)
        yield _limbs_of_sums()
        yield _range()
        yield _bounds()
        for number, (running, opened) in enumerate(parts.running().items()):
            yield _carry(running, number)
            yield _keeps(opened, parts.state, number)
        yield _digits()
        yield _rounded(s, parts.part(ROUNDED))


def flow(parts: LimbParts) -> Induction:
    """Blocks on their way, and the data of one result of one block."""
    top = "mxcast_limb_flow"
    registered = parts.config.microarchitecture.registered_after
    before = [place for place in registered if place in SUM_STAGES]
    behind = [place for place in registered if place in ("chosen", *ROUNDING_STAGES)]
    digits, chosen = parts.count("digits"), parts.count("chosen")
    wires = [
        "enable",
        "has_block",
        "complete",
        "rounds",
        "result",
        "windows_held_q",
        "specials_held_q",
        "specials_total_q",
    ]
    valids = [f"valid_{place}_q" for place in [*before, *(["digits"] if digits else []), *behind]]
    wires += [*valids, *(["specials_digits_q"] if digits else [])]
    control = seen(parts.control, {f"seen_{wire}": wire for wire in wires})
    widths = {name: len(port["bits"]) for name, port in control["ports"].items()}
    given = [name for name, port in control["ports"].items() if port["direction"] == "input" and name != "clk"]
    made = [name for name in control["ports"] if name not in (*given, "clk", "i_ready", "o_valid")]

    def kept(instance: str) -> list[str]:
        return [f"{instance}_{name}" for name in WINDOW]

    inputs = ", ".join(f"input [{widths[name] - 1}:0] {name}" for name in given)
    wrapper = f"""// SPDX-License-Identifier: Apache-2.0
module {top}(input clk, mark, input [3:0] followed, {inputs},
  output i_ready, o_valid, output [{len(WRONG) - 1}:0] wrong, output assumed, output [9:0] related);
  {" ".join(f"wire [{widths[name] - 1}:0] {name};" for name in made)}
  {parts.design.top} design({", ".join(f".{name}({name})" for name in control["ports"])});
  mxcast_limbs #(.SUMS({len(before)}), .DIGITS({digits}), .CHOSEN({chosen}), .ROUNDING({len(behind) - chosen}),
    .LIMBS({LIMBS}), .RESULTS({RESULTS}), .KEPT({sum(WINDOW.values())}), .SPECIALS({SPECIALS})) limbs(
    .clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .o_valid(o_valid), .o_ready(o_ready), .mark(mark),
    .enable(seen_enable), .followed(followed), .x(x), .y(y), .sums_x({SUMS}_x), .sums_in({SUMS}_limb),
    .sums_out({SUMS}_sums_limb), .specials({SUMS}_specials), .flags_specials({FLAGS}_specials),
    .running({joined([name for lane in RUNNING for name in kept(lane)])}), .flags_result({FLAGS}_result),
    .flags({joined([f"{FLAGS}_{name}" for name in RESULT_FLAGS])}),
    .rounded_flags({joined([f"{ROUNDED}_{name}" for name in RESULT_FLAGS])}), .rounded_kept({joined(kept(ROUNDED))}),
    .rounded_y({ROUNDED}_y), .has_block(seen_has_block), .complete(seen_complete), .rounds(seen_rounds),
    .result(seen_result), .valid_sums({joined(["seen_has_block", *(f"seen_valid_{place}_q" for place in before)])}),
    .valid_digits({"seen_valid_digits_q" if digits else "1'b0"}),
    .valid_results({joined(["1'b0", *(f"seen_valid_{place}_q" for place in behind)])}),
    .digits_specials({"seen_specials_digits_q" if digits else f"{SPECIALS}'d0"}),
    .total_specials(seen_specials_total_q), .held_specials(seen_specials_held_q), .held(seen_windows_held_q),
    .wrong(wrong), .assumed(assumed), .related(related));
endmodule
"""
    return Induction(
        name="flow",
        claim="limbs follow in order, and each result of a block belongs to its sum and has its place",
        top=top,
        relation=transitions(parts.design, control, "limbs.sv", wrapper, top),
        related=10,
        wrong=WRONG,
        shown=dict.fromkeys(("rst", "i_valid", "i_ready", "o_valid", "o_ready"), 1),
    )


def _limbs(s: HadamardSpecification, part: Part, number: int) -> Question:
    """A limb of a number, which has at most `NUMBER` bits."""
    value = f"(ite {part.wire('is_negated', 's')} (bvneg (integer x)) (integer x))"
    shift = f"(concat {bits(0, WIDTH - LIMB_NUMBER - 4)} k {bits(0, 4)})"
    fits = f"(= v ((_ sign_extend {WIDTH - NUMBER}) ((_ extract {NUMBER - 1} 0) v)))"
    return lemma(
        f"limbs-{number}" if number else "limbs",
        "every limb of a finite number, negated or not, is the limb of its integer",
        ("x", "k"),
        s.definitions,
        part.text,
        part.state("s"),
        constant("x", BF16.bits, part.wire("x", "s")),
        constant("k", LIMB_NUMBER, part.wire("limb", "s")),
        constant("v", WIDTH, value),
        f"(assert (not (or (is_nan x) (is_inf x))))\n(assert (bvult k {bits(LIMBS, LIMB_NUMBER)}))\n",
        holds=f"(and {fits} (= {part.wire('y', 's')} ((_ extract {LIMB - 1} 0) (bvlshr v {shift}))))",
        is_inner=True,
    )


def _said(numbers: list[str], specials: str) -> str:
    """The statement that bits say whether any number is NaN, which are Inf, and which are negative."""
    of_each = (f"({kind} {x})" for kind in ("is_inf", "is_negative") for x in numbers)
    claims = (f"(or {' '.join(f'(is_nan {x})' for x in numbers)})", *of_each)
    return f"(and {' '.join(f'(= {one} (= ((_ extract {k} {k}) {specials}) #b1))' for k, one in enumerate(claims))})"


def _about(s: HadamardSpecification, part: Part) -> Question:
    """The flags about the numbers and the limb."""
    numbers = entering(part)
    first = f"(= {part.wire('is_first', 's')} (= {part.wire('limb', 's')} {bits(0, LIMB_NUMBER)}))"
    return lemma(
        "about",
        "the sums say whether the limb is the first one, whether any number is NaN, and which are Inf and negative",
        tuple(numbers),
        s.definitions,
        part.text,
        part.state("s"),
        *numbers.values(),
        holds=f"(and {first} {_said([*numbers], part.wire('specials', 's'))})",
        has_block=True,
    )


def _flags(s: HadamardSpecification, part: Part) -> Question:
    """The flags of a result, for any numbers of which the bits say what `_about` claims."""
    numbers = [f"x{lane}" for lane in range(RESULTS)]
    flags = [part.wire(name, "s") for name in RESULT_FLAGS]
    claims = (
        f"(=> (= {part.wire('result', 's')} {bits(j, 4)}) {s.has_flags(numbers, j, *flags)})" for j in range(RESULTS)
    )
    return lemma(
        "flags",
        "each result has the flags of its NaN and Inf",
        tuple(numbers),
        s.definitions,
        part.text,
        part.state("s"),
        declared(dict.fromkeys(numbers, BF16.bits)),
        f"(assert {_said(numbers, part.wire('specials', 's'))})\n",
        holds=f"(and {' '.join(claims)})",
        is_inner=True,
    )


def _limbs_of_sums() -> Question:
    """A level adds limbs, so it adds the numbers of these limbs."""
    names = [f"{one}{k}" for one in "ab" for k in range(LIMBS)]

    def number(words: Callable[[int], str]) -> str:
        return f"(bvadd {' '.join(f'(bvmul {bits(1 << LIMB * k, WIDTH)} {words(k)})' for k in range(LIMBS))})"

    numbers = number(lambda k: f"a{k}"), number(lambda k: f"b{k}")
    sums = number(lambda k: f"(bvadd a{k} b{k})"), number(lambda k: f"(bvsub a{k} b{k})")
    claims = (f"(= {found} ({add} {' '.join(numbers)}))" for found, add in zip(sums, ("bvadd", "bvsub"), strict=True))
    return lemma(
        "limbs-of-sums",
        "numbers are added and subtracted limb by limb",
        tuple(names),
        declared(dict.fromkeys(names, WIDTH)),
        holds=f"(and {' '.join(claims)})",
    )


def _range() -> Question:
    """The width of a sum."""

    def fits(number: str, width: int) -> str:
        return f"(= {number} ((_ sign_extend {WIDTH - width}) ((_ extract {width - 1} 0) {number})))"

    claims = (
        f"(=> (and {fits('a', width)} {fits('b', width)}) (and {fits('(bvadd a b)', width + 1)} "
        f"{fits('(bvsub a b)', width + 1)}))"
        for width in range(NUMBER, SUM)
    )
    return lemma(
        "range",
        "the sums of a level have one bit more than those before",
        ("a", "b"),
        declared({"a": WIDTH, "b": WIDTH}),
        holds=f"(and {' '.join(claims)})",
    )


def _within(value: str, level: int, is_sum: bool, width: int) -> str:
    """A sum of limbs after a level adds 2**level of them, or it adds and subtracts half as many."""
    many = (1 << level) * ((1 << LIMB) - 1)
    least, most = (0, many) if is_sum else (many // 2, many // 2)
    return f"(and (bvsle {value} {bits(most, width)}) (bvsge {value} (bvneg {bits(least, width)})))"


def _bounds() -> Question:
    """The range of a sum of limbs, so that what it carries fits."""
    claims = []
    for level in range(LEVELS):
        for is_sum in (True, False):
            entering = (_within(one, level, is_sum, TOTAL) for one in "ab")
            added, subtracted = (
                _within(f"({add} a b)", level + 1, is_sum and add == "bvadd", TOTAL) for add in ("bvadd", "bvsub")
            )
            claims.append(f"(=> (and {' '.join(entering)}) (and {added} {subtracted}))")
    return lemma(
        "bounds",
        "sums of limbs are in the range of as many limbs",
        ("a", "b"),
        declared({"a": TOTAL, "b": TOTAL}),
        holds=f"(and {' '.join(claims)})",
    )


def _carry(part: Part, number: int) -> Question:
    """A limb of a sum, and what it carries."""
    wide = TOTAL + 2

    def signed(wire: str, width: int) -> str:
        return f"((_ sign_extend {wide - width}) {part.wire(wire, 's')})"

    carried = f"(ite {part.wire('is_first', 's')} {bits(0, wide)} {signed('now_carried', CARRY)})"
    digits = extended(f"((_ extract {LIMB - 1} 0) {part.wire('total', 's')})", LIMB, wide)

    def fits(value: str) -> str:
        """Fewer limbs are carried than are added, and no more than are subtracted."""
        most, least = (1 << LEVELS) - 1, 1 << LEVELS - 1
        return f"(and (bvsle {value} {bits(most, wide)}) (bvsge {value} (bvneg {bits(least, wide)})))"

    return lemma(
        f"carry-{number}" if number else "carry",
        "the limb of a sum and what it carries are the sum of limbs and what was carried",
        ("carried", "limb_sum"),
        part.text,
        part.state("s"),
        constant("carried", wide, carried),
        constant("limb_sum", wide, signed("limb_sum", LIMB_SUM)),
        f"(assert {part.wire('enable', 's')})\n",
        f"(assert (and {fits('carried')} "
        f"(or {' '.join(_within('limb_sum', LEVELS, is_sum, wide) for is_sum in (True, False))})))\n",
        holds=f"(and (= (bvadd (bvshl {signed('next_carried', CARRY)} {bits(LIMB, wide)}) {digits}) "
        f"(bvadd limb_sum carried)) {fits(signed('next_carried', CARRY))})",
        is_inner=True,
    )


def _digits() -> Question:
    """The law by which the limbs of a sum are the sum of its limbs. What the limbs before one carry is all of their sum
    that reaches it and the bits above, and nothing is above the last one.
    """
    wide, claims = TOTAL + 2, []

    def signed(name: str, given: int, width: int) -> str:
        return f"((_ sign_extend {width - given}) {name})" if width > given else f"((_ extract {width - 1} 0) {name})"

    for width in range(LIMB, WIDTH + LIMB, LIMB):
        above = f"(bvadd {signed('carried', CARRY, width)} {signed('limb_sum', LIMB_SUM, width)})"
        made = f"(concat {signed('carries', CARRY, width - LIMB)} limb)" if width > LIMB else "limb"
        claims.append(f"(= {above} {made})")
    names = {"limb": LIMB, "limb_sum": LIMB_SUM, "carried": CARRY, "carries": CARRY}
    makes = f"(concat {signed('carries', CARRY, wide - LIMB)} limb)"
    taken = f"(bvadd {signed('carried', CARRY, wide)} {signed('limb_sum', LIMB_SUM, wide)})"
    return lemma(
        "digits",
        "limbs that carry their high bits are the sum, in a word of all limbs",
        tuple(names),
        declared(names),
        f"(assert (= {makes} {taken}))\n",
        holds=f"(and {' '.join(claims)})",
    )


def is_kept(total: str, kept: dict[str, str]) -> str:
    """Is this kept of a sum: the limb with its leading bit, the limb below, and whether a bit is set below them? The
    leading bit may be the top bit of the lower limb.
    """
    sign = f"((_ extract {WIDTH - 1} {WIDTH - 1}) {total})"
    claims = []
    for k in range(LIMBS):
        low = LIMB * k
        above = WIDTH - low
        high = f"((_ extract {WIDTH - 1} {low}) {total})"
        window = f"((_ extract {low + LIMB - 1} {low}) {total})"
        below = f"((_ extract {low - 1} {low - LIMB}) {total})" if k else bits(0, LIMB)
        rest = f"(distinct ((_ extract {low - LIMB - 1} 0) {total}) {bits(0, low - LIMB)})" if k > 1 else "false"
        extends = f"(= {high} ((_ sign_extend {above - LIMB}) {window}))" if above > LIMB else "true"
        leads = (
            f"(distinct ((_ extract {WIDTH - 1} {low - 1}) {total}) ((_ repeat {above + 1}) {sign}))" if k else "true"
        )
        claims.append(
            f"(=> (= {kept['number']} {bits(k, LIMB_NUMBER)}) (and {extends} {leads} "
            f"(= {kept['bits']} (concat {window} {below})) (= {kept['rest']} (ite {rest} #b1 #b0))))"
        )
    return f"(and (= {kept['sign']} {sign}) (bvult {kept['number']} {bits(LIMBS, LIMB_NUMBER)}) {' '.join(claims)})"


def _keeps(running: Design, state: tuple[str, ...], number: int) -> Question:
    """The window after all limbs, from any state."""
    (part,) = (one.named("part") for one in running.parts(Cut(running.top, (), ("total",), freed=("total",))))
    cycles = LIMBS + ("digits_digits_q" in state)
    states = [f"s{cycle}" for cycle in range(cycles + 1)]
    texts = [part.text, *map(part.state, states)]
    for now, then in pairwise(states):
        texts += [f"(assert (= {part.wire(f'now_{name}', then)} {part.wire(f'next_{name}', now)}))\n" for name in state]
    for k, one in enumerate(states[:LIMBS]):
        is_first = f"(= {part.wire('is_first', one)} {'false' if k else 'true'})"
        texts.append(f"(assert (and {is_first} (= {part.wire('limb', one)} {bits(k, LIMB_NUMBER)})))\n")
    texts += [f"(assert {part.wire('enable', one)})\n" for one in states[:-1]]
    limbs = [f"((_ extract {LIMB - 1} 0) {part.wire('total', one)})" for one in states[:LIMBS]]
    kept = {name: vector(part.wire(name, states[-1]), width) for name, width in WINDOW.items()}
    names = [f"kept_{name}" for name in WINDOW]
    return lemma(
        f"keeps-{number}" if number else "keeps",
        "after all limbs of a sum, whatever was there before, its window is kept",
        ("t", *names),
        *texts,
        constant("t", WIDTH, f"(concat {' '.join(reversed(limbs))})"),
        *(constant(name, width, kept[one]) for name, (one, width) in zip(names, WINDOW.items())),
        holds=is_kept("t", {name: f"kept_{name}" for name in WINDOW}),
        is_inner=True,
    )


def _rounded(s: HadamardSpecification, part: Part) -> Question:
    is_nan, is_infinite, sign = (part.wire(name, "s") for name in RESULT_FLAGS)
    nan = bits(BF16.inf_field | 1 << BF16.man_bits - 1, BF16.bits)
    inf = bits(BF16.inf_field, BF16.bits - 1)
    kept = {name: vector(part.wire(name, "s"), width) for name, width in WINDOW.items()}
    return lemma(
        "results",
        "every sum has its result, rounded once; NaN and Inf replace it",
        ("t", "y"),
        s.definitions,
        part.text,
        part.state("s"),
        declared({"u": SUM}),
        constant("t", WIDTH, f"((_ sign_extend {WIDTH - SUM}) u)"),
        constant("y", BF16.bits, part.wire("y", "s")),
        f"(assert {is_kept('t', kept)})\n",
        holds=f"(ite {is_nan} (= y {nan}) (ite {is_infinite} (= y (concat {vector(sign, 1)} {inf})) (is_result t y)))",
        is_inner=True,
    )
