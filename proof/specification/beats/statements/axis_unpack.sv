// SPDX-License-Identifier: Apache-2.0
// The path from words of packed blocks to beats, and the relation of its registers by which it is proved.
//
// A packet is bytes. A block is its codes, in beats of SIZE bytes, and a byte for the scale, in front of them or behind
// them. A beat is complete when the word with its last byte is taken. A packet that ends within a beat leaves a last
// beat that is marked. One byte is watched, any of them.

module mxcast_unpack #(
  parameter SIZE = 16,   // bytes of a word, and of the codes of a beat
  parameter BEATS = 4,   // beats of a block
  parameter PLACE = 2,   // bits of the number of a beat in its block
  parameter BEFORE = 1,  // 1 if the scale is in front of the codes; otherwise a block is a beat
  parameter RANDOM = 1,  // random bits of a beat; without them one bit, which is 0
  parameter AT = 6,      // bits of the number of a byte
  parameter OFFSET = 4,
  parameter [8*SIZE-1:0] USED = {8*SIZE{1'b1}}  // bits of the codes of a beat that are no padding
) (
  input clk, rst, mark, input [AT-1:0] chosen, // mark: watch this byte of the word that is taken
  input given, has_room, last, user, input [8*SIZE-1:0] word, input [SIZE-1:0] keep, input [RANDOM-1:0] random,
  input reads, first, input [8*SIZE-1:0] codes, input [7:0] scale, input [2:0] marks, input [RANDOM-1:0] o_random,
  input filled, input [OFFSET-1:0] offset, input [8*SIZE-1:0] kept, input [PLACE-1:0] beat,  // registers of the design
  output assumed,
  output [5:0] wrong,
  output [2:0] related
);
  integer i;
  // bytes are contiguous, and only the last word of a packet is short
  assign assumed = (keep & (keep + 1'b1)) == 0 && (last || &keep);

  reg [AT-1:0] have;                           // bytes that have entered and belong to beats that have not left
  reg [PLACE-1:0] place;                       // place in its block of the next beat
  reg watched; reg [AT-1:0] its_at; reg [7:0] its_byte;  // its number among these bytes
  reg [AT-1:0] count;
  always @* begin count = 0; for (i = 0; i < SIZE; i = i + 1) count = count + keep[i]; end
  wire takes = given & has_room & ~rst;
  wire [PLACE-1:0] after = place == BEATS - 1 ? 0 : place + 1'b1;
  wire [AT-1:0] need = place == 0 || !BEFORE ? SIZE + 1 : SIZE;
  wire [AT-1:0] need_after = after == 0 || !BEFORE ? SIZE + 1 : SIZE;
  wire [AT-1:0] total = have + count;
  wire whole = total >= need;
  wire begins = takes && mark && !watched && chosen < count;
  wire [AT-1:0] at = watched ? its_at : have + chosen;
  wire [7:0] value = watched ? its_byte : word[8*chosen +: 8];
  wire is_used = takes && (watched || begins) && whole && at < need;

  always @(posedge clk) begin
    if (takes) begin
      have <= last ? 0 : whole ? total - need : total;
      place <= last ? 0 : whole ? after : place;
    end
    if (begins || takes && watched) begin
      watched <= !last && !is_used; its_at <= whole ? at - need : at; its_byte <= value;
    end
    if (rst) begin have <= 0; place <= 0; watched <= 0; end
  end

  // the byte of the beat, and its bits that are no padding
  wire is_scale = BEFORE ? place == 0 && at == 0 : at == SIZE;
  wire [AT-1:0] of_codes = at - (BEFORE && place == 0);
  wire [7:0] shown = is_scale ? scale : codes[8*of_codes +: 8];
  wire [7:0] used = is_scale ? 8'hff : USED[8*of_codes +: 8];
  assign wrong = {
    reads && !rst && o_random != random,                            // 5
    takes && last && whole && total - need >= need_after,           // 4
    reads && !rst && whole && first != (place == 0),                // 3
    reads && !rst && marks != {whole, user, last},                  // 2
    is_used && ((shown ^ value) & used) != 0,                       // 1
    !rst && reads != (takes && (whole || last))                     // 0
  };

  wire skipped = BEFORE && place != 0;         // the byte of the scale, which the register still has
  wire [AT-1:0] where = offset + skipped + its_at;
  assign related = {
    // 2: the register has the watched byte
    !watched || (its_at < have && kept[8*where +: 8] == its_byte),
    // 1: the bytes that wait are those of the register from the offset on
    filled ? have + offset + skipped == SIZE && offset < SIZE : have == 0 && offset == 0 && place == 0,
    // 0: the number of a beat follows from what has left
    place == beat
  };
endmodule
