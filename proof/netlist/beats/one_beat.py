"""A beat of a decoder with lanes at once: its module without registers, as a decoder of blocks of that size."""

from __future__ import annotations

from ....hdl.decode.beats import AnyDecoder
from ..design import Design
from ..structure import StructureError
from .parts import MARKS, NUMBERS, Beats

PASSED = {"o_first": "is_first", "o_last": "is_last", "o_marks": "marks"}
"""Outputs of the module that are inputs some beats before."""


def one_beat(beats: Beats, config: AnyDecoder) -> Design:
    """The design of a beat, with the ports of ``config.of_a_beat``. Raises `StructureError` if the place of a beat does
    not pass as it has to."""
    modules = beats.without_registers()
    top = modules.pop(beats.modules[NUMBERS])
    ports = top["ports"]
    for result, given in PASSED.items():
        if (result in ports or result in MARKS) and ports[result]["bits"] != ports[given]["bits"]:
            raise StructureError(f"{result} is not {given}, some beats before")
    names = [port.name for port in config.of_a_beat.ports]
    design = beats.design
    return design.of_netlist({design.top: {**top, "ports": {name: ports[name] for name in names}}, **modules})
