"""Questions about blocks of a layout in a stream: from words to beats of codes, and the scale of each block."""

from __future__ import annotations

from ....spec import ScalePlace
from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.parts import NUMBERS
from .induction import Induction, transitions
from .stream_path import StreamPath, vector

UNPACK_WRONG = (
    "a beat is decoded without the word that completes it, or not with this word",
    "a byte of a block is not where the layout says",
    "a beat is decoded with other marks than its word has, or a packet that ends within it",
    "another beat than the first of a block takes the scale",
    "a packet ends with a whole beat that is lost",
    "a beat is decoded with the random bits, or the scale of the tensor, of another word",
)
"""Faults by the bits of ``wrong`` in `axis_unpack.sv`."""


def unpacked(path: StreamPath) -> Induction:
    """The statements about the bytes of blocks, and the beats that they make."""
    top, packed, scale = "mxcast_unpacked", path.packed, path.scale
    assert packed is not None
    size, place = len(packed.places) // 8, max(1, (path.beats - 1).bit_length())
    words, random = path.words, max(1, path.random)
    kept = ["aclk", "aresetn", *path.own("p", "scale", "marks", "is_first", *path.user)]
    made, inputs = path.control, ("beat_offered", "back_enable", *(name for name, _, _ in words.values()))
    for name in inputs:
        made = cut(made, name, [*kept, *(f"cut_{other}" for other in inputs)])
    registers = {"seen_filled": "is_filled", "seen_kept": "block_aligner.word_q"}
    registers |= {"seen_offset": "offset"} if size > 1 else {}
    made = seen(made, {"seen_reads": "reads", **registers, **({"seen_beat": "beat"} if path.beats > 1 else {})})
    offset = len(made["ports"]["seen_offset"]["bits"]) if size > 1 else 1
    bits = [None if one is None else one[0] * path.bits + one[1] for one in packed.places]
    used = "".join("0" if bit is None else "1" for bit in reversed(bits))
    whole = ", ".join("1'b0" if bit is None else f"p[{bit}]" for bit in reversed(bits))
    beat, at = ".seen_beat(beat)," if path.beats > 1 else "", (4 * size).bit_length()
    is_before = int(packed.place is ScalePlace.BEFORE)
    wrapper = f"""module {top}(input clk, rst, mark, given, has_room, last, user, input {vector(at)} chosen,
  input {vector(8 * size)} word, input {vector(size)} keep, input {vector(random)} random,
  output reads, first, assumed, output {vector(len(UNPACK_WRONG))} wrong, output [2:0] related,
  output {vector(path.bits * path.lanes)} p, output {vector(scale)} scale, output [2:0] marks);
  wire filled; wire {vector(offset)} offset; wire {vector(8 * size)} kept; wire {vector(place)} beat;
  wire {vector(random)} o_random; wire [7:0] its_byte = scale - 8'd{packed.bias};
  {"" if path.beats > 1 else "assign beat = 0;"} {"" if size > 1 else "assign offset = 0;"}
  {"" if path.random else "assign o_random = random;"}
  {path.design.top} design(.aclk(clk), .aresetn(~rst), .cut_beat_offered(given), .cut_back_enable(has_room),
    .cut_beat_word(word), .cut_beat_keep(keep), .cut_beat_last(last), .cut_beat_mark(user),
    {"".join(f".cut_beat_{name}(random), .{NUMBERS}_{name}(o_random)," for name in path.user)} {beat}
    .{NUMBERS}_p(p), .{NUMBERS}_scale(scale), .{NUMBERS}_marks(marks), .{NUMBERS}_is_first(first),
    {".seen_offset(offset), " if size > 1 else ""}.seen_reads(reads), .seen_filled(filled), .seen_kept(kept));
  mxcast_unpack #(.SIZE({size}), .BEATS({path.beats}), .PLACE({place}), .BEFORE({is_before}),
    .RANDOM({random}), .AT({at}), .OFFSET({offset}), .USED({8 * size}'b{used})) unpack(
    .clk(clk), .rst(rst), .mark(mark), .chosen(chosen), .given(given), .has_room(has_room), .last(last), .user(user),
    .word(word), .keep(keep), .random(random), .reads(reads), .first(first), .codes({{{whole}}}), .scale(its_byte),
    .marks(marks), .o_random(o_random), .filled(filled), .offset(offset), .kept(kept), .beat(beat),
    .assumed(assumed), .wrong(wrong), .related(related));
endmodule
"""
    return Induction(
        name="unpack",
        claim="every byte of a block is in the beat and at the place that the layout says, and a packet that ends "
        "within a beat marks it",
        top=top,
        relation=transitions(path.design, made, "axis_unpack.sv", wrapper, top),
        related=3,
        wrong=UNPACK_WRONG,
        shown={
            **dict.fromkeys(("rst", "given", "has_room", "last", "reads", "first"), 1),
            "word": 8 * size,
            "keep": size,
            "p": path.bits * path.lanes,
            "scale": scale,
            "marks": 3,
        },
    )
