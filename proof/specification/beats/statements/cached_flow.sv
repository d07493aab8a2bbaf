// SPDX-License-Identifier: Apache-2.0
// Blocks on their way through an NVFP4 encoder with a cache, and the relation of its registers by which it is proved.
// The block at the cache may have no row (`waits`) until its row is there (`done`). Nothing moves in front of it then.

module mxcast_cached_flow #(
  parameter BEFORE = 4,     // registers in front of the cache, if there are any
  parameter BEHIND = 3,     // and behind it
  parameter HAS_DELAYS = 1, // are there memories that delay inputs?
  parameter DELAYS = 1,     // how many, and by how many edges each, in 8 bits
  parameter PLACE = 4,      // bits of a place in them
  parameter [8*DELAYS-1:0] EDGES = 0
) (
  input clk, rst, i_valid, i_ready, o_valid, o_ready, waits, done, enters, moves, back_enable, has_block,
  input [BEFORE:0] before,                     // valid bits; bit 0 is i_valid
  input [BEHIND-1:0] behind,
  input [PLACE-1:0] write_place,
  input [DELAYS*PLACE-1:0] read_places,
  output [5:0] wrong,
  output assumed,
  output [2:0] related
);
  assign assumed = 1;
  wire goes = o_ready | ~o_valid;              // the results move
  wire computes = waits & ~done;
  wire all = goes & ~computes;                 // everything moves
  reg [BEFORE:0] its_before;                   // bit 0 is unused
  reg its_block;
  reg [BEHIND-1:0] its_behind;
  reg [PLACE-1:0] its_place;
  integer place;

  always @(posedge clk) begin
    if (all) begin
      for (place = 1; place <= BEFORE; place = place + 1)
        its_before[place] <= place == 1 ? i_valid : its_before[place - 1];
      its_block <= BEFORE == 0 ? i_valid : its_before[BEFORE];
      its_place <= its_place + 1;
    end
    if (goes)
      for (place = 0; place < BEHIND; place = place + 1)
        its_behind[place] <= place == 0 ? its_block & ~computes : its_behind[place - 1];
    if (rst) begin
      its_before <= 0;
      its_block <= 0;
      its_behind <= 0;
      its_place <= 0;
    end
  end

  reg apart;                                   // a memory is read so many edges behind the place that is written
  always @* begin
    apart = 1;
    for (place = 0; place < DELAYS; place = place + 1)
      apart = apart & (read_places[place*PLACE +: PLACE] == write_place - EDGES[place*8 +: PLACE]);
  end

  assign wrong = {
    !apart,                                                      // 5
    o_valid != its_behind[BEHIND-1],                             // 4
    enters != (BEFORE == 0 ? i_valid : its_before[BEFORE]),      // 3
    back_enable != goes,                                         // 2
    moves != all,                                                // 1
    i_ready != all                                               // 0
  };

  assign related = {
    apart && (!HAS_DELAYS || write_place == its_place),                              // 2
    behind == its_behind,                                                            // 1
    has_block == its_block && (before | 1) == (its_before | 1)                       // 0
  };
endmodule
