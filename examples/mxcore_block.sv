// One block of pulp-platform/MXCore with the ports of ours: its scale unit, its quantizers, and NaN in all elements of a block with NaN
// or Inf, as in its mxcore_hwpe_result_quantizer. docs/verification.md has the command that checks it.
module mxcore_block #(parameter bit Encoding = 1) (  // 0: E5M2, 1: E4M3
    input logic [1023:0] x, output logic [7:0] scale, output logic [255:0] p);
  logic poison;
  block_scale #(.Encoding(Encoding)) scale_unit (.clk_i(1'b0), .rst_ni(1'b1), .fp32_block_i(x), .block_scale_o(scale), .block_poison_o(poison));
  for (genvar i = 0; i < 32; i++) begin : lane
    logic [7:0] code;
    fp32_to_mxfp8_quantizer #(.Encoding(Encoding)) quantizer (
        .clk_i(1'b0), .rst_ni(1'b1), .scale_i(scale), .fp32_i(x[32 * i +: 32]), .mxfp8_o(code));
    assign p[8 * i +: 8] = poison ? (Encoding ? 8'h7f : 8'h7d) : code;
  end
endmodule
