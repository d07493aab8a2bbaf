// SPDX-License-Identifier: Apache-2.0
// The place in front of hardware with lanes in which one beat waits, and the relation of its register by which it is
// proved. The hardware behind takes beats whenever it likes.

module mxcast_skid #(
  parameter DATA = 24    // bits of a beat
) (
  input clk, rst, i_valid, i_ready, offered, takes, held,
  input [DATA-1:0] data, shown,                // of the beat that enters, and of the one that is offered behind
  output [4:0] wrong,
  output assumed,
  output [1:0] related
);
  assign assumed = 1;
  wire enters = i_valid & i_ready & ~rst;
  wire leaves = offered & takes & ~rst;
  reg inside;                                  // a beat has entered and not left
  reg [DATA-1:0] its_data;

  always @(posedge clk) begin
    inside <= ~rst & (inside | enters) & ~leaves;
    if (enters & ~inside) its_data <= data;
  end

  assign wrong = {
    !rst && !inside && !i_ready,                                   // 4
    !rst && (inside || enters) && !offered,                        // 3
    enters && inside,                                              // 2
    !rst && offered && shown != (inside ? its_data : data),        // 1
    !rst && offered && !inside && !enters                          // 0
  };

  assign related = {
    !inside || shown == its_data,              // 1
    held == inside                             // 0
  };
endmodule
