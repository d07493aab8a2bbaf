"""Check on the netlist that the modules of a converter to NVFP4 are wired as their proofs need it."""

from __future__ import annotations

from dataclasses import dataclass

from ...hdl import Nvfp4Config
from ...spec import FP32
from .structure import StructureError

ONE = [str((FP32.bias << FP32.man_bits) >> place & 1) for place in range(FP32.bits)]
"""The input of modules in place of a constant that the order does not use."""

PARTS = ("maximum", "scale_unit", "factor_unit")


@dataclass(frozen=True, kw_only=True)
class Nvfp4Wiring:
    """The modules of the parts of a converter."""

    maximum: str
    scale_unit: str
    factor_unit: str
    factor: str
    """The module that computes the factor: an instance in ``factor_unit``, or that unit itself."""
    lanes: tuple[str, ...]
    """The module of the lanes: one module, or its copies in the netlist of a reader."""


def nvfp4_wiring(modules: dict[str, dict], top: str, config: Nvfp4Config) -> Nvfp4Wiring:
    """Check that the top module consists of one module each for the largest magnitude, the scale and the factor, and a
    lane for each number, each with its own inputs; raises `StructureError` otherwise.

    Nothing else can reach a result, so the statement about the whole follows from the statements about these modules.
    """
    module, rules = modules[top], config.numerics
    ports = {name: port["bits"] for name, port in module["ports"].items()}
    cells = {name: cell["connections"] for name, cell in module["cells"].items()}
    kinds = {name: cell["type"] for name, cell in module["cells"].items()}
    numbers, codes = rules.source.bits, rules.block.element.bits
    numbered = {str(bits): lane for lane, bits in enumerate(_in_lanes(ports["p"], codes))}
    lanes = sorted(set(cells) - {*PARTS}, key=lambda name: numbered.get(str(cells[name].get("p")), 0))
    if not {*PARTS} <= set(cells) or len(lanes) != rules.block_size or not set(kinds.values()) <= set(modules):
        raise StructureError(f"{top} does not consist of {', '.join(PARTS)} and {rules.block_size} elements")

    def inputs(name: str) -> dict[str, list]:
        known = modules[kinds[name]]["ports"]
        return {port: bits for port, bits in cells[name].items() if known[port]["direction"] == "input"}

    amax = cells["maximum"].get("amax")
    constants = {"k": ONE, "d": ONE, **ports}
    compared, entering = (_in_lanes(bits, numbers) for bits in (cells["maximum"].get("x", []), ports["x"]))
    in_some_order = compared if sorted(map(str, compared)) == sorted(map(str, entering)) else entering
    wanted = {
        "maximum": {"x": [bit for lane in in_some_order for bit in lane]},
        "scale_unit": {"amax": amax, "k": constants["k"]},
        "factor_unit": {name: constants.get(name) for name in inputs("factor_unit")},
    }
    for name, bits in wanted.items():
        if inputs(name) != bits:
            raise StructureError(f"{name} of {top} has other inputs")
    if cells["scale_unit"].get("scale") != ports["scale"]:
        raise StructureError(f"the scale of {top} does not come from its scale_unit")
    received = cells["factor_unit"] | {"scale": None, "nan_sign": ports["scale"][-1:]}
    for lane, name in enumerate(lanes):
        own = {
            port: ports[port][width * lane : width * (lane + 1)]
            for port, width in {"x": numbers, "p": codes, "random": rules.random_bits}.items()
            if width
        }
        if (
            cells[name] != {port: (received | own).get(port) for port in cells[name]}
            or not own.keys() <= cells[name].keys()
        ):
            raise StructureError(f"{name} of {top} is not wired as the element {lane}")
    return Nvfp4Wiring(
        maximum=kinds["maximum"],
        scale_unit=kinds["scale_unit"],
        factor_unit=kinds["factor_unit"],
        factor=_factor(modules, kinds["factor_unit"]),
        lanes=tuple(dict.fromkeys(kinds[name] for name in lanes)),
    )


def _in_lanes(bits: list, width: int) -> list[list]:
    return [bits[place : place + width] for place in range(0, len(bits), width)]


def _factor(modules: dict[str, dict], unit: str) -> str:
    """The module of the cell ``factor`` of a unit, whose ports must be wires of the same names; the unit if it has no
    such cell."""
    module = modules[unit]
    cell = module["cells"].get("factor")
    if cell is None or cell["type"] not in modules:
        return unit
    nets = {name: net["bits"] for name, net in module["netnames"].items()}
    for port, bits in cell["connections"].items():
        if nets.get(port) != bits:
            raise StructureError(f"the wire {port} of {unit} does not come from its factor")
    return cell["type"]
