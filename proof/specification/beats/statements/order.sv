// SPDX-License-Identifier: Apache-2.0
// What the order of beats is in hardware with lanes, and the relation of its registers by which it is proved.
//
// In an encoder (STORE) a block waits in a store until it is whole, and each of its beats leaves under its largest key.
// In a decoder beats pass, and each leaves under the key, the scale, with which the first beat of its block entered.
//
// Beats are numbered in the order in which they enter. One block of all is watched: the solver chooses which (mark), and
// one beat of it (chosen), so what holds for the watched one holds for all. The key, the stored numbers and the mode of
// a beat are free: a proof holds for all of them. `wrong` names what must never happen, and `related` is true in every
// state that can be reached, which a solver proves by one step from any state in which it is true.

module mxcast_order #(
  parameter STORE = 1,   // whether a block waits in a store; without one FRONT is 0
  parameter FRONT = 0,   // registers in front of the store
  parameter BACK = 1,    // registers behind it, at least one
  parameter BEATS = 4,   // beats of a block, a power of two
  parameter PLACE = 2,   // bits of the number of a beat in its block
  parameter SLOTS = 1,   // blocks in the store. With two of them, i_ready depends on registers only. If a beat is a whole
                         // block, the two are a queue, and the key and the mode are bits of the word
  parameter KEY = 8,
  parameter WORD = 168,  // bits of the stored numbers of a beat, with its random bits
  parameter MODE = 1,      // bits of a mode; without modes one bit, which is 0
  parameter HAS_MODES = 0,
  // with AXI4-Stream, the core between valid bits: registers behind it stop it also without a result (STOPS), and the
  // upper bits of the mode, from STEADY on, are the marks of a packet, which count with the last beat of a block
  parameter STOPS = 0,
  parameter STEADY = MODE,
  // in a bank of a square store: beat t leaves with the word of beat t ^ bank. Blocks are stored in turn crossed, beat i
  // at the place i ^ bank, and uncrossed; FIRST_CROSSED is of the first block after a reset
  parameter BANKED = 0,
  parameter FIRST_CROSSED = 0,
  parameter COUNT = 12   // bits of a number of beats, with room for negative ones
) (
  input clk, rst, i_valid, i_ready, o_valid, o_ready,
  input mark,                                 // the block that begins is the watched one
  input [PLACE-1:0] chosen,                   // the watched beat of the watched block
  input [KEY-1:0] key, input [WORD-1:0] word, input [MODE-1:0] mode,  // of the beat that is offered
  // what the design has at the ports of the modules that are left out
  input front_enable, back_enable,
  input [KEY-1:0] read_key, input [WORD-1:0] read_word, input [MODE-1:0] read_mode,
  input read_first, read_last,
  output [KEY-1:0] written_key, output [WORD-1:0] written_word, output [MODE-1:0] written_mode,
  // its registers
  input has_block,                            // a whole block is stored; with two slots, its key waits
  input can_write,                            // with two slots, the store has room for a beat
  input [KEY-1:0] running_key,                // with two slots, of the block that is written; read_key is of a whole one
  input [PLACE+SLOTS-2:0] write_beat, read_beat,
  input [FRONT:0] front_valid,                // bit 0 is i_valid, and the last one is at the store
  input [BACK-1:0] back_valid,                // the last one is o_valid
  input [WORD*BEATS*SLOTS-1:0] words,
  input [2*MODE-1:0] half_marks,              // the marks of the block in each half of the store
  input [PLACE-1:0] bank,                     // it never changes
  input write_odd, read_odd,                  // the parity of the block that is written, or read
  input odd,                                  // tlast is not that of the last beat of a block that ends a packet
  // what leaves
  output [KEY-1:0] o_key, output [WORD-1:0] o_word, output [MODE-1:0] o_mode, output o_first, o_last,
  output assumed,
  output [9:0] wrong,
  output [9:0] related
);
  localparam BOUND = SLOTS * (FRONT + (STORE ? BEATS : 0)) + BACK;  // clock edges in which a whole block leaves, at most
  localparam QUEUE = STORE && BEATS == 1;  // the key, which is in the word, is 0 here
  localparam [COUNT-1:0] ALL = BEATS;
  localparam [MODE-1:0] KEPT = (1 << STEADY) - 1;  // bits that are kept from the first beat of a block
  integer i;

  // --- the two modules that are left out: delays with an enable
  reg [KEY*(FRONT+1)-1:0] f_key; reg [WORD*(FRONT+1)-1:0] f_word; reg [MODE*(FRONT+1)-1:0] f_mode;
  generate if (FRONT > 0) begin : delayed
    reg [KEY*FRONT-1:0] keys; reg [WORD*FRONT-1:0] numbers; reg [MODE*FRONT-1:0] modes;
    always @(posedge clk) if (front_enable) begin
      keys <= f_key[KEY*FRONT-1:0]; numbers <= f_word[WORD*FRONT-1:0]; modes <= f_mode[MODE*FRONT-1:0];
    end
    always @* begin f_key = {keys, key}; f_word = {numbers, word}; f_mode = {modes, mode}; end
  end else begin : direct
    always @* begin f_key = key; f_word = word; f_mode = mode; end
  end endgenerate
  assign written_key = f_key[KEY*FRONT +: KEY];
  assign written_word = f_word[WORD*FRONT +: WORD];
  assign written_mode = f_mode[MODE*FRONT +: MODE];

  reg [KEY*BACK-1:0] b_key; reg [WORD*BACK-1:0] b_word; reg [MODE*BACK-1:0] b_mode; reg [BACK-1:0] b_first, b_last;
  always @(posedge clk) if (back_enable) begin
    b_word <= {b_word, read_word}; b_first <= {b_first, read_first}; b_last <= {b_last, read_last};
    // the key and the mode are kept from the first beat of a block
    b_key <= {b_key, read_first ? read_key : b_key[KEY-1:0]};
    b_mode <= {b_mode, read_first ? read_mode : b_mode[MODE-1:0] & KEPT | read_mode & ~KEPT};
  end
  assign o_key = b_key[KEY*(BACK-1) +: KEY];
  assign o_word = b_word[WORD*(BACK-1) +: WORD];
  assign o_mode = b_mode[MODE*(BACK-1) +: MODE];
  assign o_first = b_first[BACK-1];
  assign o_last = b_last[BACK-1];

  // --- what enters and what leaves; both are counted since the last reset
  wire enters = i_valid & i_ready & ~rst;
  wire leaves = o_valid & o_ready & ~rst;
  reg [COUNT-1:0] inside;                     // beats that have entered and not left
  reg [PLACE-1:0] in_beat, out_beat;          // the place in its block of the beat that enters, or leaves, next
  reg [MODE-1:0] in_mode;                     // the mode of the block that enters
  assign assumed = !(enters && in_beat != 0) || ((mode ^ in_mode) & KEPT) == 0;

  // --- the watched block
  reg watched;                                // some beat of it is inside, or it is entering
  reg [COUNT-1:0] ahead;                      // beats inside that entered before it; below zero: less its beats that left
  reg [COUNT-1:0] entered;                    // its beats that have entered
  reg [KEY-1:0] largest;                      // the largest key of these; without a store the key of the first
  reg [MODE-1:0] its_mode;
  reg [WORD-1:0] its_word;                    // the stored numbers of its chosen beat
  reg [PLACE-1:0] its_beat;
  reg [COUNT-1:0] moving;                     // edges since all of it is inside at which nobody waits for the receiver
  reg [PLACE:0] calm;                         // edges since somebody waited for the receiver, up to those of a block
  reg fresh;                                  // a reset was at the last edge
  wire [PLACE-1:0] from = BANKED ? bank : 0;   // the beat that leaves with the word of the first
  wire [PLACE-1:0] its_row = its_beat ^ from; // the beat that entered with the word of the chosen one
  wire begins = enters && mark && !watched && in_beat == 0;
  wire goes_on = enters && watched && entered != ALL;
  wire is_whole = watched && entered == ALL;
  wire is_waiting = (o_valid || STOPS) & ~o_ready;
  wire [COUNT-1:0] at_output = -ahead;        // which beat of the watched block leaves next, if it is one
  wire is_at_output = watched && at_output < ALL;

  // --- a result that waits
  reg waited; reg [KEY-1:0] w_key; reg [WORD-1:0] w_word; reg [MODE-1:0] w_mode; reg w_first, w_last;

  always @(posedge clk) begin
    waited <= is_waiting & o_valid & ~rst;
    w_key <= o_key; w_word <= o_word; w_mode <= o_mode; w_first <= o_first; w_last <= o_last;
    inside <= inside + enters - leaves;
    if (enters) begin
      in_beat <= (in_beat + 1) % BEATS;
      if (in_beat == 0) in_mode <= mode;
    end
    if (leaves) out_beat <= (out_beat + 1) % BEATS;
    if (leaves) ahead <= ahead - 1'b1;
    if (is_at_output && at_output == ALL - 1 && leaves) watched <= 0;
    moving <= is_whole ? moving + !is_waiting : 0;
    calm <= is_waiting ? 0 : calm + (calm != BEATS);
    fresh <= rst;
    if (begins) begin
      watched <= 1; ahead <= inside - leaves; entered <= 1; largest <= key; its_mode <= mode; its_beat <= chosen % BEATS;
      moving <= 0;
      if (chosen % BEATS == from) its_word <= word;
    end
    if (goes_on) begin
      entered <= entered + 1'b1;
      if (STORE && key > largest) largest <= key;
      its_mode <= mode;
      if (its_row == entered) its_word <= word;
    end
    if (rst) begin inside <= 0; in_beat <= 0; out_beat <= 0; watched <= 0; calm <= 0; end
  end

  // --- what must not happen
  wire is_result = o_valid & ~rst;
  assign wrong = {
    odd,                                                                       // 9
    is_whole && !rst && moving >= BOUND,                                       // 8
    waited && !rst && !(o_valid && o_key == w_key && o_word == w_word && o_mode == w_mode && o_first == w_first
      && o_last == w_last),                                                    // 7
    !rst && (SLOTS == 1 ? o_ready || !o_valid : calm == BEATS) && !i_ready,    // 6
    is_result && inside != 0 && o_last != (out_beat == BEATS - 1),             // 5
    is_result && inside != 0 && o_first != (out_beat == 0),                    // 4
    is_result && is_at_output && o_mode != its_mode,                           // 3
    is_result && is_at_output && (STORE && entered != ALL || o_key != largest),  // 2
    is_result && is_at_output && at_output == its_beat && o_word != its_word,  // 1
    is_result && inside == 0                                                   // 0
  };

  // --- the relation of the registers
  reg [COUNT-1:0] behind, stored, before;     // beats behind the store, in it and in front of it
  reg [COUNT-1:0] place, last_place, rank;    // places in the order of the beats inside: 0 leaves next
  reg backs, fronts, is_some;
  reg [KEY-1:0] seen;                         // the largest key of the watched block that is written or in front
  reg covers;                                 // the beat that was written last is of the watched block, and not read
  wire [PLACE-1:0] write_place = write_beat % BEATS, read_place = read_beat % BEATS;
  wire [COUNT-1:0] its_place = ahead - behind;         // of the first watched beat: 0 is read next
  wire [COUNT-1:0] chosen_place = its_place + its_beat;
  wire [COUNT-1:0] row_place = its_place + its_row;  // in the order of writing
  wire chosen_stored = BANKED ? !chosen_place[COUNT-1] && (its_place[COUNT-1] || row_place < stored)
    : chosen_place < stored;
  wire its_odd = has_block && (its_place[COUNT-1] || its_place == 0) ? read_odd : write_odd;
  wire [PLACE+SLOTS-2:0] chosen_address =
    BANKED ? its_row ^ (bank & {PLACE{its_odd ^ (FIRST_CROSSED != 0)}}) : (read_beat + chosen_place) % (BEATS * SLOTS);
  wire is_stored = its_place < stored && its_place + ALL <= stored;  // all of it, and no beat is read
  wire covers_running = its_place < stored && !is_stored;            // some of it, and the others come
  // with two slots, reading goes on until the end of a block
  wire is_read = has_block || read_place != 0;
  wire is_same = write_beat / BEATS == read_beat / BEATS;
  wire is_full = stored > BEATS;
  // the marks of the watched block are in the store from its last beat until this is read
  wire is_written = watched && entered == ALL && last_place >= behind && last_place < behind + stored;
  wire its_half = (read_beat + its_place) >> PLACE;
  wire [MODE-1:0] its_marks = its_half ? half_marks[MODE +: MODE] : half_marks[MODE-1:0];
  wire has_room = is_same ? !is_read : QUEUE || !(has_block && write_place == BEATS - 1);
  reg [WORD-1:0] chosen_word;
  always @* begin
    behind = 0; before = 0;
    for (i = 0; i < BACK; i = i + 1) behind = behind + back_valid[i];
    for (i = 1; i <= FRONT; i = i + 1) before = before + front_valid[i];
    if (!STORE) stored = 0;
    else if (SLOTS == 1) stored = has_block ? ALL - read_place + write_place : write_place;
    else if (QUEUE) stored = is_same ? 2 * has_block : 1;
    else stored = (write_beat - read_beat) & (2 * BEATS - 1);
    chosen_word = 0;
    for (i = 0; i < BEATS * SLOTS; i = i + 1) if (chosen_address == i) chosen_word = words[WORD*i +: WORD];
    last_place = ahead + ALL - 1'b1;
    rank = 0;
    // behind the store, each beat has what it leaves with
    backs = 1; place = 0;
    for (i = BACK - 1; i >= 0; i = i - 1) if (back_valid[i]) begin
      if (b_first[i] != ((out_beat + place) % BEATS == 0)) backs = 0;
      if (b_last[i] != ((out_beat + place) % BEATS == BEATS - 1)) backs = 0;
      if (watched && place - ahead < ALL) begin
        if (STORE && entered != ALL) backs = 0;
        if (b_key[KEY*i +: KEY] != largest || b_mode[MODE*i +: MODE] != its_mode) backs = 0;
        if (place - ahead == its_beat && b_word[WORD*i +: WORD] != its_word) backs = 0;
      end
      if (place == last_place) rank = BACK - i;
      place = place + 1'b1;
    end
    if (last_place >= behind && last_place < behind + stored) rank = BACK + last_place - behind + 1'b1;
    // the key of the accumulator is of all beats of the block that is written; those in front are not in it
    place = behind + stored - 1'b1;
    covers = watched && (SLOTS == 1 ? stored != 0 && place - ahead < ALL : covers_running);
    seen = SLOTS == 1 ? read_key : running_key; is_some = covers; fronts = 1;
    place = behind + stored;
    for (i = FRONT; i >= 1; i = i - 1) if (front_valid[i]) begin
      if (QUEUE && f_key[KEY*i +: KEY] != 0) fronts = 0;
      if (watched && place - ahead < ALL) begin
        if (place == last_place && f_mode[MODE*i +: MODE] != its_mode) fronts = 0;
        if (place - ahead == its_row && f_word[WORD*i +: WORD] != its_word) fronts = 0;
        if (!is_some || f_key[KEY*i +: KEY] > seen) seen = f_key[KEY*i +: KEY];
        is_some = 1;
      end
      // with two slots it moves, or a beat leaves the store
      if (place == last_place) rank = BACK + (SLOTS == 1 ? BEATS : last_place - behind + 1) + FRONT - i + 1;
      place = place + 1'b1;
    end
  end
  wire [COUNT-1:0] left_over = inside - ahead;  // beats inside from the first of the watched block on
  assign related = {
    // 9: a whole block leaves in time: the edges that are over and those that its last beat needs
    !is_whole || (rank != 0 && rank <= BOUND && moving <= BOUND && moving + rank <= BOUND),
    // 8: a result that waits has not changed
    !waited || (o_valid && o_key == w_key && o_word == w_word && o_mode == w_mode && o_first == w_first
      && o_last == w_last),
    // 7: behind the store, each beat has the place, the key, the mode and the numbers with which it has to leave
    backs,
    // 6: a block of which a part is behind the store has left its key and its mode there
    !(watched && read_place != 0 && behind - ahead < ALL)
      || (b_key[KEY-1:0] == largest && ((b_mode[MODE-1:0] ^ its_mode) & KEPT) == 0),
    // 5: the store has the chosen beat at its place
    !(watched && chosen_stored) || chosen_word == its_word,
    // 4: in front of the store, beats have their mode and their numbers; the mode of a whole block waits with it
    fronts && (!(watched && is_stored) || ((read_mode ^ its_mode) & KEPT) == 0)
      && (!STOPS || !is_written || ((its_marks ^ its_mode) & ~KEPT) == 0) && (HAS_MODES || !watched || (its_mode & KEPT) == 0),
    // 3: the largest key is in the accumulator or still in front of it; with two slots, the key of a whole block waits
    (!is_some || seen == largest) && (!QUEUE || !watched || largest == 0) && (SLOTS == 1 || !(watched && is_stored) || read_key == largest),
    // 2: the watched block begins at the beginning of a block, and what entered later is behind it
    !watched || (its_beat < BEATS && entered != 0 && entered <= ALL && (out_beat + ahead) % BEATS == 0 && last_place <= inside + ALL
      && (entered == ALL ? left_over >= ALL && left_over < inside + ALL
        : left_over == entered && (ahead <= inside || !STORE) && in_beat == entered)),
    // 1: the numbers of beats follow from what is inside
    out_beat < BEATS && read_place == (out_beat + behind) % BEATS && in_beat == (write_place + before) % BEATS,
    // 0: all that is inside is in front of the store, in it or behind it, and the next block does not overtake the reader
    inside == behind + stored + before && (!BANKED || write_odd == (read_odd ^ has_block)) && (SLOTS == 1 ? (has_block ? write_beat <= read_beat : !STORE || read_beat == 0)
      : has_block == (read_place == 0 ? stored >= BEATS : stored == 2 * BEATS - read_place)
        && (read_place == 0 || (stored >= BEATS - read_place && stored <= 2 * BEATS - read_place))
        && (fresh ? !can_write && calm == 0 && inside == 0 : can_write == has_room) && (!is_full || calm <= read_place))
  };
endmodule
