"""Questions about a stream whose words get another size (`gear.sv`)."""

from __future__ import annotations

from math import gcd

from ....hdl.bus.pins import Stream
from ...netlist.beats.bus import flat_gearbox
from ...netlist.beats.cuts import seen
from ...netlist.design import Design
from .induction import Induction, transitions
from .stream_path import vector

WRONG = (
    "m_tvalid is set without a whole word or the end of a packet, or not set with one",
    "m_tkeep does not say which bytes are there",
    "m_tlast is not set with the last word of a packet only",
    "a byte is not at its place",
    "m_tuser has another value than the packet, or than the marks of its bytes",
    "s_tready is not set, although there is room, or set without room or at the edge after a reset",
    "a word changes or goes while it waits",
)
"""Faults by the bits of ``wrong`` in `gear.sv`."""


def gear(design: Design, stream: Stream) -> Induction:
    """The statements about a module with the ports of a `hdl.bus.gearbox.Gearbox`."""
    top, (entering, leaving) = "mxcast_geared", stream.sides
    user, is_of_packet = max(1, stream.user), stream.user > 0 and stream.enters
    registers = {"count": "count", "ended": "has_ended", "alone": "ends_alone", "running": "running_q"}
    registers |= {"keeps": "keeps_q", "bytes": "bytes_q"}
    if is_of_packet:
        registers |= {"begun": "has_begun", "user": "user_q"}
    elif stream.user:
        registers |= {"marks": "marks_q", "of_end": "mark_of_end"}
    absent = [name for name in ("begun", "user", "marks", "of_end") if name not in registers]
    absent += [] if stream.user else ["m_tuser"]
    made = seen(flat_gearbox(design), {f"seen_{name}": net for name, net in registers.items()})
    widths = {name: len(port["bits"]) for name, port in made["ports"].items()}
    most, unit = widths["seen_keeps"], gcd(entering, leaving)
    at = (most + entering).bit_length() + 1
    wrapper = f"""module {top}(input clk, rst, mark, s_tvalid, s_tlast, m_tready, input {vector(at)} chosen,
  input {vector(entering)} s_tkeep, input {vector(8 * entering)} s_tdata, input {vector(user)} s_tuser,
  output s_tready, m_tvalid, m_tlast, assumed, output {vector(leaving)} m_tkeep, output {vector(8 * leaving)} m_tdata,
  output {vector(user)} m_tuser, output {vector(len(WRONG))} wrong, output [6:0] related);
  wire {vector(widths["seen_count"])} count; wire ended, alone, running, begun, of_end; wire {vector(user)} user;
  wire {vector(most)} keeps; wire {vector(8 * most)} bytes; wire {vector(most // unit)} marks;
  {" ".join(f"assign {name} = 0;" for name in absent)}
  {design.top} design(.aclk(clk), .aresetn(~rst), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
    .s_tkeep(s_tkeep), .s_tdata(s_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast),
    .m_tkeep(m_tkeep), .m_tdata(m_tdata), {".s_tuser(s_tuser), .m_tuser(m_tuser)," if stream.user else ""}
    {", ".join(f".seen_{name}({name})" for name in registers)});
  mxcast_gear #(.N({entering}), .M({leaving}), .UNIT({unit}), .MOST({most}), .USER({user}),
    .OF_PACKET({int(is_of_packet)}), .NULLS({int(stream.has_keep or not stream.enters)}), .AT({at})) gear(
    .clk(clk), .rst(rst), .mark(mark), .chosen(chosen), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
    .s_tkeep(s_tkeep), .s_tdata(s_tdata), .s_tuser({"s_tuser" if stream.user else "1'b0"}), .m_tvalid(m_tvalid),
    .m_tready(m_tready), .m_tlast(m_tlast), .m_tkeep(m_tkeep), .m_tdata(m_tdata), .m_tuser(m_tuser),
    .count({{{at - widths["seen_count"]}'b0, count}}), .has_ended(ended), .ends_alone(alone), .running(running),
    .has_begun(begun), .mark_of_end(of_end), .user(user), .keeps(keeps), .bytes(bytes), .marks(marks),
    .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name=stream.kind,
        claim="the bytes of a packet leave once and in order, in whole words but for the last one, with its end and "
        "its tuser; a word does not change while it waits, and a word enters if there is room",
        top=top,
        relation=transitions(design, made, "gear.sv", wrapper, top),
        related=7,
        wrong=WRONG,
        shown={
            **dict.fromkeys(("rst", "s_tvalid", "s_tready", "s_tlast"), 1),
            "s_tkeep": entering,
            "s_tdata": 8 * entering,
            **dict.fromkeys(("m_tvalid", "m_tready", "m_tlast"), 1),
            "m_tkeep": leaving,
            "m_tdata": 8 * leaving,
        },
    )
