// The vector with a streaming operator, which not every reader of SystemVerilog knows.
module e2m1_reversed (
  input logic [3:0] signs, input logic [31:0] exponents, input logic [91:0] fractions,
  output logic [7:0] shared, output logic [15:0] codes
);
  logic [0:15] first;
  e2m1_vector v (.signs, .exponents, .fractions, .shared, .codes(first));
  assign codes = {<<4{first}};
endmodule
