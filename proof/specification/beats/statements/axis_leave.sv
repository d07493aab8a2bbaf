// SPDX-License-Identifier: Apache-2.0
// The way of a beat out of an encoder with AXI4-Stream, and the relation of its registers by which it is proved.
//
// Beats come from the core and stay until they are taken. The first beat of a block brings a scale, which leaves by a
// stream of its own. The numbers of a beat and the scale can be anything.

module mxcast_leave #(
  parameter DATA = 64,   // bits of the codes of a beat
  parameter SCALE = 8,
  parameter BEATS = 4,   // beats of a block, a power of two
  parameter PLACE = 2
) (
  input clk, rst,
  input coming, back_enable, input [DATA-1:0] data, input [2:0] marks, input [SCALE-1:0] scale,  // of the core
  input m_tvalid, m_tready, m_tlast, m_tuser, input [DATA-1:0] m_tdata, input keeps_all,
  input s_tvalid, s_tready, s_tlast, input [SCALE-1:0] s_tdata,
  // the module that is left out has a register for these
  output [DATA-1:0] codes, output [2:0] o_marks,
  // the beat of its block that comes next, and whether a scale waits that its scale would replace
  input [PLACE-1:0] next_beat, input scale_blocks,
  output assumed,
  output [6:0] wrong,
  output [3:0] related
);
  reg [DATA-1:0] data_q; reg [2:0] marks_q;
  always @(posedge clk) if (back_enable) begin data_q <= data; marks_q <= marks; end
  assign codes = data_q;
  assign o_marks = marks_q;

  reg [PLACE-1:0] place;                       // of the beat that comes
  wire first = place == 0;
  reg waited; reg [DATA-1:0] w_data; reg [2:0] w_marks; reg [SCALE-1:0] w_scale;
  assign assumed = !waited || (coming && data == w_data && marks == w_marks && scale == w_scale);

  wire enters = coming & back_enable & ~rst;
  wire leaves = m_tvalid & m_tready & ~rst;
  wire scale_leaves = s_tvalid & s_tready & ~rst;
  reg inside, has_scale;
  reg [DATA-1:0] its_data; reg its_last, its_completed, its_scale_last; reg [SCALE-1:0] its_scale;

  always @(posedge clk) begin
    waited <= coming & ~back_enable & ~rst;
    w_data <= data; w_marks <= marks; w_scale <= scale;
    if (leaves) inside <= 0;
    if (scale_leaves) has_scale <= 0;
    if (enters) begin
      place <= (place + 1'b1) % BEATS;
      inside <= 1; its_data <= data; its_last <= marks[0]; its_completed <= marks[2];
      if (first) begin has_scale <= 1; its_scale <= scale; its_scale_last <= marks[1]; end
    end
    if (rst) begin inside <= 0; has_scale <= 0; place <= 0; end
  end

  assign wrong = {
    !rst && m_tvalid && !keeps_all,                                                                     // 6
    !rst && (m_tready || !m_tvalid) && (s_tready || !s_tvalid) && !back_enable,                         // 5
    !rst && has_scale != s_tvalid,                                                                      // 4
    !rst && has_scale && !(s_tdata == its_scale && s_tlast == its_scale_last),                          // 3
    enters && ((inside && !leaves) || (first && has_scale && !scale_leaves)),                           // 2
    !rst && inside && !(m_tdata == its_data && m_tlast == its_last && m_tuser == its_completed),        // 1
    !rst && inside != m_tvalid                                                                          // 0
  };

  assign related = {
    // 3: the registers in front of the output know the place
    next_beat == place && scale_blocks == (s_tvalid && first),
    // 2: the registers of the scale have the scale that waits
    has_scale == s_tvalid && (!has_scale || (s_tdata == its_scale && s_tlast == its_scale_last)),
    // 1: the registers at the output have the beat that waits
    !inside || (data_q == its_data && marks_q[0] == its_last && marks_q[2] == its_completed),
    // 0: a beat waits
    inside == m_tvalid
  };
endmodule
