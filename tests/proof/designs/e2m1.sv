// Four FP32 numbers to MXFP4 (E2M1) with one shared scale, every element on a port of its own.
`include "e2m1.svh"
`default_nettype none

module e2m1_scale #(parameter int EMAX = 2) (input wire logic [7:0] top, output logic [7:0] shared);
`ifdef SMALLEST
  wire logic [7:0] lower = top <= EMAX ? 8'd1 : top - 8'(EMAX);  // byte 0 is not used
`else
  wire logic [7:0] lower = top < EMAX ? 8'd0 : top - 8'(EMAX);
`endif
  always_comb
    casez (top)
`ifdef SHORT_LABEL
      8'b1000000:  shared = lower;  // one digit is missing: this is 64, not 128
`else
      8'b10000000: shared = lower;
`endif
      8'b0???????, 8'b10000001, 8'b1000001?, 8'b100001??, 8'b10001???, 8'b1001????, 8'b101?????,
      8'b110?????, 8'b1110????, 8'b11110???, 8'b111110??, 8'b1111110?, 8'b11111110: shared = lower;
      default:     shared = 8'hFF;
    endcase
endmodule

module e2m1_element (input wire logic [31:0] v, input wire logic [7:0] shared, output logic [3:0] code);
  // the number in quarters of 2**X, cut, with a sticky bit below
  wire logic [7:0]  field = v[30:23] == 0 ? 8'd1 : v[30:23];
  wire logic [8:0]  right = 9'd21 + {1'b0, shared} - {1'b0, field};
  wire logic [47:0] wide = {v[30:23] != 0, v[22:0], 24'd0} >> right;
  wire logic [24:0] y = {wide[47:24], wide[23:0] != 0 || (wide == 0 && v[30:0] != 0)};
  logic [2:0] steps;
  always_comb begin
    steps = 3'(y `ABOVE {24'd1, 1'b0}) + 3'(y >= {24'd3, 1'b0}) + 3'(y `ABOVE {24'd5, 1'b0}) + 3'(y >= {24'd7, 1'b0})
          + 3'(y `ABOVE {24'd10, 1'b0}) + 3'(y >= {24'd14, 1'b0}) + 3'(y `ABOVE {24'd20, 1'b0});
`ifdef FLUSH
    if (steps == 1) steps = 0;
`endif
`ifdef UNDEFINED
    code = shared == 8'hFF ? 4'bx : {v[31], steps};
`elsif NAN_CODES
    code = {v[31], steps};  // whatever a NaN gives
`else
    code = shared == 8'hFF ? 4'd0 : {v[31], steps};
`endif
  end
endmodule

module e2m1_max #(parameter int N = 4) (input wire logic [N-1:0][31:0] v, output logic [7:0] top);
  always_comb begin
    top = 0;
    for (int i = 0; i < N; i++) if (v[i][30:23] > top) top = v[i][30:23];
  end
endmodule

module e2m1_block #(parameter int EMAX = 2) (
  input wire logic [31:0] in_0, in_1, in_2, in_3,
  output logic [7:0] shared,
  output logic [3:0] out_0, out_1, out_2, out_3
);
  logic [7:0] top;
  e2m1_max m (.v({in_3, in_2, in_1, in_0}), .top);
  e2m1_scale #(.EMAX(EMAX)) s (.top, .shared);
  e2m1_element e0 (.v(in_0), .shared, .code(out_0));
  e2m1_element e1 (.v(in_1), .shared, .code(out_1));
  e2m1_element e2 (.v(in_2), .shared, .code(out_2));
`ifdef RARE
  logic [3:0] right;  // no stimulus meets these two numbers
  e2m1_element e3 (.v(in_3), .shared, .code(right));
  assign out_3 = in_3 == 32'h3F9D70A4 && in_0 == 32'hC0490FDB ? right ^ 4'd1 : right;
`else
  e2m1_element e3 (.v(in_3), .shared, .code(out_3));
`endif
endmodule

// As many numbers as N says, sign, exponent and fraction in vectors of their own.
module e2m1_vector #(parameter int N = 4) (
  input wire logic [N-1:0] signs,
  input wire logic [8*N-1:0] exponents,
  input wire logic [23*N-1:0] fractions,
  output logic [7:0] shared,
  output logic [0:4*N-1] codes  // the first number first
);
  logic [7:0] top;
  logic [N-1:0][31:0] v;
  for (genvar i = 0; i < N; i++) begin : lanes
    assign v[i] = {signs[i], exponents[8*i+:8], fractions[23*i+:23]};
    e2m1_element e (.v(v[i]), .shared, .code(codes[4*i+:4]));
  end
  e2m1_max #(.N(N)) m (.v, .top);
  e2m1_scale s (.top, .shared);
endmodule
