"""Points of an exploration, hardware on a target, and their figures."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, fields
from typing import Any

from ..hdl import GENERIC, ConverterConfig, HardwareConfig, config_of, converter_config, fields_of
from ..hdl.config.command import command_line
from ..host.files import sha256
from ..spec import Encode, FloatFormat
from ..spec.catalogue import unknown_name
from ..synth import TARGETS
from .operations import OPERATIONS


@dataclass(frozen=True, kw_only=True)
class Point:
    """Hardware that is mapped to a target, and placed and routed with ``seeds`` seeds."""

    config: HardwareConfig
    target: str
    seeds: int = 0

    def to_dict(self) -> dict:
        return {"config": self.config.to_dict(), "target": self.target, "seeds": self.seeds}

    @classmethod
    def from_dict(cls, parts: dict) -> Point:
        return cls(config=config_of(parts["config"]), target=parts["target"], seeds=parts["seeds"])

    @property
    def id(self) -> str:
        """Twelve hex digits that identify the hardware, target and seeds, but not the tools."""
        return sha256(json.dumps(self.to_dict() | {"config": self.config.identity()}, sort_keys=True))[:12]

    @property
    def flags(self) -> list[str]:
        """The format, and the options of the command for this hardware, without its target."""
        config = self.config
        if not isinstance(config, ConverterConfig):
            return shlex.split(command_line(config, TARGETS[self.target].optimized_as))
        numerics = config.numerics
        profile = config.profile or "ocp"
        usual = converter_config(numerics.block.element, profile).numerics
        replaced = {
            f.name: value
            for f in fields(Encode)
            if f.name != "block" and (value := getattr(numerics, f.name)) != getattr(usual, f.name)
        }
        if numerics.block_size != usual.block_size:
            replaced["block_size"] = numerics.block_size
        if (rules := list(dict.fromkeys(str(mode.scale_rule) for mode in config.modes)))[1:]:
            replaced["scale_rule"] = ",".join(rules)
        replaced |= fields_of(config.microarchitecture, config.modes, [TARGETS[self.target].optimized_as])
        replaced.pop("target", None)
        formats = ",".join(dict.fromkeys(mode.block.short_name for mode in config.modes))
        return [
            formats,
            "--profile",
            profile,
            *(word for name, value in replaced.items() for word in ("--set", f"{name}={_text(value)}")),
        ]

    @property
    def emit(self) -> str:
        """The command that writes this hardware."""
        target = TARGETS[self.target].optimized_as
        return shlex.join(["mxcast", "emit", *self.flags, *([] if target == GENERIC else ["--target", target])])

    @property
    def job(self) -> str:
        """The command that measures this point and caches the result."""
        seeds = ["--seeds", str(self.seeds)] if self.seeds else []
        return shlex.join(
            [
                "mxcast",
                "explore",
                "point",
                "--format",
                *self.flags,
                "--target",
                self.target,
                *seeds,
                "--no-report",
                "--quiet",
            ]
        )


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return value.name if isinstance(value, FloatFormat) else str(value)


@dataclass(frozen=True, kw_only=True)
class Explored:
    """A point and its figures, as a row of a table. Unknown figures, and fields of other operations, are None."""

    id: str
    config_id: str
    format: str
    profile: str | None
    source: str
    block_size: int
    random_bits: int
    registered_after: str
    target: str
    status: str
    """``done`` or ``failed``."""
    operation: str = "encode"
    destination: str | None = None
    """Format of the results of decoders and casts."""
    scale_rule: str | None = None
    rounding: str | None = None
    specials: str | None = None
    input_subnormals: str | None = None
    element_subnormals: str | None = None
    overflow: str | None = None
    scale_reading: str | None = None
    subnormals: str | None = None
    nan: str | None = None
    nan_substitute: str | None = None
    zero: str | None = None
    negative: str | None = None
    underflow: str | None = None
    amax: str | None = None
    amax_key: str | None = None
    quantizer: str | None = None
    lane: str | None = None
    structure: str | None = None
    interface: str | None = None
    scale_place: str | None = None
    order: str | None = None
    four_over_six: str | None = None
    form: str | None = None
    error: str | None = None
    log: str | None = None
    """The end of the log of a failed point."""
    verilog: str | None = None
    """SHA-256 of the modules of the Verilog that was measured, under the name ``converter``."""
    luts: int | None = None
    carries: int | None = None
    muxes: int | None = None
    ffs: int | None = None
    logic_cells: int | None = None
    levels: int | None = None
    delay_ps: int | None = None
    """Estimate of the longest path by the delays of the cells, without wires."""
    latency_cycles: int = 0
    numbers_per_cycle: int | None = None
    """Numbers that enter in a clock cycle, and results that leave."""
    pnr_seeds: int | None = None
    fmax_mhz: float | None = None
    """Median over the seeds, between registers."""
    fmax_lowest_mhz: float | None = None
    fmax_highest_mhz: float | None = None
    pnr_luts: int | None = None
    """LUTs as mapped between registers."""
    blocks_per_s: float | None = None
    """Blocks at the median Fmax: one a cycle, or with lanes a part of one."""
    gbytes_per_s: float | None = None
    """Numbers at the input of an encoder or a cast, or at the output of a decoder; 10^9 bytes a second."""
    accuracy: dict[str, dict[str, float | None]] | None = None
    """The fields of `accuracy.Loss` for each tensor by its name."""
    sqnr_db: float | None = None
    max_relative_error: float | None = None
    saturated: float | None = None
    flushed: float | None = None
    lost: float | None = None
    mean_bias: float | None = None
    differing: float | None = None
    proof: str | None = "not asked"
    """The record of a proof of this Verilog; None for a failed point."""
    pareto: bool = False
    """Is the point on the front of its target?"""
    emit: str = ""
    """The command that writes this hardware."""

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def columns(cls) -> list[str]:
        """Names of the figures that are numbers."""
        return [f.name for f in fields(cls) if str(f.type).startswith(("int", "float"))]


def described(point: Point) -> dict[str, Any]:
    """The fields of `Explored` that follow from the point."""
    config, numerics, architecture = point.config, point.config.numerics, point.config.microarchitecture
    of, formats = OPERATIONS[numerics.name], numerics.formats
    written = numerics.to_dict()
    said = {
        name: ",".join(dict.fromkeys(str(getattr(mode, name)) for mode in config.modes))
        for name in of.rules
        if name in written
    }
    source = formats.get("source", formats.get("element"))
    assert source is not None
    return {
        "operation": numerics.name,
        "id": point.id,
        "config_id": config.config_id,
        "format": config.formats,
        "profile": config.profile,
        "source": source.name,
        "destination": formats["destination"].name if "destination" in formats else None,
        "block_size": numerics.block_size,
        **said,
        "random_bits": numerics.random_bits,
        **{name: str(getattr(architecture, name)) for name in of.choices},
        "registered_after": ",".join(architecture.registered_after),
        "target": point.target,
        "latency_cycles": config.latency,
        "numbers_per_cycle": numerics.block_size // config.beats,
        "emit": point.emit,
    }


def checked_column(name: str) -> str:
    """The name of a number of `Explored`; ValueError for another."""
    if name not in Explored.columns():
        raise ValueError(unknown_name("objective", name, Explored.columns()))
    return name
