"""Questions about AXI4-Stream around hardware that beats pass: decoders and casts.

`axis_join.sv` describes what is in front of the first valid bit, and `axis_pass.sv` the way from there to the output.
The words of a decoder are codes, with a stream of scales. The words of a cast are independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...netlist.axis_cast import AxisCast
from ...netlist.beats import NUMBERS, Beats
from ...netlist.cuts import cut, seen
from ...netlist.design import Design
from ...netlist.structure import StructureError
from ...questions.question import Question, constant, question
from .induction import Induction, transitions

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


@dataclass(frozen=True, kw_only=True)
class Way:
    """The way of beats through hardware, whose module of numbers is left out."""

    design: Design
    control: dict
    """The flat top module, in which the ports of the module `NUMBERS` are ports too."""
    lanes: int
    bits: int
    """Bits of a word."""
    random: int
    """Random bits of a beat."""
    places: tuple[str, ...]
    """The places of registers."""
    beats: int = 1
    """Beats of a block."""
    scale: int = 0
    """Bits of a scale; 0 without scales."""
    numbers: int
    """Bits of a number that leaves."""
    has_marks: bool = False
    """Are the marks' registers among the control, and numbers left to other checks?"""

    @property
    def marks(self) -> int:
        """Bits of a packet: its end, the low bit of ``tuser``, and whether each word has all its bytes."""
        return 2 + self.lanes

    def own(self, *names: str) -> list[str]:
        return [f"{NUMBERS}_{name}" for name in names]


def way_of_decoder(beats: Beats) -> Way:
    """The way of beats through a decoder."""
    rules, config = beats.config.numerics, beats.config
    return Way(
        design=beats.design,
        control=beats.control(),
        lanes=config.lanes,
        bits=rules.block.element.bits,
        random=rules.random_bits * config.lanes,
        places=beats.places,
        beats=config.beats,
        scale=rules.block.scale.bits,
        numbers=rules.destination.bits,
    )


def way_of_cast(cast: AxisCast) -> Way:
    """The way of beats through a cast."""
    rules = cast.config.numerics
    return Way(
        design=cast.design,
        control=cast.control(),
        lanes=rules.lanes,
        bits=rules.ports[0].bits,
        random=rules.random_bits * rules.lanes,
        numbers=rules.ports[-1].bits,
        has_marks=True,
        places=tuple(cast.config.microarchitecture.registered_after),
    )


def around_way(way: Way) -> tuple[Induction, Induction]:
    """The statements about beats that enter, and about those that leave."""
    return joined(way), passing(way)


def through_questions(way: Way) -> Iterator[Question]:
    """The questions about the statements of `around_way`."""
    joins, passes = around_way(way)
    yield from joins.questions()
    for port in ("tready", *(["s_tready"] if way.scale else [])):
        yield joins.depends_on_registers(f"join-{port}", port, "no path leads from an input to it")
    yield from passes.questions()
    yield passes.depends_on_registers("pass-valid", "o_valid", "it does not wait for m_axis_tready")
    for system, wire in ((joins, "reads"), (passes, "o_valid")):
        states = [f"e{edge}" for edge in range(len(way.places) + 3)]
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


def joined(way: Way) -> Induction:
    """The statements about beats, and scales, that enter."""
    top, scale = "mxcast_joined", max(1, way.scale)
    widths = {name: len(port["bits"]) for name, port in way.control["ports"].items()}
    data, keep, words = widths["s_axis_tdata"], widths["s_axis_tkeep"], way.bits * way.lanes
    ends = [(way.bits * (lane + 1) - 1) // 8 for lane in range(way.lanes)]
    marks = ", ".join([*(f"tkeep[{end}]" for end in reversed(ends)), "tuser[0]", "tlast"])
    given = [f"tdata[{words - 1}:0]", marks, *([f"tuser[{way.random}:1]"] if way.random else [])]
    shown = {"p": words, "marks": way.marks, **({"random": way.random} if way.random else {})}
    of_scale = ("scale", "is_first") if way.scale else ()
    kept = ["aclk", "aresetn", *(name for name in widths if name.startswith("s_axis_")), *way.own(*shown, *of_scale)]
    wires = {"seen_reads": "reads", "seen_running": "running_q", "seen_held": "beat_held"}
    if way.scale:
        wires |= {"seen_byte": "beat_has_bytes_held_q", "seen_scale_held": "scale_held"}
        scales = f""".s_axis_scale_tdata(s_tdata), .s_axis_scale_tvalid(s_tvalid), .s_axis_scale_tready(s_tready),
    .{NUMBERS}_scale(scale), .{NUMBERS}_is_first(first), .seen_byte(held_byte), .seen_scale_held(s_held),"""
        without = ""
    else:
        scales, without = "", "assign {scale, first, held_byte, s_held} = 0; assign s_tready = running;"
    made = seen(cut(way.control, "back_enable", kept), wires)
    wrapper = f"""module {top}(input clk, rst, tvalid, tlast, s_tvalid, has_room, input {_vector(data)} tdata,
  input {_vector(keep)} tkeep, input {_vector(1 + way.random)} tuser, input {_vector(scale)} s_tdata,
  output tready, s_tready, reads, first, assumed, output {_vector(len(JOIN_WRONG))} wrong, output [4:0] related,
  output {_vector(scale)} scale, {", ".join(f"output {_vector(width)} {name}" for name, width in shown.items())});
  wire held, held_byte, s_held, running;
  {without}
  {way.design.top} design(.aclk(clk), .aresetn(~rst), .s_axis_tdata(tdata), .s_axis_tkeep(tkeep),
    .s_axis_tlast(tlast), .s_axis_tuser(tuser), .s_axis_tvalid(tvalid), .s_axis_tready(tready), {scales}
    .cut_back_enable(has_room), {", ".join(f".{NUMBERS}_{name}({name})" for name in shown)},
    .seen_reads(reads), .seen_held(held), .seen_running(running));
  mxcast_join #(.DATA({sum(shown.values())}), .SCALE({scale}), .SCALES({int(way.scale > 0)})) join_of(
    .clk(clk), .rst(rst), .tvalid(tvalid), .tready(tready), .tlast(tlast), .has_byte(tkeep[0]),
    .s_tvalid({"s_tvalid" if way.scale else "1'b0"}), .s_tready(s_tready),
    .data({{{", ".join(given)}}}), .shown({{{", ".join(shown)}}}), .s_data(s_tdata), .s_shown(scale),
    .has_room(has_room), .first(first), .reads(reads), .held(held), .held_byte(held_byte), .s_held(s_held),
    .running(running), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="join",
        claim="beats are taken in order and once, the first of each block under the next scale if there are scales; a "
        "beat waits for its scale and for room only",
        top=top,
        relation=transitions(way.design, made, "axis_join.sv", wrapper, top),
        related=5,
        wrong=JOIN_WRONG,
        shown={
            **dict.fromkeys(("rst", "tvalid", "tready", "tlast", "s_tvalid", "s_tready", "has_room"), 1),
            **dict.fromkeys(("reads", "first"), 1),
            "tdata": data,
            "tkeep": keep,
            "s_tdata": scale,
            "p": words,
            "scale": scale,
        },
    )


def passing(way: Way) -> Induction:
    """The statements about beats on their way to the output."""
    top, back, scale, marks = "mxcast_passed", len(way.places), max(1, way.scale), way.marks
    word, place = way.bits * way.lanes + way.random, max(1, (way.beats - 1).bit_length())
    leaves = [name for name in way.control["ports"] if name.startswith("m_axis_")]
    kept = ["aclk", "aresetn", *leaves, *way.own("enable", "is_first", "o_marks", "y")]
    made = cut(cut(way.control, "reads", kept), "beat_marks", [*kept, "cut_reads"])
    made = seen(made, {"seen_beat": "beat"} if way.beats > 1 else {})
    nets = [made["netnames"].get(f"valid_{name}_q", {"bits": []})["bits"] for name in way.places]
    if missing := [name for name, bits in zip(way.places, nets) if len(bits) != 1]:
        raise StructureError(f"the design has no wire valid_{missing[0]}_q")
    made["ports"]["seen_valids"] = {"direction": "output", "bits": [bit for bits in nets for bit in bits]}
    numbers, keep = way.numbers * way.lanes, len(way.control["ports"]["m_axis_tkeep"]["bits"])
    whole = ", ".join(f"o_marks[{2 + 8 * byte // way.numbers}]" for byte in reversed(range(keep)))
    same = f"m_tkeep == {{{whole}}} && m_tlast == o_marks[0] && m_tuser == o_marks[1]"
    without = ["assign beat = 0;"] if way.beats == 1 else []
    if way.has_marks:
        made = seen(made, {f"seen_marks_{name}": f"marks_{name}_q" for name in way.places})
        own = [f".seen_marks_{name}(kept[{marks * (at + 1) - 1}:{marks * at}])," for at, name in enumerate(way.places)]
        without.append("assign first = 1;")
    else:
        same = f"m_tdata == y && {same}"
        own = [f".m_axis_tdata(m_tdata), .{NUMBERS}_y(y), .{NUMBERS}_o_marks(o_marks), .{NUMBERS}_is_first(first),"]
        without.append("assign kept = 0;")
    beat = ".seen_beat(beat), " if way.beats > 1 else ""
    wrapper = f"""module {top}(input clk, rst, mark, reads, m_axis_tready, input {_vector(word)} word,
  input {_vector(scale)} key, input {_vector(marks)} marks, input {_vector(numbers)} y,
  output first, enable, o_valid, assumed, output {_vector(len(PASS_WRONG))} wrong,
  output [5:0] related, output {_vector(marks)} o_marks, output {_vector(word)} o_word, output {_vector(scale)} o_key);
  wire {_vector(numbers)} m_tdata; wire {_vector(keep)} m_tkeep; wire m_tlast, m_tuser;
  wire {_vector(marks * back)} kept; wire {_vector(back)} valids; wire {_vector(place)} beat;
  {" ".join(without)}
  {way.design.top} design(.aclk(clk), .aresetn(~rst), .cut_reads(reads), .cut_beat_marks(marks), {" ".join(own)}
    .m_axis_tkeep(m_tkeep), .m_axis_tlast(m_tlast), .m_axis_tuser(m_tuser),
    .m_axis_tvalid(o_valid), .m_axis_tready(m_axis_tready), .{NUMBERS}_enable(enable), {beat}.seen_valids(valids));
  mxcast_pass #(.BACK({back}), .WORD({word}), .KEY({scale}), .MARKS({marks}), .BEATS({way.beats}), .PLACE({place}),
    .OWN({int(way.has_marks)})) pass(
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
        relation=transitions(way.design, made, "axis_pass.sv", wrapper, top),
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
