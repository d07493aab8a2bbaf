"""A Verilated design on many transactions at a time, which is several times faster for millions of them.

Verilator writes a design without registers as one function, straight through from inputs to outputs. Here its variables
become rows of as many values as transactions are computed together, and the C++ compiler makes vectors of the loop over
a row. Every value is computed by the same expression as before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.resources import files

from ....spec import Port
from ...transactions import data_ports, word

MANY = 64
"""Transactions that are computed together."""
OPTIONS = ["-O3", "-DVL_NO_BUILTINS"]
"""Options of the compiler. Verilator's parity by a builtin function would prevent vectors."""

CALLED = re.compile(r"\b(Vdut___024root___ico_\w+)\(vlSelf\)")
BODY = r"^void {}\(Vdut___024root\* vlSelf\) {{\n(.*?)^}}\n"
PROLOGUE = re.compile(r"^.*(?:VL_DEBUG_IF|VL_ATTR_UNUSED|auto& vlSelfRef).*\n", re.MULTILINE)
MEMBER = re.compile(r"\bvlSelfRef\s*\.\s*(\w+)(?:\s*\[\s*(\w+)\s*\])?")
ASSIGNED = re.compile(r"^\s*many\.(\w+)(?:\[(\w+)\])?\[lane\]\s*=(?!=)", re.MULTILINE)
OTHER = re.compile(r"\b(?:vl[A-Z]\w*|Vdut\w*|Vl\w+|static|VL_(?!EXTENDS?_|SHIFT[LR]S?_|REDXOR_|[GL]TE?S_|MULS_)\w+)")
"""Names that a function may not have: its object, wide variables, and macros that do more than compute."""


def many_text(generated: str, ports: Sequence[Port]) -> str | None:
    """C++ that evaluates `MANY` transactions at a time, from the C++ that Verilator made, or None.

    It is None unless the design is one function that reads input ports and assigns every word of the output ports, and
    nothing else outlives it.
    """
    body = _body(generated)
    if body is None:
        return None
    inputs, outputs = data_ports(ports, "input"), data_ports(ports, "output")
    used: set[str] = set()

    def row(match: re.Match[str]) -> str:
        name, place = match.groups()
        used.add(name)
        return f"many.{name}{f'[{place}]' if place else ''}[lane]"

    text = MEMBER.sub(row, body)
    assigned = {(name, int(place.rstrip("U") or "0", 0)) for name, place in ASSIGNED.findall(text)}
    wanted = {(port.name, place) for port in outputs for place in range(_words(port) or 1)}
    if OTHER.search(text) or not used <= {port.name for port in ports} or assigned != wanted:
        return None
    members = "".join(f"    {_word(port)} {port.name}{_size(port)}[MANY];\n" for port in (*inputs, *outputs))
    drive = "".join(
        f"    {{\n        {_word(port)} one{_size(port)} = {{}};\n"
        f"        put<{port.lanes}, {port.bits}>(one, in[{number}] + row * {_length(port)}, false);\n"
        f"        {_each(port, f'many.{port.name}', 'one', to_row=True)}\n    }}\n"
        for number, port in enumerate(inputs)
    )
    collect = "".join(
        f"    {{\n        {_word(port)} one{_size(port)};\n"
        f"        {_each(port, f'many.{port.name}', 'one', to_row=False)}\n"
        f"        get<{port.lanes}, {port.bits}>(one, out[{number}] + row * {_length(port)});\n    }}\n"
        for number, port in enumerate(outputs)
    )
    return f"""
namespace {{

constexpr unsigned MANY = {MANY};

struct Many {{
{members}}};

void drive_many(Many& many, const uint8_t* const* in, uint64_t row, unsigned lane) {{
{drive}}}

void collect_many(const Many& many, uint8_t* const* out, uint64_t row, unsigned lane) {{
{collect}}}

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
void evaluate(Many& many) {{
#pragma GCC ivdep
    for (unsigned lane = 0; lane < MANY; ++lane) {{
{text}    }}
}}

}}  // namespace
{(files(__package__) / "loop" / "many.cpp").read_text()}"""


def _body(generated: str) -> str | None:
    """The statements of the one function that computes outputs from inputs, or None if there are several."""
    evaluation = re.search(BODY.format("Vdut___024root___eval_ico"), generated, re.MULTILINE | re.DOTALL)
    called = set(CALLED.findall(evaluation[1])) if evaluation else set()
    found = re.search(BODY.format(*called), generated, re.MULTILINE | re.DOTALL) if len(called) == 1 else None
    return PROLOGUE.sub("", found[1]) if found else None


def _words(port: Port) -> int:
    """Words of a port of more than 64 bits, otherwise 0."""
    return -(-port.width // 32) if port.width > 64 else 0


def _word(port: Port) -> str:
    """The C++ type of a port, or of its words."""
    bits = 32 if _words(port) else next(bits for bits in (8, 16, 32, 64) if port.width <= bits)
    return f"uint{bits}_t"


def _size(port: Port) -> str:
    return f"[{_words(port)}]" if _words(port) else ""


def _length(port: Port) -> int:
    return port.lanes * word(port).itemsize


def _each(port: Port, rows: str, one: str, *, to_row: bool) -> str:
    """A statement that copies the words of a port to or from a lane."""
    place = "[place]" if _words(port) else ""
    sides = f"{rows}{place}[lane]", f"{one}{place}"
    loop = f"for (unsigned place = 0; place < {_words(port)}; ++place) " if place else ""
    return f"{loop}{' = '.join(sides if to_row else sides[::-1])};"
