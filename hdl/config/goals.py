"""The best micro-architecture for each target and goal, as measured (records/sweeps/architectures.json)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Unpack

from ...spec import Decode, Encode, Kind, Rule, ScalePlace
from ...spec.catalogue import constructed, known_name
from .architecture import (
    CHOICES,
    DECODER_CHOICES,
    Amax,
    AmaxKey,
    BeatArchitecture,
    DecoderArchitecture,
    DecoderArchitectureFields,
    Interface,
    Lane,
    Microarchitecture,
    MicroarchitectureFields,
    Quantizer,
    Structure,
    supports,
)

GENERIC = "generic"
"""The target of a converter for unknown hardware."""


class Goal(Rule):
    """The aim of a micro-architecture."""

    AREA = "area", "the fewest LUTs, or the smallest area of gates"
    SPEED = "speed", "the shortest critical path"
    BALANCED = "balanced", "the least product of area and critical path"
    PLAIN = "plain", "the first choices whatever the target: comparators and shifters, which synthesis may take apart"

    @classmethod
    def formerly(cls) -> Mapping[str, str]:
        return {"smallest": cls.AREA}


Choices = Mapping[str, Rule]

BEST: dict[str, dict[Goal, Choices]] = {
    GENERIC: {
        Goal.AREA: {},
        Goal.SPEED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE},
        Goal.BALANCED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE},
    },
    "xcu": {
        Goal.AREA: {"amax": Amax.CARRY_CHAIN, "quantizer": Quantizer.TABLE, "structure": Structure.KEPT},
        Goal.SPEED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE},
        Goal.BALANCED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE, "structure": Structure.KEPT},
    },
    "ecp5": {Goal.AREA: {}, Goal.SPEED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE}, Goal.BALANCED: {}},
    "ice40": {
        Goal.AREA: {"quantizer": Quantizer.GATES},
        Goal.SPEED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE},
        Goal.BALANCED: {"quantizer": Quantizer.GATES},
    },
    "asic": {
        Goal.AREA: {"amax": Amax.BIT_BY_BIT, "quantizer": Quantizer.GATES},
        Goal.SPEED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE},
        Goal.BALANCED: {"amax": Amax.BIT_BY_BIT, "quantizer": Quantizer.GATES},
    },
    "ecp5-relaxed": {
        Goal.AREA: {"amax": Amax.BIT_BY_BIT, "quantizer": Quantizer.GATES},
        Goal.SPEED: {"amax": Amax.RADIX4, "quantizer": Quantizer.TABLE},
        Goal.BALANCED: {"quantizer": Quantizer.GATES},
    },
}
"""For each target and goal, the choices that differ from the first ones. `bench/parts/cost/goals.py` chooses them."""

SHIFTED: Choices = {}
TABLES: Choices = {"lane": Lane.TABLES}
KEPT: Choices = {"lane": Lane.TABLES, "structure": Structure.KEPT}

BEST_DECODERS: dict[str, dict[Goal, tuple[Choices, Choices, Choices]]] = {
    GENERIC: {},
    "xcu": {Goal.AREA: (KEPT, KEPT, KEPT), Goal.SPEED: (TABLES, TABLES, TABLES), Goal.BALANCED: (TABLES, KEPT, KEPT)},
    "ecp5": {
        Goal.AREA: (SHIFTED, SHIFTED, SHIFTED),
        Goal.SPEED: (TABLES, TABLES, TABLES),
        Goal.BALANCED: (SHIFTED, SHIFTED, TABLES),
    },
    "ice40": {
        Goal.AREA: (SHIFTED, TABLES, TABLES),
        Goal.SPEED: (SHIFTED, SHIFTED, SHIFTED),
        Goal.BALANCED: (SHIFTED, TABLES, TABLES),
    },
    "asic": {
        Goal.AREA: (SHIFTED, TABLES, TABLES),
        Goal.SPEED: (SHIFTED, TABLES, TABLES),
        Goal.BALANCED: (SHIFTED, TABLES, TABLES),
    },
    "ecp5-relaxed": {
        Goal.AREA: (SHIFTED, TABLES, SHIFTED),
        Goal.SPEED: (SHIFTED, TABLES, SHIFTED),
        Goal.BALANCED: (SHIFTED, TABLES, SHIFTED),
    },
}
"""The choices of decoders, for elements of one, two and three fraction bits (records/sweeps/decoders.json). All other
elements, and the target `GENERIC`, keep the first choices, so that their Verilog does not change.
"""


def optimized(
    goal: str | Goal, modes: tuple[Encode, ...], target: str = GENERIC, **fields: Unpack[MicroarchitectureFields]
) -> Microarchitecture:
    """The measured best choices for a goal on a target that support the modes. ``fields`` are kept as they are. Raises
    ValueError for an unknown goal or target.
    """
    choices = BEST[known_name("target", target, BEST)].get(Goal.named("optimize", goal), {})
    best = {name: choice for name, choice in choices.items() if supports(CHOICES[name].named(name, choice), modes)}
    if fields.get("amax_key", AmaxKey.REDUCED) == AmaxKey.MAGNITUDE or fields.get("lanes") == 1:
        best.pop("amax", None)
    return constructed(Microarchitecture, {**best, **fields})


def _of_fraction(best: Sequence[Choices], rules: Decode) -> Choices:
    """The choices in an entry of `BEST_DECODERS` for the fraction bits of an element."""
    element = rules.block.element
    bits = element.man_bits if element.kind is Kind.FLOAT else 0
    return best[bits - 1] if 1 <= bits <= len(best) else SHIFTED


def optimized_decoder(
    goal: str | Goal, rules: Decode, target: str = GENERIC, **fields: Unpack[DecoderArchitectureFields]
) -> DecoderArchitecture:
    """`optimized` for a decoder. If the best lane is not used, the other choices are the first ones."""
    goals = BEST_DECODERS[known_name("target", target, BEST_DECODERS)]
    choices = _of_fraction(goals.get(Goal.named("optimize", goal), ()), rules)
    asked = fields.get("lane", choices.get("lane", Lane.SHIFT))
    if not supports(Lane.named("lane", asked), (rules,)) or asked != choices.get("lane", Lane.SHIFT):
        choices = {}
    return constructed(DecoderArchitecture, {**choices, **fields})


def fields_of(
    architecture: Microarchitecture, modes: tuple[Encode, ...], targets: Iterable[str] = tuple(BEST)
) -> dict[str, str]:
    """The fewest fields, including ``target`` and ``optimize``, from which `optimized` makes this micro-architecture.

    >>> from mxcast.hdl import converter_config
    >>> config = converter_config("e4m3", target="xcu", amax="msb_first")
    >>> fields_of(config.microarchitecture, config.modes)
    {'target': 'xcu', 'amax': 'msb_first'}
    """

    def fields(target: str, goal: Goal) -> dict[str, str]:
        usual = optimized(goal, modes, target, amax_key=architecture.amax_key, lanes=architecture.lanes)
        asked = {"target": target, "optimize": str(goal), "amax_key": str(architecture.amax_key)}
        left_out = {"target": GENERIC, "optimize": str(Goal.AREA), "amax_key": str(AmaxKey.REDUCED)}
        chosen = {name: value for name, value in asked.items() if value != left_out[name]}
        for name in CHOICES:
            if getattr(architecture, name) != getattr(usual, name):
                chosen[name] = str(getattr(architecture, name))
        return chosen | _around(architecture)

    return min((fields(target, goal) for target in targets for goal in Goal), key=len)


def _around(architecture: BeatArchitecture) -> dict[str, str]:
    """Fields that no goal chooses, if they are not the default."""
    chosen: dict[str, str] = {}
    if architecture.lanes:
        chosen["lanes"] = str(architecture.lanes)
    if architecture.interface is not Interface.STREAM:
        chosen["interface"] = str(architecture.interface)
    if set(architecture.registered_after) - architecture.always_registered:
        chosen["registered_after"] = ",".join(architecture.registered_after)
    if architecture.layout:
        chosen["layout"] = architecture.layout
    return chosen


def decoder_fields_of(
    architecture: DecoderArchitecture, rules: Decode, targets: Iterable[str] = tuple(BEST_DECODERS)
) -> dict[str, str]:
    """`fields_of` for a decoder."""
    around = _around(architecture)
    if architecture.scale_place is not ScalePlace.APART:
        around["scale_place"] = str(architecture.scale_place)
    several = [names for count in range(len(DECODER_CHOICES) + 1) for names in combinations(DECODER_CHOICES, count)]
    left_out = {"target": GENERIC, "optimize": str(Goal.AREA)}

    def found() -> Iterator[dict[str, str]]:
        for target, goal, names in product(targets, Goal, several):
            chosen = {name: str(getattr(architecture, name)) for name in names}
            made = constructed(optimized_decoder, {"goal": goal, "rules": rules, "target": target, **chosen})
            if all(getattr(made, name) == getattr(architecture, name) for name in DECODER_CHOICES):
                chosen |= around
                asked = {"target": target, "optimize": str(goal)}
                yield {name: value for name, value in asked.items() if value != left_out[name]} | chosen

    return min(found(), key=len)
