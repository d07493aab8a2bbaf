"""Check on the netlist that the modules of a converter to NVFP4 are wired as their proofs need it."""

from __future__ import annotations

from dataclasses import dataclass

from ...hdl import Nvfp4Config
from ...spec import FP32
from .structure import Instances, StructureError, in_lanes

ONE = [str((FP32.bias << FP32.man_bits) >> place & 1) for place in range(FP32.bits)]
"""The input of modules in place of a constant that the order does not use."""

BEFORE_CODES = ("maximum", "scale_unit")
PARTS = (*BEFORE_CODES, "factor_unit")


@dataclass(frozen=True, kw_only=True)
class CodesWiring:
    """The modules that make the codes of a block under a scale."""

    factor_unit: str
    factor: str
    """The module that computes the factor: an instance in ``factor_unit``, or that unit itself."""
    lanes: tuple[str, ...]
    """The module of the lanes: one module, or its copies in the netlist of a reader."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4Wiring:
    """The modules of the parts of a converter."""

    maximum: str
    scale_unit: str
    codes: tuple[CodesWiring, ...]
    """The modules behind the scale, or behind each of the scales that are tried."""


def nvfp4_wiring(modules: dict[str, dict], top: str, config: Nvfp4Config) -> Nvfp4Wiring:
    """Check that the top module consists of one module each for the largest magnitude, the scale and the factor, and a
    lane for each number, each with its own inputs; raises `StructureError` otherwise.

    Nothing else can reach a result, so the statement about the whole follows from the statements about these modules.
    """
    parts, rules = Instances(modules, top), config.numerics
    lanes = set(parts.cells) - {*PARTS}
    if not {*PARTS} <= set(parts.cells) or len(lanes) != rules.block_size or parts.has_logic:
        raise StructureError(f"{top} does not consist of {', '.join(PARTS)} and {rules.block_size} elements")
    check_scale(parts, config)
    codes = codes_wiring(parts, config)
    if parts.cells["scale_unit"].get("scale") != parts.ports["scale"]:
        raise StructureError(f"the scale of {top} does not come from its scale_unit")
    return Nvfp4Wiring(maximum=parts.kinds["maximum"], scale_unit=parts.kinds["scale_unit"], codes=(codes,))


def check_scale(parts: Instances, config: Nvfp4Config) -> None:
    """Raise `StructureError` unless the modules of the largest magnitude and of the scale have their inputs."""
    numbers = config.numerics.source.bits
    compared, entering = (in_lanes(bits, numbers) for bits in (parts.cells["maximum"].get("x", []), parts.ports["x"]))
    in_some_order = compared if sorted(map(str, compared)) == sorted(map(str, entering)) else entering
    parts.check_inputs("maximum", {"x": [bit for lane in in_some_order for bit in lane]})
    amax = parts.cells["maximum"].get("amax")
    parts.check_inputs("scale_unit", {"amax": amax or [], "k": parts.ports.get("k", ONE)})


def codes_wiring(parts: Instances, config: Nvfp4Config) -> CodesWiring:
    """The modules that make the codes ``p`` of the numbers ``x`` under ``scale``, which are ports. Raises
    `StructureError` unless each of them has its own inputs."""
    rules, ports, cells = config.numerics, parts.ports, parts.cells
    widths = {"x": rules.source.bits, "p": rules.block.element.bits, "random": rules.random_bits}
    constants = {"d": ONE, **ports}
    parts.check_inputs("factor_unit", {name: constants.get(name, []) for name in parts.inputs("factor_unit")})
    received = cells["factor_unit"] | {"scale": None, "nan_sign": ports["scale"][-1:]}
    numbered = {str(bits): lane for lane, bits in enumerate(in_lanes(ports["p"], widths["p"]))}
    lanes = sorted(parts.making("p"), key=lambda name: numbered.get(str(cells[name]["p"]), 0))
    if len(lanes) != rules.block_size:
        raise StructureError(f"{parts.name} has {len(lanes)} elements, not {rules.block_size}")
    for lane, name in enumerate(lanes):
        own = {port: in_lanes(ports[port], width)[lane] for port, width in widths.items() if width}
        known = {port: (received | own).get(port) for port in cells[name]}
        if cells[name] != known or not own.keys() <= cells[name].keys():
            raise StructureError(f"{name} of {parts.name} is not wired as the element {lane}")
    unit = parts.kinds["factor_unit"]
    return CodesWiring(
        factor_unit=unit,
        factor=_factor(parts.modules, unit),
        lanes=tuple(dict.fromkeys(parts.kinds[name] for name in lanes)),
    )


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
