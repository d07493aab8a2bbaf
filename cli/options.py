"""Options that verbs share, and the configurations that they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..hdl import (
    BEST,
    CONFIGURATIONS,
    CONSTRAINTS,
    DECODER_CHOICES,
    NVFP4_CHOICES,
    NVFP4_OPERATIONS,
    ConverterConfig,
    HardwareConfig,
)
from ..hdl.emission.designs import design_in, design_of
from ..spec import (
    BLOCKS,
    CAST_RULES,
    DECODE_RULES,
    ELEMENTS,
    NVFP4_DECODE_RULES,
    NVFP4_ENCODERS,
    NVFP4_RULES,
    PROFILES_OF,
    SCALARS,
    Cast,
    Encode,
    Hadamard,
    Nvfp4Encode,
    block_format,
    is_nvfp4,
    nvfp4_encoding,
)
from ..spec.catalogue import excerpt, known_name, unknown_name
from ..spec.identifiers import LONGEST
from ..spec.operations.ptx import FORMATS as PTX_FORMATS
from ..spec.operations.ptx import is_instruction
from ..spec.profiles.resolve import formats_of
from .output import Output
from .settings import TABLES, Settings, read_settings

OPERATIONS = tuple(name for name in CONFIGURATIONS if name not in NVFP4_OPERATIONS.values())
"""Those that --op names. Whether there are two levels of scales, the format says."""

Format = Annotated[
    str | None,
    typer.Argument(
        metavar="FORMAT",
        show_default=False,
        help="e4m3, mxfp8_e4m3, int8, e3m3, ... (mxcast list formats), or all six: all; "
        "with commas a converter with a mode for each. Of a cast e4m3, ue8m0, ..., or an instruction of PTX.",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        show_default="ocp",
        help="Rules by name (mxcast list profiles), with fields replaced after a colon: te:scale_rule=ceil.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        show_default=False,
        help="Replace one rule of the profile (mxcast list rules); repeatable. "
        "scale_rule takes several with commas, a mode for each; registered_after the stage "
        "boundaries with registers; latency=CYCLES or frequency_mhz=MHZ choose them.",
    ),
]
ArrayNames = Annotated[
    str | None,
    typer.Option(
        "--names",
        metavar="NAMES",
        show_default=False,
        help="Arrays that no layout names: 'codes={}.weight,scale={}.weight_scale_inv', perhaps tensor_scale=..., and "
        "name=... for the result; {} is any text.",
    ),
]
Read = Annotated[
    str | None,
    typer.Option(
        "--read",
        metavar="HOW",
        show_default=False,
        help="How these are read: 'scale=e8m0' (e4m3, number), element=e2m1, block=32, 128x128, row or tensor, "
        "order=high_first, tensor_scale=divisor.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME",
        show_default="generic",
        help=f"What the converter is built for: {', '.join(BEST)}. The micro-architecture is the one that was measured "
        "best for it: the smallest, or with --set optimize= speed, balanced, plain.",
    ),
]
Op = Annotated[str, typer.Option("--op", metavar="NAME", help=f"The operation: {' or '.join(OPERATIONS)}.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "-c",
        "--config",
        metavar="FILE",
        show_default=False,
        help="TOML with format, profile, name and the tables numerics and microarchitecture.",
    ),
]
Name = Annotated[str | None, typer.Option("--name", show_default="FORMAT_PROFILE", help="Name of the top module.")]
Design = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", show_default=False, help="An emitted design, which must have this configuration."
    ),
]
DesignFolder = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder in which NAME was emitted.")]
Out = Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder for what is written.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random stimuli.")]
Force = Annotated[bool, typer.Option("--force", help="Do it again, whatever is in the cache or in the output folder.")]
Pad = Annotated[bool, typer.Option("--pad", help="Complete the last block of each row with zeros.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print errors only.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Print the complete configuration too, on stderr.")]

ALL = "all"

BUILT = ("registered_after", "optimize", "target", *CONSTRAINTS)
"""Keys of the hardware of any operation."""

BLOCKS_BUILT = (*BUILT, "layout")
"""Keys of the hardware of operations on blocks."""

NVFP4_KEYS = ["source", "block_size", *NVFP4_RULES, "scale_max", "random_bits"]
"""What --set takes of the rules of formats with two levels of scales."""

KEYS = {
    "encode": [key for table in TABLES.values() for key in table if key not in ("block", "operation")],
    "decode": [*("destination", *DECODE_RULES, "random_bits", "block_size"), *(*DECODER_CHOICES, *BLOCKS_BUILT)],
    "cast": ["source", "destination", "lanes", *CAST_RULES, "random_bits", *BUILT],
    "two_level_encode": [*NVFP4_KEYS, *NVFP4_CHOICES, *BLOCKS_BUILT],
    "two_level_decode": ["destination", "block_size", *NVFP4_DECODE_RULES, "scale_max", *BLOCKS_BUILT],
    "hadamard": ["signs", *BUILT],
}
"""By operation, what --set takes."""

FORMATS: dict[str, Iterable[str]] = {
    "encode": BLOCKS,
    "decode": BLOCKS,
    "cast": SCALARS,
    "two_level_encode": ("nvfp4", "nvfp4_32"),
    "two_level_decode": ("nvfp4", "nvfp4_32"),
    "hadamard": ("hadamard16",),
}
"""By operation, what ``all`` formats are."""

MOST_DIGITS = 18
"""Of a whole number that a rule can take."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """The configurations that the options mean, and the name given for the top module."""

    configs: tuple[HardwareConfig, ...]
    many: bool
    """Whether ``all`` formats were asked for: then results are lists."""
    name: str | None = None
    is_emitted: bool = False
    """Whether the command line names a design in a folder."""

    @property
    def encoders(self) -> tuple[ConverterConfig, ...]:
        """The configurations of a command that has encoders only."""
        return tuple(config for config in self.configs if isinstance(config, ConverterConfig))

    def of(self, results: list) -> object:
        """Results, one a configuration, as they appear in JSON."""
        return results if self.many else results[0]


def request(
    usage: str,
    format: str | None,
    profile: str | None,
    assignments: list[str] | None,
    config: Path | None,
    *,
    name: str | None = None,
    target: str | None = None,
    usual_target: str | None = None,
    allow_all: bool = True,
    output: Output | None = None,
    op: str = "encode",
    of_any: bool = False,
    out: Path | None = None,
) -> Request:
    """What the options mean; those of the command line win over the file ``config``.

    ``usage`` is an example for errors, in which ``{}`` stands for the format. Without ``allow_all`` there is one
    configuration, and of one mode. ``output`` shows that registers are being chosen; a command without one takes no
    registers. With ``of_any`` the operation may be any that has hardware, one under two levels of scales among them.
    With ``out`` and without rules, ``name`` may name a design in this folder, and so may a ``format`` that is unknown.
    ``usual_target`` is the target of a configuration for which no ``target`` is given.
    Raises ValueError and TypeError.
    """
    op = known_name("operation", op, OPERATIONS)
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
    if _is_of_casts(format) and op != "cast":
        raise ValueError(f"{format} needs --op cast: mxcast {usage.format(format)} --op cast")
    if "," in format and op != "encode":
        raise ValueError(f"only encoders have modes: give --op {op} one format, not {format}")
    if op == Hadamard.name and not of_any:
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
    if output is None:  # rules only: the registers of a file for other commands too are no matter
        if chosen := next((key for key in constraints if key in own), None):
            raise ValueError(f"{chosen} chooses registers: mxcast {usage.split()[0]} takes rules only")
    elif constraints:
        from ..synth import constrained

        with output.progress("choosing the stage boundaries"):
            configs = tuple(constrained(one, constraints) for one in configs)
    if not allow_all and configs[0].alternatives:
        raise ValueError(
            f"mxcast {usage.split()[0]} takes one format and one scale rule, not {len(configs[0].modes)} modes"
        )
    return Request(configs=configs, many=many, name=name, is_emitted=is_emitted)


def check_emitted(asked: Request, out: Path) -> None:
    """Raise ValueError if the design that a request names is missing in the folder, of another configuration, or
    edited.
    """
    from ..hdl import intact

    if asked.is_emitted and asked.name is not None and intact(asked.configs[0], out, asked.name) is None:
        raise ValueError(f"{out} holds no Verilog of a design {asked.name}: leave out --name, or emit it first")


def _is_design(text: str, out: Path) -> bool:
    """Is it the name of a design in the folder, and not of a format?"""
    try:
        block_format(text)
    except ValueError:
        return text != ALL and text.isidentifier() and design_in(out / text[:LONGEST]) is not None
    return False


def every_format(op: str, profile: str, fields: Mapping[str, object]) -> list[str]:
    """What ``all`` formats are under a profile: those that its definition has. Codes go back from every format."""
    names = {BLOCKS[name].short_name if name in BLOCKS else name: name for name in FORMATS[op]}
    if op == Cast.name and "destination" in fields:
        return list(names.values())
    return [names[name] for name in formats_of(op, profile, names)]


def _is_of_casts(format: str) -> bool:
    """Is it an instruction, or a format of numbers alone, which is no element of a block?"""
    scalar = PTX_FORMATS.get(format.lower(), format.lower())
    return is_instruction(format) or scalar in SCALARS.keys() - ELEMENTS.keys()


def nvfp4_rules(
    format: str, profile: str | None, assignments: list[str] | None, config: Path | None = None
) -> tuple[Nvfp4Encode, str]:
    """The operation that the options mean for a format with two levels of scales, and its profile."""
    if config:
        raise ValueError(f"a configuration file is of a converter to MX formats, not to {format}")
    usual = next(iter(NVFP4_ENCODERS))
    name, replaced = profile_and_fields(usual if profile is None else profile)
    fields: dict[str, Any] = replaced | assigned(assignments or ())
    for key in fields:
        if key not in NVFP4_KEYS:
            raise ValueError(unknown_name("field", key, NVFP4_KEYS))
    return nvfp4_encoding(format, name, **fields), name


def profile_and_fields(text: str) -> tuple[str, dict[str, str | int]]:
    """A profile and the fields that replace its own: ``ocp:scale_rule=ceil,specials=te``, or ``ocp`` alone."""
    profile, colon, replaced = text.partition(":")
    parts = replaced.split(",") if colon else []
    if not profile or not all("=" in part for part in parts):
        raise ValueError(f"rules are PROFILE or PROFILE:KEY=VALUE,KEY=VALUE, not {excerpt(text)}")
    return profile, assigned(parts)


def assigned(texts: Iterable[str]) -> dict[str, str | int]:
    """Keys and values of texts KEY=VALUE. Raises ValueError for a key with two values."""
    found: dict[str, str | int] = {}
    for key, value in map(assignment, texts):
        if key in found:
            raise ValueError(f"{excerpt(key)} takes one value, not {excerpt(found[key])} and {excerpt(value)}")
        found[key] = value
    return found


def assignment(text: str) -> tuple[str, str | int]:
    """Key and value of KEY=VALUE."""
    key, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set takes KEY=VALUE, not {excerpt(text)}")
    if key == "block":
        raise ValueError("--set takes rules: the block is the format itself")
    # a number of more digits is that of no rule, and Python does not read one of thousands: refused as it was written
    return key, int(value) if value.isascii() and value.isdecimal() and len(value) <= MOST_DIGITS else value
