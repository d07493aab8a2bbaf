"""Questions about AXI4-Stream around an encoder with lanes: packets that enter, and beats and scales that leave.

The design is cut at two places. `axis_enter.sv` describes what is in front of the valid bit of the core, and
`axis_leave.sv` what is behind its last valid bit. What one part takes from another one can be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....spec import Packing
from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.parts import CODES, EARLY, KEYS, Beats
from ...netlist.design import Design
from ...questions.question import Question
from .axis_pack import packs
from .induction import Induction, transitions
from .stream_path import blocks_of, places_of

ENTER_WRONG = (
    "a beat is offered to the core and none has entered: one was made twice",
    "a beat is offered to the core with other numbers, marks or user bits than it entered with",
    "a beat that completes a block is not zero, lacks a mark, or has other user bits than the last beat",
    "a beat enters while another one waits: one is lost",
    "a beat is not offered to the core",
    "no beat is taken, although the core makes nobody wait",
    "s_axis_tready is set at the edge after a reset",
)
"""Faults by the bits of ``wrong`` in `axis_enter.sv`."""

LEAVE_WRONG = (
    "m_axis_tvalid is set without a beat, or not set with one",
    "m_axis has other codes, tlast or tuser than the beat, or they change while it waits",
    "a beat or a scale is replaced before it is taken",
    "m_axis_scale has another scale or tlast than the block, or they change while it waits",
    "m_axis_scale_tvalid is set without a scale, or not set with the first beat of a block",
    "the core waits, although nobody makes it wait",
    "m_axis_tkeep is not all ones, or a bit above the codes is set",
)
"""Faults by the bits of ``wrong`` in `axis_leave.sv`."""


def place_bits(beats: int) -> int:
    """Bits of the number of a beat in its block, at least one."""
    return max(1, (beats - 1).bit_length())


def around(beats: Beats) -> tuple[Induction, Induction]:
    """The statements about packets that enter, and about beats and scales that leave."""
    control = beats.control()
    return enters(front_of_encoder(beats, control)), (leaves if beats.config.is_even else packs)(beats, control)


def axis_questions(entering: Induction, leaving: Induction) -> Iterator[Question]:
    """The questions about the statements of `around`."""
    yield from enter_questions(entering)
    yield from leaving.questions()
    for port in (port for port in ("m_axis_tvalid", "m_axis_scale_tvalid") if port in leaving.shown):
        yield leaving.depends_on_registers(f"leave-{port}", port, "it does not wait for a tready")


def enter_questions(entering: Induction) -> Iterator[Question]:
    """The questions about the statements of `enters`."""
    yield from entering.questions()
    yield entering.depends_on_registers("enter-ready", "tready", "it follows room in the core only", "core_ready")


def coming(beats: Beats) -> str:
    """The valid bit of the beat that leaves the core next. Without packed blocks, this is not yet at the output."""
    return f"valid_{beats.places[-1 - beats.config.is_even]}_q"


def core(beats: Beats, control: dict) -> dict:
    """The core, from the register at the input to the valid bit in front of the registers at the output."""
    entering = {"marks", "random", *(port.name for port in beats.config.of_block)}
    left_out = {"x", *entering, "p", "o_marks", "scale", "o_first", "o_last", *EARLY}
    kept = [
        name
        for name in control["ports"]
        if not name.startswith(("s_axis_", "m_axis_"))
        and name not in {f"{KEYS}_{port}" for port in left_out}
        and name not in {f"{CODES}_{port}" for port in left_out - entering}
    ]
    made = cut(cut(control, "valid_q", kept), "back_enable", [*kept, "cut_valid_q"])
    wires = {"seen_ready": "core_ready", "seen_coming": coming(beats)}
    halves = (0, 1) if beats.config.beats > 1 else ()  # a whole block has its marks in the store
    return seen(made, wires | {f"seen_marks_{half}": f"marks_of_half{half}_q" for half in halves})


@dataclass(frozen=True, kw_only=True)
class Front:
    """The register at the input, with ports for what is behind it."""

    design: Design
    module: dict
    """The flat top module, with the input ``cut_core_ready``, and the outputs ``seen_beat`` (of blocks of several
    beats), ``seen_running`` and ``seen_valid``."""
    lanes: int
    size: int
    """Bytes of a number."""
    beats: int
    x: str
    """The output with the numbers of a beat."""
    marks: str
    """The connections of the outputs with its marks."""
    given: Mapping[str, int]
    """Outputs with other values of a beat, and their bits, the one in the high bits of ``tuser`` first."""


PLACE, FRONT = {"seen_beat": "beat"}, {"seen_running": "running_q", "seen_valid": "valid_q"}
"""Outputs of the register at the input, and their wires: of blocks of several beats, and of all."""


def front_of_encoder(beats: Beats, control: dict) -> Front:
    """The register in front of an encoder."""
    config, numerics = beats.config, beats.config.numerics
    random = {"random": numerics.random_bits * config.lanes} if numerics.random_bits else {}
    given = {f"{KEYS}_{port.name}": port.width for port in config.of_block}
    given = {**{f"{KEYS}_{name}": bits for name, bits in random.items()}, **dict(reversed(given.items()))}
    of_keys = [name for name in control["ports"] if name.startswith(f"{KEYS}_") and name != f"{KEYS}_enable"]
    outside = ["aclk", "aresetn", *(name for name in control["ports"] if name.startswith("s_axis_"))]
    registers = {**(PLACE if config.beats > 1 else {}), **FRONT}
    made = seen(cut(control, "core_ready", [*outside, *of_keys]), registers)
    # results of the module in front of the store lead nowhere from here
    made["ports"] = {
        name: port
        for name, port in made["ports"].items()
        if port["direction"] == "output" or not name.startswith(f"{KEYS}_")
    }
    return Front(
        design=beats.design,
        module=made,
        lanes=config.lanes,
        size=numerics.source.bits // 8,
        beats=config.beats,
        x=f"{KEYS}_x",
        marks=f".{KEYS}_marks(marks)",
        given=given,
    )


def enters(front: Front) -> Induction:
    """The statements about packets that enter."""
    top, place, given, size, lanes = "mxcast_entered", front.beats > 1, front.given, front.size, front.lanes
    user, bits, width = sum(given.values()), place_bits(front.beats), 8 * front.size * front.lanes
    wires = "".join(f"wire [{bits - 1}:0] {name}; " for name, bits in given.items())
    wrapper = f"""module {top}(input clk, rst, tlast, tvalid, core_ready, input [{width - 1}:0] tdata,
  input [{size * lanes - 1}:0] tkeep, input [{max(user, 1) - 1}:0] tuser,
  output tready, assumed, output [{len(ENTER_WRONG) - 1}:0] wrong, output [4:0] related);
  wire [{width - 1}:0] core_x; wire [1:0] marks; wire core_valid, running;
  wire [{bits - 1}:0] beat{"" if place else " = 0"};
  wire [{max(user, 1) - 1}:0] core_user;
  {wires}
  assign core_user = {"{" + ", ".join(given) + "}" if user else "tuser"};
  {front.design.top} design(.aclk(clk), .aresetn(~rst), .s_axis_tdata(tdata), .s_axis_tkeep(tkeep),
    .s_axis_tlast(tlast), .s_axis_tvalid(tvalid), .s_axis_tready(tready), {".s_axis_tuser(tuser), " if user else ""}
    .cut_core_ready(core_ready), .{front.x}(core_x), {front.marks},
    {"".join(f".{name}({name}), " for name in given)}
    {".seen_beat(beat), " if place else ""}.seen_running(running), .seen_valid(core_valid));
  mxcast_enter #(.LANES({lanes}), .SIZE({size}), .BEATS({front.beats}), .PLACE({bits}), .USER({max(user, 1)})) enter(
    .clk(clk), .rst(rst), .tdata(tdata), .tkeep(tkeep), .tlast(tlast), .tvalid(tvalid), .tready(tready),
    .tuser({"tuser" if user else "1'b0"}), .core_valid(core_valid), .core_ready(core_ready), .core_x(core_x),
    .core_last(marks[0]), .core_completed(marks[1]), .core_user({"core_user" if user else "1'b0"}), .beat(beat),
    .running(running), .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="enter",
        claim="the core is offered the beats of all packets in order, with zeros for missing numbers and up to the end "
        "of a block, and their marks; s_axis_tready is set whenever the core has room",
        top=top,
        relation=transitions(front.design, front.module, "axis_enter.sv", wrapper, top),
        related=5,
        wrong=ENTER_WRONG,
        shown={
            **dict.fromkeys(("rst", "tvalid", "tready", "tlast", "core_valid", "core_ready"), 1),
            "tkeep": size * lanes,
            "tdata": width,
            "core_x": width,
            "marks": 2,
        },
    )


def leaves(beats: Beats, control: dict) -> Induction:
    """The statements about beats and scales that leave."""
    config, top, valid = beats.config, "mxcast_left", coming(beats)
    brought = [f"{CODES}_{name}" for name in ("p", "o_marks", "next_scale", "next_marks", "enable")]
    outside = ["aclk", "aresetn", *(name for name in control["ports"] if name.startswith("m_axis_"))]
    between = {f"seen_{wire}": wire for wire in ("next_beat", "scale_blocks")} if config.beats > 1 else {}
    made = seen(cut(control, valid, [*outside, *brought]), between)
    widths = {name: len(port["bits"]) for name, port in made["ports"].items()}
    data, scale, whole = widths[f"{CODES}_p"], widths[f"{CODES}_next_scale"], widths["m_axis_tdata"]
    place, blocks, bits = place_bits(config.beats), blocks_of(config), config.numerics.block.element.bits
    places = blocks.places if blocks else places_of(Packing.LITTLE_ENDIAN, bits, config.lanes)
    at = {one[0] * bits + one[1]: number for number, one in enumerate(places) if one is not None}
    codes = ", ".join(f"m_axis_tdata[{at[bit]}]" for bit in reversed(range(data)))
    used = "".join("1" if bit in at.values() else "0" for bit in reversed(range(whole)))
    wrapper = f"""module {top}(input clk, rst, coming, m_axis_tready, m_axis_scale_tready,
  input [{data - 1}:0] data, input [2:0] marks, input [{scale - 1}:0] scale,
  output m_axis_tvalid, m_axis_scale_tvalid, assumed, output [{len(LEAVE_WRONG) - 1}:0] wrong, output [3:0] related);
  wire [{whole - 1}:0] m_axis_tdata; wire [{widths["m_axis_tkeep"] - 1}:0] m_axis_tkeep; wire [{data - 1}:0] codes;
  wire [{scale - 1}:0] m_axis_scale_tdata; wire [2:0] o_marks;
  wire m_axis_tlast, m_axis_tuser, m_axis_scale_tlast, back_enable;
  wire [{place - 1}:0] next_beat{"" if between else " = 0"};
  wire scale_blocks{"" if between else " = m_axis_scale_tvalid"};
  wire [{scale - 1}:0] its_scale = m_axis_scale_tdata + {scale}'d{blocks.bias if blocks else 0};
  {beats.design.top} design(.aclk(clk), .aresetn(~rst), .cut_{valid}(coming),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast), .m_axis_tuser(m_axis_tuser),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .m_axis_scale_tdata(m_axis_scale_tdata),
    .m_axis_scale_tlast(m_axis_scale_tlast), .m_axis_scale_tvalid(m_axis_scale_tvalid),
    .m_axis_scale_tready(m_axis_scale_tready), .{CODES}_p(codes), .{CODES}_o_marks(o_marks),
    {"".join(f".{port}({wire}), " for port, wire in between.items())}
    .{CODES}_next_scale(scale), .{CODES}_next_marks(marks), .{CODES}_enable(back_enable));
  mxcast_leave #(.DATA({data}), .SCALE({scale}), .BEATS({config.beats}), .PLACE({place})) leave(
    .clk(clk), .rst(rst), .coming(coming), .back_enable(back_enable), .data(data), .marks(marks),
    .scale(scale), .m_tvalid(m_axis_tvalid), .m_tready(m_axis_tready), .m_tlast(m_axis_tlast),
    .m_tuser(m_axis_tuser), .m_tdata({{{codes}}}),
    .keeps_all(&m_axis_tkeep & (m_axis_tdata & ~{whole}'b{used}) == 0), .s_tvalid(m_axis_scale_tvalid),
    .s_tready(m_axis_scale_tready), .s_tlast(m_axis_scale_tlast), .s_tdata(its_scale), .codes(codes),
    .o_marks(o_marks), .next_beat(next_beat), .scale_blocks(scale_blocks), .assumed(assumed), .wrong(wrong),
    .related(related));
endmodule
"""
    return Induction(
        name="leave",
        claim="each beat of the core leaves once by m_axis, and each block's scale once by m_axis_scale, offered with "
        "its first beat; neither changes while it waits, and the core waits for nothing else",
        top=top,
        relation=transitions(beats.design, made, "axis_leave.sv", wrapper, top),
        related=4,
        wrong=LEAVE_WRONG,
        shown={
            **dict.fromkeys(("rst", "coming", "back_enable"), 1),
            "marks": 3,
            "scale": scale,
            **dict.fromkeys(("m_axis_tvalid", "m_axis_tready", "m_axis_tlast", "m_axis_tuser"), 1),
            **dict.fromkeys(("m_axis_scale_tvalid", "m_axis_scale_tready", "m_axis_scale_tlast"), 1),
            "m_axis_scale_tdata": scale,
        },
    )
