// Try an encoder in Verilog on a set of `mxcast vectors e4m3`, in its folder:
// iverilog -g2012 -DBLOCKS=3172 read_vectors.v my_encoder.v && vvp a.out
module read_vectors;
  reg  [1023:0] x [0:`BLOCKS-1];
  reg  [255:0]  p [0:`BLOCKS-1];
  reg  [7:0]    scale [0:`BLOCKS-1];
  reg  [1023:0] given;
  wire [255:0]  codes;
  wire [7:0]    byte_out;
  integer i, wrong = 0;
  mxfp8_e4m3_encoder dut (.x(given), .scale(byte_out), .p(codes));
  initial begin
    $readmemh("x.mem", x);
    $readmemh("p.mem", p);
    $readmemh("scale.mem", scale);
    for (i = 0; i < `BLOCKS; i = i + 1) begin
      given = x[i];
      #1 if ({byte_out, codes} !== {scale[i], p[i]}) wrong = wrong + 1;
    end
    $display("%0d of %0d blocks differ", wrong, `BLOCKS);
    $finish;
  end
endmodule
