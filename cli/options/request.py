"""The configurations that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...hdl import CONFIGURATIONS, CONSTRAINTS, ConverterConfig, HardwareConfig
from ...hdl.emission.designs import design_in, design_of
from ...spec import BLOCKS, SCALARS, Cast, Encode, block_format
from ...spec.catalogue import known_name, unknown_name
from ...spec.module_names import LONGEST
from ...spec.profiles.resolve import formats_of
from ..output.output import Output
from .assignments import RULES
from .built import BUILT
from .common import OPERATIONS, RuleOptions
from .hardware import HardwareOptions
from .rules import asked

ALL = "all"

FORMATS: dict[str, Iterable[str]] = {
    "encode": BLOCKS,
    "decode": BLOCKS,
    "cast": SCALARS,
    "two_level_encode": ("nvfp4", "nvfp4_32"),
    "two_level_decode": ("nvfp4", "nvfp4_32"),
    "hadamard": ("hadamard16",),
    "tile": BLOCKS,
    "nvfp4_tile": ("nvfp4", "nvfp4_32"),
}
"""Formats that ``all`` means, by operation."""


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
    designs: Path | None = None,
) -> Request:
    """The configurations that the options ask for; options override the file ``config``.

    ``usage`` is an example for errors, with ``{}`` for the format. ``allow_all`` permits several formats and modes.
    ``output`` shows that registers are being chosen; a command without it takes no registers. ``designs`` is a folder
    in which ``name``, or an unknown ``format``, may name a design if no rules are given. ``usual_target`` is the target
    unless one is given.
    Raises ValueError and TypeError.
    """
    format = rules.format
    name, target = (rules.name, rules.target) if isinstance(rules, HardwareOptions) else (None, None)
    has_rules = bool(rules.profile or rules.set or rules.config or target)
    if designs is not None and known_name("operation", rules.op, OPERATIONS) == Encode.name and not has_rules:
        design = name if format is None else format if _is_design(format, designs) else None
        if design is not None:
            if name not in (None, design):
                raise ValueError(f"{design} is a design in {designs}, and --name says {name}: give one of them")
            return Request(configs=(design_of(designs, design),), many=False, name=design, is_emitted=True)
    found = asked(usage, rules)
    op, settings, own = found.op, found.settings, found.fields
    is_emitted = designs is not None and name is not None
    name = settings.name if name is None else name
    target = usual_target if target is None else target
    built_for = {} if target is None else {"target": target}
    fields = settings.numerics | settings.microarchitecture | built_for | own
    known = *RULES[op], *BUILT[op]
    for key in fields:
        if key not in known:
            raise ValueError(unknown_name("field", key, known))
    constraints = {key: fields.pop(key) for key in CONSTRAINTS if key in fields}
    many = allow_all and found.format == ALL
    if many and name:
        raise ValueError(f"--name {name} is for one module: give one format, not {ALL}")
    blocks = every_format(op, found.profile, own) if many else [found.format]
    built = CONFIGURATIONS[op].built
    configs: tuple[HardwareConfig, ...] = tuple(built(block, found.profile, fields) for block in blocks)
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
