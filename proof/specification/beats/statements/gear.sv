// SPDX-License-Identifier: Apache-2.0
// A stream whose words get another size, and the relation of its registers by which it is proved.
//
// The bytes of a packet leave in order, in words of M bytes, of which only the last one is short. If a packet ends
// without bytes behind whole words, a word without bytes leaves. One byte is watched, any of them.

module mxcast_gear #(
  parameter N = 4,         // bytes of a word that enters
  parameter M = 16,        // bytes of a word that leaves
  parameter UNIT = 4,      // bytes that move together
  parameter MOST = 20,     // bytes inside, at most
  parameter USER = 1,      // bits of tuser
  parameter OF_PACKET = 0, // 1 if the first word of a packet has its tuser; else it is a mark of bytes
  parameter NULLS = 1,     // 0 if an end without bytes is no end
  parameter AT = 8         // bits of the number of a byte
) (
  input clk, rst, mark, input [AT-1:0] chosen, // mark: watch this byte of the word that enters
  input s_tvalid, s_tready, s_tlast, input [N-1:0] s_tkeep, input [8*N-1:0] s_tdata, input [USER-1:0] s_tuser,
  input m_tvalid, m_tready, m_tlast, input [M-1:0] m_tkeep, input [8*M-1:0] m_tdata, input [USER-1:0] m_tuser,
  // registers of the design
  input [AT-1:0] count, input has_ended, ends_alone, running, has_begun, mark_of_end, input [USER-1:0] user,
  input [MOST-1:0] keeps, input [8*MOST-1:0] bytes, input [MOST/UNIT-1:0] marks,
  output assumed,
  output [6:0] wrong,
  output [6:0] related
);
  reg [AT-1:0] need; integer i;                // bytes of the word that enters
  always @* begin need = 0; for (i = 0; i < N; i = i + 1) need = need + s_tkeep[i]; end

  reg [AT-1:0] have;                           // bytes that have entered and not left
  reg ended, alone;                            // the last of them ends a packet; or its end is behind whole words
  reg [AT-1:0] place;                          // bytes of the packet that have entered, modulo M
  reg watched; reg [AT-1:0] its_at; reg [7:0] its_byte;  // its number among the bytes inside
  reg begun; reg [USER-1:0] of_packet;         // a packet has entered in part
  reg [MOST-1:0] of_byte; reg of_end;          // marks
  reg was_reset, waited, w_last; reg [M-1:0] w_keep; reg [8*M-1:0] w_data; reg [USER-1:0] w_user;

  // the rule of AXI4-Stream for packets: a word is whole, or empty, or the last one, whose first bytes count
  assign assumed = (s_tkeep & (s_tkeep + 1'b1)) == 0 && (s_tlast || need == 0 || need == N);

  wire [AT-1:0] size = have < M ? have : M;    // of the word that leaves next
  wire [M-1:0] kept = ~({M{1'b1}} << size);
  wire is_last = ended && (have < M || have == M && !alone);
  wire leaves = m_tvalid && m_tready && !rst;
  wire enters = s_tvalid && s_tready && !rst;
  wire ends = enters && s_tlast && (NULLS || need != 0);
  wire [AT-1:0] rest = leaves ? have - size : have;
  wire begins = enters && mark && !watched && chosen < need;
  wire [MOST-1:0] new_marks = {MOST{s_tuser[0] && !OF_PACKET}} & ~({MOST{1'b1}} << need);

  always @(posedge clk) begin
    was_reset <= rst;
    waited <= m_tvalid && !m_tready && !rst;
    w_last <= m_tlast; w_keep <= m_tkeep; w_data <= m_tdata; w_user <= m_tuser;
    have <= enters ? rest + need : rest;
    ended <= ends || ended && !(leaves && is_last);
    if (ends) begin alone <= need == 0 && place == 0; of_end <= s_tuser[0] && !OF_PACKET; end
    place <= ends ? 0 : enters ? (place + need) % M : place;
    if (enters && (need != 0 || s_tlast)) begin
      begun <= !s_tlast;
      if (!begun) of_packet <= s_tuser;
    end
    of_byte <= (leaves ? of_byte >> size : of_byte) | (enters ? new_marks << rest : 0);
    if (begins) begin
      watched <= 1; its_at <= rest + chosen; its_byte <= s_tdata[8*chosen +: 8];
    end else if (watched && leaves) begin
      watched <= its_at >= size; its_at <= its_at - size;
    end
    if (rst) begin have <= 0; ended <= 0; place <= 0; watched <= 0; begun <= 0; of_byte <= 0; end
  end

  wire is_word = m_tvalid && !rst;
  wire is_same = m_tvalid && m_tlast == w_last && m_tkeep == w_keep && m_tdata == w_data && m_tuser == w_user;
  wire [USER-1:0] its_user = OF_PACKET ? of_packet : |(of_byte[M-1:0] & kept) || is_last && of_end;
  assign wrong = {
    waited && !rst && !is_same,                                                  // 6
    !rst && s_tready != (!was_reset && !ended && have <= MOST - N),              // 5
    is_word && m_tuser != its_user,                                              // 4
    is_word && watched && its_at < size && m_tdata[8*its_at +: 8] != its_byte,   // 3
    is_word && m_tlast != is_last,                                               // 2
    is_word && m_tkeep != kept,                                                  // 1
    !rst && m_tvalid != (have >= M || ended)                                     // 0
  };

  reg [MOST/UNIT-1:0] of_unit;
  always @* for (i = 0; i < MOST / UNIT; i = i + 1) of_unit[i] = |of_byte[UNIT*i +: UNIT];
  assign related = {
    // 6: a word that waits has not changed
    !waited || is_same,
    // 5: tuser is that of the packet, which has begun or is whole while it has bytes inside; or it is of the bytes
    OF_PACKET ? has_begun == begun && (begun ? !ended : ended || have == 0) && (!begun && !ended || user == of_packet)
      : marks == of_unit && (!ended || mark_of_end == of_end),
    // 4: the reset is over after an edge without it
    running == !was_reset,
    // 3: the watched byte is where it has to be
    !watched || its_at < have && bytes[8*its_at +: 8] == its_byte,
    // 2: the bytes that count are the first ones
    keeps == ~({MOST{1'b1}} << have) && (of_byte & ~keeps) == 0,
    // 1: the end of a packet is known; words leave whole before it
    has_ended == ended && (ended ? ends_alone == alone && (!alone || have % M == 0) && place == 0
      : place == have % M),
    // 0: units are counted; only the end of a packet has one with fewer bytes
    have <= MOST && count * UNIT >= have && count * UNIT < have + UNIT && (ended || count * UNIT == have)
  };
endmodule
