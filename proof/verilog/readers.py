"""Yosys' two readers of SystemVerilog. They have nothing in common, so what one gets wrong the other should not."""

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
    """The readers that this Yosys has."""

    def compute(folder: Path) -> bool:
        execute(["help read_slang"], folder)  # succeeds whatever it is asked for
        return "Read SystemVerilog sources" in (folder / "yosys.log").read_text()

    return [READ_VERILOG, *[SLANG] * bool(kept_result("yosys-readers", [yosys_version()], compute))]


FAULTS = ("failed inside", "Assert", "crashed")
"""Words in what slang says when the fault is its own."""
STRUCTURES = ("PackedStructType", "PackedUnionType")


def refusal(reader: str, design: Elaboration) -> str | None:
    """Why a reader is not asked, as it is known to misread the design; None where it is."""
    if reader == READ_VERILOG and design.packed_arrays & {*STRUCTURES}:
        return "read_verilog misreads arrays of packed structures"
    if reader == READ_VERILOG and (name := design.recursive_function):
        return f"read_verilog may go on without an end where a function calls itself, as {name} does"
    return None


def reliance(unread: Mapping[str, str], design: Elaboration) -> str | None:
    """Why what read_verilog alone has read is not enough; None where it is."""
    if SLANG not in unread:
        return None
    if any(words in unread[SLANG] for words in FAULTS):
        return f"{unread[SLANG]}: what read_verilog alone makes of such a text is not trusted"
    for tree in design.compilation.getSyntaxTrees():
        if kind := beyond_plain_verilog(tree.root):
            return f"{unread[SLANG]}: read_verilog alone is not trusted with this ({words(kind)})"
    if design.has_signed_numbers:
        return f"{unread[SLANG]}: read_verilog alone is not trusted with signed numbers"
    if port := design.widened_connection:
        return f"{unread[SLANG]}: read_verilog alone is not trusted with a number that is widened for the port {port}"
    if "PackedArrayType" in design.packed_arrays:
        return f"{unread[SLANG]}: read_verilog alone is not trusted with indices of inner dimensions"
    return None


def reading(reader: str, file: str, top: str, parameters: Mapping[str, str]) -> list[str]:
    """The commands that read the module ``top`` of a file, which is in the folder where they run, up to its
    hierarchy.
    """
    if reader == SLANG:
        chosen = "".join(f" -G {name}={value}" for name, value in parameters.items())
        return [f"read_slang {SLANG_OPTIONS} --top {top}{chosen} {file}", f"hierarchy -check -top {top}"]
    chosen = "".join(f" -chparam {name} {value}" for name, value in parameters.items())
    return [f"read_verilog -sv {file}", f"hierarchy -check -top {top}{chosen}"]
