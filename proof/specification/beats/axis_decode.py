"""Questions about AXI4-Stream around a decoder: codes and scales that enter, and numbers that leave.

`axis_join.sv` describes what is in front of the first valid bit, and `axis_pass.sv` the way from there to the output.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...netlist.beats import NUMBERS, Beats
from ...netlist.structure import StructureError
from ...questions.question import Question, constant, question
from .axis import cut, seen
from .induction import Induction, transitions

JOIN_WRONG = (
    "a beat is decoded and none has entered: one was made twice",
    "a beat is decoded with other codes, marks or random bits than it entered with",
    "the first beat of a block is decoded without a scale",
    "the first beat of a block is decoded under another scale than the next one",
    "a beat enters while another one waits: one is lost",
    "a scale enters while another one waits: one is lost",
    "a beat waits, although it has its scale and the decoder has room",
    "no beat or no scale is taken, although none waits",
    "s_axis_tready or s_axis_scale_tready is set at the edge after a reset",
    "a beat is decoded, although the decoder has no room",
)
"""Faults by the bits of ``wrong`` in `axis_join.sv`."""

PASS_WRONG = (
    "m_axis_tvalid is set and no beat is inside: one was made twice",
    "a beat leaves with other codes, another scale or other marks than it has",
    "m_axis has other numbers, tkeep, tlast or tuser than the beat",
    "a result changes or goes while it waits",
    "no beat is taken, although the receiver makes nobody wait",
    "a beat stays inside too long",
)
"""Faults by the bits of ``wrong`` in `axis_pass.sv`."""


def around_decoder(beats: Beats) -> tuple[Induction, Induction]:
    """The statements about codes and scales that enter, and about numbers that leave."""
    control = beats.control()
    return joined(beats, control), passing(beats, control)


def axis_decoder_questions(joins: Induction, passes: Induction, registers: int) -> Iterator[Question]:
    """The questions about the statements of `around_decoder`, with so many registers on the way."""
    yield from joins.questions()
    for port in ("tready", "s_tready"):
        yield joins.depends_on_registers(f"join-{port}", port, "no path leads from an input to it")
    yield from passes.questions()
    yield passes.depends_on_registers("pass-valid", "o_valid", "it does not wait for m_axis_tready")
    for system, wire in ((joins, "reads"), (passes, "o_valid")):
        states = [f"e{edge}" for edge in range(registers + 3)]
        happens = [system.wire(wire, state) for state in states[1:]]
        yield question(
            f"{system.name}-can-happen",
            "a beat can enter and leave after a reset",
            ("rst",),
            system.steps(*states),
            constant("rst", 0, system.wire("rst", states[0])),
            f"(assert rst)\n(assert (or {' '.join(happens)}))\n",
            expected="sat",
        )


def _vector(width: int) -> str:
    return f"[{width - 1}:0]"


def joined(beats: Beats, control: dict) -> Induction:
    """The statements about codes and scales that enter."""
    config, top = beats.config, "mxcast_joined"
    rules, lanes = config.numerics, config.lanes
    bits, random, scale = rules.block.element.bits, rules.random_bits * lanes, rules.block.scale.bits
    widths = {name: len(port["bits"]) for name, port in control["ports"].items()}
    data, keep = widths["s_axis_tdata"], widths["s_axis_tkeep"]
    ends = [(bits * (lane + 1) - 1) // 8 for lane in range(lanes)]
    marks = ", ".join([*(f"tkeep[{end}]" for end in reversed(ends)), "tuser[0]", "tlast"])
    given = [f"tdata[{bits * lanes - 1}:0]", marks, *([f"tuser[{random}:1]"] if random else [])]
    shown = {"p": bits * lanes, "marks": 2 + lanes, **({"random": random} if random else {})}
    of_numbers = [f"{NUMBERS}_{name}" for name in (*shown, "scale", "is_first")]
    kept = ["aclk", "aresetn", *(name for name in widths if name.startswith("s_axis_")), *of_numbers]
    made = cut(control, "back_enable", kept)
    registers = {"seen_held": "beat_held", "seen_byte": "beat_has_bytes_held_q", "seen_scale_held": "scale_held"}
    made = seen(made, {"seen_reads": "reads", "seen_running": "running_q", **registers})
    wrapper = f"""module {top}(input clk, rst, tvalid, tlast, s_tvalid, has_room, input {_vector(data)} tdata,
  input {_vector(keep)} tkeep, input {_vector(1 + random)} tuser, input {_vector(scale)} s_tdata,
  output tready, s_tready, reads, first, assumed, output {_vector(len(JOIN_WRONG))} wrong, output [4:0] related,
  output {_vector(scale)} scale, {", ".join(f"output {_vector(width)} {name}" for name, width in shown.items())});
  wire held, held_byte, s_held, running;
  {beats.design.top} design(.aclk(clk), .aresetn(~rst), .s_axis_tdata(tdata), .s_axis_tkeep(tkeep),
    .s_axis_tlast(tlast), .s_axis_tuser(tuser), .s_axis_tvalid(tvalid), .s_axis_tready(tready),
    .s_axis_scale_tdata(s_tdata), .s_axis_scale_tvalid(s_tvalid), .s_axis_scale_tready(s_tready),
    .cut_back_enable(has_room), .{NUMBERS}_scale(scale), .{NUMBERS}_is_first(first),
    {", ".join(f".{NUMBERS}_{name}({name})" for name in shown)},
    .seen_reads(reads), .seen_held(held), .seen_byte(held_byte), .seen_scale_held(s_held), .seen_running(running));
  mxcast_join #(.DATA({sum(shown.values())}), .SCALE({scale})) join_of(.clk(clk), .rst(rst), .tvalid(tvalid),
    .tready(tready), .tlast(tlast), .has_byte(tkeep[0]), .s_tvalid(s_tvalid), .s_tready(s_tready),
    .data({{{", ".join(given)}}}), .shown({{{", ".join(shown)}}}), .s_data(s_tdata), .s_shown(scale),
    .has_room(has_room), .first(first), .reads(reads), .held(held), .held_byte(held_byte), .s_held(s_held),
    .running(running), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="join",
        claim="beats of codes are decoded in order and once, the first of each block under the next scale; a beat "
        "waits for its scale and for room only",
        top=top,
        relation=transitions(beats.design, made, "axis_join.sv", wrapper, top),
        related=5,
        wrong=JOIN_WRONG,
        shown={
            **dict.fromkeys(("rst", "tvalid", "tready", "tlast", "s_tvalid", "s_tready", "has_room"), 1),
            **dict.fromkeys(("reads", "first"), 1),
            "tdata": data,
            "tkeep": keep,
            "s_tdata": scale,
            "p": bits * lanes,
            "scale": scale,
        },
    )


def passing(beats: Beats, control: dict) -> Induction:
    """The statements about beats on their way to the output."""
    config, top = beats.config, "mxcast_passed"
    rules, lanes, back = config.numerics, config.lanes, len(beats.places)
    scale, random = rules.block.scale.bits, rules.random_bits * lanes
    word, marks, place = rules.block.element.bits * lanes + random, 2 + lanes, max(1, (config.beats - 1).bit_length())
    numbers = rules.destination.bits * lanes
    outside = ["aclk", "aresetn", *(name for name in control["ports"] if name.startswith("m_axis_"))]
    own = [f"{NUMBERS}_{name}" for name in ("enable", "is_first", "o_marks", "y")]
    made = cut(cut(control, "reads", [*outside, *own]), "beat_marks", [*outside, *own, "cut_reads"])
    made = seen(made, {"seen_beat": "beat"} if config.beats > 1 else {})
    nets = [made["netnames"].get(f"valid_{name}_q", {"bits": []})["bits"] for name in beats.places]
    if missing := [name for name, bits in zip(beats.places, nets) if len(bits) != 1]:
        raise StructureError(f"the design has no wire valid_{missing[0]}_q")
    made["ports"]["seen_valids"] = {"direction": "output", "bits": [bit for bits in nets for bit in bits]}
    kept = ", ".join(f"o_marks[{2 + 8 * byte // rules.destination.bits}]" for byte in reversed(range(numbers // 8)))
    beat = ".seen_beat(beat), " if config.beats > 1 else ""
    wrapper = f"""module {top}(input clk, rst, mark, reads, m_axis_tready, input {_vector(word)} word,
  input {_vector(scale)} key, input {_vector(marks)} marks, input {_vector(numbers)} y,
  output first, enable, o_valid, m_axis_tlast, m_axis_tuser, assumed, output {_vector(len(PASS_WRONG))} wrong,
  output [4:0] related, output {_vector(marks)} o_marks, output {_vector(word)} o_word, output {_vector(scale)} o_key);
  wire {_vector(numbers)} m_axis_tdata; wire {_vector(numbers // 8)} m_axis_tkeep;
  wire {_vector(back)} valids; wire {_vector(place)} beat;{"" if config.beats > 1 else " assign beat = 0;"}
  {beats.design.top} design(.aclk(clk), .aresetn(~rst), .cut_reads(reads), .cut_beat_marks(marks),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast), .m_axis_tuser(m_axis_tuser),
    .m_axis_tvalid(o_valid), .m_axis_tready(m_axis_tready), .{NUMBERS}_y(y), .{NUMBERS}_o_marks(o_marks),
    .{NUMBERS}_enable(enable), .{NUMBERS}_is_first(first), {beat}.seen_valids(valids));
  mxcast_pass #(.BACK({back}), .WORD({word}), .KEY({scale}), .MARKS({marks}), .BEATS({config.beats}), .PLACE({place}))
    pass(.clk(clk), .rst(rst), .mark(mark), .reads(reads), .first(first), .enable(enable), .word(word), .key(key),
    .marks(marks), .o_valid(o_valid), .o_ready(m_axis_tready), .valids(valids), .beat(beat),
    .same(m_axis_tdata == y && m_axis_tkeep == {{{kept}}} && m_axis_tlast == o_marks[0] && m_axis_tuser == o_marks[1]),
    .o_marks(o_marks), .o_word(o_word), .o_key(o_key), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="pass",
        claim="each beat that is decoded leaves once and in order, with the numbers of its codes under the scale of "
        f"its block, unchanged while it waits, and within {back} edges without stalls",
        top=top,
        relation=transitions(beats.design, made, "axis_pass.sv", wrapper, top),
        related=5,
        wrong=PASS_WRONG,
        shown={
            **dict.fromkeys(("rst", "reads", "first", "enable", "o_valid", "m_axis_tready", "m_axis_tlast"), 1),
            "word": word,
            "key": scale,
            "marks": marks,
            "o_word": word,
            "o_key": scale,
            "o_marks": marks,
        },
    )
