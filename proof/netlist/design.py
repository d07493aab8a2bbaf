"""A Verilog text as Yosys reads it: a netlist of cells and wires, and functions of SMT-LIB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from ...host.errors import DesignError, ToolError
from ...host.files import sha256
from ...synth.yosys import execute
from ..verilog.readers import READ_VERILOG, reading
from .structure import StructureError

NETLISTS = {
    "xcu": ("synth_xilinx -family xcu -noiopad -noclkbuf -top {top}", ["+/xilinx/cells_sim.v"]),
    "ecp5": ("synth_ecp5 -noflatten -top {top}", ["+/ecp5/cells_sim.v"]),
}
"""Targets whose netlists can be proved: the mapping, module by module, and the models of their cells."""

DISSOLVED = ["setattr -mod -unset keep_hierarchy", "setattr -unset keep_hierarchy"]
"""Commands before ``flatten``, which would leave out modules and cells with this attribute: a proof would miss their
content."""

UNSAID = ["chformal -remove", "delete */t:$print */t:$check"]
"""Remove assertions and messages."""

FREED = ["memory_collect", "techmap -max_iter 1 -map undefined.v"]
"""Free the results that Verilog leaves undefined by operators, as undefined.v does, which must be in the folder."""

CHECKED = ["check -assert"]
"""Refuse wires with no or several drivers, and loops."""

LATCHES = ("$dlatch", "$adlatch")
FUNCTION = re.compile(r"^\(define-fun \|(.*?)\| ", re.MULTILINE)
"""A definition in a part."""
ANYSEQ = re.compile(r"^; yosys-smt2-anyseq .*\n", re.MULTILINE)
"""A comment with a number that differs between copies of a module."""
OUTSIDE = re.compile(r"(?:\.\./)+[^\s:]+(?=:\d)")
"""A path of the user in a message of slang, relative to the folder in which it runs."""
RUNNING = "-- Running command `"
"""The text before the output of each command in a log of Yosys."""


@dataclass(frozen=True)
class Cut:
    """A module to extract. The outputs of the cells ``without`` and the inner wires ``freed`` can be anything. Inner
    ``wires`` stay visible, as do the wires of the Yosys selection ``kept``, which is made before simplification.
    """

    module: str
    without: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()
    kept: str = ""
    freed: tuple[str, ...] = ()


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
            raise StructureError(f"the module {self.name} has no wire {name}")
        return f"(|{self.name}_n {name}| {symbol})"

    def named(self, name: str) -> Part:
        """The part under another name."""
        text = ANYSEQ.sub("", self.text).replace(f"|{self.name}", f"|{name}")
        return Part(name, text.replace(f" {self.name}\n", f" {name}\n"))


def written_name(name: str) -> str:
    """A name as Yosys writes it in SMT-LIB. Raises `StructureError` for characters that would end it.

    >>> written_name("$paramod\\\\adder\\\\WIDTH=4")
    '$paramod/adder/WIDTH=4'
    """
    if "|" in name:
        raise StructureError(f"the name {name} has a |, which no name in SMT-LIB can have")
    if ";" in name:
        raise StructureError(f"the name {name} has a ;, which ends a command of Yosys")
    return name.replace("\\", "/")


class Design:
    """The module ``top`` of a text without macros, as one of Yosys' ``readers`` reads it; with ``netlist`` the result
    of its synthesis for that target.

    Works in ``folder``, where the text and Yosys' scripts and logs stay. Methods raise `DesignError` if the reader
    cannot read the text, and `StructureError` if no proof is possible: wires with no or several drivers, loops,
    registers, black boxes, and cells and names that SMT-LIB does not allow.
    """

    def __init__(
        self,
        text: str,
        top: str,
        folder: Path,
        reader: str = READ_VERILOG,
        *,
        netlist: str | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        self.text, self.top, self.folder, self.reader, self.netlist = text, top, folder, reader, netlist
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "design.sv").write_text(text)
        self._parameters = parameters or {}

    @cached_property
    def reading(self) -> list[str]:
        """Yosys' commands that read the design."""
        commands = reading(self.reader, "design.sv", self.top, self._parameters)
        if self.netlist is None:
            return commands
        script, models = NETLISTS[self.netlist]
        mapped = f"{self.netlist}.v"
        self._execute([*commands, script.format(top=self.top), f"write_verilog -noattr {mapped}"], len(commands))
        # a model of a cell is a module like any other, so that proofs see through it
        return [
            f"read_verilog -sv {mapped}",
            *(f"read_verilog -nooverwrite {model}" for model in models),
            f"hierarchy -check -top {self.top}",
        ]

    def of_netlist(self, modules: dict[str, dict]) -> Design:
        """The design with these modules, as computed from its own modules."""
        for module in modules.values():
            for net in module["netnames"].values():
                net["attributes"].pop("init", None)  # of a register that became a wire
        text = json.dumps({"creator": "mxcast", "modules": modules})
        file = f"modules-{sha256(text)[:12]}.json"
        (self.folder / file).write_text(text)
        made = Design.__new__(Design)
        vars(made).update(
            vars(self) | {"reading": [f"read_json {file}", f"hierarchy -top {self.top}"], "modules": modules}
        )
        return made

    def run(self, commands: list[str]) -> None:
        """Run Yosys' commands after those that read the design."""
        before = (
            [command.startswith("proc") for command in commands].index(True) + 1
            if any(c.startswith("proc") for c in commands)
            else 0
        )
        self._execute([*self.reading, *commands], len(self.reading) + before)

    def _execute(self, commands: list[str], reading: int) -> None:
        """Run commands; if one of the first ``reading`` fails, the text cannot be read."""
        try:
            execute(commands, self.folder)
        except ToolError as error:
            said = str(error).removeprefix("Yosys stopped: ").removeprefix("ERROR: ")
            if said.startswith("exit status -"):
                said = "it crashed, as it does on what recurs without an end or is nested too deeply"
            said = OUTSIDE.sub(lambda found: str((self.folder / found[0]).resolve()), said)
            if error.log.count(RUNNING) <= reading:
                raise DesignError(f"{self.reader} cannot read it: {said}", error.log) from None
            raise StructureError(said) from None

    def netlist_after(self, commands: list[str]) -> dict[str, dict]:
        """The modules after commands, by name, as ``write_json`` has them."""
        file = self.folder / "netlist.json"
        file.unlink(missing_ok=True)
        self.run([*commands, f"write_json {file.name}"])
        if not file.exists():
            raise ToolError("Yosys wrote no netlist")
        modules = json.loads(file.read_text())["modules"]
        file.unlink()
        closed = {name for name, module in modules.items() if module["attributes"].get("blackbox")}
        if box := next(
            (
                cell["type"]
                for module in modules.values()
                for cell in module["cells"].values()
                if cell["type"] in closed
            ),
            None,
        ):
            raise StructureError(f"{box} is a black box, a module without content")
        return modules

    @cached_property
    def modules(self) -> dict[str, dict]:
        """The modules below the top, with processes converted to cells."""
        commands = [*DISSOLVED, "proc -noopt"]
        if self.netlist is None:  # loops across modules show in the flattened design only, before simplification
            commands += ["design -save modules", "flatten", *CHECKED, "design -load modules"]
        return self.netlist_after([*commands, *CHECKED, "opt_clean"])

    def check(self) -> None:
        """Raise `DesignError` or `StructureError` if the design cannot be read or proved."""
        _ = self.modules  # computing them checks them

    @property
    def latches(self) -> list[str]:
        """The modules that have latches."""
        return [
            name
            for name, module in self.modules.items()
            if any(cell["type"] in LATCHES for cell in module["cells"].values())
        ]

    def parts(self, *cuts: Cut) -> list[Part]:
        """Modules as functions of SMT-LIB."""
        # free the bits that the text leaves undefined, which later commands would set to 0
        commands = [
            *DISSOLVED,
            "proc -norom -noopt",
            *UNSAID,
            *(
                line
                for cut in cuts
                if cut.kept
                for line in (f"select -set kept {cut.kept}", "setattr -set keep 1 @kept")
            ),
            "opt_expr -keepdc",
            *FREED,
            "setundef -anyseq",
            "opt_expr",
            "opt_clean",
            "design -save whole",
        ]
        provide(self.folder)
        for name, module in self.modules.items():
            for inner in (name, *module["netnames"], *module["cells"]):
                written_name(inner)
        if twice := _twice(written_name(module) for module in {cut.module for cut in cuts}):
            raise StructureError(f"two modules are {twice} in SMT-LIB, where \\ is written as /")
        written = [self.folder / f"part{number}.smt2" for number in range(len(cuts))]
        for cut, file in zip(cuts, written):
            file.unlink(missing_ok=True)
            commands += [
                "design -load whole",
                *(f"delete {cut.module}/{cell}" for cell in cut.without),
                *(f"cutpoint {cut.module}/w:{wire}" for wire in cut.freed),
                *(f"setattr -set keep 1 {cut.module}/w:{wire}" for wire in (*cut.wires, *cut.freed)),
                f"hierarchy -top {cut.module}",
                "flatten",
                "setundef -undriven -anyseq",
                "opt_clean",
                f"write_smt2 -stbv -wires {file.name}",
            ]
        self.run(commands)
        parts = []
        for cut, file in zip(cuts, written):
            text = file.read_text()
            file.unlink()
            if twice := _twice(FUNCTION.findall(text)):
                raise StructureError(f"two names are {twice} in SMT-LIB, where \\ is written as /")
            if re.search(r"^; yosys-smt2-(register|memory|clock)", text, re.M):
                raise StructureError(
                    f"the module {cut.module} has registers: say after how many clock cycles a result comes (--latency)"
                )
            parts.append(Part(written_name(cut.module), text))
        return parts


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def provide(folder: Path) -> None:
    """Write the file for `FREED` into a folder."""
    (folder / "undefined.v").write_text((files(__package__) / "undefined.v").read_text())
