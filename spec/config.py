"""A converter to build: the bits it must produce, and how the hardware is to produce them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from .blocks import BlockFormat
from .catalogue import Rule, excerpt, unknown_name
from .formats import Kind, NumberFormat
from .numerics import Numerics, Rounding, ScaleRule, Specials
from .profiles import numerics, profile_of
from .stages import in_order

__all__ = [
    "CHOICES",
    "GOALS",
    "Amax",
    "AmaxKey",
    "ConverterConfig",
    "Microarchitecture",
    "Quantizer",
    "Structure",
    "converter_config",
]


class AmaxKey(Rule):
    """What the comparator tree compares."""

    REDUCED = "reduced", "the exponent, and one flag bit where the scale rule or the specials need the fraction"
    MAGNITUDE = "magnitude", "the whole magnitude, as in the FPGA paper; reduced after the tree"


class Amax(Rule):
    """How the largest key of a block is found."""

    COMPARE = "compare", "a tree of two-input comparators, five levels for 32 numbers, as in the FPGA paper"
    FOURS = "fours", "a tree of nodes that compare four numbers, each with each: half the levels"
    ELIMINATION = (
        "elimination",
        "two bits at a time from the top: the largest digit of the lanes still in, then lanes with less drop out",
    )
    CHAINS = "chains", "elimination, with ORs over all lanes on carry chains"


class Quantizer(Rule):
    """How an element is quantized."""

    SHIFT = "shift", "align the fraction by a shifter, then round and saturate: any numerics"
    TABLE = (
        "table",
        (
            "the distance to the top of the block decides everything; rounding is folded into functions of a few bits: "
            "one floating-point element format, rounding without random bits"
        ),
    )


class Structure(Rule):
    """What synthesis may take apart."""

    FLAT = "flat", "everything: functions may be merged across all borders"
    KEPT = "kept", "functions of the size of a LUT6 are modules with keep_hierarchy, so that each stays one LUT"


@dataclass(frozen=True, kw_only=True)
class Microarchitecture:
    """How the bits are made. Never changes a bit, and never reaches the models."""

    amax_key: AmaxKey = AmaxKey.REDUCED
    amax: Amax = Amax.COMPARE
    quantizer: Quantizer = Quantizer.SHIFT
    structure: Structure = Structure.FLAT
    registered_after: tuple[str, ...] = ()
    """After which steps there are registers (`stages.stages`): names, or one text with commas. A `ConverterConfig` puts
    them in order. None: a converter without a clock."""

    def __post_init__(self) -> None:
        for name, choice in CHOICES.items():
            object.__setattr__(self, name, choice.named(name, getattr(self, name)))
        if self.amax is not Amax.COMPARE and self.amax_key is AmaxKey.MAGNITUDE:
            raise ValueError(
                f"amax {self.amax} works on the reduced key only: whole magnitudes are compared by the tree (compare)"
            )
        names = self.registered_after
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",")] if names else []
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"registered_after must be names of places, not {excerpt(names)}")
        object.__setattr__(self, "registered_after", tuple(names))

    def to_dict(self) -> dict[str, object]:
        """What differs from the first choices, which are older than the others, and the key always."""
        first = {f.name: f.default for f in dataclasses.fields(self)}
        chosen = {
            name: str(getattr(self, name))
            for name in CHOICES
            if name == "amax_key" or getattr(self, name) != first[name]
        }
        return chosen | ({"registered_after": list(self.registered_after)} if self.registered_after else {})

    @classmethod
    def optimized(cls, goal: str, modes: tuple[Numerics, ...], **fields: object) -> Microarchitecture:
        """The choices that were measured best for a goal of `GOALS`, for what they can make; ``fields`` are kept as
        they are.
        """
        if goal not in GOALS:
            raise ValueError(unknown_name("goal to optimize for", goal, GOALS))
        best = dict(GOALS[goal])
        if not has_tables(modes):
            best.pop("quantizer")
        if fields.get("amax_key", AmaxKey.REDUCED) == AmaxKey.MAGNITUDE:
            best.pop("amax")
        return cls(**{**best, **fields})


GOALS: dict[str, dict[str, Rule]] = {
    "area": {"amax": Amax.CHAINS, "quantizer": Quantizer.TABLE, "structure": Structure.KEPT},
    "speed": {"amax": Amax.FOURS, "quantizer": Quantizer.TABLE, "structure": Structure.FLAT},
}
"""Micro-architectures by what they are good at (docs/results.md has the figures): the fewest LUT6, or the shortest way.
"""


def has_tables(modes: tuple[Numerics, ...]) -> bool:
    """Can `Quantizer.TABLE` make a converter of these modes?"""
    numerics = modes[0]
    element = numerics.block.element
    if len(modes) > 1 or numerics.random_bits:
        return False
    if numerics.rounding is Rounding.GUARD_HALF_UP and numerics.specials is Specials.TE:  # two different largest codes
        return False
    if element.kind is Kind.FIXED:
        return 6 <= element.bits <= 8
    field = (1 << element.exp_bits) - 1
    above = (
        numerics.scale_rule is ScaleRule.BIAS_FLOOR and 2 * element.bias > field
    )  # numbers would be binades above the top
    return 1 <= element.man_bits <= 3 and element.exp_bits >= 2 and element.emax >= 0 and not above


CHOICES: dict[str, type[Rule]] = {"amax_key": AmaxKey, "amax": Amax, "quantizer": Quantizer, "structure": Structure}
"""Fields of `Microarchitecture` that are enumerations."""


@dataclass(frozen=True, kw_only=True)
class ConverterConfig:
    """What hdl, sim, synth and cli pass around.

    A converter with ``alternatives`` has a mode input: mode 0 is ``numerics``, mode i the i-th alternative. Modes may
    differ in the scale rule and in the element format, whose width they share.
    """

    numerics: Numerics
    alternatives: tuple[Numerics, ...] = ()
    microarchitecture: Microarchitecture = field(default_factory=Microarchitecture)
    profile: str | None = field(default=None, compare=False)
    """The profile whose rules these are, for names and reports; not part of the identity."""

    def __post_init__(self) -> None:
        first = self.numerics
        if len(set(self.modes)) < len(self.modes):
            raise ValueError("the modes of a converter must differ from each other")
        for mode in self.alternatives:
            if mode.block.element.bits != first.block.element.bits:
                raise ValueError(
                    f"the element formats of one converter must have the same width, not {first.block.element.bits} "
                    f"bits ({first.block.element.name}) and {mode.block.element.bits} ({mode.block.element.name})"
                )
            shared = [f.name for f in dataclasses.fields(Numerics) if f.name not in ("block", "scale_rule")]
            if any(getattr(mode, name) != getattr(first, name) for name in [*shared, "block_size"]):
                raise ValueError("the modes of one converter may differ in scale_rule and element format only")
        if self.microarchitecture.quantizer is Quantizer.TABLE and not has_tables(self.modes):
            raise ValueError(
                "the table quantizer makes one format, with one to three fraction bits or fixed-point of six to "
                "eight bits, "
                "without random bits and run-time modes: leave quantizer as shift"
            )
        ordered = in_order(self, self.microarchitecture.registered_after)
        object.__setattr__(
            self, "microarchitecture", dataclasses.replace(self.microarchitecture, registered_after=ordered)
        )

    @property
    def modes(self) -> tuple[Numerics, ...]:
        """The numerics of each mode, by mode number; one where there is no mode input."""
        return (self.numerics, *self.alternatives)

    @property
    def formats(self) -> str:
        """The names of the block formats of all modes, as `converter_config` takes them."""
        return ",".join(dict.fromkeys(mode.block.name for mode in self.modes))

    @property
    def mode_bits(self) -> int:
        """Width of the mode input; 0 where there is none."""
        return len(self.alternatives).bit_length()

    @property
    def latency(self) -> int:
        """Clock cycles from a block to its result; 0 where there is no clock."""
        return len(self.microarchitecture.registered_after)

    def to_dict(self) -> dict[str, object]:
        alternatives = {"alternatives": [mode.to_dict() for mode in self.alternatives]} if self.alternatives else {}
        return {
            "numerics": self.numerics.to_dict(),
            **alternatives,
            "microarchitecture": self.microarchitecture.to_dict(),
        }

    @classmethod
    def from_dict(cls, parts: Mapping[str, object]) -> ConverterConfig:
        """The configuration that `to_dict` wrote."""
        return cls(
            numerics=Numerics.from_dict(parts["numerics"]),
            alternatives=tuple(map(Numerics.from_dict, parts.get("alternatives", ()))),
            microarchitecture=Microarchitecture(**parts["microarchitecture"]),
        )

    def identity(self) -> dict[str, object]:
        """What `to_dict` says, in short (`Numerics.identity`)."""
        alternatives = {"alternatives": [mode.identity() for mode in self.alternatives]} if self.alternatives else {}
        return {
            "numerics": self.numerics.identity(),
            **alternatives,
            "microarchitecture": self.microarchitecture.to_dict(),
        }

    @property
    def config_id(self) -> str:
        """First eight hex digits of the SHA-256 of the canonical JSON of `identity`."""
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def converter_config(
    block: str | BlockFormat | NumberFormat | Numerics | ConverterConfig,
    profile: str | None = None,
    **overrides: object,
) -> ConverterConfig:
    """A configuration from a format, a profile (``ocp`` unless given) and any fields of `Numerics` or
    `Microarchitecture`.

    Complete `Numerics` may stand in place of the format. A `ConverterConfig` is returned as it is, and nothing may be
    given beside it. Format and ``scale_rule`` may name several, with commas between them or as a list: then the
    converter has a mode for each format under each rule, the rules of the first format first. ``optimize`` names a goal
    of `GOALS`, which sets the fields of `Microarchitecture` that are not given.

    >>> converter_config("e4m3", "ocp", amax_key="magnitude").microarchitecture.amax_key.value
    'magnitude'
    >>> converter_config("e4m3", registered_after="scale, level2").microarchitecture.registered_after
    ('level2', 'scale')
    >>> [(m.block.short_name, str(m.scale_rule)) for m in converter_config("e4m3,e5m2", scale_rule="floor,ceil").modes]
    [('e4m3', 'floor'), ('e4m3', 'ceil'), ('e5m2', 'floor'), ('e5m2', 'ceil')]
    """
    if isinstance(block, Numerics) and profile is not None:
        raise TypeError("Numerics are complete: a profile cannot be given beside them")
    if isinstance(block, ConverterConfig):
        if overrides or profile is not None:
            raise TypeError("a ConverterConfig is complete: profile and fields cannot be given beside it")
        return block
    goal = overrides.pop("optimize", None)
    micro_fields = {f.name for f in dataclasses.fields(Microarchitecture)}
    micro = {name: overrides.pop(name) for name in list(overrides) if name in micro_fields}
    known = [f.name for f in dataclasses.fields(Numerics)] + ["block_size"]
    for name in overrides:
        if name not in known:
            raise ValueError(unknown_name("field", name, [*known, *sorted(micro_fields), "optimize"]))
    scale_rules = _several(overrides.pop("scale_rule")) if "scale_rule" in overrides else [None]
    modes = []
    for one in _several(block):
        for rule in scale_rules:
            fields = overrides if rule is None else overrides | {"scale_rule": rule}
            modes.append(one.replace(**fields) if isinstance(one, Numerics) else numerics(one, profile, **fields))
    profiles = {profile_of(mode, profile) for mode in modes}
    chosen = Microarchitecture(**micro) if goal is None else Microarchitecture.optimized(goal, tuple(modes), **micro)
    return ConverterConfig(
        numerics=modes[0],
        alternatives=tuple(modes[1:]),
        microarchitecture=chosen,
        profile=profiles.pop() if len(profiles) == 1 else None,
    )


def _several(names: object) -> list:
    """The items of a list or of a text with commas; anything else is one item."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return list(names) if isinstance(names, list | tuple) and names else [names]
