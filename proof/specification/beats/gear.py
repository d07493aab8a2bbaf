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
    registers = {"seen_count": "count", "seen_ended": "has_ended", "seen_alone": "ends_alone"}
    registers |= {"seen_running": "running_q", "seen_keeps": "keeps_q", "seen_bytes": "bytes_q"}
    if is_of_packet:
        registers |= {"seen_begun": "has_begun", "seen_user": "user_q"}
    elif stream.user:
        registers |= {"seen_marks": "marks_q", "seen_of_end": "mark_of_end"}
    made = seen(flat_gearbox(design), registers)
    widths = {name: len(port["bits"]) for name, port in made["ports"].items()}
    most, unit = widths["seen_keeps"], gcd(entering, leaving)
    at = (most + entering).bit_length() + 1
    wires = {
        "count": f"{{{at - widths['seen_count']}'b0, count}}",
        "has_begun": "begun" if is_of_packet else "1'b0",
        "user": "user" if is_of_packet else f"{user}'b0",
        "marks": "marks" if stream.user and not is_of_packet else f"{most // unit}'b0",
        "mark_of_end": "of_end" if stream.user and not is_of_packet else "1'b0",
        "m_tuser": "m_tuser" if stream.user else "1'b0",
        "s_tuser": "s_tuser" if stream.user else "1'b0",
    }
    own = {"count": "count", "ended": "ended", "alone": "alone", "running": "running", "keeps": "keeps"}
    own |= {"bytes": "bytes"} | ({"begun": "begun", "user": "user"} if is_of_packet else {})
    own |= {"marks": "marks", "of_end": "of_end"} if stream.user and not is_of_packet else {}
    users = ".s_tuser(s_tuser), .m_tuser(m_tuser)," if stream.user else ""
    wrapper = f"""module {top}(input clk, rst, mark, s_tvalid, s_tlast, m_tready, input {vector(at)} chosen,
  input {vector(entering)} s_tkeep, input {vector(8 * entering)} s_tdata, input {vector(user)} s_tuser,
  output s_tready, m_tvalid, m_tlast, assumed, output {vector(leaving)} m_tkeep, output {vector(8 * leaving)} m_tdata,
  output {vector(user)} m_tuser, output {vector(len(WRONG))} wrong, output [6:0] related);
  wire {vector(widths["seen_count"])} count; wire ended, alone, running, begun, of_end; wire {vector(user)} user;
  wire {vector(most)} keeps; wire {vector(8 * most)} bytes; wire {vector(most // unit)} marks;
  {design.top} design(.aclk(clk), .aresetn(~rst), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
    .s_tkeep(s_tkeep), .s_tdata(s_tdata), .m_tvalid(m_tvalid), .m_tready(m_tready), .m_tlast(m_tlast),
    .m_tkeep(m_tkeep), .m_tdata(m_tdata), {users}
    {", ".join(f".seen_{name}({wire})" for name, wire in own.items())});
  mxcast_gear #(.N({entering}), .M({leaving}), .UNIT({unit}), .MOST({most}), .USER({user}),
    .OF_PACKET({int(is_of_packet)}), .NULLS({int(stream.has_keep or not stream.enters)}), .AT({at})) gear(
    .clk(clk), .rst(rst), .mark(mark), .chosen(chosen), .s_tvalid(s_tvalid), .s_tready(s_tready), .s_tlast(s_tlast),
    .s_tkeep(s_tkeep), .s_tdata(s_tdata), .s_tuser({wires["s_tuser"]}), .m_tvalid(m_tvalid), .m_tready(m_tready),
    .m_tlast(m_tlast), .m_tkeep(m_tkeep), .m_tdata(m_tdata), .m_tuser({wires["m_tuser"]}), .count({wires["count"]}),
    .has_ended(ended), .ends_alone(alone), .running(running), .has_begun({wires["has_begun"]}),
    .mark_of_end({wires["mark_of_end"]}), .user({wires["user"]}), .keeps(keeps), .bytes(bytes),
    .marks({wires["marks"]}), .assumed(assumed), .wrong(wrong), .related(related));
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
