"""Draw the pictures of docs/architecture.md: `python docs/pictures.py` writes docs/pictures/*.svg, light and dark.

Directions of imports, widths and the example block come from the code, so a picture that is out of date is noticed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

import numpy as np

import mxcast
from mxcast.hdl import converter_config
from mxcast.hdl.encode.operand import scale_key_layout, special_flags

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
STYLE = """
text { font: 14px system-ui, sans-serif; fill: #1d2433; text-anchor: middle }
.name { font-weight: 600 } .small { font-size: 12px; fill: #56607a } .code { font: 12px ui-monospace, monospace }
.left { text-anchor: start }
rect { fill: #eef2fb; stroke: #7c8bb0; rx: 6px } .other rect { fill: #eaf5ee; stroke: #6f9f83 }
.end rect { fill: #fdf1e3; stroke: #c08a4a }
path { fill: none; stroke: #56607a; stroke-width: 1.4; marker-end: url(#tip) } #tip path { fill: #56607a; stroke: none }
@media (prefers-color-scheme: dark) {
text { fill: #e6e9ee } .small { fill: #a3adc2 } path { stroke: #a3adc2 } #tip path { fill: #a3adc2 }
rect { fill: #232b3d; stroke: #7585ad } .other rect { fill: #1f3229; stroke: #6f9f83 }
.end rect { fill: #3a2d1c; stroke: #c08a4a }
}
"""
TIP = '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'


def picture(title: str, width: int, height: int, parts: Iterator[str]) -> str:
    """An SVG of these parts, which follows the colours of the reader's system."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    tip = f'<defs>{TIP}<path d="M0 0L8 4L0 8z" style="marker-end: none"/></marker></defs>'
    return "\n".join([head, f"<title>{escape(title)}</title><style>{STYLE}</style>", tip, *parts, "</svg>\n"])


def text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(words)}</text>'


def box(x: float, y: float, width: float, name: str, *lines: str, kind: str = "", line: str = "small") -> str:
    """A box with a name and lines below it; (x, y) is the middle of its upper edge."""
    parts = [f'<rect x="{x - width / 2:g}" y="{y:g}" width="{width:g}" height="{height_of(*lines)}"/>']
    parts += [text(x, y + 21, name, "name")]
    parts += [text(x, y + 39 + 17 * number, words, line) for number, words in enumerate(lines)]
    return f'<g class="{kind}">{"".join(parts)}</g>'


def height_of(*lines: str) -> int:
    return 32 + 17 * len(lines)


def arrow(*points: tuple[float, float]) -> str:
    return f'<path d="M{"L".join(f"{x:g} {y:g}" for x, y in points)}"/>'


ROOMS = {
    "api": (2, 6, "the stable interface"),
    "cli": (2, 5, "the command"),
    "proof": (3, 4, "proved for every input"),
    "conformance": (2.6, 3, "whose rules is this?"),
    "native": (3.7, 3, "the golden model in C"),
    "explore": (5, 3, "what is worth building"),
    "explain": (0, 2, "one block, step by step"),
    "tensors": (1, 2, "files and checkpoints"),
    "compare": (2, 2, "two sets of rules"),
    "sim": (3.4, 2, "model against hardware"),
    "synth": (4.5, 2, "what it costs"),
    "models": (1, 1, "which bits are right"),
    "hdl": (3.9, 1, "how hardware computes"),
    "spec": (1.6, 0, "formats, operations, profiles: data only"),
    "host": (4.5, 0, "files, cache, processes"),
}
"""Column, row from below and caption of each room with code."""
AROUND = {
    ("explore", "models"): (2.7, 2),
    ("tensors", "host"): (2.3, 1),
    ("cli", "explore"): (4.6, 4),
    ("cli", "native"): (3.8, 4),
}
"""Columns and rows that arrows pass through, between the rooms there."""


def allowed() -> dict[str, set[str]]:
    """Rooms that each room may import, as tests/house/test_structure.py enforces it."""
    for node in ast.parse((ROOT / "tests/house/test_structure.py").read_text()).body:
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "ALLOWED"
            and isinstance(node.value, ast.Dict)
        ):
            rows = (
                (ast.unparse(key), ast.unparse(value)) for key, value in zip(node.value.keys, node.value.values) if key
            )
            return {
                ast.literal_eval(key): set(ast.literal_eval(value)) if value != "set()" else set()
                for key, value in rows
            }
    raise AssertionError("tests/house/test_structure.py has no ALLOWED")


def direct(imports: Mapping[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Imports that no longer way implies: an arrow each."""
    reached: dict[str, set[str]] = {}

    def below(room: str) -> set[str]:
        if room not in reached:
            reached[room] = imports[room].union(*(below(other) for other in imports[room]))
        return reached[room]

    for room, others in imports.items():
        yield from ((room, other) for other in sorted(others) if not any(other in below(o) for o in others))


def rooms() -> str:
    """Every room with code, and arrows to what it imports."""
    imports = {room: others for room, others in allowed().items() if room not in ("data", "records")}
    if set(imports) != set(ROOMS):
        raise AssertionError(f"docs/pictures.py places {sorted(set(imports) ^ set(ROOMS))} in one table only")

    def place(column: float, row: int) -> tuple[float, float]:
        return 95 + 160 * column, 10 + 92 * (6 - row)

    def parts() -> Iterator[str]:
        for room, other in direct(imports):
            (x, y), end = place(*ROOMS[room][:2]), place(*ROOMS[other][:2])
            between = [place(*AROUND[room, other])] if (room, other) in AROUND else []
            yield arrow((x, y + 49), *((at, down + edge) for at, down in between for edge in (0, 49)), end)
        for room, (_, _, caption) in ROOMS.items():
            kind = {"models": "other", "hdl": "end"}.get(room, "")
            yield box(*place(*ROOMS[room][:2]), 300 if room == "spec" else 152, room, caption, kind=kind)

    return picture("The rooms of mxcast; an arrow leads to what a room imports", 990, 625, parts())


EXAMPLE = "1.875, -0.3, 0.01"


def encoder() -> str:
    """A block of 32 numbers on its way through the three stages of an encoder to E4M3, with widths in bits."""
    config = converter_config("e4m3")
    numbers, scale, codes = (port.bits * port.lanes for port in config.ports)
    bits, key, flags = config.ports[0].bits, scale_key_layout(config).size, len(special_flags(config.numerics))
    block = np.zeros(32, np.float32)
    block[:3] = [float(value) for value in EXAMPLE.split(",")]
    q = mxcast.quantize(block, "e4m3", profile="ocp")
    byte, first = int(q.scales[0]), " ".join(f"{code:02X}" for code in q.codes[:3])

    def parts() -> Iterator[str]:
        top = 70
        yield text(75, top + 18, "x", "name")
        yield text(75, top + 38, f"32 x {bits} bits", "small")
        yield text(75, top + 58, EXAMPLE, "code")
        yield arrow((140, top + 25), (188, top + 25))
        yield box(280, top - 10, 180, "AmaxTree", "largest magnitude", "of 32, as a key", kind="end")
        yield text(280, top + 78, "1.875 = 1.875 x 2^0", "code")
        yield arrow((370, top + 25), (438, top + 25))
        yield text(404, top + 15, f"key: {key}", "small")
        yield box(530, top - 10, 180, "ScaleUnit", "scale byte and", "flags for the lanes", kind="end")
        yield text(530, top + 78, f"0 - 8 = {byte - 127}, byte {byte}", "code")
        yield arrow((620, top + 25), (688, top + 25))
        yield text(654, top + 15, f"{scale} + {flags}", "small")
        yield box(780, top - 10, 180, "ElementQuantizer", "32 lanes, each for", "one number", kind="end")
        yield text(780, top + 78, f"nearest to x / 2^{byte - 127}", "code")
        yield arrow((870, top + 25), (918, top + 25))
        yield text(965, top + 18, "p", "name")
        yield text(965, top + 38, f"32 x {codes // 32} bits", "small")
        yield text(965, top + 58, first, "code")
        yield arrow((530, top - 10), (530, 32), (918, 32))
        yield text(965, 28, "scale", "name")
        yield text(965, 46, f"{scale} bits: {byte}", "small")
        yield f'<path d="M75 {top + 70}V{top + 112}H780V{top + 92}"/>'
        yield text(530, top + 130, f"the numbers themselves: {numbers} bits", "small")

    return picture("A block on its way through an encoder, from 32 numbers to a scale and 32 codes", 1030, 215, parts())


def proof() -> str:
    """The way of a proof, from a file of Verilog and an operation to a verdict."""

    def parts() -> Iterator[str]:
        yield box(130, 20, 220, "design.v", "the written file", kind="end")
        yield arrow((240, 44), (298, 44))
        yield box(405, 10, 210, "verilog/text", "a reading for each", "choice of macros")
        yield arrow((510, 44), (568, 44))
        yield box(675, 10, 210, "verilog/gate", "slang elaborates it;", "ambiguous text is refused")
        yield arrow((675, 76), (560, 110))
        yield arrow((675, 76), (790, 110))
        yield box(560, 112, 200, "Yosys: read_verilog", "netlist and functions")
        yield box(790, 112, 200, "Yosys: read_slang", "netlist and functions")
        yield arrow((560, 161), (640, 195))
        yield arrow((790, 161), (710, 195))
        yield box(
            675,
            197,
            320,
            "netlist",
            "one lane represents all; registers become",
            "wires; what no question covers is checked",
        )
        yield box(130, 112, 220, "an operation", "formats and rules", kind="other")
        yield arrow((130, 161), (130, 195))
        yield box(130, 197, 220, "specification", "which results are right,", "as inequalities", kind="other")
        yield arrow((130, 263), (300, 304))
        yield arrow((675, 263), (510, 304))
        yield box(
            405,
            305,
            320,
            "questions",
            "can the design differ from the specification?",
            "SMT-LIB, for each of the two readings",
        )
        yield arrow((405, 371), (405, 404))
        yield box(405, 405, 320, "solve", "an SMT solver answers each question:", "no, yes with values, or no answer")
        yield arrow((320, 471), (170, 504))
        yield arrow((405, 471), (405, 504))
        yield arrow((490, 471), (650, 504))
        yield box(130, 505, 230, "PASS", "every question: no", kind="end")
        yield box(405, 505, 250, "FAIL", "a block that differs, simulated", kind="end")
        yield box(675, 505, 230, "inconclusive", "time ran out", kind="end")

    return picture("A proof on its way from a file of Verilog to a verdict", 910, 565, parts())


DRAWN = {"rooms": rooms, "encoder": encoder, "proof": proof}

if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, draw in DRAWN.items():
        (PICTURES / f"{name}.svg").write_text(draw())
        print(f"docs/pictures/{name}.svg")
