"""The two SystemVerilog readers of Yosys. They share no code, so they should not share mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...host.cache import kept_result
from ...synth.yosys import execute, yosys_version
from .elaboration import Elaboration
from .plain_verilog import beyond_plain_verilog
from .processes.expressions import words

READ_VERILOG, SLANG = "read_verilog", "slang"

SLANG_OPTIONS = (
    "--no-proc --keep-hierarchy --ignore-timing --ignore-assertions --allow-use-before-declare "
    "--relax-enum-conversions --allow-merging-ansi-ports"
)


def readers() -> list[str]:
    """The readers of the installed Yosys."""

    def compute(folder: Path) -> bool:
        execute(["help read_slang"], folder)  # succeeds for any name
        return "Read SystemVerilog sources" in (folder / "yosys.log").read_text()

    return [READ_VERILOG, *[SLANG] * bool(kept_result("yosys-readers", [yosys_version()], compute))]


FAULTS = ("failed inside", "Assert", "crashed")
"""Words in messages of slang about its own faults."""
STRUCTURES = ("PackedStructType", "PackedUnionType")


def refusal(reader: str, design: Elaboration) -> str | None:
    """The reason why a reader is known to misread a design, or None."""
    if reader == READ_VERILOG and design.packed_arrays & {*STRUCTURES}:
        return "read_verilog misreads arrays of packed structures"
    if reader == READ_VERILOG and (name := design.recursive_function):
        return f"read_verilog may not end for a function that calls itself, as {name} does"
    return None


def reliance(unread: Mapping[str, str], design: Elaboration) -> str | None:
    """The reason why a design that only read_verilog could read is not trusted, or None."""
    if SLANG not in unread:
        return None
    if any(words in unread[SLANG] for words in FAULTS):
        return f"{unread[SLANG]}: read_verilog alone is not trusted with such a text"
    for tree in design.compilation.getSyntaxTrees():
        if kind := beyond_plain_verilog(tree.root):
            return f"{unread[SLANG]}: read_verilog alone is not trusted with this ({words(kind)})"
    if design.has_signed_numbers:
        return f"{unread[SLANG]}: read_verilog alone is not trusted with signed numbers"
    if port := design.widened_connection:
        return f"{unread[SLANG]}: read_verilog alone is not trusted with the widened number at the port {port}"
    if "PackedArrayType" in design.packed_arrays:
        return f"{unread[SLANG]}: read_verilog alone is not trusted with indices of inner dimensions"
    return None


def reading(reader: str, file: str, top: str, parameters: Mapping[str, str]) -> list[str]:
    """The commands that read the module ``top`` of a file in the current folder, and its hierarchy."""
    if reader == SLANG:
        chosen = "".join(f" -G {name}={value}" for name, value in parameters.items())
        return [f"read_slang {SLANG_OPTIONS} --top {top}{chosen} {file}", f"hierarchy -check -top {top}"]
    chosen = "".join(f" -chparam {name} {value}" for name, value in parameters.items())
    return [f"read_verilog -sv {file}", f"hierarchy -check -top {top}{chosen}"]
