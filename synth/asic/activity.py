"""The nets of a mapped design without registers, for blocks one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from graphlib import TopologicalSorter
from typing import TypeAlias

import numpy as np

GATES: dict[str, Callable[..., np.ndarray]] = {
    "$_BUF_": lambda A: A,
    "$_NOT_": lambda A: ~A,
    "$_AND_": lambda A, B: A & B,
    "$_OR_": lambda A, B: A | B,
    "$_XOR_": lambda A, B: A ^ B,
}
"""Gates of which Yosys makes the function of a cell, by the names of their pins."""

Nets: TypeAlias = "dict[object, np.ndarray]"
"""The bits (n,) of each net for n blocks."""


def simulated(modules: Mapping[str, dict], top: str, given: Mapping[str, np.ndarray]) -> Nets:
    """All nets of a module.

    Parameters
    ----------
    modules : the mapped design and its cells by name, as Yosys writes them in JSON
    top : the design, which consists of cells
    given : the bits (n, width) of each input, for n blocks

    Raises
    ------
    ValueError
        for a cell with a register, or without a function
    """
    design = modules[top]
    count = len(next(iter(given.values())))
    known: Nets = {"0": np.zeros(count, bool), "1": np.ones(count, bool)}
    for name, bits in given.items():
        known.update(zip(design["ports"][name]["bits"], np.ascontiguousarray(bits.T)))
    cells = design["cells"]
    drivers = {bit: name for name, cell in cells.items() for bit in _bits(modules, cell, "output")}
    sources = {
        name: {drivers[bit] for bit in _bits(modules, cell, "input") if bit in drivers} for name, cell in cells.items()
    }
    for name in TopologicalSorter(sources).static_order():
        _evaluate(modules[cells[name]["type"]], cells[name], known)
    return known


def _bits(modules: Mapping[str, dict], cell: dict, direction: str) -> list:
    """The nets at the inputs or the outputs of a cell."""
    ports = modules[cell["type"]]["ports"]
    pins = cell["connections"].items()
    return [bit for pin, bits in pins if ports[pin]["direction"] == direction for bit in bits]


def _evaluate(module: dict, cell: dict, known: Nets) -> None:
    """Add the outputs of a cell, whose gates are in ``module``."""
    pins = {pin: bits for pin, bits in cell["connections"].items() if bits}
    ports = module["ports"]
    inside: Nets = {"0": known["0"], "1": known["1"]}
    for pin, bits in pins.items():
        if ports[pin]["direction"] == "input":
            inside[ports[pin]["bits"][0]] = known[bits[0]]
    drivers = {gate["connections"]["Y"][0]: gate for gate in module["cells"].values() if "Y" in gate["connections"]}

    def value(bit: object) -> np.ndarray:
        if bit not in inside:
            gate = drivers.get(bit)
            if gate is None or gate["type"] not in GATES:
                raise ValueError(f"the cell {cell['type']} has a register, or no function")
            inputs = {pin: value(one[0]) for pin, one in gate["connections"].items() if pin != "Y"}
            inside[bit] = GATES[gate["type"]](**inputs)
        return inside[bit]

    known.update({bits[0]: value(ports[pin]["bits"][0]) for pin, bits in pins.items() if bits[0] not in known})
