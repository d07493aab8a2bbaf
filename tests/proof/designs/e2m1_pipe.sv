// The same converter with registers: two cycles, vectors with element 0 in the high bits, a valid bit and resets.
module e2m1_pipe (
  input wire logic clk, rst_n, valid,
  input wire logic [0:127] data,
  output logic done,
  output logic [23:0] result
);
  logic valid_q;
  logic [3:0][31:0] v_q;
  logic [7:0] top, top_q, shared;
  logic [3:0][3:0] codes;

  e2m1_max m (.v(data), .top);
  e2m1_scale s (.top(top_q), .shared);
  for (genvar i = 0; i < 4; i++) begin : lanes
    e2m1_element e (.v(v_q[i]), .shared, .code(codes[i]));
  end

  always_ff @(posedge clk or negedge rst_n)
    if (!rst_n) {done, valid_q} <= 2'b00;
    else        {done, valid_q} <= {valid_q, valid};

  always_ff @(posedge clk) if (valid) {top_q, v_q} <= {top, data};

  always_ff @(posedge clk)
    if (!rst_n)       result <= 24'd0;
    else if (valid_q) result <= {shared, codes};
endmodule

// Right, but no pipeline: results go to two registers in turn.
module e2m1_in_turn (input wire logic clk, input wire logic [127:0] data, output logic [23:0] result);
  logic turn = 0;
  logic [7:0] top, shared;
  logic [3:0][3:0] codes;
  logic [23:0] even, odd;

  e2m1_max m (.v(data), .top);
  e2m1_scale s (.top, .shared);
  for (genvar i = 0; i < 4; i++) begin : lanes
    e2m1_element e (.v(data[32*i+:32]), .shared, .code(codes[i]));
  end

  always_ff @(posedge clk) begin
    turn <= !turn;
    if (turn) odd <= {shared, codes};
    else      even <= {shared, codes};
  end
  assign result = turn ? even : odd;
endmodule

// Right, but no pipeline: three cycles for a block.
module e2m1_slow (input wire logic clk, rst, input wire logic [127:0] data, output logic [23:0] result);
  logic [1:0] cycle;
  logic [127:0] v_q;
  logic [7:0] top, shared;
  logic [3:0][3:0] codes;

  e2m1_max m (.v(v_q), .top);
  e2m1_scale s (.top, .shared);
  for (genvar i = 0; i < 4; i++) begin : lanes
    e2m1_element e (.v(v_q[32*i+:32]), .shared, .code(codes[i]));
  end

  always_ff @(posedge clk) begin
    cycle <= rst || cycle == 2 ? 2'd0 : cycle + 2'd1;
    if (cycle == 0) v_q <= data;
    if (cycle == 1) result <= {shared, codes};
  end
endmodule

// Wrong: NaN stays for ever.
module e2m1_remembers (input wire logic clk, input wire logic [127:0] data, output logic [23:0] result);
  logic seen = 0;
  logic [7:0] top, shared;
  logic [3:0][3:0] codes;

  e2m1_max m (.v(data), .top);
  e2m1_scale s (.top(seen ? 8'hFF : top), .shared);
  for (genvar i = 0; i < 4; i++) begin : lanes
    e2m1_element e (.v(data[32*i+:32]), .shared, .code(codes[i]));
  end

  always_ff @(posedge clk) begin
    seen <= seen || shared == 8'hFF;
    result <= {shared, codes};
  end
endmodule
