"""The parts of a cast by AXI4-Stream: the datapath of its words, which is a pure delay, and everything else."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from ....hdl import CastConfig
from ....hdl.config.architecture import Interface
from ..design import Design
from ..pipeline import BITS, WITH_ENABLES, bypass
from ..structure import StructureError
from .cuts import cut, seen
from .parts import AXIS_CLOCK, AXIS_HANDSHAKE, AXIS_RESET, NUMBERS, Delay, check_known, flat_module

WORDS, MARKS, RANDOM = "beat_words", "beat_marks", "beat_random"
"""Wires of the beat that is taken next: its words, the marks of its packet, and its random bits."""

ENABLE = "back_enable"
"""The wire that moves all registers of the datapath."""

RESULT = "m_axis_tdata"


def of_a_word(config: CastConfig) -> CastConfig:
    """The configuration of the same cast without registers.

    >>> from mxcast.hdl import cast_config
    >>> of_a_word(cast_config("e4m3", lanes=4, interface="axis")).latency
    0
    """
    micro = dataclasses.replace(config.microarchitecture, interface=Interface.STREAM, registered_after=())
    return dataclasses.replace(config, microarchitecture=micro)


@dataclass(frozen=True)
class AxisCast:
    """The parts of a design with the ports of a cast by AXI4-Stream."""

    design: Design
    config: CastConfig

    @cached_property
    def flat(self) -> dict:
        """`flat_module`."""
        return flat_module(self.design)

    def control(self) -> dict:
        """Everything but the datapath: the words of a beat, its marks, and the enable are outputs."""
        shown = {f"{NUMBERS}_p": WORDS, f"{NUMBERS}_marks": MARKS, f"{NUMBERS}_enable": ENABLE}
        if self.config.numerics.random_bits:
            shown[f"{NUMBERS}_random"] = RANDOM
        top = seen(self.flat, shown)
        return {**top, "ports": {name: port for name, port in top["ports"].items() if name != RESULT}}

    def check_known(self) -> None:
        """`parts.check_known` for the control."""
        valid = [f"valid_{place}_q" for place in self.config.microarchitecture.registered_after]
        registers = (*valid, "running_q", "beat_held")
        check_known(self.design, self.control(), AXIS_RESET, registers, AXIS_HANDSHAKE, {})

    def word(self) -> Design:
        """The datapath without registers, with the ports of `of_a_word`.

        Raises `StructureError` unless it is a pure delay with an enable.
        """
        rules, datapath = self.config.numerics, self.flat
        inputs = [name for name, port in datapath["ports"].items() if port["direction"] == "input"]
        for name in (ENABLE, WORDS, *([RANDOM] if rules.random_bits else ())):
            datapath = cut(datapath, name, [RESULT, *inputs])
            inputs.append(f"cut_{name}")
        names = {AXIS_CLOCK: "clk", f"cut_{ENABLE}": "enable"}
        datapath["ports"] = {names.get(name, name): port for name, port in datapath["ports"].items()}
        made = self.design.of_netlist({self.design.top: datapath})
        gates = made.netlist_after(["opt_clean", "memory_map", *WITH_ENABLES, BITS])[self.design.top]
        for name in (AXIS_RESET, *(port for port in gates["ports"] if port.startswith(("s_axis_", "m_axis_")))):
            if name != RESULT and _reads(gates, gates["ports"].pop(name)["bits"]):
                raise StructureError(f"{RESULT} depends on {name}, past the beat that enters")
        Delay(gates, "the datapath").check(len(self.config.microarchitecture.registered_after))
        module = made.netlist_after(["opt_clean", *WITH_ENABLES])[self.design.top]
        bypass(module)
        ports = {name: port["bits"] for name, port in module["ports"].items()}
        entering, *_, leaving = rules.ports
        if set(ports[RESULT][leaving.width :]) - {"0"}:
            raise StructureError("a bit of m_axis_tdata above the results is not 0")
        wires = {entering.name: ("input", ports[f"cut_{WORDS}"])}
        if rules.random_bits:
            wires["random"] = "input", ports[f"cut_{RANDOM}"]
        wires[leaving.name] = "output", ports[RESULT][: leaving.width]
        module["ports"] = {name: {"direction": way, "bits": bits} for name, (way, bits) in wires.items()}
        return made.of_netlist({self.design.top: module})


def _reads(module: dict, bits: list) -> bool:
    """Does a gate or the result take one of these bits?"""
    taken = {*module["ports"][RESULT]["bits"]}
    for cell in module["cells"].values():
        ways = cell["port_directions"]
        taken |= {bit for pin, one in cell["connections"].items() if ways[pin] == "input" for bit in one}
    return bool(taken & set(bits))
