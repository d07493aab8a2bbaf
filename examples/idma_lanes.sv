// Behind idma_sizes.sv and idma_float_pkg.sv.
// SPDX-License-Identifier: Apache-2.0
module idma_lanes (
  input  logic [31:0][7:0]  p,
  input  logic [7:0]        scale,
  output logic [31:0][31:0] y
);
  for (genvar i = 0; i < 32; i++) begin : lane
    assign y[i] = idma_float_pkg::mxfp8_byte_to_fp32_prescaled(p[i], idma_float_pkg::decode_signed_scale(scale));
  end
endmodule
