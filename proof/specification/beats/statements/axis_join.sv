// SPDX-License-Identifier: Apache-2.0
// The path of beats into a decoder or a cast with AXI4-Stream, and the relation of its registers by which it is proved.
//
// One beat and one scale can wait. A beat that begins a block is taken together with the next scale, unless it has no
// bytes. Beats without bytes are dropped, if they do not end a packet. The decoder takes beats whenever it likes.

module mxcast_join #(
  parameter DATA = 24,   // bits of a beat: codes, marks and random bits
  parameter SCALE = 8,
  parameter SCALES = 1   // 0 if there are no scales
) (
  input clk, rst, tvalid, tready, tlast, has_byte, s_tvalid, s_tready,
  input [DATA-1:0] data, shown,                // of the beat that enters, and of the one that is offered
  input [SCALE-1:0] s_data, s_shown,
  input has_room, first, reads,                // the decoder takes a beat, the first of a block; it is taken
  input held, held_byte, s_held, running,      // registers of the design
  output assumed,
  output [9:0] wrong,
  output [4:0] related
);
  assign assumed = 1;
  wire enters = tvalid & tready & ~rst & (has_byte | tlast);
  wire s_enters = s_tvalid & s_tready & ~rst;
  reg inside, s_inside;                        // a beat, a scale has entered and not left
  reg [DATA-1:0] its_data; reg its_byte; reg [SCALE-1:0] its_scale;
  reg fresh;                                   // a reset was at the last edge
  wire is_there = inside | enters, s_is_there = s_inside | s_enters;
  wire needs = first & (inside ? its_byte : has_byte);
  wire leaves = reads & ~rst;

  always @(posedge clk) begin
    fresh <= rst;
    inside <= ~rst & is_there & ~leaves;
    s_inside <= ~rst & s_is_there & ~(leaves & needs);
    if (enters & ~inside) begin its_data <= data; its_byte <= has_byte; end
    if (s_enters & ~s_inside) its_scale <= s_data;
  end

  assign wrong = {
    leaves && !has_room,                                                            // 9
    fresh && (tready || s_tready),                                                  // 8
    !rst && running && !fresh && (!inside && !tready || !s_inside && !s_tready),    // 7
    !rst && is_there && (s_is_there || !needs) && has_room && !reads,               // 6
    s_enters && s_inside,                                                           // 5
    enters && inside,                                                               // 4
    leaves && needs && s_is_there && s_shown != (s_inside ? its_scale : s_data),    // 3
    leaves && needs && !s_is_there,                                                 // 2
    leaves && is_there && shown != (inside ? its_data : data),                      // 1
    leaves && !is_there                                                             // 0
  };

  assign related = {
    running == !fresh && (!fresh || !inside && !s_inside),                          // 4
    !s_inside || s_shown == its_scale,                                              // 3
    !inside || (shown == its_data && (!SCALES || held_byte == its_byte)),                        // 2
    s_held == s_inside,                                                             // 1
    held == inside                                                                  // 0
  };
endmodule
