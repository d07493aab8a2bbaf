// SPDX-License-Identifier: Apache-2.0
// What Verilog leaves undefined although all operands are known may be anything in a proof. Yosys' techmap puts these in the place of
// cells for which SMT-LIB, or Yosys, has a value there; what they are made of is what is left of the cell where it is defined.

(* techmap_celltype = "$div" *)
module mxcast_div (A, B, Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  input [A_WIDTH-1:0] A; input [B_WIDTH-1:0] B; output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] known, any;
  \$div #(.A_SIGNED(A_SIGNED), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) _TECHMAP_REPLACE_ (.A(A), .B(B), .Y(known));
  \$anyseq #(.WIDTH(Y_WIDTH)) undefined (.Y(any));
  assign Y = |B ? known : any;
endmodule

(* techmap_celltype = "$mod" *)
module mxcast_mod (A, B, Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  input [A_WIDTH-1:0] A; input [B_WIDTH-1:0] B; output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] known, any;
  \$mod #(.A_SIGNED(A_SIGNED), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) _TECHMAP_REPLACE_ (.A(A), .B(B), .Y(known));
  \$anyseq #(.WIDTH(Y_WIDTH)) undefined (.Y(any));
  assign Y = |B ? known : any;
endmodule

// A bit or part whose index is not constant: bits beyond the vector are undefined.
(* techmap_celltype = "$shiftx" *)
module mxcast_index (A, B, Y);
  parameter A_SIGNED = 0, B_SIGNED = 0, A_WIDTH = 1, B_WIDTH = 1, Y_WIDTH = 1;
  input [A_WIDTH-1:0] A; input [B_WIDTH-1:0] B; output [Y_WIDTH-1:0] Y;
  wire [Y_WIDTH-1:0] found, within, any;
  \$shift #(.A_SIGNED(0), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) value (.A(A), .B(B), .Y(found));
  \$shift #(.A_SIGNED(0), .B_SIGNED(B_SIGNED), .A_WIDTH(A_WIDTH), .B_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) range (.A({A_WIDTH{1'b1}}), .B(B), .Y(within));
  \$anyseq #(.WIDTH(Y_WIDTH)) undefined (.Y(any));
  assign Y = (found & within) | (any & ~within);
endmodule

// A table: a memory that nobody writes and that has no clock. Yosys would leave out the high bits of an address.
(* techmap_celltype = "$mem_v2" *)
module mxcast_table (RD_CLK, RD_EN, RD_ARST, RD_SRST, RD_ADDR, RD_DATA, WR_CLK, WR_EN, WR_ADDR, WR_DATA);
  parameter MEMID = "", INIT = 1'bx;
  parameter signed SIZE = 4, OFFSET = 0, ABITS = 2, WIDTH = 8, RD_PORTS = 1, WR_PORTS = 1;
  parameter RD_CLK_ENABLE = 1'b1, RD_CLK_POLARITY = 1'b1, RD_TRANSPARENCY_MASK = 1'b0, RD_COLLISION_X_MASK = 1'b0,
    RD_WIDE_CONTINUATION = 1'b0, RD_CE_OVER_SRST = 1'b0, RD_ARST_VALUE = 1'b0, RD_SRST_VALUE = 1'b0, RD_INIT_VALUE = 1'b0,
    WR_CLK_ENABLE = 1'b1, WR_CLK_POLARITY = 1'b1, WR_PRIORITY_MASK = 1'b0, WR_WIDE_CONTINUATION = 1'b0;
  input [RD_PORTS-1:0] RD_CLK, RD_EN, RD_ARST, RD_SRST;
  input [RD_PORTS*ABITS-1:0] RD_ADDR;
  output [RD_PORTS*WIDTH-1:0] RD_DATA;
  input [WR_PORTS-1:0] WR_CLK;
  input [WR_PORTS*WIDTH-1:0] WR_EN, WR_DATA;
  input [WR_PORTS*ABITS-1:0] WR_ADDR;
  wire _TECHMAP_FAIL_ = WR_PORTS > 0 || |RD_CLK_ENABLE;
  localparam BITS = SIZE > 1 ? $clog2(SIZE) : 1;
  localparam WIDE = ABITS + 32;
  wire [(WIDTH<<BITS)-1:0] words;
  generate
    if (WIDTH<<BITS > SIZE*WIDTH) \$anyseq #(.WIDTH((WIDTH<<BITS)-SIZE*WIDTH)) missing (.Y(words[(WIDTH<<BITS)-1:SIZE*WIDTH]));
    genvar i;
    for (i = 0; i < RD_PORTS; i = i + 1) begin: port
      wire signed [WIDE-1:0] place = $signed({1'b0, RD_ADDR[i*ABITS +: ABITS]}) - OFFSET;
      wire [WIDTH-1:0] found, any;
      \$bmux #(.WIDTH(WIDTH), .S_WIDTH(BITS)) word (.A(words), .S(place[BITS-1:0]), .Y(found));
      \$anyseq #(.WIDTH(WIDTH)) undefined (.Y(any));
      assign RD_DATA[i*WIDTH +: WIDTH] = place >= 0 && place < SIZE ? found : any;
    end
  endgenerate
  assign words[SIZE*WIDTH-1:0] = INIT;
endmodule

// A latch: while it is closed it may hold anything.
(* techmap_celltype = "$dlatch" *)
module mxcast_latch (EN, D, Q);
  parameter EN_POLARITY = 1'b1, WIDTH = 1;
  input EN; input [WIDTH-1:0] D; output [WIDTH-1:0] Q;
  wire [WIDTH-1:0] any;
  \$anyseq #(.WIDTH(WIDTH)) kept (.Y(any));
  assign Q = EN == EN_POLARITY ? D : any;
endmodule

(* techmap_celltype = "$adlatch" *)
module mxcast_latch_with_reset (EN, ARST, D, Q);
  parameter EN_POLARITY = 1'b1, ARST_POLARITY = 1'b1, ARST_VALUE = 1'b0, WIDTH = 1;
  input EN, ARST; input [WIDTH-1:0] D; output [WIDTH-1:0] Q;
  wire [WIDTH-1:0] any;
  \$anyseq #(.WIDTH(WIDTH)) kept (.Y(any));
  assign Q = ARST == ARST_POLARITY ? ARST_VALUE : EN == EN_POLARITY ? D : any;
endmodule
