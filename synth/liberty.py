"""Standard cells of a user's Liberty file as a synthesis target."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ..host.files import regular
from .targets import LIBRARY, TARGETS, Target

CELL = re.compile(r"\bcell\s*\(\s*\"?(\w+)\"?\s*\)\s*\{")
FLIP_FLOP = re.compile(r"\bff(?:_bank)?\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def asic_cells(path: Path) -> Target:
    """The target ``asic`` with these cells: their number, their area in the units of the file, and the longest path by
    its tables, without wires.

    Raises OSError if the file is missing, and ValueError if it is not a Liberty file.
    """
    try:
        text = regular(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a Liberty file: it is not UTF-8") from None
    plain = COMMENT.sub("", text)
    parts = CELL.split(plain)
    if not re.search(r"\blibrary\s*\(", parts[0]) or len(parts) == 1:
        raise ValueError(f"{path} is not a Liberty file: it has no library with cells")
    registers = [name for name, content in zip(parts[1::2], parts[2::2]) if FLIP_FLOP.search(content)]
    timed = re.search(r"\bcell_rise\s*\(", plain) is not None
    map_and_time = "+strash;ifraig;scorr;dc2;dch,-f;map;topo" + (";stime,-p" if timed else "")
    return replace(
        TARGETS["asic"],
        description=f"the cells of {path.name} (synth, abc), their area in the units of that file",
        script=f"read_liberty -lib {LIBRARY}; synth -flatten -top {{top}}; dfflibmap -liberty {LIBRARY}; "
        f"abc -liberty {LIBRARY} -script {map_and_time}; opt_clean",
        luts=r"(?!\$)(?!(?:" + "|".join(registers) + r")$).+" if registers else r"(?!\$).+",
        ffs="|".join([*registers, r"\$_S?DFF.*"]),
        inverters="(?!)",
        area="area",
        technology=None,
        library=text,
        timed=timed,
    )
