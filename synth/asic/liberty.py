"""Standard cells of a user's Liberty file as a synthesis target."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from ...host.files import regular
from ..targets import LIBRARY, TARGETS, Target

CELL = re.compile(r"\bcell\s*\(\s*\"?(\w+)\"?\s*\)\s*\{")
FLIP_FLOP = re.compile(r"\bff(?:_bank)?\s*\(")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
NAND = re.compile(r"\(?\s*!\s*\(\s*(\w+)\s*[*&\s]\s*(\w+)\s*\)\s*\)?")
"""The function of a NAND gate of two inputs."""
MAPPING = "+strash;&get,-n;&fraig,-x;&put;scorr;dc2;dretime;strash;&get,-n;&dch,-f;&nf;&put"
"""The commands of Yosys' `abc -liberty`, which `stime` may follow."""
BUFFERING = ";buffer,-c,-N,10;topo;upsize,-c;dnsize,-c"
"""Commands after `MAPPING` that give each net at most ten loads, and each cell the size for its load."""
ADVICE = (
    "give the Liberty file of your library, or get one of OSU 0.18 um: apt-get download qflow-tech-osu018 && "
    "dpkg-deb -x qflow-tech-osu018_*.deb osu && ls osu/usr/share/qflow/tech/osu018/osu018_stdcells.lib"
)


def nand2_area(text: str) -> float | None:
    """Area of the smallest NAND gate of two inputs of a Liberty file, or None without such a gate."""
    parts = CELL.split(COMMENT.sub("", text))
    found = []
    for content in parts[2::2]:
        area = re.search(r"\barea\s*:\s*([\d.eE+-]+)", content)
        functions = re.findall(r"\bfunction\s*:\s*\"([^\"]*)\"", content)
        if area and len(functions) == 1 and NAND.fullmatch(functions[0].strip()):
            found.append(float(area[1]))
    return min(found, default=None)


def asic_cells(path: Path) -> Target:
    """The target ``asic`` with these cells: their number, their area in the units of the file, and the longest path by
    its tables, without wires.

    Raises OSError if the file is missing, and ValueError if it is not a Liberty file.
    """
    try:
        text = regular(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, f"{error.strerror}: {ADVICE}", str(path)) from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a Liberty file: it is not UTF-8") from None
    plain = COMMENT.sub("", text)
    parts = CELL.split(plain)
    if not re.search(r"\blibrary\s*\(", parts[0]) or len(parts) == 1:
        raise ValueError(f"{path} is not a Liberty file: it has no library with cells")
    registers = [name for name, content in zip(parts[1::2], parts[2::2]) if FLIP_FLOP.search(content)]
    timed = re.search(r"\bcell_rise\s*\(", plain) is not None
    map_and_time = MAPPING + (";stime,-p" if timed else "")
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
