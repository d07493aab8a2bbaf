"""A column of a tile encoder is, cycle by cycle, an encoder with one lane, whose every bit `prove` proves.

Yosys compares the two designs by their registers, the words of the stores among them: for any state in which registers
that belong together are equal, and any input, they are equal after the next edge, and so are the outputs. The proof of
the encoder with one lane holds from any state on, if a reset follows.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, tile_config, verilog
from mxcast.hdl.emission.modules import body
from mxcast.host.errors import ToolError
from mxcast.synth.yosys import execute

from ...hdl.planted import planted

REGISTERS = [
    "proc -norom",
    "flatten",
    "memory_collect",
    "memory_map",
    "opt_clean",
    "simplemap",
    "opt_clean",
    "splitnets",
    "select -set registers t:$_*DFF* %co:+[Q] w:* %i",
    "rename -hide w:* @registers %d x:* %d",  # other wires of the same name need not be the same
    "opt_clean",
]
"""Yosys' commands for a flat module of which only ports and registers have names."""

HEAD = (
    "module {name}(input clk, rst, input [{bits}-1:0] x, input [{others}-1:0] others, input i_valid, o_ready, "
    "output i_ready, o_valid, output [7:0] scale, output [{code}-1:0] p{marks});\n"
)
SHARED = "{name} dut(.clk(clk), .rst(rst), .i_valid(i_valid), .i_ready(i_ready), .o_valid(o_valid), .o_ready(o_ready), "


def are_equal(commands: list[str], folder: Path, least: int) -> bool:
    """Are the modules gold and gate equal, in at least so many bits? The commands make the two, and keep them."""
    done = folder / "equal.v"
    done.unlink(missing_ok=True)
    compared = [f"design -copy-from {top} -as {top} {top}" for top in ("gold", "gate")]
    compared += ["equiv_make gold gate both", "hierarchy -top both", "equiv_simple", "equiv_status -assert"]
    try:
        execute([*commands, *compared, "write_verilog equal.v"], folder)
    except ToolError as error:
        if not re.search(r"unproven \$equiv cells|Object `dut.block_store.words.* not found", str(error)):
            raise
        return False
    proven = re.search(r"(\d+) are proven and 0 are unproven", (folder / "yosys.log").read_text())
    assert done.exists() and proven and int(proven[1]) >= least
    return True


def width(text: str, wire: str) -> int:
    """The width of the first port or register of this name."""
    found = re.search(rf"(?:input|output|reg) (?:\[(\d+):0\] )?{wire}\b", body(text))
    assert found, wire
    return int(found[1] or 0) + 1


def is_column_equal(tile: str, narrow: str, side: int, column: int, folder: Path) -> bool:
    """Does a column of the tile encoder ``square`` have the same registers and outputs as the encoder ``narrow``?"""
    number, bits, code, word = f"{column:0{len(str(side - 1))}}", width(narrow, "x"), width(narrow, "p"), 0
    for ours, theirs in {
        f"column_codes_{number} (": "beat_codes (",
        f"column_key_{number} (": "key_accumulator (",
        " tile_store (": " block_store (",
    }.items():
        assert tile.count(ours) == 1, ours
        tile = tile.replace(ours, theirs)
    tile = tile.replace("o_ready);", "o_ready, scales);", 1)  # the scales of all columns, before one is chosen
    tile = re.sub(r"  wire (\[\d+:0\]) scales;", r"  output \1 scales; wire \1 scales;", tile, count=1)
    word = width(narrow, "words")
    marks = () if column else ("o_first", "o_last")  # the tile takes them from its first column
    names = {"bits": bits, "others": bits * (side - 1), "code": code, "marks": "".join(f", output {m}" for m in marks)}
    end = "".join(f", .{mark}({mark})" for mark in marks) + ");\nendmodule\n"
    low = [f"others[{bits * column - 1}:0]"] if column else []
    high = [f"others[{bits * (side - 1) - 1}:{bits * column}]"] if column < side - 1 else []
    x = ", ".join([*high, "x", *low])
    gold = HEAD.format(name="gold", **names) + SHARED.format(name="narrow") + ".x(x), .scale(scale), .p(p)" + end
    gate = HEAD.format(name="gate", **names) + (
        f"  wire [{8 * side - 1}:0] scales; wire [{code * side - 1}:0] codes;\n"
        f"  assign scale = scales[{8 * column} +: 8];\n  assign p = codes[{code * column} +: {code}];\n  "
        + SHARED.format(name="square")
        + f".x({{{x}}}), .column_p(codes), .scales(scales)"
        + end
    )
    for name, text in {"square": tile, "narrow": narrow, "gold": gold, "gate": gate}.items():
        (folder / f"{name}.v").write_text(text)

    def flat(top: str, file: str, first: int) -> list[str]:
        """Commands that keep a flat module, whose stored bits have names of their own."""
        renamed = [
            f"rename \\dut.block_store.words[{beat}][{first + bit}] \\stored.{beat}.{bit}"
            for beat in range(side)
            for bit in range(word)
        ]
        reading = [f"read_verilog {file}.v {top}.v", f"hierarchy -check -top {top}", *REGISTERS]
        return [*reading, f"cd {top}", *renamed, "cd ..", f"design -stash {top}"]

    commands = [*flat("gold", "narrow", 0), *flat("gate", "square", word * column)]
    return are_equal(commands, folder, side * word + 1)  # every stored bit, and the rest


THROUGH = "module \\$_DFFE_PP_ (input D, C, E, output Q); assign Q = D; endmodule\n"
"""A wire in place of a register with an enable."""

FUNCTION = [
    *("setattr -mod -unset keep_hierarchy", "setattr -unset keep_hierarchy", "proc -norom", "flatten"),
    *("opt_expr", "opt_clean", "simplemap", "opt_expr", "opt_clean"),
    *("dfflegalize -cell $_DFFE_PP_ x", "techmap -map through.v", "opt_clean", "check -assert"),
]
"""Yosys' commands for a flat module with wires in place of registers."""


def is_row_equal(tile: str, whole: str, folder: Path) -> bool:
    """Do the modules of a row of the tile encoder ``square``, without registers, compute the function of the encoder
    ``whole``?"""
    keys = re.search(r"\nmodule square_tile_keys.*?^endmodule$", tile, re.M | re.S)
    assert keys
    key, numbers, x, p = width(keys[0], "key"), width(keys[0], "numbers"), width(whole, "x"), width(whole, "p")
    head = f"(input [{x - 1}:0] x, output [7:0] scale, output [{p - 1}:0] p);\n"
    gate = (
        f"  wire [{key - 1}:0] key; wire [{numbers - 1}:0] numbers;\n"
        "  square_tile_keys keys(.x(x), .key(key), .numbers(numbers));\n"
        "  square_beat_codes codes(.clk(1'b0), .enable(1'b1), .is_first(1'b1), .is_last(1'b0), .key(key), "
        ".numbers(numbers), .scale(scale), .p(p));\nendmodule\n"
    )
    gold = "  whole dut(.x(x), .scale(scale), .p(p));\nendmodule\n"
    for name, text in {
        "square": tile,
        "whole": whole,
        "through": THROUGH,
        "gold": f"module gold{head}{gold}",
        "gate": f"module gate{head}{gate}",
    }.items():
        (folder / f"{name}.v").write_text(text)
    commands = []
    for top, file in (("gold", "whole"), ("gate", "square")):
        commands += [
            f"read_verilog {file}.v {top}.v",
            f"hierarchy -check -top {top}",
            *FUNCTION,
            f"design -stash {top}",
        ]
    return are_equal(commands, folder, 8 + p)


CONFIGS = [
    ("e2m1", {"source": "bf16", "block_size": 4}),
    ("e4m3", {"block_size": 2, "specials": "te", "registered_after": "aligned,output"}),
]
MORE = [
    ("e4m3", {"source": "bf16", "target": "xcu"}),
    ("e5m2", {"input_subnormals": "flush", "scale_rule": "rceil"}),
    ("int8", {"source": "fp16", "registered_after": "output"}),
]


def texts(element: str, fields: dict) -> tuple[str, str, int]:
    """A tile encoder whose columns stay in place, the encoder with one lane, and the side of the tile."""
    tile = tile_config(element, columns="in_place", **fields)
    one = converter_config(element, lanes=1, **({**fields, "amax": "compare"} if "target" in fields else fields))
    return verilog(tile, "square"), verilog(one, "narrow"), tile.beats


@pytest.mark.parametrize(
    ("element", "fields"), [*CONFIGS, *(pytest.param(*one, marks=pytest.mark.slow) for one in MORE)]
)
def test_a_column_is_an_encoder_with_one_lane(element, fields, tmp_path):
    tile, narrow, side = texts(element, fields)
    for column in range(side) if side < 32 else (0, 17, 31):
        assert is_column_equal(tile, narrow, side, column, tmp_path), column


@pytest.mark.parametrize("columns", ["transposed", "in_place"])
@pytest.mark.parametrize(("element", "fields"), CONFIGS)
def test_a_row_is_a_block_of_the_whole_encoder(element, fields, columns, tmp_path):
    rules = {name: value for name, value in fields.items() if name != "registered_after"}
    tile, whole = tile_config(element, columns=columns, **fields), converter_config(element, **rules)
    text = verilog(tile, "square")
    assert is_row_equal(text, verilog(whole, "whole"), tmp_path)
    wrong = re.sub(r"(scale_unit scale_unit \([^;]*\.key\()key\)", r"\1key ^ 8'h1)", text)
    assert wrong != text and not is_row_equal(wrong, verilog(whole, "whole"), tmp_path)


BUGS = {
    "maximum of the previous tile": (r"(key_accumulator \w+ \([^;]*\.is_first\()writes_first\)", r"\g<1>1'h0)"),
    "key of the neighbour column": (r"(column_codes_1 \([^;]*\.key\()amax_1\)", r"\1amax_2)"),
    "number of the neighbour column": (r"(column_codes_1 \([^;]*\.numbers\()\w+\[25:13\]", r"\1stored[12:0]"),
    "store overwritten one cycle early": (r"assign i_ready = [^;]*;", "assign i_ready = 1'h1;"),
    "a bit is lost in the store": (
        r"assign stored = words\[read_beat\]",
        "assign stored = words[read_beat] & ~(1 << 20)",
    ),
    "reset forgotten": (r"(assign \w+ = )rst( \? 1'h0 : )", r"\g<1>1'h0\2"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug, tmp_path):
    tile, narrow, side = texts(*CONFIGS[0])
    tile = planted(tile, *BUGS[bug])
    assert not is_column_equal(tile, narrow, side, 1, tmp_path)
