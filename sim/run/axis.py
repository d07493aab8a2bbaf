"""A module with the ports of an encoder with lanes around one with AXI4-Stream, so that both are driven alike."""

from __future__ import annotations

from ...hdl import HardwareConfig
from ...spec import Role

ADAPTER = """
module {name}({head});
  wire has_codes, takes_codes, has_scale, takes_scale;
  wire [{scale_bits}-1:0] next_scale;
  wire [{data_bits}-1:0] data;
  wire [{keep_bits}-1:0] kept;
  wire last, completed, scale_last;
  reg [{scale_bits}-1:0] scale_q;
  reg [{count_bits}-1:0] beat;
  // the scale of a block is taken together with its first beat
  assign o_first = beat == 0;
  assign o_last = beat == {count_bits}'d{end};
  assign o_valid = has_codes && (!o_first || has_scale);
  assign takes_codes = o_ready && (!o_first || has_scale);
  assign takes_scale = o_ready && o_first && has_codes;
  assign scale = o_first ? next_scale : scale_q;
  assign p = data[{codes_bits}-1:0];
  always @(posedge clk) begin
    if (rst) beat <= 0;
    else if (o_valid && o_ready) beat <= o_last ? {count_bits}'d0 : beat + 1'd1;
    if (o_first) scale_q <= next_scale;
  end
  {top} dut (
    .aclk(clk), .aresetn(!rst),
    .s_axis_tdata(x), .s_axis_tkeep({{{bytes}{{1'b1}}}}), .s_axis_tlast(1'b0),{user}
    .s_axis_tvalid(i_valid), .s_axis_tready(i_ready),
    .m_axis_tdata(data), .m_axis_tkeep(kept), .m_axis_tlast(last), .m_axis_tuser(completed),
    .m_axis_tvalid(has_codes), .m_axis_tready(takes_codes),
    .m_axis_scale_tdata(next_scale), .m_axis_scale_tlast(scale_last),
    .m_axis_scale_tvalid(has_scale), .m_axis_scale_tready(takes_scale)
  );
endmodule
"""


def around_axis(config: HardwareConfig, top: str) -> tuple[str, str]:
    """The text of the module, and its name. It sends one packet without an end."""
    ports, pins = {port.name: port for port in config.ports}, {pin.name: pin for pin in config.pins}
    name = f"{top}_ports"
    user = [port.name for port in config.ports if port.role in (Role.RANDOM, Role.MODE)]
    text = ADAPTER.format(
        name=name,
        top=top,
        head=", ".join(f"{port.direction} wire [{port.width - 1}:0] {port.name}" for port in config.ports),
        scale_bits=ports["scale"].width,
        data_bits=pins["m_axis_tdata"].width,
        keep_bits=pins["m_axis_tkeep"].width,
        codes_bits=ports["p"].width,
        count_bits=(config.beats - 1).bit_length(),
        end=config.beats - 1,
        bytes=pins["s_axis_tkeep"].width,
        user=f" .s_axis_tuser({{{', '.join(sorted(user, reverse=True))}}})," if user else "",
    )
    return f"/* verilator lint_off UNUSEDSIGNAL */\n{text}", name
