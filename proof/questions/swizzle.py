"""Proof of the address generators for scales in tiles of 128 rows and 4 blocks, for every shape, row and block.

The specification is the formula of the layout (`spec.ScaleOrder.TILES_128X4`), in bit-vectors wide enough for every
sum and product. The inverse divides the number of a tile by the number T of tiles in a row, in steps. Before step i the
remainder is b * T * 2**i + y with y < T * 2**i, after it y; each step is proved for every b, y and T. The first
remainder has this form by the distributive law: the number of a tile is T times the number of its row of tiles, whose
bits are the b, plus a number below T.
"""

from __future__ import annotations

from pathlib import Path

from ...hdl.emission.modules import convert
from ...hdl.emission.swizzle import TILES_DOWN, SwizzleOffset, SwizzlePlace
from ..netlist.design import Cut, Design, Part
from ..solve.argument import Step, answered
from .question import Question, constant, declared, question

WIDTH = 34
"""More bits than the largest offset has."""
MOST = 1 << 16
"""Rows and blocks of the largest shape."""


def _value(number: int) -> str:
    return f"(_ bv{number} {WIDTH})"


def _wide(term: str, width: int) -> str:
    return f"((_ zero_extend {WIDTH - width}) {term})"


WORD = f"(_ BitVec {WIDTH})"
DEFINITIONS = f"""\
(define-fun tiles ((columns {WORD})) {WORD} (bvudiv (bvadd columns {_value(3)}) {_value(4)}))
(define-fun in_tile ((row {WORD}) (column {WORD})) {WORD}
  (bvadd (bvmul (bvurem row {_value(32)}) {_value(16)})
         (bvmul (bvudiv (bvurem row {_value(128)}) {_value(32)}) {_value(4)})
         (bvurem column {_value(4)})))
(define-fun tile ((row {WORD}) (column {WORD}) (columns {WORD})) {WORD}
  (bvadd (bvmul (bvudiv row {_value(128)}) (tiles columns)) (bvudiv column {_value(4)})))
(define-fun place ((row {WORD}) (column {WORD}) (columns {WORD})) {WORD}
  (bvadd (bvmul (tile row column columns) {_value(512)}) (in_tile row column)))
"""
ROW, COLUMN, ROWS, COLUMNS = _wide("row", 16), _wide("column", 16), _wide("rows", 17), _wide("columns", 17)
SHAPE = "".join(
    f"(assert (and (bvuge {size} {_value(1)}) (bvule {size} {_value(MOST)})))\n" for size in (ROWS, COLUMNS)
)
WITHIN = (
    f"(assert (bvult {COLUMN} (bvmul {_value(4)} (tiles {COLUMNS}))))\n"
    f"(assert (bvult {ROW} (bvmul {_value(128)} (bvudiv (bvadd {ROWS} {_value(127)}) {_value(128)}))))\n"
)
"""Rows and blocks of a shape, with the padding of the last tiles."""
PADDING = f"(or (bvuge {ROW} {ROWS}) (bvuge {COLUMN} {COLUMNS}))"


WIDTHS = {"rows": 17, "columns": 17, "row": 16, "column": 16, "offset": 32}


def _ports(part: Part, *names: str) -> str:
    """Constants that hold ports of a design."""
    return "".join(constant(name, WIDTHS[name], part.wire(name, "s")) for name in names)


def _offset(part: Part) -> Question:
    return question(
        "offset",
        "every row and block of every shape has its byte, and padding is flagged",
        ("rows", "columns", "row", "column", "offset"),
        DEFINITIONS,
        part.text,
        part.state("s"),
        _ports(part, "rows", "columns", "row", "column", "offset"),
        SHAPE,
        WITHIN,
        f"(assert (not (and (= {_wide('offset', 32)} (place {ROW} {COLUMN} {COLUMNS})) "
        f"(= {part.wire('is_padding', 's')} {PADDING}))))\n",
    )


def _left(part: Part, step: int) -> str:
    """The remainder before a step."""
    if step == TILES_DOWN - 1:
        return _wide("((_ extract 31 9) offset)", 23)
    if step < 0:
        return _wide("((_ extract 15 2) column)", 14)
    return _wide(part.wire(f"left_{step + 1}", "s"), 23)


def _step(part: Part, step: int) -> Question:
    shifted = f"(bvshl (tiles {COLUMNS}) {_value(step)})"
    before = f"(bvadd (ite b {shifted} {_value(0)}) y)"
    return question(
        f"step-{step}",
        f"step {step} of the division finds bit {step} of the row of tiles, and leaves the rest",
        ("columns", "y", "b"),
        DEFINITIONS,
        part.text,
        part.state("s"),
        _ports(part, "rows", "columns", "column", "offset"),
        SHAPE,
        declared({"b": 0, "y": WIDTH}),
        f"(assert (bvult y {shifted}))\n",
        f"(assert (= {_left(part, step)} {before}))\n",
        f"(assert (not (and (= {part.wire(f'down_{step}', 's')} b) (= {_left(part, step - 1)} y) "
        f"(bvult {before} (bvshl (tiles {COLUMNS}) {_value(step + 1)})))))\n",
    )


def _place(part: Part) -> Question:
    bits = "".join(
        f"(assert (= {part.wire(f'down_{bit}', 's')} (= ((_ extract {7 + bit} {7 + bit}) row) #b1)))\n"
        for bit in range(TILES_DOWN)
    )
    found = part.wire("column", "s")
    return question(
        "place",
        "with the row and the column of the tile, every byte has its row and block, and padding is flagged",
        ("rows", "columns", "row", "column", "offset"),
        DEFINITIONS,
        part.text,
        part.state("s"),
        declared({"row": 16, "column": 16}),
        _ports(part, "rows", "columns", "offset"),
        SHAPE,
        WITHIN,
        bits,
        f"(assert (= ((_ extract 15 2) {found}) ((_ extract 15 2) column)))\n",
        f"(assert (= (bvurem {_wide('offset', 32)} {_value(512)}) (in_tile {ROW} {COLUMN})))\n",
        f"(assert (not (and (= {part.wire('row', 's')} row) (= {found} column) "
        f"(= {part.wire('is_padding', 's')} {PADDING}))))\n",
    )


def prove_swizzle(folder: Path) -> list[Step]:
    """Prove that `SwizzleOffset` is the formula and `SwizzlePlace` its inverse; files stay in ``folder``.

    Returns a step for each question, up to the first that fails. Raises `ToolMissing` without Yosys or the solver.
    """
    parts = {}
    for name, component in (("offset", SwizzleOffset()), ("place", SwizzlePlace())):
        design = Design(convert(component, f"swizzle_{name}"), f"swizzle_{name}", folder / name)
        (parts[name],) = design.parts(Cut(design.top))
    steps = [_step(parts["place"], step) for step in reversed(range(TILES_DOWN))]
    questions = [_offset(parts["offset"]), *steps, _place(parts["place"])]
    return answered(questions, folder, solver="bitwuzla", timeout=300, say=lambda text: None)
