"""A design that consists of some instances and of their control: both alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property

from ..design import DISSOLVED, FREED, UNSAID, Design, provide
from ..pipeline import WITH_ENABLES, bypass
from ..structure import StructureError
from .parts import CLOCK, check_storage


class InstanceParts(ABC):
    """The instances of a design, by name."""

    def __init__(self, design: Design) -> None:
        self.design = design

    @property
    @abstractmethod
    def kinds(self) -> dict[str, str]:
        """The modules of the instances. Raises `StructureError` if one is missing."""

    @property
    @abstractmethod
    def gates(self) -> dict[str, dict]:
        """The modules, of which those with control are gates."""

    def kind(self, name: str, module: str) -> str:
        """The module of an instance in another module."""
        cells = self.design.modules[module]["cells"]
        if name not in cells:
            raise StructureError(f"{self.design.top} has no {name}")
        kind: str = cells[name]["type"]
        return kind

    def netlist(self, *commands: str) -> dict[str, dict]:
        provide(self.design.folder)
        return self.design.netlist_after([*DISSOLVED, "proc -norom", *commands, "delete t:$scopeinfo"])

    @cached_property
    def functions(self) -> dict[str, dict]:
        """The modules without registers."""
        modules = self.netlist(*UNSAID, *FREED, *WITH_ENABLES)
        for module in modules.values():
            bypass(module)
        return modules

    def inside(self, instance: str) -> dict[str, dict]:
        """The modules in an instance, without registers."""
        whole = self.functions[self.kinds[instance]]
        found, waiting = dict[str, dict](), [cell["type"] for cell in whole["cells"].values()]
        while waiting:
            name = waiting.pop()
            if name in self.functions and name not in found:
                found[name] = self.functions[name]
                waiting += [cell["type"] for cell in found[name]["cells"].values()]
        return found

    def without(self, module: str, instances: list[str]) -> dict:
        """A module of `gates` without instances and memories."""
        whole = self.gates[module]
        cells, ports = dict(whole["cells"]), dict(whole["ports"])
        clock = ports[CLOCK]["bits"]
        for instance in instances:
            ways = self.design.modules[self.kinds[instance]]["ports"]
            for port, bits in cells.pop(instance)["connections"].items():
                if port == CLOCK:
                    if bits != clock:
                        raise StructureError(f"{instance} has another clock than clk")
                    continue
                direction = "output" if ways[port]["direction"] == "input" else "input"
                ports[f"{instance}_{port}"] = {"direction": direction, "bits": bits}
        for name, cell in list(cells.items()):
            if cell["type"].startswith("$mem"):
                del cells[name]
            elif cell["type"].startswith("$_DFF") and cell["type"] != "$_DFF_P_":
                raise StructureError("it has storage other than registers at the rising edge of clk")
            elif cell["type"] == "$_DFF_P_" and cell["connections"]["C"] != clock:
                raise StructureError("it has a register on another clock than clk")
            elif not cell["type"].startswith("$_DFF"):
                check_storage({**cell, "type": cell["type"].replace("$_", "gate_", 1)}, clock)
        return {**whole, "attributes": {"top": "1"}, "cells": cells, "ports": ports}

    def opened(self, instance: str, state: Iterable[str]) -> dict:
        """A flat module with these registers as inputs ``now_NAME`` and outputs ``next_NAME``."""
        kind = self.kinds[instance]
        module = self.netlist(f"flatten {kind}", *UNSAID, *FREED, "simplemap t:$dff")[kind]
        clock = module["ports"][CLOCK]["bits"]
        registers = {
            cell["connections"]["Q"][0]: name for name, cell in module["cells"].items() if cell["type"] == "$_DFF_P_"
        }
        taken = {bit: module["cells"][name]["connections"]["D"][0] for bit, name in registers.items()}
        for name in state:
            if name not in module["netnames"]:
                raise StructureError(f"the {instance} has no register {name}")
            bits = module["netnames"][name]["bits"]
            module["ports"][f"now_{name}"] = {"direction": "input", "bits": bits}
            module["ports"][f"next_{name}"] = {"direction": "output", "bits": [taken.get(bit, bit) for bit in bits]}
            for bit in bits:
                if bit in registers:
                    cell = module["cells"].pop(registers[bit])
                    if cell["connections"]["C"] != clock:
                        raise StructureError(f"the {instance} has another clock than clk")
        return {**module, "attributes": {"top": "1"}}
