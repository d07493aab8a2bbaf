// SPDX-License-Identifier: Apache-2.0
// The way of a packet into an encoder with AXI4-Stream, and the relation of its registers by which it is proved.
//
// A packet is its beats, with zeros in place of numbers without their last byte, and beats of zeros up to the end of a
// block. Those have the user bits of the last beat. All beats carry two marks: the packet has ended, and zeros completed
// the beat. The core takes beats whenever it likes.

module mxcast_enter #(
  parameter LANES = 8,
  parameter SIZE = 4,    // bytes of a number
  parameter BEATS = 4,   // beats of a block, a power of two
  parameter PLACE = 2,   // bits of the number of a beat in its block
  parameter USER = 1     // bits of modes and random bits; without them one bit, which is 0
) (
  input clk, rst,
  input [8*SIZE*LANES-1:0] tdata, input [SIZE*LANES-1:0] tkeep, input tlast, tvalid, tready, input [USER-1:0] tuser,
  input core_valid, core_ready, input [8*SIZE*LANES-1:0] core_x, input core_last, core_completed,
  input [USER-1:0] core_user,
  input [PLACE-1:0] beat, input running,       // registers of the design
  output assumed,
  output [6:0] wrong,
  output [4:0] related
);
  localparam [PLACE:0] ALL = BEATS;
  integer i;
  assign assumed = (tkeep & (tkeep + 1'b1)) == 0;  // bytes are contiguous, from the lowest on

  reg [8*SIZE*LANES-1:0] masked;
  always @* for (i = 0; i < LANES; i = i + 1)
    masked[8*SIZE*i +: 8*SIZE] = tkeep[SIZE*i+SIZE-1] ? tdata[8*SIZE*i +: 8*SIZE] : {8*SIZE{1'b0}};

  wire enters = tvalid & tready & ~rst & (tkeep[0] | tlast);  // beats without bytes are dropped
  wire leaves = core_valid & core_ready & ~rst;
  reg inside;                                  // a beat has entered and not left
  reg [PLACE:0] owed;                          // beats of zeros behind it
  reg [PLACE-1:0] in_place;                    // place in its block of the beat that enters next
  reg [8*SIZE*LANES-1:0] its_x; reg its_last, its_completed; reg [USER-1:0] its_user;
  reg fresh;                                   // a reset was at the last edge
  wire [PLACE:0] left = owed + inside;

  always @(posedge clk) begin
    fresh <= rst;
    if (leaves) begin
      if (inside) inside <= 0; else owed <= owed - 1'b1;
    end
    if (enters) begin
      inside <= 1; its_x <= masked; its_last <= tlast; its_completed <= ~tkeep[SIZE*LANES-1]; its_user <= tuser;
      in_place <= tlast ? 0 : (in_place + 1'b1) % BEATS;
      owed <= tlast ? BEATS - 1 - in_place : 0;
    end
    if (rst) begin inside <= 0; owed <= 0; in_place <= 0; end
  end

  wire is_offered = core_valid & ~rst;
  wire is_zeros = core_x == 0 && core_last && core_completed && core_user == its_user;
  assign wrong = {
    fresh && tready,                                                                      // 6
    !rst && running && !fresh && core_ready && left <= 1 && !tready,                      // 5
    !rst && left != 0 && !core_valid,                                                     // 4
    enters && left > leaves,                                                              // 3
    is_offered && !inside && left != 0 && !is_zeros,                                      // 2
    is_offered && inside && !(core_x == its_x && core_last == its_last && core_completed == its_completed
      && core_user == its_user),                                                          // 1
    is_offered && left == 0                                                               // 0
  };

  assign related = {
    // 4: the register has the beat that entered, or zeros
    (!inside || (core_x == its_x && core_last == its_last && core_completed == its_completed && core_user == its_user))
      && (inside || left == 0 || is_zeros),
    // 3: zeros are owed up to the end of the block behind the last beat of a packet only
    inside ? (its_last ? owed == ALL - 1'b1 - beat && in_place == 0 : owed == 0) : owed == 0 || owed == ALL - beat,
    // 2: the number of the beat in the register follows from what has entered
    (left == 0 ? in_place == beat : inside && !its_last ? in_place == (beat + 1'b1) % BEATS : in_place == 0),
    // 1: the core is offered a beat as long as one is left
    core_valid == (left != 0),
    // 0: nothing enters at the edge after a reset
    running == !fresh && (!fresh || left == 0)
  };
endmodule
