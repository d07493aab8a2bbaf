"""A whole block at once, from the modules of an encoder with lanes: the function that its beats compute together.

Each beat has the module in front of the store, without registers. The largest of their keys goes to the scale unit and
to the lanes of all beats, which are the lanes of the module behind the store. A number reaches its quantizer through
the gates that compute its stored bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

from ....hdl import Nvfp4Config
from ....hdl.lanes.keys import EncoderConfig
from ..design import Design
from ..pipeline import inputs_of, reaching
from ..structure import StructureError, drivers_of
from .parts import CODES, CONSTANTS, KEYS

OF_SCALE = "is_large"
"""An input of lanes that is a function of the scale: `BeatCodes` computes it once for all of them."""

STORED = "mxcast_stored"
"""The start of the names of modules that compute the stored bits of a number."""

MAXIMUM = "mxcast_maximum"
"""The module that finds the largest magnitude of a block of NVFP4."""

SPLIT = ["flatten", "opt_clean", "simplemap", "techmap", "opt_clean"]
"""Split cells to one output bit, so that lanes that share an operation on vectors are separated."""


def whole_block(design: Design, config: EncoderConfig, modules: dict[str, dict], kinds: dict[str, str]) -> Design:
    """The design of a whole block, with the ports of ``config.at_once``, from ``modules`` without registers. ``kinds``
    names the modules in front of the store and behind it. Raises `StructureError` if a number reaches another lane than
    its own, or the key, the mode or the place of a beat does not pass as it has to."""
    assembly = _Assembly
    if isinstance(config, Nvfp4Config):
        assembly = _Nvfp4Assembly if config.beats > 1 else _Nvfp4Beat
    return assembly(design, config, modules, kinds).design()


class _Assembly:
    """The netlist of the block in the making."""

    UNUSED: ClassVar[tuple[str, ...]] = ("marks",)
    """Inputs of a beat on which its key does not depend."""
    BEGIN: ClassVar[str] = "codes_"
    """Begins the names of the cells behind the store that all lanes share."""

    def __init__(self, design: Design, config: EncoderConfig, modules: dict[str, dict], kinds: dict[str, str]) -> None:
        self.read, self.config, self.modules, self.kind_of_keys = design, config, modules, kinds[KEYS]
        self.keys, self.codes = (modules[kinds[name]] for name in (KEYS, CODES))
        self.bits = count(2)
        self.ports: dict[str, dict[str, Any]] = {
            port.name: {"direction": port.direction, "bits": self.fresh(port.width)}
            for port in self.config.at_once.ports
        }
        self.cells: dict[str, dict] = {}
        self.stored: dict[str, dict] = {}

    @cached_property
    def flat_keys(self) -> dict:
        """The module in front of the store as gates."""
        top = self.read.top
        others = {name: module for name, module in self.modules.items() if name != top}
        return self.read.of_netlist({top: self.keys, **others}).netlist_after(SPLIT)[top]

    def fresh(self, width: int) -> list:
        return [next(self.bits) for _ in range(width)]

    def slice(self, name: str, beat: int) -> list:
        """The bits of a beat in a port of the block."""
        bits = self.ports[name]["bits"]
        width = len(bits) // self.config.beats
        return bits[width * beat : width * (beat + 1)]

    def of_beat(self, beat: int) -> dict[str, list]:
        """The bits of a beat at the ports of the modules."""
        shared = {port.name: self.ports[port.name]["bits"] for port in self.config.of_block}
        own: dict[str, list] = {name: self.slice(name, beat) for name in ("x", "random") if name in self.ports}
        return {**shared, **own}

    def design(self) -> Design:
        self.check_passed()
        names = self.lanes(self.largest())
        nets = {name: {"hide_name": 0, "bits": bits, "attributes": {}} for name, bits in names.items()}
        nets |= {name: {"hide_name": 0, "bits": port["bits"], "attributes": {}} for name, port in self.ports.items()}
        top = {"attributes": {"top": "1"}, "ports": self.ports, "cells": self.cells, "netnames": nets}
        return self.read.of_netlist({self.read.top: top, **self.modules, **self.stored})

    def largest(self) -> list:
        """Add the modules in front of the store; returns the largest of the keys."""
        keys = [self.key(beat) for beat in range(self.config.beats)]
        largest = keys[0]
        for beat, key in enumerate(keys[1:], 1):
            largest = self.larger(largest, key, beat)
        return largest

    def check_passed(self) -> None:
        """Raise `StructureError` unless modes, random bits, places and marks of beats pass the modules unchanged, and
        the key of a beat does not depend on `UNUSED`."""
        unused = {bit: name for name in self.UNUSED for bit in self.flat_keys["ports"].get(name, {"bits": []})["bits"]}
        key = self.flat_keys["ports"]["key"]["bits"]
        inputs = (inputs_of(self.flat_keys["cells"][name]) for name in reaching(self.flat_keys, key))
        if found := next((unused[bit] for bits in (key, *inputs) for bit in bits if bit in unused), None):
            raise StructureError(f"the key of a beat depends on its {found}")
        passed = [*(port.name for port in self.config.of_block), "random", "marks"]
        for module, pairs in (
            (self.keys, {f"{name}_of_beat": name for name in passed}),
            (self.codes, {"o_first": "is_first", "o_last": "is_last", "o_marks": "marks"}),
        ):
            for result, given in pairs.items():
                if result in module["ports"] and module["ports"][result]["bits"] != module["ports"][given]["bits"]:
                    raise StructureError(f"{result} is not {given}, some beats before")

    def key(self, beat: int) -> list:
        """The key of a beat."""
        unused = {name: ["0"] * len(self.keys["ports"].get(name, {"bits": []})["bits"]) for name in self.UNUSED}
        given = {**self.of_beat(beat), **unused}
        connections = {
            name: given[name] if port["direction"] == "input" else self.fresh(len(port["bits"]))
            for name, port in self.keys["ports"].items()
        }
        directions = {name: port["direction"] for name, port in self.keys["ports"].items()}
        self.add(f"keys_{beat}", self.kind_of_keys, connections, directions)
        return connections["key"]

    def larger(self, one: list, other: list, number: int) -> list:
        """The larger of two keys."""
        width = len(one)
        is_larger, larger = self.fresh(1), self.fresh(width)
        binary = {name: _parameter(value) for name, value in (("A_SIGNED", 0), ("B_SIGNED", 0), ("Y_WIDTH", 1))}
        binary |= {"A_WIDTH": _parameter(width), "B_WIDTH": _parameter(width)}
        gates = {"A": "input", "B": "input", "S": "input", "Y": "output"}
        self.add(f"is_larger_{number}", "$gt", {"A": other, "B": one, "Y": is_larger}, gates, binary)
        chosen = {"A": one, "B": other, "S": is_larger, "Y": larger}
        self.add(f"larger_{number}", "$mux", chosen, gates, {"WIDTH": _parameter(width)})
        return larger

    def lanes(self, largest: list) -> dict[str, list]:
        """Add the module behind the store, with its lanes for all beats; returns the flags of the block by name."""
        codes, lanes = self.codes, self.config.lanes
        ports = {name: port["bits"] for name, port in codes["ports"].items()}
        width = len(ports["p"]) // lanes
        elements = []
        for lane in range(lanes):
            code = ports["p"][width * lane : width * (lane + 1)]
            found = [name for name, cell in codes["cells"].items() if cell["connections"].get("p") == code]
            if len(found) != 1:
                raise StructureError(f"the code of lane {lane} does not come from one module")
            elements += found
        moved: dict[object, object] = {"0": "0", "1": "1", "x": "x"}
        for name in ("key", "scale", *(port.name for port in self.config.of_block)):
            moved |= dict(zip(ports[name], largest if name == "key" else self.ports[name]["bits"]))

        def shared(bits: list) -> list:
            return [moved[bit] if bit in moved else moved.setdefault(bit, next(self.bits)) for bit in bits]

        for name in self.of_block(elements):
            cell = codes["cells"][name]
            pins = {pin: shared(bits) for pin, bits in cell["connections"].items()}
            self.cells[f"{self.BEGIN}{name}"] = {**cell, "connections": pins}
        stored = list(self.kinds(elements, ports["numbers"]))
        for beat in range(self.config.beats):
            given, p = self.of_beat(beat), self.slice("p", beat)
            random = dict(zip(ports.get("random", ()), given.get("random", ())))
            for lane, (name, kind) in enumerate(zip(elements, stored)):
                cell = codes["cells"][name]
                size = len(given["x"]) // lanes
                x = wide = given["x"][size * lane : size * (lane + 1)]
                if kind:
                    wide, ways = self.fresh(len(cell["connections"]["x"])), {"x": "input", "wide": "output"}
                    self.add(f"stored_{beat}_{lane}", kind, {"x": x, "wide": wide}, ways)
                connections = {
                    pin: [random[bit] if bit in random else shared([bit])[0] for bit in bits]
                    for pin, bits in cell["connections"].items()
                    if pin not in ("x", "p")
                }
                connections |= {"x": wide, "p": p[width * lane : width * (lane + 1)]}
                self.cells[f"{name}_{beat}"] = self.with_own(cell, connections)
        pins = codes["cells"][elements[0]]["connections"]
        return {pin: shared(bits) for pin, bits in pins.items() if pin not in self.ports and pin != OF_SCALE}

    def with_own(self, cell: dict, connections: dict[str, list]) -> dict:
        """A lane that computes `OF_SCALE` itself from the scale, if it takes it: a module around its module."""
        if OF_SCALE not in connections:
            return {**cell, "connections": connections}
        kind, given = f"mxcast_own_{cell['type']}", cell["connections"]
        if kind not in self.stored:
            scale = self.codes["ports"]["scale"]["bits"]
            if given["scale"] != scale:
                raise StructureError(f"a lane of {CODES} does not get the scale")
            self.stored[f"{kind}_scale"] = cone(self.codes, scale, given[OF_SCALE], f"the input {OF_SCALE} of lanes")
            bits = count(2)
            nets = {pin: [next(bits) for _ in wires] for pin, wires in given.items()}
            ways = cell["port_directions"]
            own = {
                "hide_name": 0,
                "type": f"{kind}_scale",
                "parameters": {},
                "attributes": {},
                "port_directions": {"x": "input", "wide": "output"},
                "connections": {"x": nets["scale"], "wide": nets[OF_SCALE]},
            }
            self.stored[kind] = {
                "attributes": {},
                "ports": {
                    pin: {"direction": ways[pin], "bits": wires} for pin, wires in nets.items() if pin != OF_SCALE
                },
                "cells": {"lane": {**cell, "connections": nets}, "own": own},
                "netnames": {pin: {"hide_name": 0, "bits": wires, "attributes": {}} for pin, wires in nets.items()},
            }
        outside = {pin: wires for pin, wires in connections.items() if pin != OF_SCALE}
        ways = {pin: way for pin, way in cell["port_directions"].items() if pin != OF_SCALE}
        return {**cell, "type": kind, "connections": outside, "port_directions": ways}

    def of_block(self, elements: list[str]) -> list[str]:
        """The cells behind the store that all lanes share. Raises `StructureError` if they depend on a beat."""
        cells, ports = self.codes["cells"], self.codes["ports"]
        drivers = drivers_of(self.codes)
        of_beat = ("numbers", "is_first", "is_last", "marks")
        own = {bit for name in of_beat if name in ports for bit in ports[name]["bits"]}
        found = dict[str, None]()
        waiting = [*ports["scale"]["bits"]]
        waiting += [
            bit
            for name in elements
            for pin, bits in cells[name]["connections"].items()
            if pin not in ("x", "p")
            for bit in bits
        ]
        while waiting:
            bit = waiting.pop()
            if bit in own:
                raise StructureError(f"the lanes of {CODES} share a wire that depends on a beat")
            name = drivers.get(bit, "")
            if name and name not in found:
                found[name] = None
                ways = cells[name]["port_directions"]
                waiting += [
                    one for pin, bits in cells[name]["connections"].items() if ways[pin] == "input" for one in bits
                ]
        if set(found) & set(elements):
            raise StructureError(f"a lane of {CODES} depends on another lane")
        return list(found)

    def kinds(self, elements: list[str], numbers: list) -> Iterator[str]:
        """The module of each lane that computes the stored bits of a number; empty if they are the number. Equal lanes
        share one."""
        flat = self.flat_keys
        place = {bit: number for number, bit in enumerate(numbers)}
        sources = flat["ports"]["numbers"]["bits"]
        x, names = flat["ports"]["x"]["bits"], dict[str, str]()
        width = len(x) // len(elements)
        for lane, element in enumerate(elements):
            wanted = [
                sources[place[bit]] if bit in place else bit for bit in self.codes["cells"][element]["connections"]["x"]
            ]
            module = cone(flat, x[width * lane : width * (lane + 1)], wanted, f"lane {lane}")
            if module["ports"]["wide"]["bits"] == module["ports"]["x"]["bits"]:
                yield ""
                continue
            name = names.setdefault(str(module), f"{STORED}{len(names)}")
            self.stored[name] = module
            yield name

    def add(self, name: str, kind: str, pins: dict, ways: dict, parameters: dict | None = None) -> None:
        self.cells[name] = {
            "hide_name": 0,
            "type": kind,
            "parameters": parameters or {},
            "attributes": {},
            "port_directions": {pin: ways[pin] for pin in pins},
            "connections": pins,
        }


class _Nvfp4Assembly(_Assembly):
    """The netlist of a block of NVFP4. One module has all that finds the largest magnitude."""

    UNUSED = (*CONSTANTS, "random", "marks")
    BEGIN = ""

    def largest(self) -> list:
        outside, self.cells = self.cells, {}
        x, amax = self.ports["x"]["bits"], super().largest()
        self.stored[MAXIMUM] = {
            "attributes": {},
            "ports": {"x": {"direction": "input", "bits": x}, "amax": {"direction": "output", "bits": amax}},
            "cells": self.cells,
            "netnames": {
                name: {"hide_name": 0, "bits": bits, "attributes": {}} for name, bits in (("x", x), ("amax", amax))
            },
        }
        self.cells, found = outside, self.fresh(len(amax))
        self.add("maximum", MAXIMUM, {"x": x, "amax": found}, {"x": "input", "amax": "output"})
        return found


class _Nvfp4Beat(_Nvfp4Assembly):
    """The netlist of a block of NVFP4 that is one beat: the cells behind the store, which get what enters it."""

    def lanes(self, largest: list) -> dict[str, list]:
        keys, codes = self.flat_keys["ports"], self.codes["ports"]
        if keys["numbers"]["bits"] != keys["x"]["bits"]:
            raise StructureError("the store does not get the numbers of a beat as they are")
        wires = {name: port["bits"] for name, port in self.ports.items()}
        given = {**wires, "key": largest, "numbers": wires["x"], "is_first": "1", "is_last": "1"}
        moved: dict[object, object] = {"0": "0", "1": "1", "x": "x"}
        for name in codes.keys() & given.keys():
            moved |= dict(zip(codes[name]["bits"], given[name]))

        def shared(bits: list) -> list:
            return [moved[bit] if bit in moved else moved.setdefault(bit, next(self.bits)) for bit in bits]

        for name in reaching(self.codes, [*codes["scale"]["bits"], *codes["p"]["bits"]]):
            cell = self.codes["cells"][name]
            pins = {pin: shared(bits) for pin, bits in cell["connections"].items()}
            self.cells[name] = {**cell, "connections": pins}
        nets = self.codes["netnames"].items()
        return {name: shared(net["bits"]) for name, net in nets if name not in (*codes, *self.ports)}


def _parameter(value: int) -> str:
    return f"{value:032b}"


def cone(module: dict, x: list, wanted: list, what: str) -> dict:
    """The gates of a flat module that compute some bits from the number ``x``, as a module with the ports ``x`` and
    ``wide``. Equal gates give equal modules. Raises `StructureError` if they depend on more than the number."""
    drivers = drivers_of(module)
    known: dict[object, object] = {"0": "0", "1": "1", **{bit: 2 + place for place, bit in enumerate(x)}}
    cells, fresh = dict[str, dict](), count(2 + len(x))

    def of(bit: object) -> object:
        if bit not in known:
            cell = module["cells"].get(drivers.get(bit, ""))
            if cell is None:
                raise StructureError(f"the stored bits of {what} depend on more than its number")
            known[bit] = 0  # of a gate in the making; gates have no loops
            inputs = {
                pin: [of(one) for one in bits]
                for pin, bits in cell["connections"].items()
                if cell["port_directions"][pin] == "input"
            }
            for pin, bits in cell["connections"].items():
                if cell["port_directions"][pin] == "output":
                    for one in bits:
                        known[one] = next(fresh)
                    inputs[pin] = [known[one] for one in bits]
            cells[f"gate{len(cells)}"] = {**cell, "attributes": {}, "connections": inputs}
        return known[bit]

    wide = [of(bit) for bit in wanted]
    ports = {
        "x": {"direction": "input", "bits": [known[bit] for bit in x]},
        "wide": {"direction": "output", "bits": wide},
    }
    nets = {name: {"hide_name": 0, "bits": port["bits"], "attributes": {}} for name, port in ports.items()}
    return {"attributes": {}, "ports": ports, "cells": cells, "netnames": nets}
