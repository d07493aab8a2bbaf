"""Questions about blocks of a layout that leave in a stream: from beats of codes and the scale of a block to words."""

from __future__ import annotations

from ....spec import ScalePlace
from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.parts import CODES, Beats
from .induction import Induction, transitions
from .stream_path import blocks_of, vector

PACK_WRONG = (
    "m_axis_tvalid is set without the bytes of a word or the end of a packet, or not set with them",
    "m_axis_tkeep does not say which bytes are there",
    "m_axis_tlast is not set with the last bytes of a packet only",
    "m_axis_tuser is not the mark of the block",
    "a byte of a block is not where the layout says",
    "a beat is taken before the last bytes of the packet before it have left",
    "the core waits, although nobody makes it wait, or does not wait for somebody",
    "a word changes or goes while it waits",
)
"""Faults by the bits of ``wrong`` in `axis_pack.sv`."""


def packs(beats: Beats, control: dict) -> Induction:
    """The statements about the bytes of blocks that leave."""
    config, top, coming = beats.config, "mxcast_packed", f"valid_{beats.places[-1]}_q"
    blocks = blocks_of(config)
    assert blocks is not None
    brought = [f"{CODES}_{name}" for name in ("p", "scale", "o_first", "o_last", "o_marks", "enable")]
    outside = ["aclk", "aresetn", *(name for name in control["ports"] if name.startswith("m_axis_"))]
    registers = {"seen_count": "bytes_waiting", "seen_ended": "has_ended", "seen_completed": "waiting_completed_q"}
    made = seen(cut(control, coming, [*outside, *brought]), {**registers, "seen_waiting": "block_packer.waiting_q"})
    widths = {name: len(port["bits"]) for name, port in made["ports"].items()}
    size, data, count = widths["m_axis_tkeep"], widths[f"{CODES}_p"], widths["seen_count"]
    bits, at = config.numerics.block.element.bits, (4 * size).bit_length()
    whole = ", ".join("1'b0" if one is None else f"p[{one[0] * bits + one[1]}]" for one in reversed(blocks.places))
    wrapper = f"""module {top}(input clk, rst, mark, coming, first, last, m_axis_tready, input {vector(at)} chosen,
  input {vector(data)} p, input [2:0] marks, input [7:0] scale,
  output m_axis_tvalid, m_axis_tlast, m_axis_tuser, assumed, output {vector(size)} m_axis_tkeep,
  output {vector(8 * size)} m_axis_tdata, output back_enable,
  output {vector(len(PACK_WRONG))} wrong, output [5:0] related);
  wire {vector(count)} count; wire ended, completed; wire {vector(8 * size)} waiting;
  wire [7:0] its_byte = scale - 8'd{blocks.bias};
  assign assumed = 1;
  {beats.design.top} design(.aclk(clk), .aresetn(~rst), .cut_{coming}(coming),
    .m_axis_tdata(m_axis_tdata), .m_axis_tkeep(m_axis_tkeep), .m_axis_tlast(m_axis_tlast), .m_axis_tuser(m_axis_tuser),
    .m_axis_tvalid(m_axis_tvalid), .m_axis_tready(m_axis_tready), .{CODES}_p(p), .{CODES}_o_marks(marks),
    .{CODES}_o_first(first), .{CODES}_o_last(last), .{CODES}_scale(scale), .{CODES}_enable(back_enable),
    .seen_count(count), .seen_ended(ended), .seen_completed(completed), .seen_waiting(waiting));
  mxcast_pack #(.SIZE({size}), .BEFORE({int(blocks.place is ScalePlace.BEFORE)}), .AT({at})) pack(
    .clk(clk), .rst(rst), .mark(mark), .chosen(chosen), .coming(coming), .back_enable(back_enable), .first(first),
    .last(last), .ends(marks[0]), .completed(marks[2]), .codes({{{whole}}}), .scale(its_byte),
    .m_tvalid(m_axis_tvalid), .m_tready(m_axis_tready), .m_tlast(m_axis_tlast), .m_tuser(m_axis_tuser),
    .m_tkeep(m_axis_tkeep), .m_tdata(m_axis_tdata), .count({{{at - count}'b0, count}}), .has_ended(ended),
    .completed_q(completed), .waiting(waiting), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="leave",
        claim="every byte of a block leaves once, in the word and at the place that the layout says, and a packet ends "
        "with its last byte; a word does not change while it waits, and the core waits for nothing else",
        top=top,
        relation=transitions(beats.design, made, "axis_pack.sv", wrapper, top),
        related=6,
        wrong=PACK_WRONG,
        shown={
            **dict.fromkeys(("rst", "coming", "first", "last", "back_enable"), 1),
            "p": data,
            "scale": 8,
            "marks": 3,
            **dict.fromkeys(("m_axis_tvalid", "m_axis_tready", "m_axis_tlast", "m_axis_tuser"), 1),
            "m_axis_tkeep": size,
            "m_axis_tdata": 8 * size,
        },
    )
