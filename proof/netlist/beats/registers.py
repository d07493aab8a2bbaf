"""The module with registers around an encoder: everything but the encoder."""

from __future__ import annotations

from ....hdl.lanes.keys import EncoderConfig
from ....hdl.registers.table import USER
from ..design import UNSAID, Design
from ..structure import StructureError
from .parts import AXIS_CLOCK, AXIS_RESET, PLAIN, check_known, check_storage

ENCODER = "encoder"
"""The instance, and the beginning of the names of its pins as ports."""

OWN = ("s_axis_tvalid", "s_axis_tready", USER)
"""Pins of the encoder that are not pins of the module."""


def around_encoder(design: Design, config: EncoderConfig, inner: str) -> dict:
    """The module without the encoder, whose inputs are outputs, and whose outputs are inputs.

    Raises `StructureError` unless all other pins of the encoder are pins of the module, all storage is registers at the
    rising edge of the clock, and a reset makes them known.
    """
    top = design.netlist_after(["proc -norom", *UNSAID, "opt_expr -keepdc", "opt_clean"])[design.top]
    ports = {name: port["bits"] for name, port in top["ports"].items()}
    encoder = top["cells"].pop(ENCODER, {"type": "", "connections": {}})
    if encoder["type"].partition("$")[0] != inner:  # slang adds a path
        raise StructureError(f"{design.top} has no instance {ENCODER} of {inner}")
    for pin in config.pins:
        bits = encoder["connections"][pin.name]
        if pin.name not in OWN and bits != ports.get(pin.name):
            raise StructureError(f"{pin.name} of {inner} is connected otherwise")
        back = {"input": "output", "output": "input"}[pin.direction]
        if pin.name in OWN or pin.direction == "output":
            top["ports"][f"{ENCODER}_{pin.name}"] = {"direction": back, "bits": bits}
    for cell in top["cells"].values():
        check_storage(cell, ports[AXIS_CLOCK])
    kept = {bit for cell in top["cells"].values() if cell["type"] in PLAIN for bit in cell["connections"]["Q"]}
    registers = [name for name, net in top["netnames"].items() if kept.issuperset(net["bits"])]
    inputs = [name for name, port in top["ports"].items() if port["direction"] == "input"]
    check_known(design, top, AXIS_RESET, registers, inputs, {})
    return top
