"""A module that changes the handshake of a core: everything but the core, and the core as a design of its own."""

from __future__ import annotations

from functools import cached_property

from ....hdl import HardwareConfig
from ....spec import Role
from ..design import UNSAID, Design
from ..structure import StructureError
from .parts import AXIS_CLOCK, AXIS_HANDSHAKE, AXIS_RESET, CLOCK, RESET, check_known, check_storage

CORE = "core"
"""The instance, and the beginning of the names of its ports where they are ports of the module."""


class AroundCore:
    """The module with the ports of a configuration that has a `HardwareConfig.core`."""

    def __init__(self, design: Design, config: HardwareConfig) -> None:
        assert config.core is not None
        self.design, self.config, self.core = design, config, config.core

    @cached_property
    def _netlist(self) -> dict:
        commands = ["proc -norom", *UNSAID, "opt_expr -keepdc", "opt_clean"]
        top: dict = self.design.netlist_after(commands)[self.design.top]
        return top

    @property
    def inner(self) -> Design:
        """The design of the core."""
        kind = self._netlist["cells"].get(CORE, {"type": ""})["type"].partition("$")[0]  # slang adds a path
        if kind not in {name.partition("$")[0] for name in self.design.modules} - {""}:
            raise StructureError(f"{self.design.top} has no {CORE}")
        return Design(self.design.text, kind, self.design.folder / CORE, self.design.reader)

    @property
    def entering(self) -> list[str]:
        """The inputs of the core with the values of a beat."""
        return [pin.name for pin in self.core.pins if pin.direction == "input" and pin.role.is_data]

    @cached_property
    def control(self) -> dict:
        """The module without the core, whose inputs are outputs ``core_NAME``, and whose outputs are inputs.

        Raises `StructureError` unless all storage is registers at the rising edge of the clock, which is the clock of
        the core too.
        """
        top = {**self._netlist, "cells": {**self._netlist["cells"]}, "ports": {**self._netlist["ports"]}}
        name = AXIS_CLOCK if self.config.has_axis else CLOCK
        clock = top["ports"][name]["bits"]
        if CORE not in top["cells"]:
            raise StructureError(f"{self.design.top} has no {CORE}")
        pins = top["cells"].pop(CORE)["connections"]
        for cell in top["cells"].values():
            check_storage(cell, clock)
        if pins[CLOCK] != clock:
            raise StructureError(f"the clock of the core is not {name}")
        for pin in self.core.pins:
            if pin.role is not Role.CLOCK and pin.name in pins:
                back = {"input": "output", "output": "input"}[pin.direction]
                top["ports"][f"{CORE}_{pin.name}"] = {"direction": back, "bits": pins[pin.name]}
        return top

    def passed(self) -> None:
        """Raise `StructureError` unless the outputs of the core, its reset and its ready are the pins of the module."""
        ports = self.control["ports"]
        names = [pin.name for pin in self.core.pins if pin.is_result or pin.role in (Role.RESET, Role.FIRST, Role.LAST)]
        for name in (*names, "o_valid", "o_ready"):
            if ports[f"{CORE}_{name}"]["bits"] != ports[name]["bits"]:
                raise StructureError(f"{name} of the core is not {name} of {self.design.top}")
        for name in ("o_first", "o_last"):
            if f"{CORE}_{name}" not in ports and ports[name]["bits"] != ["1"]:
                raise StructureError(f"{name} is not set, although each beat is a block")

    def check_known(self) -> None:
        """`parts.check_known` for the module."""
        if not self.config.has_axis:
            check_known(self.design, self.control, RESET, ("beat_held",), ("i_valid", "core_i_ready"), {})
            return
        sent = [name for name in self.control["netnames"] if name.endswith("_sent")]
        registers = ["valid_q", "running_q", "blocks_inside", *(["beat"] if self.config.beats > 1 else []), *sent]
        readies = [name for name in self.control["ports"] if name.endswith("_tready") and name.startswith("m_axis_")]
        own = ["core_i_ready", "core_o_valid", "core_o_last"]
        inputs = {*AXIS_HANDSHAKE, *readies, *own} & self.control["ports"].keys()
        check_known(self.design, self.control, AXIS_RESET, registers, sorted(inputs), {"last_q": "valid_q"})
