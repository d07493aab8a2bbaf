// SPDX-License-Identifier: Apache-2.0
// The control of a Hadamard transform that adds limb by limb, and the relation of its registers by which it is proved.
// Blocks are followed by how often everything has moved since they entered. Of one block and one result, which are any,
// the data are followed too.

module mxcast_limbs #(
  parameter SUMS = 4,       // registers in the sums of limbs
  parameter DIGITS = 1,     // are limbs of sums behind a register?
  parameter CHOSEN = 1,     // is what is kept of one sum behind a register?
  parameter ROUNDING = 3,   // registers in the rounding
  parameter LIMBS = 17,
  parameter RESULTS = 16,
  parameter KEPT = 39,      // bits that are kept of a sum
  parameter SPECIALS = 33
) (
  input clk, rst, i_valid, i_ready, o_valid, o_ready, mark, enable,
  input [3:0] followed,                        // the result
  input [16*RESULTS-1:0] x, y,
  // the instances
  input [16*RESULTS-1:0] sums_x,
  input [4:0] sums_in, sums_out,               // the number of the limb, at both ends of the sums
  input [SPECIALS-1:0] specials, flags_specials,
  input [RESULTS*KEPT-1:0] running,            // what is kept of each sum
  input [3:0] flags_result,
  input [2:0] flags, rounded_flags,
  input [KEPT-1:0] rounded_kept,
  input [15:0] rounded_y,
  // registers
  input has_block, complete, rounds,
  input [3:0] result,
  input [SUMS:0] valid_sums,                   // bit 0 is has_block
  input valid_digits,                          // without a register: unused
  input [CHOSEN+ROUNDING:0] valid_results,     // bit 0 is unused
  input [SPECIALS-1:0] digits_specials,        // without a register: unused
  input [SPECIALS-1:0] total_specials, held_specials,
  input [RESULTS*KEPT-1:0] held,
  output [6:0] wrong,
  output assumed,
  output [9:0] related
);
  localparam TOTAL = LIMBS + SUMS + DIGITS;    // moves until all limbs have come
  localparam FIRST = TOTAL + 1;                // until the first result is chosen
  localparam ROUNDED = CHOSEN + ROUNDING;
  localparam LAST = FIRST + RESULTS + ROUNDED; // until all results are there
  wire goes = o_ready | ~o_valid;
  reg [LAST:0] its_blocks;                     // by moves since a block entered
  reg [LAST:0] its_one;                        // the same for the block whose data are followed
  reg had_one;
  reg [3:0] its;                               // the result that is followed
  reg [16*RESULTS-1:0] its_x;
  reg [SPECIALS-1:0] its_specials;
  reg [KEPT-1:0] its_kept;
  reg [2:0] its_flags;
  reg [15:0] its_y;
  reg [5*(SUMS+1)-1:0] delayed;                // the number of the limb, by moves before
  reg [SUMS:0] is_known;                       // has it come since the reset? By moves before
  integer age, place;
  wire is_chosen = its_one[FIRST + its];
  wire enters = its_blocks[LIMBS-2:0] == 0;
  wire marked = i_valid & mark & ~had_one;

  assign assumed = its == followed && sums_out == (SUMS == 0 ? sums_in : delayed[5*SUMS - 5 +: 5]);

  always @(posedge clk) begin
    its <= its;
    if (goes) begin
      its_blocks <= {its_blocks, i_valid & enters};
      its_one <= {its_one, marked & enters};
      delayed <= {delayed, sums_in};
      is_known <= {is_known, 1'b1};
      if (marked & enters) begin
        had_one <= 1;
        its_x <= x;
      end
      if (its_one[LIMBS-1+SUMS]) its_specials <= specials;
      if (its_one[TOTAL]) its_kept <= running[its*KEPT +: KEPT];
      if (is_chosen) its_flags <= flags;
      if (its_one[FIRST + its + ROUNDED]) its_y <= rounded_y;
    end
    if (rst) begin
      its_blocks <= 0;
      its_one <= 0;
      is_known <= 0;
    end
  end

  // what must be so for a block of each age
  reg limb, sums_limb, chooses, spaced, one, its_word;
  always @* begin
    limb = |its_blocks[LIMBS-1:0] || sums_in == 0;
    sums_limb = (is_known & (is_known + 1)) == 0;
    for (place = 1; place <= SUMS; place = place + 1)
      sums_limb = sums_limb && (|its_blocks[place +: LIMBS] || !is_known[place-1] || delayed[5*place - 5 +: 5] == 0)
                  && (is_known[place-1] || its_blocks[LAST:place-1] == 0);
    chooses = 1;
    spaced = 1;
    its_word = 1;
    one = (its_one & ~its_blocks) == 0 && (its_one & (its_one - 1)) == 0 && (its_one == 0 || had_one);
    for (age = 0; age < LIMBS; age = age + 1) begin
      limb = limb && (!its_blocks[age] || sums_in == age);
      for (place = 1; place <= SUMS; place = place + 1)
        sums_limb = sums_limb && (!its_blocks[age + place] || delayed[5*place - 5 +: 5] == age);
    end
    for (age = 0; age < RESULTS; age = age + 1) begin
      chooses = chooses && (!its_blocks[FIRST + age] || result == age);
      its_word = its_word && (age < its || !its_one[FIRST + age + ROUNDED + 1]
                              || y[(RESULTS - 1 + its - age)*16 +: 16] == its_y);
    end
    for (age = 0; age <= LAST; age = age + 1)
      for (place = 1; place < LIMBS; place = place + 1)
        spaced = spaced && !(its_blocks[age] && age + place <= LAST && its_blocks[age + place]);
  end

  reg follows;                                 // valid bits follow blocks; without one, the first limb may be valid
  always @* begin
    follows = has_block == |its_blocks[LIMBS-1:0];
    for (place = 1; place <= SUMS; place = place + 1)
      follows = follows && (valid_sums[place] == |its_blocks[place +: LIMBS]
                            || is_known[place-1] && !(|its_blocks[place +: LIMBS]));
    follows = follows && (!DIGITS || valid_digits == its_blocks[LIMBS + SUMS]) && complete == its_blocks[TOTAL]
              && rounds == |its_blocks[FIRST +: RESULTS];
    for (place = 1; place <= ROUNDED; place = place + 1)
      follows = follows && valid_results[place] == its_blocks[FIRST + RESULTS - 1 + place];
  end

  wire here = its_one != 0;
  wire enters_here = |its_one[LIMBS-1:0];
  wire rounds_here = |its_one[FIRST +: RESULTS];
  wire has_specials = !DIGITS || !its_one[LIMBS+SUMS] || digits_specials == its_specials;

  assign wrong = {
    its_one[LAST] && y[its*16 +: 16] != its_y,                                             // 6
    its_one[FIRST + its + CHOSEN] && (rounded_kept != its_kept
                                      || rounded_flags != (CHOSEN ? its_flags : flags)),   // 5
    is_chosen && (flags_specials != its_specials || flags_result != its),                  // 4
    enters_here && (sums_x != its_x || !its_one[sums_in]),                                 // 3
    enable != goes,                                                                        // 2
    o_valid != its_blocks[LAST],                                                           // 1
    i_ready != (goes & enters)                                                             // 0
  };

  assign related = {
    its_word,                                                                              // 9
    !CHOSEN || !its_one[FIRST + its + 1] || (rounded_kept == its_kept && rounded_flags == its_flags),  // 8
    !rounds_here || (held[its*KEPT +: KEPT] == its_kept && held_specials == its_specials), // 7
    has_specials && (!its_one[TOTAL] || total_specials == its_specials),                   // 6
    !enters_here || sums_x == its_x,                                                       // 5
    limb && sums_limb,                                                                     // 4
    chooses,                                                                               // 3
    follows && o_valid == its_blocks[LAST],                                                // 2
    spaced,                                                                                // 1
    one                                                                                    // 0
  };
endmodule
