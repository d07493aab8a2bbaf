"""The question whether a module of two designs can differ."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import filterfalse

from ...host.files import sha256
from ..netlist.design import DISSOLVED, UNSAID, Cut, Design, Part, written_name
from ..netlist.structure import Instances, StructureError
from .question import Question, text

PRIVATE = re.compile(r"(?:.*\.)?(?:\$|_\d+_$)")
"""Names of wires that a tool has made."""
NAMED = "*/w:* */w:$* %d */w:_*_ %d"
"""The selection of all other wires."""

BOOL = {"0": "false", "1": "true"}
"""Bits as SMT-LIB writes them."""
STEPS = 3
"""Questions about wires, before the one about the outputs."""

Bit = tuple[str, int]
"""A bit of a wire: name and place."""


def differences(one: Design, other: Design, module: str, domain: str = "true") -> Iterator[Question]:
    """Questions whether a module of two designs, with the same ports, can differ for inputs in a domain, a statement
    about the state ``s``. The first is about the first named wires behind a change, each of the others about the wires
    that follow, and the last about the outputs. If wires cannot differ, neither can what follows them.
    """
    a, b = (design.parts(Cut(module, kept=NAMED))[0] for design in (one, other))
    netlists = Netlist(one, module), Netlist(other, module)
    inputs = [name for name, port in netlists[0].ports.items() if port["direction"] == "input"]
    passed: set[str] = set()
    for _ in range(STEPS):
        compared = changed(*netlists, passed)
        with suppress(StructureError):  # a wire is not in both texts
            yield _question(a, b, domain, inputs, compared)
        passed |= {name for name, _ in compared}
    a, b = (design.parts(Cut(module))[0] for design in (one, other))
    yield _question(a, b, domain, inputs, netlists[0].outputs())


def changed(one: Netlist, other: Netlist, passed: Collection[str] = ()) -> list[Bit]:
    """The bits of named wires in both designs that have other definitions by inputs and other bits of named wires,
    without wires that are ``passed``. If they are equal in both designs, so are all outputs.
    """
    (defined, read), (others, also_read) = (netlist.definitions(passed) for netlist in (one, other))
    return [bit for bit in defined if bit in read | also_read and bit in others and defined[bit] != others[bit]]


def has_constants(one: Design, other: Design, module: str) -> str:
    """The statement about the state ``s`` that the inputs of a module are as `constants` finds them in two designs."""
    given = constants(one, module)
    if given != constants(other, module):
        return "true"
    values = ((port, "".join(reversed(bits))) for port, bits in given.items())
    known = " ".join(
        f"(= (|{written_name(module)}_n {written_name(port)}| s) {f'#b{value}' if len(value) > 1 else BOOL[value]})"
        for port, value in values
    )
    return f"(and true true {known})"


def constants(design: Design, module: str) -> Mapping[str, list[str]]:
    """The bits of the inputs of a module that are the same constant in all its instances."""
    given: list[dict[str, list]] = []
    for parent in map(partial(Instances, design.modules), design.modules if module != design.top else ()):
        cells = [cell for cell, kind in parent.kinds.items() if kind == module]
        known = constants(design, parent.name) if cells else {}
        value = {bit: one for port, bits in known.items() for bit, one in zip(parent.ports[port], bits)}
        given += [
            {port: [value.get(bit, bit) for bit in bits] for port, bits in parent.inputs(cell).items()}
            for cell in cells
        ]
    first, *others = given or [{}]
    return {
        port: bits
        for port, bits in first.items()
        if set(bits) <= {"0", "1"} and all(other.get(port) == bits for other in others)
    }


class Netlist:
    """The cells of a module of a design, and its wires by their names."""

    def __init__(self, design: Design, module: str) -> None:
        commands = [
            *DISSOLVED,
            "proc -norom -noopt",
            *UNSAID,
            f"hierarchy -top {module}",
            "flatten",
            "opt_expr -keepdc",
            "opt_clean",
        ]
        netlist = design.netlist_after(commands)[module]
        self.cells, self.ports, wires = netlist["cells"], netlist["ports"], netlist["netnames"]
        names = sorted(filterfalse(PRIVATE.match, wires), key=lambda name: (name not in self.ports, name))
        self.wires = {name: wires[name]["bits"] for name in names}
        self.driven = {
            bit: (cell, port, place)
            for cell, content in self.cells.items()
            for port, bits in content["connections"].items()
            if content["port_directions"][port] == "output"
            for place, bit in enumerate(bits)
        }
        self.entering = {bit for port in self.ports.values() if port["direction"] == "input" for bit in port["bits"]}

    def outputs(self) -> list[Bit]:
        ports = {name: port for name, port in self.ports.items() if port["direction"] == "output"}
        return [(name, place) for name, port in ports.items() for place in range(len(port["bits"]))]

    def definitions(self, passed: Collection[str]) -> tuple[dict[Bit, str], set[Bit]]:
        """A digest of the definition of each bit of a named wire, and the bits that something reads or that are
        outputs.
        """
        names: dict[int | str, Bit] = {}
        for name in (name for name in self.wires if name in self.ports or name not in passed):
            for place, bit in enumerate(self.wires[name]):
                if bit in self.driven or bit in self.entering:  # or else it is a constant or undefined
                    names.setdefault(bit, (name, place))
        read = set(self.outputs())

        @cache
        def of_cell(cell: str) -> str:
            content = self.cells[cell]
            taken = {
                port: [operand(bit) for bit in bits]
                for port, bits in content["connections"].items()
                if content["port_directions"][port] == "input"
            }
            return sha256(json.dumps([content["type"], content["parameters"], taken], sort_keys=True))

        def operand(bit: int | str) -> object:
            if bit not in names:
                return definition(bit)
            read.add(names[bit])
            return names[bit]

        def definition(bit: int | str) -> object:
            if bit in self.entering:
                return names[bit]
            if bit not in self.driven:
                return bit if isinstance(bit, str) else "x"
            cell, *where = self.driven[bit]
            return [of_cell(cell), *where]

        found = {
            (name, place): json.dumps(definition(bit))
            for name, bits in self.wires.items()
            if name in self.ports or name not in passed
            for place, bit in enumerate(bits)
        }
        return found, read


def _question(a: Part, b: Part, domain: str, inputs: Iterable[str], compared: Iterable[Bit]) -> Question:
    return Question(
        name=a.name,
        description=f"{a.name} of two designs is the same",
        text=_asked(a, b, domain, inputs, compared),
        expected="unsat",
        names=("differs",),
    )


def _asked(a: Part, b: Part, domain: str, inputs: Iterable[str], compared: Iterable[Bit]) -> str:
    b = Part(f"other_{b.name}", b.text.replace(f"|{b.name}", f"|other_{b.name}"))

    def bit(part: Part, state: str, name: str, place: int) -> str:
        wire, is_bool = part.wire(name, state), f"|{part.name}_n {name}| ((state |{part.name}_s|)) Bool" in part.text
        return wire if is_bool else f"((_ extract {place} {place}) {wire})"

    same = " ".join(f"(= {bit(a, 's', *one)} {bit(b, 't', *one)})" for one in compared)
    entering = " ".join(f"(= {a.wire(name, 's')} {b.wire(name, 't')})" for name in inputs)
    return text(
        f"can {a.name} differ?",
        a.text,
        b.text,
        a.state("s"),
        b.state("t"),
        f"(assert (and true {domain} {entering}))\n",
        f"(declare-const differs Bool)\n(assert (= differs (not (and true true {same}))))\n(assert differs)\n",
    )
