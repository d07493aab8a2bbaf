// SPDX-License-Identifier: Apache-2.0
// The module with registers around an encoder, and the relation of its registers by which it is proved.
//
// Every beat enters the encoder in the cycle in which it is taken, under settings that change between packets only.

module mxcast_registers #(
  parameter USER = 1,       // bits of tuser of the encoder
  parameter MODE = 1,       // bits of the mode
  parameter HAS_MODE = 0,
  parameter CONSTANTS = 1,  // bits of the constants of a tensor
  parameter HAS_CONSTANTS = 0,
  parameter STATES = 32,    // bits of the generators of random bits
  parameter HAS_STATES = 0
) (
  input clk, rst, s_tvalid, s_tready, s_tlast, has_byte, m_tvalid, m_tready, m_tlast,
  input encoder_tvalid, encoder_tready, input [USER-1:0] encoder_tuser, own_tuser,
  input bvalid, bready, input [1:0] bresp, input rvalid, rready, input [1:0] rresp, input [31:0] rdata,
  // registers of the design
  input has_begun, input [3:0] counted, input [MODE-1:0] mode, mode_setting,
  input [CONSTANTS-1:0] constants, settings, input [STATES-1:0] states,
  output assumed,
  output [6:0] wrong,
  output [4:0] related
);
  reg begun; reg [3:0] packets;                 // a packet has entered in part; packets that have begun and not left
  reg was_reset, could_change, was_between, was_begun, was_taken;
  reg [MODE-1:0] was_mode; reg [CONSTANTS-1:0] were_constants, were_settings; reg [STATES-1:0] were_states;
  reg b_waits, r_waits; reg [1:0] b_resp, r_resp; reg [31:0] r_data;

  wire enters = s_tvalid && s_tready && !rst;
  wire takes = enters && (has_byte || s_tlast); // a beat without bytes is dropped, unless it ends a packet
  wire leaves = m_tvalid && m_tready && m_tlast && !rst;

  function [31:0] next(input [31:0] x);         // xorshift32 with 13, 17 and 5
    reg [31:0] y, z;
    begin y = x ^ x << 13; z = y ^ y >> 17; next = z ^ z << 5; end
  endfunction
  reg [STATES-1:0] stepped; integer i;
  always @* for (i = 0; i < STATES / 32; i = i + 1) stepped[32*i +: 32] = next(were_states[32*i +: 32]);

  always @(posedge clk) begin
    begun <= takes ? !s_tlast : begun;
    packets <= packets + (takes && !begun) - leaves;
    was_reset <= rst;
    was_between <= !begun && !enters;
    could_change <= !begun && !enters && packets == 0;
    was_begun <= begun; was_taken <= takes;
    was_mode <= mode; were_constants <= constants; were_settings <= settings; were_states <= states;
    b_waits <= bvalid && !bready && !rst; b_resp <= bresp;
    r_waits <= rvalid && !rready && !rst; r_resp <= rresp; r_data <= rdata;
    if (rst) begin begun <= 0; packets <= 0; end
  end

  wire b_is_same = bvalid && bresp == b_resp;
  wire r_is_same = rvalid && rresp == r_resp && rdata == r_data;
  assign assumed = 1;
  assign wrong = {
    r_waits && !rst && !r_is_same,                                             // 6
    b_waits && !rst && !b_is_same,                                             // 5
    !rst && begun && s_tready != encoder_tready,                               // 4
    HAS_MODE && enters && !begun && mode != mode_setting,                      // 3
    enters && !begun && packets == 15,                                         // 2
    !rst && encoder_tuser != own_tuser,                                        // 1
    !rst && (encoder_tvalid && encoder_tready) != (s_tvalid && s_tready)       // 0
  };
  assign related = {
    // 4: answers wait
    (!b_waits || b_is_same) && (!r_waits || r_is_same),
    // 3: in a packet, random bits are new after each beat
    !HAS_STATES || was_reset || !was_begun || states == (was_taken ? stepped : were_states),
    // 2: constants change together, between two packets
    !HAS_CONSTANTS || was_reset || constants == were_constants || was_between && constants == were_settings,
    // 1: the mode changes while no packet is inside
    !HAS_MODE || was_reset || mode == was_mode || could_change,
    // 0: packets are known
    has_begun == begun && counted == packets
  };
endmodule
