// SPDX-License-Identifier: Apache-2.0
// The path of a beat through a decoder or a cast with AXI4-Stream, and the relation of its registers by which it is
// proved.
//
// The module that computes numbers is left out: it is a delay with an enable, and keeps the scale from the first beat of
// a block. One beat is watched, any of them.

module mxcast_pass #(
  parameter BACK = 2,    // registers on the path
  parameter WORD = 16,   // bits of codes and random bits
  parameter KEY = 8,     // bits of a scale
  parameter MARKS = 4,   // bits of a packet; the lowest says that the beat is the last
  parameter BEATS = 4,   // beats of a block
  parameter PLACE = 2,   // bits of the number of a beat in its block
  parameter OWN = 0      // 1 if registers of the marks are in the design, and not in the module that is left out
) (
  input clk, rst, mark,                        // mark: watch the beat that enters
  input reads, first, enable,                  // a beat enters, as the first of its block; registers move
  input [WORD-1:0] word, input [KEY-1:0] key, input [MARKS-1:0] marks,
  input o_valid, o_ready, same,                // same: the ports at the output have what the module gives
  input [BACK-1:0] valids, input [PLACE-1:0] beat, input [MARKS*BACK-1:0] kept,  // registers of the design
  output [MARKS-1:0] o_marks, output [WORD-1:0] o_word, output [KEY-1:0] o_key,
  output assumed,
  output [5:0] wrong,
  output [5:0] related
);
  integer i;
  assign assumed = !reads | enable;

  reg [WORD*BACK-1:0] words; reg [KEY*BACK-1:0] keys; reg [MARKS*BACK-1:0] passed;
  always @(posedge clk) if (enable) begin
    words <= {words, word}; passed <= {passed, marks};
    keys <= {keys, first ? key : keys[KEY-1:0]};
  end
  assign o_word = words[WORD*(BACK-1) +: WORD];
  assign o_key = keys[KEY*(BACK-1) +: KEY];
  assign o_marks = passed[MARKS*(BACK-1) +: MARKS];

  // --- what enters: a block begins after BEATS beats, or after the end of a packet
  wire enters = reads & ~rst;
  wire leaves = o_valid & o_ready & ~rst;
  reg [PLACE-1:0] place;                       // place in its block of the beat that enters next
  reg [KEY-1:0] scale;                         // of the block that entered last
  wire [KEY-1:0] now = place == 0 ? key : scale;
  reg [BACK:0] inside;                         // beats that have entered and not left

  // --- the watched beat
  reg watched; reg [BACK:0] ahead, moved;      // beats that leave before it, and edges at which it moved
  reg [WORD-1:0] its_word; reg [KEY-1:0] its_key; reg [MARKS-1:0] its_marks;
  wire is_next = watched && ahead == 0;

  // --- a result that waits
  reg waited; reg [WORD-1:0] w_word; reg [KEY-1:0] w_key; reg [MARKS-1:0] w_marks;

  always @(posedge clk) begin
    waited <= o_valid & ~o_ready & ~rst;
    w_word <= o_word; w_key <= o_key; w_marks <= o_marks;
    inside <= inside + enters - leaves;
    if (enters) begin
      place <= marks[0] || place == BEATS - 1 ? 0 : place + 1'b1;
      scale <= now;
    end
    if (leaves) ahead <= ahead - 1'b1;
    if (enable) moved <= moved + 1'b1;
    if (is_next && leaves) watched <= 0;
    if (enters && mark && !watched) begin
      watched <= 1; ahead <= inside - leaves; moved <= 0;
      its_word <= word; its_key <= now; its_marks <= marks;
    end
    if (rst) begin inside <= 0; place <= 0; watched <= 0; end
  end

  wire is_result = o_valid & ~rst;
  assign wrong = {
    watched && !rst && moved >= BACK,                                                        // 5
    !rst && (o_ready || !o_valid) && !enable,                                                // 4
    waited && !rst && !(o_valid && o_word == w_word && o_key == w_key && o_marks == w_marks),  // 3
    is_result && !same,                                                                      // 2
    is_result && is_next && !(o_word == its_word && o_key == its_key && o_marks == its_marks),  // 1
    is_result && inside == 0                                                                 // 0
  };

  reg [BACK:0] before; reg is_kept;            // beats in front of the watched one; it is where it has to be
  always @* begin
    before = 0; is_kept = 0;
    for (i = 0; i < BACK; i = i + 1) begin
      if (i > moved) before = before + valids[i];
      if (i == moved) is_kept = valids[i] && words[WORD*i +: WORD] == its_word && keys[KEY*i +: KEY] == its_key
        && passed[MARKS*i +: MARKS] == its_marks;
    end
  end
  reg [BACK:0] held; reg are_same;
  always @* begin
    held = 0; are_same = 1;
    for (i = 0; i < BACK; i = i + 1) begin
      held = held + valids[i];
      if (OWN && valids[i] && kept[MARKS*i +: MARKS] != passed[MARKS*i +: MARKS]) are_same = 0;
    end
  end

  assign related = {
    // 5: the marks of a beat move with it
    are_same,
    // 4: a result that waits has not changed
    !waited || (o_valid && o_word == w_word && o_key == w_key && o_marks == w_marks),
    // 3: the watched beat has moved at every edge that moves registers
    !watched || (is_kept && ahead == before),
    // 2: inside a block its scale is in the first register
    place == 0 || keys[KEY-1:0] == scale,
    // 1: the number of a beat follows from what has entered
    beat == place,
    // 0: a valid bit for each beat inside
    inside == held
  };
endmodule
