"""The parts of hardware with lanes: the modules that compute the bits of a beat, and everything else.

In an encoder the module in front of the store computes the key and the stored numbers of a beat, and the module behind
it the scale and the codes. A decoder has no store, and one module that computes the numbers of a beat. These modules
are pure delays with an enable, which is checked here. So the order of beats is a question about the rest of the design,
in which they are left out, and the bits are a question about these modules without registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from ....hdl.config.beats import BeatConfig
from ....hdl.lanes.keys import EncoderConfig, front_stages
from ....spec import Decode, Encode, Nvfp4Decode, Nvfp4Encode, ScalePlace
from ..design import DISSOLVED, FREED, UNSAID, Cut, Design, Part, provide
from ..handshake import GATES
from ..pipeline import BITS, REGISTERS, WITH_ENABLES, bypass, check_delay, in_order, inputs_of, reaching
from ..structure import StructureError, drivers_of

KEYS, CODES, NUMBERS = "beat_keys", "beat_codes", "beat_numbers"
"""The instances in front of the store of an encoder and behind it, and the one of a decoder."""

MARKS = ("o_first", "o_last")


@dataclass(frozen=True, kw_only=True)
class Ends:
    """The modules of a beat in the hardware of an operation."""

    front: str = ""
    """The instance in front of the store; empty without a store."""
    back: str
    """The instance behind the store, or the only one."""
    of_block: tuple[str, ...]
    """Inputs of the back that count with the first beat of a block only."""
    inputs: tuple[str, ...]
    """Inputs of the first instance that are ports of the top module."""
    results: tuple[str, ...]
    """Outputs of the back, which are ports of the top module."""
    control: tuple[str, ...]
    """The wires of the registers, next to valid bits, that decide about beats."""
    delays: str
    """The result of `Beats.check_delays` in words."""
    axis: tuple[str, ...]
    """The wires of the registers of AXI4-Stream with a reset."""
    packed: tuple[str, ...]
    """The same with packed blocks."""
    scales: tuple[str, ...]
    """Inputs of the stream of scales on which the control of beats may depend."""

    @property
    def instances(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.front, self.back)))

    def outside(self, instance: str) -> set[str]:
        """Ports of an instance that are ports of the top module, next to the clock."""
        inputs = self.inputs if instance == self.instances[0] else ()
        return {*inputs, *(self.results if instance == self.back else ())}


ENCODER = Ends(
    front=KEYS,
    back=CODES,
    of_block=("key", "mode"),
    inputs=("x", "mode", "random"),
    results=("scale", "p", *MARKS),
    control=("has_block", "write_beat", "read_beat"),
    delays="the modules in front of the store and behind it are pure delays with an enable; the second one takes the "
    "key and the mode of a block with its first beat",
    axis=("valid_q", "running_q", "beat", "scale_valid", "next_beat", "scale_blocks"),
    packed=("valid_q", "running_q", "beat", "bytes_waiting", "has_ended", "word_valid_q"),
    scales=("m_axis_scale_tready",),
)

CONSTANTS = ("k", "d", "a")
"""Inputs of an NVFP4 encoder with the constants of a tensor."""

DECODER = Ends(
    back=NUMBERS,
    of_block=("scale",),
    inputs=("p", "scale", "random"),
    results=("y", *MARKS),
    control=("beat",),
    delays="the module of the numbers of a beat is a pure delay with an enable, and takes the scale of a block with "
    "its first beat",
    axis=("running_q", "beat_held", "scale_held"),
    packed=("running_q", "beat_held", "is_filled", "offset"),
    scales=("s_axis_scale_tvalid",),
)

ENDS: dict[str, Ends] = {
    Encode.name: ENCODER,
    Nvfp4Encode.name: replace(
        ENCODER,
        of_block=("key", *CONSTANTS),
        inputs=("x", *CONSTANTS, "random"),
        delays="the modules in front of the store and behind it are pure delays with an enable; the second one takes "
        "the key and the constants of a block with its first beat",
    ),
    Decode.name: DECODER,
    Nvfp4Decode.name: replace(
        DECODER,
        of_block=("scale", "g"),
        inputs=("p", "scale", "g"),
        delays="the module of the numbers of a beat is a pure delay with an enable, and takes the scales of a block "
        "and of its tensor with its first beat",
    ),
}
"""By the name of the operation."""

CLOCK, AXIS_CLOCK = "clk", "aclk"
RESET, AXIS_RESET = "rst", "aresetn"
"""The ports of a stream, and of AXI4-Stream, whose reset is active low."""

HANDSHAKE = ("i_valid", "o_ready")
AXIS_HANDSHAKE = ("s_axis_tvalid", "s_axis_tkeep", "s_axis_tlast", "m_axis_tready")
"""Inputs on which the control of beats may depend."""

EARLY = {"next_scale": "scale", "next_marks": "o_marks"}
"""Outputs of the module behind the store in front of its last registers, and the outputs behind these."""

OF_PARTS = ("beat", "next_beat", "scale_blocks")
"""Registers of AXI4-Stream for parts of blocks. Without them each beat is the first of its block."""

ADDRESS = "write_beat"
"""The address at which the store is written: the register, and the port of the store."""

PLAIN = ("$dff", "$sdff")
"""Registers that change at an edge of their clock only."""

STORAGE = ("$adff", "$aldff", "$dlatch", "$adlatch", "$sr", "$ff", "$mem", "$_")
"""Other storage, and gates that no reader makes."""


@dataclass(frozen=True)
class Beats:
    """The parts of a design with the ports of a configuration with lanes."""

    design: Design
    config: BeatConfig

    @property
    def ends(self) -> Ends:
        return ENDS[self.config.numerics.name]

    @property
    def places(self) -> tuple[str, ...]:
        """The places of registers, from the input to the output."""
        return tuple(self.config.microarchitecture.registered_after)

    @property
    def front(self) -> int:
        """Registers in front of the store."""
        if not self.ends.front:
            return 0
        assert isinstance(self.config, EncoderConfig)
        return sum(place in front_stages(self.config) for place in self.places)

    @property
    def back(self) -> int:
        """Registers behind the store, or all."""
        return len(self.places) - self.front

    @cached_property
    def modules(self) -> dict[str, str]:
        """The modules of the instances. Raises `StructureError` if one is missing."""
        cells = self.design.modules[self.design.top]["cells"]
        if missing := [name for name in self.ends.instances if name not in cells]:
            raise StructureError(f"{self.design.top} has no {missing[0]}")
        return {name: cells[name]["type"] for name in self.ends.instances}

    def control(self) -> dict:
        """The flat top module without the instances: their inputs are outputs, and their outputs are inputs.

        Raises `StructureError` unless they are connected to the ports of the top module, and all storage is registers
        at the rising edge of ``clk``.
        """
        top = self._netlist(
            *(f"setattr -mod -set keep_hierarchy 1 {name}" for name in self.modules.values()),
            f"flatten {self.design.top}",
            *UNSAID,
            *FREED,
            "memory_map",
            "opt_expr -keepdc",
            "opt_clean",
        )[self.design.top]
        ports = {name: port["bits"] for name, port in top["ports"].items()}
        cells = {name: top["cells"].pop(name) for name in self.modules}
        clock = AXIS_CLOCK if self.config.has_axis else CLOCK
        for cell in top["cells"].values():
            check_storage(cell, ports[clock])
        for instance, cell in cells.items():
            known = self.design.modules[self.modules[instance]]["ports"]
            outside = {CLOCK: clock}
            if not self.config.has_axis:
                outside |= {port: port for port in self.ends.outside(instance)}
            for port, bits in cell["connections"].items():
                if port not in outside:
                    direction = "output" if known[port]["direction"] == "input" else "input"
                    top["ports"][f"{instance}_{port}"] = {"direction": direction, "bits": bits}
                elif bits != ports.get(outside[port]):
                    raise StructureError(f"{port} of {instance} is not {outside[port]} of {self.design.top}")
        if not self.config.has_axis:
            for port in (*self.ends.inputs, *self.ends.results):
                top["ports"].pop(port, None)
        return top

    @property
    def has_halves(self) -> bool:
        """Does the store hold two blocks?"""
        return self.config.is_elastic and bool(self.ends.front)

    @property
    def is_whole(self) -> bool:
        """Is a beat of an encoder a whole block, which the store holds with its key?"""
        return bool(self.ends.front) and self.config.beats == 1

    @property
    def control_registers(self) -> tuple[str, ...]:
        """The wires of the registers that decide which beat enters the store and which one leaves it."""
        own = self.ends.control if self.config.beats > 1 or self.is_whole else ()
        if self.has_halves:
            own = ("has_block" if self.is_whole else "key_waits", "can_write", *own[1:])
        return (*own, *(f"valid_{place}_q" for place in self.places))

    @property
    def has_packed(self) -> bool:
        """Does a stream have packed blocks?"""
        return not self.config.is_even

    @property
    def under_valid(self) -> dict[str, str]:
        """Wires of AXI4-Stream without a reset on which the control depends, and the valid bits of each."""
        if self.ends.front and (stream := self.config.block_stream) is not None and self.has_packed:
            beside = MARKS[stream.place is ScalePlace.AFTER]  # the beat with the scale
            return {"last_q": "valid_q", **dict.fromkeys((beside, "o_marks"), f"valid_{self.places[-1]}_q")}
        if self.ends.front:
            return {"last_q": "valid_q"}
        if self.has_packed:
            return {"beat_last_held_q": "beat_held"}
        last = {"beat_marks_held_q": "beat_held"} if self.config.beats > 1 else {}
        return {**last, "beat_has_bytes_held_q": "beat_held"}

    def check_known(self) -> None:
        """`check_known` for the control, and a `StructureError` if the store is written elsewhere than at an address of
        its own."""
        registers = self.control_registers
        whole = self.design.modules[self.design.top]
        store = whole["cells"].get("block_store", {"connections": {}})["connections"]
        if self.ends.front and store.get(ADDRESS) != _net(whole, ADDRESS):
            raise StructureError(f"the store is not written at {ADDRESS}")
        if self.config.has_axis:
            own, scales = (self.ends.packed, ()) if self.has_packed else (self.ends.axis, self.ends.scales)
            if not self.ends.front and len(self.design.modules[self.design.top]["ports"]["s_axis_tkeep"]["bits"]) == 1:
                own = tuple(name for name in own if name != "offset")  # a word of one byte begins with it
            if self.is_whole:
                own = tuple(name for name in own if name not in OF_PARTS)
            registers, inputs = (*registers, *own), (*AXIS_HANDSHAKE, *scales)
            check_known(self.design, self.control(), AXIS_RESET, registers, inputs, self.under_valid)
        else:
            check_known(self.design, self.control(), RESET, registers, HANDSHAKE, {})

    def check_delays(self) -> None:
        """Raise `StructureError` unless the modules are pure delays with an enable, and the back takes what is of a
        block (`Ends.of_block`) with the first beat."""
        for instance, name in self.modules.items():
            registers = self.back if instance == self.ends.back else self.front
            module = self._netlist(f"flatten {name}", *UNSAID, *FREED, "memory_map", *WITH_ENABLES, BITS)[name]
            of_block = self.ends.of_block if instance == self.ends.back else ()
            _check_early(module, instance)
            Delay(module, instance, of_block, all_first=self.is_whole).check(registers)

    def without_registers(self) -> dict[str, dict]:
        """The modules and those inside them, with wires in place of registers."""
        modules = self._netlist(*UNSAID, *FREED, *WITH_ENABLES)
        waiting, found = list(self.modules.values()), dict[str, dict]()
        while waiting:
            name = waiting.pop()
            if name in modules and name not in found:
                found[name] = modules[name]
                waiting += [cell["type"] for cell in modules[name]["cells"].values()]
        for module in found.values():
            bypass(module)
        return found

    def keys_part(self) -> Part:
        """The function of the module in front of the store."""
        modules = self.without_registers()
        keys = modules.pop(self.modules[KEYS])
        (part,) = self.design.of_netlist({self.design.top: keys, **modules}).parts(Cut(self.design.top))
        return part.named(KEYS)

    def _netlist(self, *commands: str) -> dict[str, dict]:
        provide(self.design.folder)
        return self.design.netlist_after([*DISSOLVED, "proc -norom", *commands, "delete t:$scopeinfo"])


def check_known(
    design: Design,
    top: dict,
    reset: str,
    registers: Iterable[str],
    inputs: Iterable[str],
    under_valid: Mapping[str, str],
) -> None:
    """Raise `StructureError` unless an edge with the reset gives each register of a flat module a value, and it then
    depends on these registers and inputs only. So no address is unknown (x) while these inputs are known.

    With AXI4-Stream registers also depend on wires without a reset (``under_valid``), but only while the valid bit of
    each says that it is known.
    """
    split = ["simplemap", "opt_expr -keepdc"]

    def with_constant(bits: list, value: str) -> dict:
        cells = {
            name: cell
            | {
                "connections": {
                    pin: [value if bit in bits and cell["port_directions"][pin] == "input" else bit for bit in pins]
                    for pin, pins in cell["connections"].items()
                }
            }
            for name, cell in top["cells"].items()
        }
        return design.of_netlist({design.top: {**top, "cells": cells}}).netlist_after(split)[design.top]

    module = with_constant([], "0")
    known = {"0", "1", "x"}
    known |= {bit for name in (reset, *inputs) for bit in module["ports"][name]["bits"]}
    known |= {bit for name in registers for bit in _net(module, name)}
    for given, valid in under_valid.items():
        without = with_constant(_net(top, valid), "0")
        for name in registers:
            if Delay(without, design.top).leaves(_captured(without, name)) & set(_net(without, given)):
                raise StructureError(f"{name} depends on {given} without {valid}")
        known |= set(_net(module, given))
    cleared = with_constant(top["ports"][reset]["bits"], "0" if reset == AXIS_RESET else "1")
    for name in registers:
        if not set(_captured(cleared, name)) <= {"0", "1"}:
            raise StructureError(f"{reset} does not clear {name}")
        if not Delay(module, design.top).leaves(_captured(module, name)) <= known:
            raise StructureError(f"{name} depends on more than the control of beats")


def flat_module(design: Design) -> dict:
    """The flat top module with AXI4-Stream. Raises `StructureError` unless all storage is registers at the rising edge
    of the clock.
    """
    provide(design.folder)
    steps = ["flatten", *UNSAID, *FREED, "memory_map", "opt_expr -keepdc", "opt_clean", "delete t:$scopeinfo"]
    top = design.netlist_after([*DISSOLVED, "proc -norom", *steps])[design.top]
    for cell in top["cells"].values():
        check_storage(cell, top["ports"][AXIS_CLOCK]["bits"])
    return top


def check_storage(cell: dict, clock: list) -> None:
    """Raise `StructureError` if a cell is other storage than a register at the rising edge of the clock."""
    kind, pins = cell["type"], cell["connections"]
    if kind in PLAIN and pins["CLK"] == clock and int(cell["parameters"]["CLK_POLARITY"], 2) == 1:
        return
    if kind.startswith((*PLAIN, *STORAGE)):
        raise StructureError("it has storage other than registers at the rising edge of clk")


def _net(module: dict, name: str) -> list:
    """The bits of a wire."""
    if name not in module["netnames"]:
        raise StructureError(f"it has no register {name}")
    return module["netnames"][name]["bits"]


def _check_early(module: dict, instance: str) -> None:
    """Remove the outputs `EARLY` from a flat module, if it has them. Raises `StructureError` unless registers take
    them."""
    taken = {
        bit: given
        for cell in module["cells"].values()
        if cell["type"].startswith("$_DFF")
        for bit, given in zip(cell["connections"]["Q"], cell["connections"]["D"])
    }
    for early, late in EARLY.items():
        if early in module["ports"]:
            bits = module["ports"].pop(early)["bits"]
            if bits != [taken.get(bit) for bit in module["ports"][late]["bits"]]:
                raise StructureError(f"{late} of {instance} is not {early} behind a register")


def _captured(module: dict, name: str) -> list:
    """The bits that the registers of a wire take."""
    taken = {
        bit: given
        for cell in module["cells"].values()
        if cell["type"].startswith("$_DFF_P_")
        for bit, given in zip(cell["connections"]["Q"], cell["connections"]["D"])
    }
    return [taken.get(bit, bit) for bit in _net(module, name)]


class Delay:
    """The check of a flat module of gates: which of its registers move when. ``all_first`` says that every beat is the
    first of its block."""

    def __init__(self, module: dict, instance: str, of_block: tuple[str, ...] = (), *, all_first: bool = False) -> None:
        self.module, self.instance, self.of_block, self.all_first = module, instance, of_block, all_first
        self.ports = {name: port["bits"] for name, port in module["ports"].items()}
        self.drivers = drivers_of(module)

    def check(self, registers: int) -> None:
        moving = [cell for cell in self.module["cells"].values() if cell["type"].startswith("$_DFF")]
        for cell in moving:
            if cell["type"] != "$_DFFE_PP_" or cell["connections"]["C"] != self.ports.get("clk"):
                raise StructureError(f"{self.instance} has a register without an enable")
        firsts, keeping = self._firsts(moving), dict[object, int]()
        for cell in moving:
            enable = cell["connections"]["E"][0]
            found = {bit: firsts[bit] for bit in self.leaves([enable]) if bit in firsts}
            if self._is(enable, found, lambda enable, first: enable):
                continue
            if len({*found.values()}) != 1 or not self._is(enable, found, lambda enable, first: enable and first):
                raise StructureError(f"{self.instance} has a register that does not move with its enable")
            keeping[cell["connections"]["Q"][0]] = min(found.values())
        for cell in moving:
            cell["type"] = "$_DFF_P_"
            del cell["connections"]["E"], cell["port_directions"]["E"]
        check_delay(self.module, registers)
        if not self.all_first:
            self._check_sources(keeping)

    def _firsts(self, registers: Iterable[dict]) -> dict[object, int]:
        """The bits that say that a beat is the first of its block, and how many registers each is behind."""
        taken: dict[object, list[object]] = {}
        for cell in registers:
            pins = cell["connections"]
            if pins["E"] == self.ports.get("enable"):
                taken.setdefault(pins["D"][0], []).append(pins["Q"][0])
        found = dict.fromkeys(self.ports.get("is_first", ()), 0)
        waiting = list(found)
        for bit in waiting:
            found |= dict.fromkeys(taken.get(bit, ()), found[bit] + 1)
            waiting += taken.get(bit, ())
        return found

    def _check_sources(self, keeping: Mapping[object, int]) -> None:
        """Registers of a block (``keeping``, and how many registers the first beat is behind there) take the inputs of
        a block, as many registers behind, and nothing else does."""
        cells = self.module["cells"]
        late: dict[object, set[int]] = {bit: {0} for port in self.of_block for bit in self.ports.get(port, ())}
        others = {
            bit
            for name, port in self.module["ports"].items()
            if port["direction"] == "input" and name not in (*self.of_block, "clk")
            for bit in port["bits"]
        }
        mixed = others | keeping.keys()
        """Bits that depend on more than inputs of a block."""
        for name in in_order(self.module):
            cell = cells[name]
            given = inputs_of(cell)
            behind, is_mixed = set().union(*(late.get(bit, ()) for bit in given)), not mixed.isdisjoint(given)
            is_register = cell["type"] in REGISTERS
            for pin, way in cell["port_directions"].items():
                for bit in cell["connections"][pin] if way == "output" else ():
                    if bit not in keeping:
                        late[bit] = {count + is_register for count in behind}
                        mixed |= {bit} if is_mixed else set()
                    elif is_mixed or behind - {keeping[bit]}:
                        raise StructureError(
                            f"{self.instance} keeps more than the scale of a block with its first beat"
                        )
        results = {
            bit for port in self.module["ports"].values() if port["direction"] == "output" for bit in port["bits"]
        }
        if any(late.get(bit) for bit in results):
            raise StructureError(
                f"{self.instance} uses the {self.of_block[0]} of a block with another beat than its first"
            )
        scale = [*self.ports.get("scale", ())]
        needed = {*scale, *(bit for name in reaching(self.module, scale) for bit in inputs_of(cells[name]))}
        if needed & others:
            raise StructureError(f"the scale of {self.instance} depends on more than the key and the mode of the block")

    def leaves(self, bits: Iterable) -> set:
        """The bits of ports and registers on which bits depend within a cycle."""
        found, seen, waiting = set(), set(), list(bits)
        while waiting:
            bit = waiting.pop()
            if bit in seen:
                continue
            seen.add(bit)
            cell = self.module["cells"].get(self.drivers.get(bit, ""))
            if cell is None or cell["type"].startswith(("$_DFF", "$_SDFF")):
                found.add(bit)
            else:
                ways = cell["port_directions"]
                waiting += [one for pin, way in ways.items() if way == "input" for one in cell["connections"][pin]]
        return found

    def _is(self, bit: object, firsts: Iterable[object], wanted: Callable[[bool, bool], bool]) -> bool:
        """Is a signal a function of the enable and of the first beat of a block?"""
        (enable,) = self.ports.get("enable", [None])
        return all(
            self._value(bit, {enable: e, **dict.fromkeys(firsts, f), "0": False, "1": True}) == wanted(e, f)
            for e, f in product((False, True), (True,) if self.all_first else (False, True))
        )

    def _value(self, bit: object, known: dict) -> bool:
        if bit in known:
            return known[bit]
        cell = self.module["cells"].get(self.drivers.get(bit, ""))
        if cell is None or cell["type"] not in GATES:
            raise StructureError(f"an enable in {self.instance} depends on more than its port enable")
        pins = cell["connections"]
        return GATES[cell["type"]](*([self._value(one, known) for one in pins.get(port, ())] for port in ("A", "B")))
