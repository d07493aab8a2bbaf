// SPDX-License-Identifier: Apache-2.0
// The path from beats to words of packed blocks, and the relation of its registers by which it is proved.
//
// A beat is its codes and, if it is the first or the last of a block, the byte of the scale. The bytes of a packet
// follow each other in words of SIZE bytes; only the last word of a packet is short. One byte is watched, any of them.

module mxcast_pack #(
  parameter SIZE = 8,    // bytes of a word, and of the codes of a beat
  parameter BEFORE = 1,  // 1 if the scale is in front of the codes
  parameter AT = 5       // bits of the number of a byte
) (
  input clk, rst, mark, input [AT-1:0] chosen, // mark: watch this byte of the beat that is taken
  input coming, back_enable, first, last, ends, completed, input [8*SIZE-1:0] codes, input [7:0] scale,  // of the core
  input m_tvalid, m_tready, m_tlast, m_tuser, input [SIZE-1:0] m_tkeep, input [8*SIZE-1:0] m_tdata,
  input [AT-1:0] count, input has_ended, completed_q, input [8*SIZE-1:0] waiting,  // registers of the design
  output [7:0] wrong,
  output [5:0] related
);
  wire has_scale = BEFORE ? first : last;
  wire [AT-1:0] need = SIZE + has_scale;
  wire [AT-1:0] of_codes = chosen - (BEFORE && first);
  wire [7:0] chosen_byte = has_scale && chosen == (BEFORE ? 0 : SIZE) ? scale : codes[8*of_codes +: 8];

  reg [AT-1:0] have;                           // bytes that have entered and not left
  reg ended, marked;                           // the last of them ends a packet; it is of a completed block
  reg watched; reg [AT-1:0] its_at; reg [7:0] its_byte;  // its number among these bytes
  reg waited, w_last, w_user; reg [SIZE-1:0] w_keep; reg [8*SIZE-1:0] w_data;

  wire [AT-1:0] size = have < SIZE ? have : SIZE;  // of the word that leaves next
  wire [AT-1:0] others = m_tvalid ? have - size : have;
  wire moves = m_tready || !m_tvalid;
  wire leaves = m_tvalid && m_tready && !rst;
  wire enters = coming && back_enable && !rst;
  wire [AT-1:0] rest = leaves ? have - size : have;
  wire begins = enters && mark && !watched && chosen < need;
  wire [SIZE-1:0] kept = ~({SIZE{1'b1}} << size);

  always @(posedge clk) begin
    waited <= m_tvalid && !m_tready && !rst;
    w_last <= m_tlast; w_user <= m_tuser; w_keep <= m_tkeep; w_data <= m_tdata;
    have <= enters ? rest + need : rest;
    ended <= enters ? ends : ended && rest != 0;
    if (enters) marked <= completed;
    if (begins) begin
      watched <= 1; its_at <= rest + chosen; its_byte <= chosen_byte;
    end else if (watched && leaves) begin
      watched <= its_at >= size; its_at <= its_at - size;
    end
    if (rst) begin have <= 0; ended <= 0; watched <= 0; end
  end

  wire is_word = m_tvalid && !rst;
  wire is_same = m_tvalid && m_tlast == w_last && m_tuser == w_user && m_tkeep == w_keep && m_tdata == w_data;
  assign wrong = {
    waited && !rst && !is_same,                                                                         // 7
    !rst && back_enable != (!coming || moves && others < SIZE && !(ended && others != 0)),               // 6
    enters && ended && rest != 0,                                                                       // 5
    is_word && watched && its_at < size && m_tdata[8*its_at +: 8] != its_byte,                          // 4
    is_word && m_tuser != marked,                                                                       // 3
    is_word && m_tlast != (ended && have <= SIZE),                                                      // 2
    is_word && m_tkeep != kept,                                                                         // 1
    !rst && m_tvalid != (have >= SIZE || ended && have != 0)                                            // 0
  };

  wire [AT-1:0] behind = its_at - size;        // the place of the watched byte among those that wait
  assign related = {
    // 5: a word that waits has not changed
    !waited || is_same,
    // 4: the watched byte is in the word or behind it
    !watched || its_at < have && its_byte == (!m_tvalid ? waiting[8*its_at +: 8]
      : its_at < size ? m_tdata[8*its_at +: 8] : waiting[8*behind +: 8]),
    // 3: the mark of the last beat is with its bytes
    (!m_tvalid || m_tuser == marked) && (count == 0 || completed_q == marked),
    // 2: the end of a packet is with its last bytes
    has_ended == (ended && count != 0) && (!m_tvalid || m_tlast == (ended && count == 0)),
    // 1: a word has its bytes, which are SIZE or the last of a packet
    !m_tvalid || m_tkeep == kept && (have >= SIZE || ended && have != 0),
    // 0: the bytes inside are in the word and behind it, where no whole word waits without one
    count == others && count <= SIZE && (m_tvalid || count < SIZE && !ended)
  };
endmodule
