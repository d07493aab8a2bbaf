"""Modules around hardware with AXI4-Stream: the wires of those that only connect, and gearboxes of a bus."""

from __future__ import annotations

from collections.abc import Sequence

from ....hdl.bus.pins import Stream
from ....spec import Port
from ..design import Design
from ..structure import StructureError
from .parts import AXIS_RESET, check_known, flat_module

SIGNALS = ("tdata", "tkeep", "tlast", "tuser", "tvalid", "tready")
"""The ends of the names of a stream."""

KNOWN = ("count", "has_ended", "ends_alone", "running_q", "keeps_q")
"""Registers of a gearbox that decide about its words."""

KNOWN_INPUTS = ("s_tvalid", "s_tkeep", "s_tlast", "m_tready")
"""Its inputs on which they may depend."""


def check_wires(design: Design, pins: Sequence[Port], streams: Sequence[Stream], inner: str) -> None:
    """Raise `StructureError` unless the top module connects the module ``inner`` with ``pins`` to its own pins and to a
    gearbox for each of ``streams``, and does nothing else.
    """
    top = design.netlist_after(["proc", "opt_clean"])[design.top]
    ports = {name: port["bits"] for name, port in top["ports"].items()}
    modules = {"inner": inner, **{stream.kind: f"{design.top}_{stream.kind}" for stream in streams}}
    if {name: cell["type"].partition("$")[0] for name, cell in top["cells"].items()} != modules:  # slang adds a path
        raise StructureError(f"{design.top} does more than connect {inner}")
    cells = {name: cell["connections"] for name, cell in top["cells"].items()}
    expected = {pin.name: ports.get(pin.name) for pin in pins}
    for stream in streams:
        box, outer, within = cells[stream.kind], *(("s_", "m_") if stream.enters else ("m_", "s_"))
        wanted = {"aclk": ports["aclk"], "aresetn": ports["aresetn"]}
        for signal in SIGNALS:
            name = stream.name + signal
            if outer + signal in box:
                wanted[outer + signal] = ports.get(name)
            if name in expected:
                expected[name] = box.get(within + signal)
        if not stream.has_keep and not stream.enters:
            wanted["s_tkeep"] = ["1"] * stream.inside
        if different := [port for port, bits in wanted.items() if box.get(port) != bits]:
            raise StructureError(f"{different[0]} of {stream.kind} is connected otherwise")
    if different := [name for name, bits in expected.items() if cells["inner"].get(name) != bits]:
        raise StructureError(f"{different[0]} of {inner} is connected otherwise")


def flat_gearbox(design: Design) -> dict:
    """The `flat_module` of a gearbox. Raises `StructureError` unless a reset makes the registers known that decide
    about words.
    """
    top = flat_module(design)
    check_known(design, top, AXIS_RESET, KNOWN, KNOWN_INPUTS, {})
    return top
