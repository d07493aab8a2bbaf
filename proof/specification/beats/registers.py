"""Questions about the module with registers around an encoder (`registers.sv`)."""

from __future__ import annotations

from ....hdl.lanes.keys import EncoderConfig
from ....hdl.registers.table import USER, constants_of
from ...netlist.beats.cuts import seen
from ...netlist.beats.registers import ENCODER, around_encoder
from ...netlist.design import Design
from .induction import Induction, transitions
from .stream_path import vector

WRONG = (
    "a beat enters the encoder and not the module, or the module and not the encoder",
    "the encoder has another mode, other constants or other random bits than the registers",
    "a packet enters, and there is no room to count it",
    "a packet enters under another mode than the one that was written last",
    "a beat of a packet waits for something other than the encoder",
    "an answer to a write changes or goes while it waits",
    "an answer to a read changes or goes while it waits",
)
"""Faults by the bits of ``wrong`` in `registers.sv`."""

WORD = 32
"""Bits of a constant, and of a generator of random bits."""


def controls(design: Design, config: EncoderConfig, inner: str) -> Induction:
    """The statements about the module with registers around the module ``inner``."""
    top, made = "mxcast_controlled", around_encoder(design, config, inner)
    constants = [port.name for port in constants_of(config)]
    random = config.numerics.random_bits * config.lanes
    states = -(-random // WORD)
    registers = {"seen_begun": "has_begun", "seen_counted": "packets_inside"}
    if config.alternatives:
        registers |= {"seen_mode": "mode_of_packets", "seen_wanted": "mode_setting"}
    registers |= {f"seen_{name}": f"{name}_of_packets" for name in constants}
    registers |= {f"seen_{name}_setting": f"{name}_setting" for name in constants}
    registers |= {f"seen_state{number}": f"state{number}" for number in range(states)}
    made = seen(made, registers)
    ports = made["ports"]
    has_user, modes = f"{ENCODER}_{USER}" in ports, config.mode_bits if config.alternatives else 0
    user, many = modes + WORD * len(constants) + random, max(1, len(constants))
    own = ", ".join(
        [
            *([f"states[{random - 1}:0]"] if random else []),
            *(["constants"] if constants else []),
            *(["mode"] if modes else []),
        ]
    )
    wires = {"begun": "begun", "counted": "counted"} | ({"mode": "mode", "wanted": "wanted"} if modes else {})
    wires |= {name: f"constants[{WORD * at} +: {WORD}]" for at, name in enumerate(constants)}
    wires |= {f"{name}_setting": f"settings[{WORD * at} +: {WORD}]" for at, name in enumerate(constants)}
    wires |= {f"state{number}": f"states[{WORD * number} +: {WORD}]" for number in range(states)}
    given = {name: len(port["bits"]) for name, port in ports.items() if port["direction"] == "input"}
    own_names = {"aclk", "aresetn", f"{ENCODER}_s_axis_tready"}
    entering = ", ".join(f"input {vector(width)} {name}" for name, width in given.items() if name not in own_names)
    passed = ", ".join(f".{name}({name})" for name in given if name not in own_names)
    keep = given["s_axis_tkeep"]
    wrapper = f"""module {top}(input clk, rst, encoder_tready, {entering},
  output s_tready, encoder_tvalid, assumed, output {vector(len(WRONG))} wrong, output [4:0] related,
  output bvalid, rvalid, output {vector(max(1, user))} encoder_tuser);
  wire [1:0] bresp, rresp; wire [31:0] rdata; wire begun; wire [3:0] counted;
  wire {vector(max(1, modes))} mode, wanted; wire {vector(WORD * many)} constants, settings;
  wire {vector(WORD * max(1, states))} states; wire {vector(max(1, user))} own = {f"{{{own}}}" if own else "1'b0"};
  {"" if has_user else "assign encoder_tuser = 0;"}
  {design.top} design(.aclk(clk), .aresetn(~rst), .{ENCODER}_s_axis_tready(encoder_tready), {passed},
    .s_axis_tready(s_tready), .{ENCODER}_s_axis_tvalid(encoder_tvalid),
    {f".{ENCODER}_{USER}(encoder_tuser)," if has_user else ""}
    .s_axil_bvalid(bvalid), .s_axil_bresp(bresp), .s_axil_rvalid(rvalid), .s_axil_rresp(rresp), .s_axil_rdata(rdata),
    {", ".join(f".seen_{name}({wire})" for name, wire in wires.items())});
  mxcast_registers #(.USER({max(1, user)}), .MODE({max(1, modes)}), .HAS_MODE({int(modes > 0)}),
    .CONSTANTS({WORD * many}), .HAS_CONSTANTS({int(bool(constants))}), .STATES({WORD * max(1, states)}),
    .HAS_STATES({int(states > 0)})) registers(
    .clk(clk), .rst(rst), .s_tvalid(s_axis_tvalid), .s_tready(s_tready), .s_tlast(s_axis_tlast),
    .has_byte(s_axis_tkeep[0]), .m_tvalid({ENCODER}_m_axis_tvalid), .m_tready(m_axis_tready),
    .m_tlast({ENCODER}_m_axis_tlast), .encoder_tvalid(encoder_tvalid), .encoder_tready(encoder_tready),
    .encoder_tuser(encoder_tuser), .own_tuser(own), .bvalid(bvalid), .bready(s_axil_bready), .bresp(bresp),
    .rvalid(rvalid), .rready(s_axil_rready), .rresp(rresp), .rdata(rdata), .has_begun(begun), .counted(counted),
    .mode(mode), .mode_setting(wanted), .constants(constants), .settings(settings), .states(states),
    .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="registers",
        claim="every beat enters the encoder when it is taken, under a mode, constants and random bits that change "
        "between packets only; a beat of a packet waits for the encoder only; an answer does not change while it waits",
        top=top,
        relation=transitions(design, made, "registers.sv", wrapper, top),
        related=5,
        wrong=WRONG,
        shown={
            **dict.fromkeys(("rst", "s_axis_tvalid", "s_tready", "s_axis_tlast"), 1),
            "s_axis_tkeep": keep,
            **dict.fromkeys(("encoder_tvalid", "encoder_tready"), 1),
            "encoder_tuser": max(1, user),
            **dict.fromkeys((f"{ENCODER}_m_axis_tvalid", "m_axis_tready", f"{ENCODER}_m_axis_tlast"), 1),
            **dict.fromkeys(("bvalid", "s_axil_bready", "rvalid", "s_axil_rready"), 1),
        },
    )
