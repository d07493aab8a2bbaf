"""Questions about AXI4-Stream around hardware that beats pass: decoders and casts.

`axis_join.sv` describes what is in front of the first valid bit, and `axis_pass.sv` the path from there to the output.
The words of a decoder are codes, with a stream of scales. The words of a cast are independent.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.parts import NUMBERS
from ...netlist.structure import StructureError
from ...questions.question import Question, constant, question
from .axis_unpack import unpacked
from .induction import Induction, transitions
from .stream_path import StreamPath, vector

JOIN_WRONG = (
    "a beat is taken and none has entered: one was made twice",
    "a beat is taken with other words, marks or random bits than it entered with",
    "the first beat of a block is taken without a scale",
    "the first beat of a block is taken under another scale than the next one",
    "a beat enters while another one waits: one is lost",
    "a scale enters while another one waits: one is lost",
    "a beat waits, although it has its scale and there is room",
    "no beat or no scale can enter, although none waits",
    "s_axis_tready or s_axis_scale_tready is set at the edge after a reset",
    "a beat is taken, although there is no room",
)
"""Faults by the bits of ``wrong`` in `axis_join.sv`."""

PASS_WRONG = (
    "m_axis_tvalid is set and no beat is inside: one was made twice",
    "a beat leaves with other words, another scale or other marks than it has",
    "m_axis has other numbers, tkeep, tlast or tuser than the beat",
    "a result changes or goes while it waits",
    "no beat is taken, although the receiver makes nobody wait",
    "a beat stays inside too long",
)
"""Faults by the bits of ``wrong`` in `axis_pass.sv`."""


def around_path(path: StreamPath) -> tuple[Induction, ...]:
    """The statements about beats that enter, about blocks that are packed, and about beats that leave."""
    return joined(path), *([unpacked(path)] if path.packed else []), passing(path)


def through_questions(path: StreamPath) -> Iterator[Question]:
    """The questions about the statements of `around_path`."""
    joins, *inner, passes = around_path(path)
    yield from joins.questions()
    for port in ("tready", *(["s_tready"] if path.has_scales else [])):
        yield joins.depends_on_registers(f"join-{port}", port, "no path leads from an input to it")
    for system in inner:
        yield from system.questions()
    yield from passes.questions()
    yield passes.depends_on_registers("pass-valid", "o_valid", "it does not wait for m_axis_tready")
    for system, wire in (*((one, "reads") for one in (joins, *inner)), (passes, "o_valid")):
        states = [f"e{edge}" for edge in range(len(path.places) + 3)]
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


def joined(path: StreamPath) -> Induction:
    """The statements about beats, and scales, that enter."""
    top, scale = "mxcast_joined", max(1, path.scale)
    widths = {name: len(port["bits"]) for name, port in path.control["ports"].items()}
    data, keep, shown = widths["s_axis_tdata"], widths["s_axis_tkeep"], path.words
    kept = ["aclk", "aresetn", *(name for name in widths if name.startswith("s_axis_"))]
    kept += [name for name, _, _ in shown.values() if name in widths]
    kept += path.own("scale", "is_first") if path.has_scales else []
    bias = f" - 8'd{path.blocks.bias}" if path.blocks and path.blocks.bias else ""
    parts = ", ".join(f"output {vector(width)} {name}" for name, (_, width, _) in shown.items())
    bits, given = sum(width for _, width, _ in shown.values()), ", ".join(text for _, _, text in shown.values())
    wires = {"seen_reads": "takes_word" if path.packed else "reads", "seen_running": "running_q"}
    wires |= {"seen_held": "beat_held", **{name: name for name, _, _ in shown.values() if name not in widths}}
    if path.has_scales:
        wires |= {"seen_byte": "beat_has_bytes_held_q", "seen_scale_held": "scale_held"}
        scales = f""".s_axis_scale_tdata(s_tdata), .s_axis_scale_tvalid(s_tvalid), .s_axis_scale_tready(s_tready),
    .{NUMBERS}_scale(scale), .{NUMBERS}_is_first(first), .seen_byte(held_byte), .seen_scale_held(s_held),"""
        without = ""
    else:
        scales, without = "", "assign {scale, first, held_byte, s_held} = 0; assign s_tready = running;"
    made = seen(cut(path.control, "back_enable", kept), wires)
    wrapper = f"""module {top}(input clk, rst, tvalid, tlast, s_tvalid, has_room, input {vector(data)} tdata,
  input {vector(keep)} tkeep, input {vector(1 + path.random)} tuser, input {vector(scale)} s_tdata,
  output tready, s_tready, reads, first, assumed, output {vector(len(JOIN_WRONG))} wrong, output [4:0] related,
  output {vector(scale)} scale, {parts});
  wire held, held_byte, s_held, running; wire {vector(scale)} its_byte = scale{bias};
  {without}
  {path.design.top} design(.aclk(clk), .aresetn(~rst), .s_axis_tdata(tdata), .s_axis_tkeep(tkeep),
    .s_axis_tlast(tlast), .s_axis_tuser(tuser), .s_axis_tvalid(tvalid), .s_axis_tready(tready), {scales}
    .cut_back_enable(has_room), {", ".join(f".{port}({name})" for name, (port, _, _) in shown.items())},
    .seen_reads(reads), .seen_held(held), .seen_running(running));
  mxcast_join #(.DATA({bits}), .SCALE({scale}), .SCALES({int(path.has_scales)})) join_of(
    .clk(clk), .rst(rst), .tvalid(tvalid), .tready(tready), .tlast(tlast), .has_byte(tkeep[0]),
    .s_tvalid({"s_tvalid" if path.has_scales else "1'b0"}), .s_tready(s_tready),
    .data({{{given}}}), .shown({{{", ".join(shown)}}}), .s_data(s_tdata), .s_shown(its_byte),
    .has_room(has_room), .first(first), .reads(reads), .held(held), .held_byte(held_byte), .s_held(s_held),
    .running(running), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="join",
        claim="beats are taken in order and once, the first of each block under the next scale if there are scales; a "
        "beat waits for its scale and for room only",
        top=top,
        relation=transitions(path.design, made, "axis_join.sv", wrapper, top),
        related=5,
        wrong=JOIN_WRONG,
        shown={
            **dict.fromkeys(("rst", "tvalid", "tready", "tlast", "s_tvalid", "s_tready", "has_room"), 1),
            **dict.fromkeys(("reads", "first"), 1),
            "tdata": data,
            "tkeep": keep,
            "s_tdata": scale,
            **{name: width for name, (_, width, _) in shown.items() if name in ("p", "word")},
            "scale": scale,
        },
    )


def passing(path: StreamPath) -> Induction:
    """The statements about beats on their path to the output."""
    top, back, scale, marks = "mxcast_passed", len(path.places), max(1, path.scale), path.marks
    word, place = path.bits * path.lanes + path.random, max(1, (path.beats - 1).bit_length())
    leaves = [name for name in path.control["ports"] if name.startswith("m_axis_")]
    kept = ["aclk", "aresetn", *leaves, *path.own("enable", "is_first", "o_marks", "y")]
    made = cut(cut(path.control, f"{NUMBERS}_marks", kept), "reads", [*kept, f"cut_{NUMBERS}_marks"])
    made = seen(made, {"seen_beat": "beat"} if path.beats > 1 else {})
    nets = [made["netnames"].get(f"valid_{name}_q", {"bits": []})["bits"] for name in path.places]
    if missing := [name for name, bits in zip(path.places, nets) if len(bits) != 1]:
        raise StructureError(f"the design has no wire valid_{missing[0]}_q")
    made["ports"]["seen_valids"] = {"direction": "output", "bits": [bit for bits in nets for bit in bits]}
    numbers, keep = path.numbers * path.lanes, len(path.control["ports"]["m_axis_tkeep"]["bits"])
    whole = ", ".join(f"o_marks[{2 + 8 * byte // path.numbers % (marks - 2)}]" for byte in reversed(range(keep)))
    same = f"m_tkeep == {{{whole}}} && m_tlast == o_marks[0] && m_tuser == o_marks[1]"
    without = ["assign beat = 0;"] if path.beats == 1 else []
    if path.has_marks:
        made = seen(made, {f"seen_marks_{name}": f"marks_{name}_q" for name in path.places})
        own = [f".seen_marks_{name}(kept[{marks * (at + 1) - 1}:{marks * at}])," for at, name in enumerate(path.places)]
        without.append("assign first = 1;")
    else:
        same = f"m_tdata == y && {same}"
        own = [f".m_axis_tdata(m_tdata), .{NUMBERS}_y(y), .{NUMBERS}_o_marks(o_marks), .{NUMBERS}_is_first(first),"]
        without.append("assign kept = 0;")
    beat = ".seen_beat(beat), " if path.beats > 1 else ""
    wrapper = f"""module {top}(input clk, rst, mark, reads, m_axis_tready, input {vector(word)} word,
  input {vector(scale)} key, input {vector(marks)} marks, input {vector(numbers)} y,
  output first, enable, o_valid, assumed, output {vector(len(PASS_WRONG))} wrong,
  output [5:0] related, output {vector(marks)} o_marks, output {vector(word)} o_word, output {vector(scale)} o_key);
  wire {vector(numbers)} m_tdata; wire {vector(keep)} m_tkeep; wire m_tlast, m_tuser;
  wire {vector(marks * back)} kept; wire {vector(back)} valids; wire {vector(place)} beat;
  {" ".join(without)}
  {path.design.top} design(.aclk(clk), .aresetn(~rst), .cut_reads(reads), .cut_{NUMBERS}_marks(marks), {" ".join(own)}
    .m_axis_tkeep(m_tkeep), .m_axis_tlast(m_tlast), .m_axis_tuser(m_tuser),
    .m_axis_tvalid(o_valid), .m_axis_tready(m_axis_tready), .{NUMBERS}_enable(enable), {beat}.seen_valids(valids));
  mxcast_pass #(.BACK({back}), .WORD({word}), .KEY({scale}), .MARKS({marks}), .BEATS({path.beats}), .PLACE({place}),
    .OWN({int(path.has_marks)})) pass(
    .clk(clk), .rst(rst), .mark(mark), .reads(reads), .first(first), .enable(enable), .word(word), .key(key),
    .marks(marks), .o_valid(o_valid), .o_ready(m_axis_tready), .valids(valids), .beat(beat), .kept(kept), .same({same}),
    .o_marks(o_marks), .o_word(o_word), .o_key(o_key), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="pass",
        claim="each beat that is taken leaves once and in order, with its words under the scale of its block, "
        f"unchanged while it waits, and within {back} edges without stalls",
        top=top,
        relation=transitions(path.design, made, "axis_pass.sv", wrapper, top),
        related=6,
        wrong=PASS_WRONG,
        shown={
            **dict.fromkeys(("rst", "reads", "first", "enable", "o_valid", "m_axis_tready"), 1),
            "word": word,
            "key": scale,
            "marks": marks,
            "o_word": word,
            "o_key": scale,
            "o_marks": marks,
        },
    )
