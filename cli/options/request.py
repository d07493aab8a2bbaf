"""The configurations that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...hdl import (
    CHOICES,
    CONFIGURATIONS,
    CONSTRAINTS,
    DECODER_CHOICES,
    NVFP4_CHOICES,
    NVFP4_OPERATIONS,
    ConverterConfig,
    HardwareConfig,
)
from ...hdl.emission.designs import design_in, design_of
from ...spec import (
    BLOCKS,
    CAST_RULES,
    DECODE_RULES,
    ELEMENTS,
    NVFP4_DECODE_RULES,
    NVFP4_ENCODERS,
    NVFP4_RULES,
    PROFILES_OF,
    SCALARS,
    TILE_RULES,
    Cast,
    Encode,
    Hadamard,
    Nvfp4Encode,
    TileEncode,
    block_format,
    is_nvfp4,
)
from ...spec.catalogue import known_name, unknown_name
from ...spec.identifiers import LONGEST
from ...spec.operations.ptx import FORMATS as PTX_FORMATS
from ...spec.operations.ptx import is_instruction
from ...spec.profiles.resolve import formats_of, under
from ..output.output import Output
from .assignments import assigned, profile_and_fields
from .common import OPERATIONS, HardwareOptions, ProfileOptions, RuleOptions
from .settings import TABLES, Settings, read_settings

ALL = "all"

BUILT = ("registered_after", "optimize", "target", *CONSTRAINTS)
"""Keys of the hardware of any operation."""

BLOCKS_BUILT = (*BUILT, "layout")
"""Keys of the hardware of operations on blocks."""

BEATS_BUILT = (*BLOCKS_BUILT, "lanes", "interface")
"""Keys of the hardware of operations whose blocks may enter in beats."""

NVFP4_KEYS = ["source", "block_size", *NVFP4_RULES, "scale_max", "random_bits"]
"""Rules of NVFP4 that --set takes."""

KEYS = {
    "encode": [key for table in TABLES.values() for key in table if key not in ("block", "operation")],
    "decode": [
        *("destination", *DECODE_RULES, "random_bits", "block_size"),
        *(*DECODER_CHOICES, *BEATS_BUILT, "scale_place"),
    ],
    "cast": ["source", "destination", "lanes", *CAST_RULES, "random_bits", *BUILT, "interface"],
    "two_level_encode": [*NVFP4_KEYS, *NVFP4_CHOICES, *BLOCKS_BUILT],
    "two_level_decode": ["destination", "block_size", *NVFP4_DECODE_RULES, "scale_max", *BLOCKS_BUILT],
    "hadamard": ["signs", *BUILT],
    "tile": ["source", "block_size", *TILE_RULES, *CHOICES, *BUILT],
}
"""Keys that --set takes, by operation."""

FORMATS: dict[str, Iterable[str]] = {
    "encode": BLOCKS,
    "decode": BLOCKS,
    "cast": SCALARS,
    "two_level_encode": ("nvfp4", "nvfp4_32"),
    "two_level_decode": ("nvfp4", "nvfp4_32"),
    "hadamard": ("hadamard16",),
    "tile": BLOCKS,
}
"""Formats that ``all`` means, by operation."""


HARDWARE_ONLY = (Hadamard.name, TileEncode.name)
"""Operations of commands with ``of_any`` only."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The configurations that the options ask for, and the name of the top module if it is given."""

    configs: tuple[HardwareConfig, ...]
    many: bool
    """Were ``all`` formats asked for? If so, results are lists."""
    name: str | None = None
    is_emitted: bool = False
    """Does the command line name a design in a folder?"""

    @property
    def encoders(self) -> tuple[ConverterConfig, ...]:
        """The configurations that are encoders to MX formats."""
        return tuple(config for config in self.configs if isinstance(config, ConverterConfig))

    def of(self, results: list) -> object:
        """The results of the configurations for JSON: a list, or the only one."""
        return results if self.many else results[0]


def request(
    usage: str,
    rules: RuleOptions,
    *,
    usual_target: str | None = None,
    allow_all: bool = True,
    output: Output | None = None,
    of_any: bool = False,
    designs: Path | None = None,
) -> Request:
    """The configurations that the options ask for; options override the file ``config``.

    ``usage`` is an example for errors, with ``{}`` for the format. ``allow_all`` permits several formats and modes.
    ``output`` shows that registers are being chosen; a command without it takes no registers. ``of_any`` permits every
    operation that has hardware, NVFP4 included. ``designs`` is a folder in which ``name``, or an unknown ``format``,
    may name a design if no rules are given. ``usual_target`` is the target unless one is given.
    Raises ValueError and TypeError.
    """
    format, profile, assignments, config = rules.format, rules.profile, rules.set, rules.config
    name, target = (rules.name, rules.target) if isinstance(rules, HardwareOptions) else (None, None)
    out = designs
    op = known_name("operation", rules.op, OPERATIONS)
    if out is not None and op == Encode.name and not (profile or assignments or config or target):
        design = name if format is None else format if _is_design(format, out) else None
        if design is not None:
            if name not in (None, design):
                raise ValueError(f"{design} is a design in {out}, and --name says {name}: give one of them")
            return Request(configs=(design_of(out, design),), many=False, name=design, is_emitted=True)
    if config and op != "encode":
        raise ValueError(f"a configuration file is of an encoder: leave out --config or --op {op}")
    settings = read_settings(config) if config else Settings()
    is_emitted = out is not None and name is not None
    format, name = settings.format if format is None else format, settings.name if name is None else name
    if format is None:
        raise ValueError(f"a format is missing: mxcast {usage.format('e4m3')}")
    if "." in format:  # an instruction, or the path of a design
        from ...sim.run.preprocess import verilog_file

        verilog_file(format)
    if _is_of_casts(format) and op != "cast":
        raise ValueError(f"{format} needs --op cast: mxcast {usage.format(format)} --op cast")
    if "," in format and op != "encode":
        raise ValueError(f"only encoders have modes: give --op {op} one format, not {format}")
    if op in HARDWARE_ONLY and not of_any:
        raise ValueError(f"{usage.split()[0]} does not take --op {op} yet")
    if any(is_nvfp4(one.strip()) for one in format.split(",")):
        if not of_any or op not in NVFP4_OPERATIONS or "," in format:
            asked = usage.split()[0] + ("" if op == "encode" else f" --op {op}")
            raise ValueError(f"{asked} does not take {format} yet")
        op = NVFP4_OPERATIONS[op]
    usual = "ptx" if is_instruction(format) else next(iter(PROFILES_OF[op]))
    profile = next(given for given in (profile, settings.profile, usual) if given is not None)
    for one in format.split(","):
        if one.strip().lower() in PROFILES_OF[op]:
            asked = usage.format("e4m3") + ("" if op == "encode" else f" --op {op}")
            raise ValueError(f"{one.strip()!r} is a profile: mxcast {asked} --profile {one.strip()}")
    profile, replaced = profile_and_fields(profile)
    target = usual_target if target is None else target
    built_for = {} if target is None else {"target": target}
    own = replaced | assigned(assignments or ())
    fields = settings.fields | built_for | own
    for key in fields:
        if key not in KEYS[op]:
            raise ValueError(unknown_name("field", key, KEYS[op]))
    constraints = {key: fields.pop(key) for key in CONSTRAINTS if key in fields}
    many = allow_all and format == ALL
    if many and name:
        raise ValueError(f"--name {name} is for one module: give one format, not {ALL}")
    blocks = every_format(op, profile, own) if many else [format]
    configs: tuple[HardwareConfig, ...] = tuple(CONFIGURATIONS[op].built(block, profile, fields) for block in blocks)
    if output is None:  # this command takes rules only; registers in a file are ignored
        if chosen := next((key for key in constraints if key in own), None):
            raise ValueError(f"{chosen} chooses registers: mxcast {usage.split()[0]} takes rules only")
    elif constraints:
        from ...synth import constrained

        with output.progress("choosing the stage boundaries"):
            configs = tuple(constrained(one, constraints) for one in configs)
    if not allow_all and configs[0].alternatives:
        raise ValueError(
            f"mxcast {usage.split()[0]} takes one format and one scale rule, not {len(configs[0].modes)} modes"
        )
    return Request(configs=configs, many=many, name=name, is_emitted=is_emitted)


def check_emitted(asked: Request, out: Path) -> None:
    """Raise ValueError if the design of a request is missing, edited, or has another configuration."""
    from ...hdl import intact

    if asked.is_emitted and asked.name is not None and intact(asked.configs[0], out, asked.name) is None:
        raise ValueError(f"{out} holds no Verilog of a design {asked.name}: leave out --name, or emit it first")


def _is_design(text: str, out: Path) -> bool:
    """Is the text the name of a design in the folder, and not of a format?"""
    try:
        block_format(text)
    except ValueError:
        return text != ALL and text.isidentifier() and design_in(out / text[:LONGEST]) is not None
    return False


def every_format(op: str, profile: str, fields: Mapping[str, object]) -> list[str]:
    """The formats that ``all`` means under a profile. A cast back to numbers takes codes of every format."""
    names = {BLOCKS[name].short_name if name in BLOCKS else name: name for name in FORMATS[op]}
    if op == Cast.name and "destination" in fields:
        return list(names.values())
    return [names[name] for name in formats_of(op, profile, names)]


def _is_of_casts(format: str) -> bool:
    """Is it an instruction, or a format of single numbers, which blocks do not use?"""
    scalar = PTX_FORMATS.get(format.lower(), format.lower())
    return is_instruction(format) or scalar in SCALARS.keys() - ELEMENTS.keys()


def nvfp4_rules(format: str, given: ProfileOptions, config: Path | None = None) -> tuple[Nvfp4Encode, str]:
    """The encoder to NVFP4 that the options ask for, and its profile."""
    if config:
        raise ValueError(f"a configuration file is of a converter to MX formats, not to {format}")
    profile, fields = given.name_and_fields()
    for key in fields:
        if key not in NVFP4_KEYS:
            raise ValueError(unknown_name("field", key, NVFP4_KEYS))
    name = next(iter(NVFP4_ENCODERS)) if profile is None else profile
    return under(Nvfp4Encode, format, name, fields), name
