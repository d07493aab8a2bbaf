"""Questions about the order of rows in a tile encoder, and of the results that its second stores transpose.

Both are the order of beats in a store of a block, as `order.sv` states it. The columns differ by the number of their
bank only, so a solver is asked about one column whose number can be any.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....hdl.config.tile import TURNED_STAGE
from ...netlist.beats.cuts import cut, seen
from ...netlist.beats.nvfp4_tile import NUMBERS, Nvfp4Tile
from ...netlist.beats.square import TURNING, Store
from ...netlist.beats.tile import IN_FRONT, Tile
from ...netlist.structure import StructureError
from ...questions.question import Question, declared, lemma, vector
from .induction import Induction, transitions
from .order import RELATIONS, WRONG

TOP = "mxcast_tile"
"""The module with a part of the design and the statements about it."""

WORDS = {"a beat": "a row", "a block": "a tile", "whole block": "whole tile", "its block": "its tile"}
"""Words of tiles in place of words of encoders with lanes."""


def order(tile: Tile) -> Induction:
    """The order of the numbers of a column, whose largest key is collected, up to its codes."""
    column, turned = tile.columns[0], tile.config.is_turned
    made = seen(
        tile.control,
        {
            "seen_has_block": "has_block",
            "seen_write_beat": "write_beat",
            "seen_read_beat": "read_beat",
            "seen_back_enable": "back_enable",
        },
    )
    ports = made["ports"]
    key = len(ports[f"{column}_key"]["bits"])
    wires = {"read_key": f"{column}_key", "read_first": f"{column}_is_first", "read_last": f"{column}_is_last"}
    ports |= {name: {"direction": "output", "bits": ports[wire]["bits"]} for name, wire in wires.items()}
    ports["written_key"] = {"direction": "input", "bits": ports[f"{IN_FRONT}_keys"]["bits"][:key]}
    return _stage(
        tile,
        _first(made) if turned else made,
        "order",
        "the n-th row at the quantizers is the n-th that entered, and each column has its number of a row, under the "
        "largest key of the column in its own tile",
        store=tile.stored[1 if turned else 0],
        first_crossed=False if turned else None,
        front=tile.front,
        back=tile.back,
        key=key,
        written=ports[f"{IN_FRONT}_numbers"]["bits"][: len(ports[f"{column}_numbers"]["bits"])],
    )


def _first(control: dict) -> dict:
    """The control up to the second stores, which are a receiver."""
    made = cut(seen(control, {"o_valid": "has_result"}), "takes_result", control["ports"])
    made["ports"]["o_ready"] = made["ports"].pop("cut_takes_result")
    return made


def turning(tile: Tile | Nvfp4Tile) -> Induction:
    """The order of the results in the second stores, which turn the codes of the columns."""
    names = ("has_block", "write_beat", "read_beat", "back_enable")
    made = seen(tile.control, {f"seen_{name}": f"{TURNING}{name}" for name in names} | {"i_ready": "takes_result"})
    made = cut(made, "has_result", made["ports"])
    made["ports"]["i_valid"] = made["ports"].pop("cut_has_result")
    return _stage(
        tile,
        made,
        "turn",
        "the n-th result is the n-th block of a row that entered, with the code of each bank that is at its place",
        store=tile.transposing[1],
        first_crossed=True,
        front=[],
        back=[f"valid_{TURNED_STAGE}_q"],
        key=0,
        written=tile.turned_word,
    )


def nvfp4_order(tile: Nvfp4Tile) -> Induction:
    """The order of the rows, and of the numbers of a bank."""
    names = ("has_block", "write_beat", "read_beat", "back_enable")
    made, exchanged = tile.control, tile.control["ports"][f"{NUMBERS}_by_row"]["bits"]
    outside = {name: port for name, port in made["ports"].items() if name in tile.OUTSIDE}
    made = seen({**made, "ports": outside}, {f"seen_{name}": name for name in names})
    return _stage(
        tile,
        _first(made) if tile.config.is_turned else made,
        "order",
        "the n-th row at its encoder is the n-th that entered, and each bank then has its number of column n of that "
        "tile",
        store=tile.stored[1],
        first_crossed=False,
        front=[],
        back=tile.back,
        key=0,
        written=exchanged[: tile.config.numerics.source.bits],
    )


def orders(tile: Tile | Nvfp4Tile) -> tuple[Induction, ...]:
    """The statements about the order in a tile encoder."""
    first = nvfp4_order(tile) if isinstance(tile, Nvfp4Tile) else order(tile)
    return (first, turning(tile)) if tile.config.is_turned else (first,)


def tile_questions(tile: Tile | Nvfp4Tile) -> Iterator[Question]:
    """The questions about the order in a tile encoder."""
    for system in orders(tile):
        yield from system.questions()
        yield system.depends_on_registers(f"{system.name}-valid", "o_valid", "it does not wait for o_ready")
        yield system.can_happen(
            "a whole tile can enter and leave after a reset", 2 * tile.side + len(tile.front) + len(tile.back) + 1
        )
    for instance in tile.exchanges:
        yield exchange(tile, instance)


def exchange(tile: Tile | Nvfp4Tile, instance: str) -> Question:
    """The lemma that the word of each column goes to its row."""
    part, side, width = tile.exchange(instance), tile.side, tile.exchanges[instance]
    bits = (side - 1).bit_length()
    columns, rows = (part.wire(name, "s") for name in ("by_column", "by_row"))
    place = vector(part.wire("place", "s"), bits)

    def lane(word: str, number: str) -> str:
        shift = f"(bvmul {number} (_ bv{width} {side * width}))"
        return f"((_ extract {width - 1} 0) (bvlshr {word} {shift}))"

    def wide(number: str) -> str:
        return f"((_ zero_extend {side * width - bits}) {number})"

    return lemma(
        instance.replace("_", "-"),
        "row r gets the word of column r ^ place",
        ("row",),
        part.text,
        part.state("s"),
        declared({"row": bits}),
        holds=f"(= {lane(rows, wide('row'))} {lane(columns, wide(f'(bvxor row {place})'))})",
        is_inner=True,
    )


def _stage(
    tile: Tile | Nvfp4Tile,
    control: dict,
    name: str,
    claim: str,
    *,
    store: Store,
    first_crossed: bool | None,
    front: list[str],
    back: list[str],
    key: int,
    written: list,
) -> Induction:
    """The order in a store; ``first_crossed`` is of a store in banks."""
    banked, side = first_crossed is not None, tile.side
    word, inner = len(written), ("numbers", "keys", "by_row")
    outside = {port: about for port, about in control["ports"].items() if not port.endswith(inner)}
    control = tile.with_words({**control, "ports": outside}, store, written, is_cut=banked)
    for valid, wires in (("front", front), ("back", back)):
        if wires:
            nets = control["netnames"]
            if missing := [wire for wire in wires if wire not in nets]:
                raise StructureError(f"{tile.design.top} has no register {missing[0]}")
            bits = [bit for wire in wires for bit in nets[wire]["bits"]]
            control["ports"][f"seen_{valid}"] = {"direction": "output", "bits": bits}
    widths = {
        "FRONT": len(front),
        "BACK": len(back),
        "BEATS": side,
        "PLACE": (side - 1).bit_length(),
        "KEY": max(key, 1),
        "WORD": word,
        "BANKED": int(banked),
        "FIRST_CROSSED": int(bool(first_crossed)),
    }
    wrapper = _wrapper(tile, control, widths)
    wrong = list[str]()
    for fault in WRONG:
        for of_lanes, of_tiles in WORDS.items():
            fault = fault.replace(of_lanes, of_tiles)
        wrong.append(fault)
    return Induction(
        name=name,
        claim=claim,
        top=TOP,
        relation=transitions(tile.design, control, "order.sv", wrapper, TOP),
        related=RELATIONS,
        wrong=tuple(wrong),
        shown={
            **dict.fromkeys(("rst", "i_valid", "i_ready", "o_valid", "o_ready", "o_first", "o_last"), 1),
            **({"key": key, "o_key": key} if key else {}),
            "word": word,
            "o_word": word,
        },
    )


def _wrapper(tile: Tile | Nvfp4Tile, control: dict, widths: dict[str, int]) -> str:
    """The module that connects a part of the design and the statements, with these parameters. It drops the ports of
    ``control`` that it does not connect."""
    has_key = "read_key" in control["ports"]
    front, back, key, word, place = (widths[name] for name in ("FRONT", "BACK", "KEY", "WORD", "PLACE"))
    counted, crossed = place + widths["BANKED"], widths["FIRST_CROSSED"]
    connected = {
        **{port: port for port in ("clk", "rst", "i_valid", "i_ready", "o_valid", "o_ready")},
        **{f"seen_{wire}": wire for wire in ("has_block", "write_beat", "read_beat", "words", "back_enable")},
        "seen_front": f"front_valid[{front}:1]",
        "seen_back": "back_valid",
        f"{IN_FRONT}_enable": "front_enable",
        **{wire: wire for wire in ("read_first", "read_last", "read_word", "read_key", "written_word", "written_key")},
        **{wire: wire for wire in ("write_address", "read_address")},
    }
    control["ports"] = {port: about for port, about in control["ports"].items() if port in connected}
    free = [] if has_key else ["assign read_key = 0;"]
    if "read_first" not in control["ports"]:  # of the marks at the output, which `check_marks` checks
        free += [f"assign read_first = read_beat[{place - 1}:0] == 0, read_last = &read_beat[{place - 1}:0];"]
    if f"{IN_FRONT}_enable" not in control["ports"]:
        free += ["assign front_enable = i_ready;"]
    for way, test in (("write", f"write_odd ^ 1'b{crossed}"), ("read", f"~read_odd ^ 1'b{crossed}")):
        free += [f"assign {way}_address = {way}_beat ^ ({{{place}{{{test}}}}} & bank);"]
    shared = (
        "clk rst i_valid i_ready o_valid o_ready mark chosen key word front_enable back_enable read_key read_word "
        "read_first read_last written_key written_word has_block front_valid back_valid words bank write_odd read_odd "
        "o_key o_word o_first o_last assumed wrong related"
    )
    return f"""module {TOP}(input clk, rst, i_valid, o_ready, mark, input [{place - 1}:0] chosen,
  input [{key - 1}:0] {"key" if has_key else "unused"}, input [{word - 1}:0] word, output i_ready, o_valid,
  output [{key - 1}:0] o_key, output [{word - 1}:0] o_word, output o_first, o_last, assumed,
  output [{len(WRONG) - 1}:0] wrong, output [{RELATIONS - 1}:0] related);
  reg [{place - 1}:0] bank;
  always @(posedge clk) bank <= bank;
  wire [{key - 1}:0] {"" if has_key else "key = 0, "}read_key, written_key;
  wire [{word - 1}:0] read_word, written_word;
  wire [{place - 1}:0] write_address, read_address;
  wire front_enable, back_enable, read_first, read_last, has_block;
  wire [{counted - 1}:0] write_beat, read_beat;
  wire write_odd = write_beat[{counted - 1}], read_odd = read_beat[{counted - 1}];
  wire [{front}:0] front_valid;
  wire [{back - 1}:0] back_valid;
  wire [{word * tile.side - 1}:0] words;
  assign front_valid[0] = i_valid;
  {" ".join(free)}
  {tile.design.top} design({", ".join(f".{port}({connected[port]})" for port in control["ports"])});
  mxcast_order #({", ".join(f".{name}({value})" for name, value in widths.items())}) order(.mode(1'b0),
    .read_mode(1'b0), .can_write(1'b1), .running_key(read_key), .half_marks(2'b0), .odd(1'b0),
    .write_beat(write_beat[{place - 1}:0]), .read_beat(read_beat[{place - 1}:0]),
    {", ".join(f".{wire}({wire})" for wire in shared.split())});
endmodule
"""
