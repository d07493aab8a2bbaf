"""Written Verilog as a proof sees it: read by Yosys, as functions of SMT-LIB and as a netlist of cells and wires."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from ..host.errors import ToolError
from ..spec.catalogue import unknown_name
from ..synth.yosys import execute

__all__ = ["DISSOLVED", "FREED", "NETLISTS", "UNSAID", "Cut", "Design", "Part", "provide"]

NETLISTS = {
    "xcu": ("synth_xilinx -family xcu -noiopad -noclkbuf -top {top}", ["+/xilinx/cells_sim.v"]),
    "ecp5": ("synth_ecp5 -noflatten -top {top}", ["+/ecp5/cells_sim.v"]),
}
"""Targets whose netlists can be proved: how they are mapped, module by module, and what their cells do."""

READ = "read_verilog -sv {file}"

DISSOLVED = ["setattr -mod -unset keep_hierarchy", "setattr -unset keep_hierarchy"]
"""What must come before ``flatten``, which leaves modules and cells alone that ask to be kept: a proof would miss their inside."""

UNSAID = ["chformal -remove", "delete */t:$print */t:$check"]
"""Without assertions and messages."""

FREED = ["memory_collect", "techmap -max_iter 1 -map undefined.v"]
"""With results that may be anything where Verilog has none, beside its bits that are x: see undefined.v, which must be in the folder."""

LATCHES = ("$dlatch", "$adlatch", "$dlatchsr", "$sr")


@dataclass(frozen=True)
class Cut:
    """A module to look at, the cells to leave out of it, whose outputs then can be anything, and its inner ``wires`` that
    must stay visible."""

    module: str
    without: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()


@dataclass(frozen=True)
class Part:
    """A combinational module as functions of SMT-LIB over one bit-vector, the state, which holds its inputs."""

    name: str
    text: str

    def state(self, symbol: str) -> str:
        """The declaration of a state."""
        return f"(declare-const {symbol} |{self.name}_s|)\n"

    def wire(self, name: str, symbol: str) -> str:
        """A port or named wire in a state: a bit-vector, or Bool where it has one bit."""
        name = written_name(name)
        if f"|{self.name}_n {name}|" not in self.text:
            raise ToolError(f"the module {self.name} has no wire {name}")
        return f"(|{self.name}_n {name}| {symbol})"


def written_name(name: str) -> str:
    """A name as Yosys writes it in SMT-LIB. Raises `ToolError` for one that would end there.

    >>> written_name("$paramod\\\\adder\\\\WIDTH=4")
    '$paramod/adder/WIDTH=4'
    """
    if "|" in name:
        raise ToolError(f"the name {name} has a |, which no name in SMT-LIB can have")
    return name.replace("\\", "/")


class Design:
    """Verilog files with a top module, or with ``netlist`` what synthesis for that target makes of them.

    Works in ``folder``, where Yosys' scripts and logs stay. Raises `ToolError` where Yosys cannot read the files, and for
    wires that nothing or two things drive, registers, latches and names that SMT-LIB cannot have.
    """

    def __init__(self, sources: list[Path], top: str, folder: Path, netlist: str | None = None) -> None:
        if netlist is not None and netlist not in NETLISTS:
            raise ValueError(unknown_name("netlist", netlist, NETLISTS))
        self.files, self.top, self.folder, self.is_netlist = sources, top, folder, netlist is not None
        folder.mkdir(parents=True, exist_ok=True)
        self.reading = []
        for number, file in enumerate(sources):  # by names of our own: Yosys' commands end at a space
            (folder / f"read{number}.v").write_bytes(Path(file).read_bytes())
            self.reading.append(READ.format(file=f"read{number}.v"))
        if netlist:
            script, models = NETLISTS[netlist]
            mapped = folder / f"{netlist}.v"
            execute([*self.reading, script.format(top=top), f"write_verilog -noattr {mapped.name}"], folder)
            # a model of a cell is a module like any other, so that proofs see through it
            self.reading = [READ.format(file=mapped.name), *(f"read_verilog -nooverwrite {model}" for model in models)]

    def verilog(self) -> str:
        """The text that is proved, for a simulator; of a netlist the design that it was made from."""
        return "\n".join(Path(file).read_text() for file in self.files)

    @cached_property
    def modules(self) -> dict[str, dict]:
        """The modules below the top, as `write_json` has them, processes being cells already."""
        file = self.folder / "structure.json"
        file.unlink(missing_ok=True)
        whole = [*self.reading, f"hierarchy -check -top {self.top}", *DISSOLVED, "proc -noopt"]
        # loops across modules show in the flattened design, and before anything is simplified
        flat = [] if self.is_netlist else [*whole, "flatten", "check -assert", "design -reset"]
        execute([*flat, *whole, "check -assert", f"write_json {file.name}"], self.folder)
        modules = json.loads(file.read_text())["modules"]
        file.unlink()
        return modules

    def parts(self, *cuts: Cut) -> list[Part]:
        """Modules as functions."""
        # what the text leaves undefined may be anything: what follows would take it for 0
        commands = [*self.reading, f"hierarchy -check -top {self.top}", *DISSOLVED, "proc -norom -noopt", *UNSAID,
                    "opt_expr -keepdc", *FREED, "setundef -anyseq", "opt_expr", "opt_clean", "design -save whole"]
        provide(self.folder)
        for name, module in self.modules.items():
            for inner in (name, *module["netnames"], *module["cells"]):
                written_name(inner)
            if any(cell["type"] in LATCHES for cell in module["cells"].values()):
                raise ToolError(f"the module {name} has a latch: an output or variable that keeps its value for some inputs")
        written = [self.folder / f"part{number}.smt2" for number in range(len(cuts))]
        for cut, file in zip(cuts, written):
            file.unlink(missing_ok=True)
            commands += ["design -load whole", *(f"delete {cut.module}/{cell}" for cell in cut.without),
                         *(f"setattr -set keep 1 {cut.module}/w:{wire}" for wire in cut.wires), f"hierarchy -top {cut.module}",
                         "flatten", "setundef -undriven -anyseq", "opt_clean", f"write_smt2 -stbv -wires {file.name}"]
        execute(commands, self.folder)
        parts = []
        for cut, file in zip(cuts, written):
            text = file.read_text()
            file.unlink()
            if re.search(r"^; yosys-smt2-(register|memory|clock)", text, re.M):
                raise ToolError(f"the module {cut.module} has registers: say after how many clock cycles a result comes (--latency)")
            parts.append(Part(written_name(cut.module), text))
        return parts


def provide(folder: Path) -> None:
    """Put what `FREED` needs into a folder."""
    (folder / "undefined.v").write_text((files(__package__) / "undefined.v").read_text())
