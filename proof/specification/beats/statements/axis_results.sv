// SPDX-License-Identifier: Apache-2.0
// A core behind the register at the input with AXI4-Stream, and in front of a stream for each of its results. And the
// relation of the registers by which this is proved.
//
// The core can do anything that a core with valid and ready may do: it takes a beat whenever it likes, and a result
// waits until it is taken. A block has as many results as beats, and none of them before its last beat has entered.
// Each result leaves by all streams, which take it when they like. The marks of a block are those of its last beat. One
// block is watched, any of them. A stream that waits does not change, since the core does not, and any block is right.

module mxcast_results #(
  parameter BEATS = 4,   // beats of a block, a power of two
  parameter PLACE = 2,   // bits of the number of a beat in its block
  parameter STREAMS = 1,
  parameter DATA = 8,    // bits of all results
  parameter MOST = 3,    // blocks in the core, at most
  parameter COUNT = 2,   // bits of their number
  parameter [STREAMS-1:0] USERS = 1  // streams with tuser
) (
  input clk, rst, mark,                        // mark: watch the block that enters
  input core_rst, offered, takes,              // the register at the input has a beat; it gives the beat away
  input [1:0] marks,                           // of this beat: it ends a packet, zeros completed it
  input core_i_valid, core_i_ready, core_o_valid, core_o_ready, core_o_last, input [DATA-1:0] data,
  input [STREAMS-1:0] valids, readies, lasts, users, same,  // same: a stream has the data of the core
  input [PLACE-1:0] beat, input [COUNT-1:0] blocks_inside, input [2*MOST-1:0] marks_inside, input [STREAMS-1:0] sent,
  output assumed,
  output [6:0] wrong,
  output [5:0] related
);
  localparam [PLACE:0] END = BEATS - 1;
  integer i;

  reg [PLACE-1:0] place, leaving;              // of the beat that enters next, of the result that leaves next
  reg [COUNT-1:0] inside;                      // whole blocks in the core
  reg [STREAMS-1:0] has;                       // streams that have the result that waits
  reg watched; reg [COUNT-1:0] ahead; reg [1:0] its_marks;

  wire enters = core_i_valid & core_i_ready & ~rst;
  wire block_enters = enters & place == END[PLACE-1:0];
  wire leaves = core_o_valid & core_o_ready & ~rst;
  wire block_leaves = leaves & leaving == END[PLACE-1:0];
  wire [STREAMS-1:0] having = has | valids & readies;

  reg waited; reg [DATA-1:0] w_data;           // the result that waits in the core

  always @(posedge clk) begin
    waited <= core_o_valid & ~core_o_ready & ~rst;
    w_data <= data;
    if (enters) place <= (place + 1'b1) % BEATS;
    if (leaves) leaving <= (leaving + 1'b1) % BEATS;
    inside <= inside + block_enters - block_leaves;
    has <= core_o_valid & ~core_o_ready ? having : 0;
    if (watched && block_leaves) begin
      if (ahead == 0) watched <= 0; else ahead <= ahead - 1'b1;
    end
    if (block_enters && mark && !watched) begin watched <= 1; ahead <= inside - block_leaves; its_marks <= marks; end
    if (rst) begin place <= 0; leaving <= 0; inside <= 0; has <= 0; watched <= 0; end
  end

  assign assumed = (!core_o_valid || inside != 0) && (!core_o_valid || core_o_last == (leaving == END[PLACE-1:0]))
    && (!waited || core_o_valid && data == w_data);

  wire is_next = watched && ahead == 0;
  wire [STREAMS-1:0] right_lasts = {STREAMS{its_marks[0] & core_o_last}}, right_users = {STREAMS{its_marks[1]}};
  wire [STREAMS-1:0] all_valid = {STREAMS{core_o_valid}} & ~has;
  assign wrong = {
    core_rst != rst,                                                                          // 6
    !rst && is_next && (valids & ((lasts ^ right_lasts) | USERS & (users ^ right_users))) != 0, // 5
    !rst && core_o_valid && core_o_ready != (&having),                                        // 4
    !rst && (valids & ~(same & ({STREAMS{core_o_last}} | ~lasts))) != 0,                      // 3
    !rst && valids != all_valid,                                                              // 2
    !rst && offered && inside != MOST && !core_i_valid,                                       // 1
    !rst && (core_i_valid && core_i_ready) != (offered && takes)                              // 0
  };

  reg is_kept;
  always @* begin
    is_kept = 0;
    for (i = 0; i < MOST; i = i + 1) if (inside == ahead + 1 + i) is_kept = marks_inside[2*i +: 2] == its_marks;
  end
  assign related = {
    // 5: a stream has a result only if it waits for others, and a block with results has not left
    (waited || has == 0) && (!waited || inside != 0) && (leaving == 0 || inside != 0),
    // 4: the watched block is inside, and its marks are where they have to be
    !watched || ahead < inside && is_kept,
    // 3: there is room for the marks of all blocks
    inside <= MOST,
    // 2: streams that have the result are known
    STREAMS == 1 ? has == 0 : sent == has,
    // 1: the place of a beat is known
    BEATS == 1 ? place == 0 && leaving == 0 : beat == place,
    // 0: blocks are counted
    blocks_inside == inside
  };
endmodule
