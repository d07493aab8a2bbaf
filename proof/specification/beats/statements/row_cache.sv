// SPDX-License-Identifier: Apache-2.0
// The rows of an NVFP4 encoder with a cache, and the relation of its registers by which it is proved. The row of one
// scale is followed, which is any one. The division gives the row of a scale and a constant in the last cycle but one,
// if both have stayed since the first one; the cache stores it in the last one.

module mxcast_row_cache #(
  parameter CYCLES = 192,   // of a row
  parameter BANKS = 1       // memories with a part of each row
) (
  input clk, rst, i_valid, moves, waits, done,
  input [7:0] scale, block_scale,              // of the block that comes, and of the one that is here
  input [31:0] d,
  input divider_enable,
  input [7:0] divider_scale, divider_count,
  input [31:0] divider_d,
  input computed_enable, computed_word, computed_stored, rows_enable,
  input [6:0] computed_write, computed_read, rows_write, followed,
  input [7*BANKS-1:0] rows_read,
  output [4:0] wrong,
  output assumed,
  input seen_has_d, seen_clears,               // registers of the cache
  input [30:0] seen_known_d,
  output [8:0] related
);
  reg [6:0] its;                               // the scale that is followed
  reg its_bit;                                 // the bit of the memory at this scale
  reg has_row;                                 // the memory of rows has the row of this scale and of `row_d`
  reg [30:0] row_d;
  reg [7:0] its_scale;                         // of the block that is here
  reg [31:0] its_d;
  reg its_block;
  reg [8:0] cycle;                             // of the division, if all cycles before were of one scale and constant
  reg [7:0] run_scale;
  reg [30:0] run_d;
  reg has_d;                                   // the bits are of the constant `known_d`, as far as they are set
  reg [30:0] known_d;
  reg [8:0] waited;                            // cycles for which the block has waited
  reg had_row;                                 // the row was there when the block came
  reg all_old;                                 // the bits were of another constant when the block came

  wire computes = waits & ~done;
  assign assumed = its == followed && (computed_read != its || computed_stored == its_bit) && !(moves && computes);

  wire stays = cycle == divider_count && run_scale == divider_scale && run_d == divider_d[30:0];
  wire is_row = rows_enable && cycle == CYCLES - 1 && run_scale == divider_scale && run_d == divider_d[30:0];

  always @(posedge clk) begin
    its <= its;
    if (computed_enable && computed_write == its) its_bit <= computed_word;
    if (rows_enable && rows_write == its) begin
      has_row <= is_row && run_scale[6:0] == its;
      row_d <= run_d;
    end
    if (divider_enable) begin
      cycle <= divider_count == 0 ? 1 : stays ? cycle + 1 : 0;
      run_scale <= divider_scale;
      run_d <= divider_d[30:0];
    end else
      cycle <= 0;
    if (moves) begin
      its_scale <= scale;
      its_d <= d;
      its_block <= i_valid;
      had_row <= has_d & its_bit & d[30:0] == known_d & scale[6:0] == its;
      all_old <= ~has_d | d[30:0] != known_d;
    end
    waited <= computes && !rst ? waited + 1 : 0;
    if (computes) begin
      has_d <= 1;
      known_d <= its_d[30:0];
    end
    if (rst) begin
      its_block <= 0;
      has_d <= 0;
    end
  end

  wire is_its = its_scale[6:0] == its;
  wire its_row = has_row && row_d == its_d[30:0];
  wire is_old = computes && all_old && divider_count <= {1'b0, its};   // its bit is not cleared yet

  assign wrong = {
    its_block && (had_row && waits || waits && done && is_its && !its_bit)
      || computed_enable && computed_write == its && its_bit && !computed_word && !all_old,  // 4
    !is_old && its_bit && has_d && !(has_row && row_d == known_d),     // 3
    computes && waited >= CYCLES,                                      // 2
    its_block && !computes && is_its && !(its_row && rows_read == {BANKS{its}}),// 1
    its_block && block_scale != its_scale                              // 0
  };

  assign related = {
    (!(its_block && had_row) || !waits) && (!divider_enable || computes) && seen_has_d == has_d && (!has_d || seen_known_d == known_d) && seen_clears == (computes && all_old && divider_count < 128),                       // 8
    !its_block || (divider_scale == its_scale && divider_d == its_d && block_scale == its_scale
                   && rows_read == {BANKS{its_scale[6:0]}}),                                                              // 7
    computes == divider_enable && (!waits || its_block),                                                         // 6
    (computes ? divider_count < CYCLES && waited == divider_count : divider_count == 0) && rows_enable == (divider_count == CYCLES - 1),    // 5
    !computes || divider_count == 0 || (cycle == divider_count && run_scale == its_scale && run_d == its_d[30:0]),  // 4
    !(computes && divider_count != 0 || waits && (done || !all_old)) || (has_d && known_d == its_d[30:0]),                     // 3
    !(its_block && !waits) || (has_d && known_d == its_d[30:0] && (!is_its || its_row)),                        // 2
    !(waits && done && is_its) || (its_row && its_bit),                                                          // 1
    is_old || !its_bit || !has_d || (has_row && row_d == known_d)                                                // 0
  };
endmodule
