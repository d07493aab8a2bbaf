"""The rules that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...spec import (
    ELEMENTS,
    NVFP4_OPERATIONS,
    PROFILES_OF,
    SCALARS,
    Encode,
    Hadamard,
    Nvfp4Encode,
    Operation,
    TileEncode,
    is_nvfp4,
    profile_of,
)
from ...spec.catalogue import constructed, known_name, unknown_name
from ...spec.operations.ptx import FORMATS as PTX_FORMATS
from ...spec.operations.ptx import is_instruction
from ...spec.profiles.resolve import operation_of
from .assignments import RULES, assigned, profile_and_fields
from .common import OPERATIONS, RuleOptions
from .settings import Settings, read_settings

HARDWARE_ONLY = (Hadamard.name, TileEncode.name)
"""Operations that only commands about hardware take."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """An operation as the options and their configuration file name it. No rule is checked."""

    op: str
    format: str
    profile: str
    fields: dict[str, object]
    """Rules, and choices of the hardware, that the options give."""
    settings: Settings = field(default_factory=Settings)


def asked(usage: str, rules: RuleOptions) -> Asked:
    """The operation that the options name; options override the file ``config``.

    ``usage`` is an example for errors, with ``{}`` for the format. Raises ValueError and TypeError.
    """
    op = known_name("operation", rules.op, OPERATIONS)
    if rules.config and op != Encode.name:
        raise ValueError(f"a configuration file is of an encoder: leave out --config or --op {op}")
    settings = read_settings(rules.config) if rules.config else Settings()
    format = settings.format if rules.format is None else rules.format
    option = "" if op == Encode.name else f" --op {op}"
    if format is None:
        raise ValueError(f"a format is missing: mxcast {usage.format('e4m3')}")
    if "." in format:  # an instruction, or the path of a design
        from ...sim.run.preprocess import verilog_file

        verilog_file(format)
    if _is_of_casts(format) and op != "cast":
        raise ValueError(f"{format} needs --op cast: mxcast {usage.format(format)} --op cast")
    if "," in format and op != Encode.name:
        raise ValueError(f"only encoders have modes: give --op {op} one format, not {format}")
    if any(is_nvfp4(one.strip()) for one in format.split(",")):
        if op not in NVFP4_OPERATIONS or "," in format:
            raise ValueError(f"{usage.split()[0]}{option} does not take {format} yet")
        op = NVFP4_OPERATIONS[op]
    usual = "ptx" if is_instruction(format) else next(iter(PROFILES_OF[op]))
    profile = next(given for given in (rules.profile, settings.profile, usual) if given is not None)
    for one in format.split(","):
        if one.strip().lower() in PROFILES_OF[op]:
            raise ValueError(
                f"{one.strip()!r} is a profile: mxcast {usage.format('e4m3')}{option} --profile {one.strip()}"
            )
    profile, replaced = profile_and_fields(profile)
    fields: dict[str, object] = {**replaced, **assigned(rules.set or ())}
    return Asked(op=op, format=format, profile=profile, fields=fields, settings=settings)


def operation_asked(usage: str, rules: RuleOptions) -> tuple[Operation, str | None]:
    """One operation without hardware, and the profile that has its rules. Raises ValueError and TypeError."""
    verb, found = usage.split()[0], asked(usage, rules)
    if rules.op in HARDWARE_ONLY:
        raise ValueError(f"{verb} does not take --op {rules.op} yet")
    if found.op == Nvfp4Encode.name and rules.config:
        raise ValueError(f"a configuration file is of a converter to MX formats, not to {found.format}")
    fields = found.settings.numerics | found.fields
    modes = [len(str(names).split(",")) for names in (found.format, fields.get("scale_rule", ""))]
    if modes != [1, 1]:
        raise ValueError(f"mxcast {verb} takes one format and one scale rule, not {modes[0] * modes[1]} modes")
    check_rules(verb, found.op, found.fields)
    made = constructed(operation_of, {"op": rules.op, "format": found.format, "profile": found.profile, **fields})
    return made, profile_of(made, found.profile)


def check_rules(verb: str, op: str, fields: Mapping[str, object]) -> None:
    """Raise ValueError for a field that is no rule of the operation."""
    for key in fields:
        if key in RULES[op]:
            continue
        from .built import BUILT

        if key in BUILT[op]:
            raise ValueError(f"{key} is a choice of the hardware: mxcast {verb} takes rules only")
        raise ValueError(unknown_name("field", key, RULES[op]))


def _is_of_casts(format: str) -> bool:
    """Is it an instruction, or a format of single numbers, which blocks do not use?"""
    scalar = PTX_FORMATS.get(format.lower(), format.lower())
    return is_instruction(format) or scalar in SCALARS.keys() - ELEMENTS.keys()
