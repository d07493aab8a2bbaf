"""A flat module with wires as inputs or outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..structure import StructureError


def cut(control: dict, name: str, kept: Iterable[str]) -> dict:
    """The module with a wire as an input in place of what drives it, and with these ports only."""
    found = control["netnames"].get(name) or control["ports"].get(name)
    if found is None:
        raise StructureError(f"the design has no wire {name}")
    bits = found["bits"]
    nets = [*control["ports"].values(), *control["netnames"].values()]
    unused = 1 + max(one for net in nets for one in net["bits"] if isinstance(one, int))
    unused += sum(len(bits) for part in control["cells"].values() for bits in part["connections"].values())
    cells = {
        cell: {
            **part,
            "connections": {
                pin: [
                    unused + bits.index(one) if one in bits and part["port_directions"][pin] == "output" else one
                    for one in pins
                ]
                for pin, pins in part["connections"].items()
            },
        }
        for cell, part in control["cells"].items()
    }
    ports = {port: about for port, about in control["ports"].items() if port in set(kept)}
    return {**control, "cells": cells, "ports": {**ports, f"cut_{name}": {"direction": "input", "bits": bits}}}


def seen(control: dict, names: Mapping[str, str]) -> dict:
    """The module with wires as outputs, by the names of the outputs."""
    if missing := [wire for wire in names.values() if wire not in control["netnames"]]:
        raise StructureError(f"the design has no wire {missing[0]}")
    shown = {port: {"direction": "output", "bits": control["netnames"][wire]["bits"]} for port, wire in names.items()}
    return {**control, "ports": control["ports"] | shown}
