"""Rules that a converter may follow: every profile, and every profile with one rule changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeAlias, cast

import numpy as np

from ...hdl.config.command import command_line
from ...sim.check.comparison import NOUNS
from ...sim.operations import golden, of
from ...sim.transactions import Transactions
from ...spec import BLOCKS, CAST_RULES, PROFILES_OF, BlockOperation, Cast, CastFields, Nvfp4Encode, Role
from ...spec.profiles.resolve import like, under

Rules: TypeAlias = BlockOperation | Cast


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Rules that a converter may follow."""

    names: tuple[str, ...]
    """Profiles with these rules, or one departure from a profile (``ocp with rounding=rna``)."""
    numerics: Rules
    blocks: int = 0
    """Tried blocks whose results differ."""
    normal: int = 0
    """Blocks of N(0,1) whose results differ."""
    words: Mapping[Role, int] = field(default_factory=dict)
    """Results of these blocks that differ, by the role of their port."""

    def to_dict(self, has_normal: bool = True) -> dict[str, object]:
        found = {"names": list(self.names), "command": command_line(self.numerics), "mismatched_blocks": self.blocks}
        words = {f"mismatched_normal_{NOUNS[role]}": count for role, count in self.words.items()}
        return {**found, "mismatched_normal_blocks": self.normal, **words} if has_normal else found


def candidates(asked: Rules, inputs: Collection[Role] | None = None) -> list[Candidate]:
    """Profiles with the format, block size, numbers and random bits of the rules asked for. Then come these rules with
    one rule or the format changed, and then the profiles with one rule changed. Candidates take no other ``inputs``
    than these, by default the inputs of the rules asked for.
    """
    found: dict[Rules, list[str]] = {}
    profiles: dict[str, Rules] = {}
    for name in PROFILES_OF[asked.name]:
        rules = _under(asked, name)
        if rules is not None and asked.random_bits:
            rules = with_random_bits(rules, asked.random_bits)
        if rules is not None:
            profiles[name] = rules
            found.setdefault(rules, []).append(name)
    profile = next((name for name, rules in profiles.items() if rules == asked), "the rules asked for")
    found.setdefault(asked, []).append(profile)
    for name, rules in [(profile, asked), *profiles.items()]:
        for text, changed in _departures(rules):
            if changed not in found:
                found[changed] = [f"{name} with {text}"]
    return [
        Candidate(names=tuple(dict.fromkeys(names)), numerics=rules)
        for rules, names in found.items()
        if _inputs(rules) <= (_inputs(asked) if inputs is None else set(inputs))
    ]


def _under(asked: Rules, profile: str) -> Rules | None:
    """The rules of a profile for the same formats; None if it does not support them."""
    if isinstance(asked, Cast):
        return cast("Cast | None", like(asked, profile))
    try:
        return under(type(asked), asked.block, profile, {asked.NUMBERS: getattr(asked, asked.NUMBERS)})
    except ValueError:
        return None


def with_random_bits(rules: Rules, bits: int) -> Rules | None:
    """The rules with stochastic rounding by so many bits, or None if they do not support it."""
    try:
        if isinstance(rules, Cast):
            return rules.replace(rounding="sr", random_bits=bits)
        return rules.replaced(rounding="sr", random_bits=bits)
    except ValueError:
        return None


def to_nearest(rules: Rules) -> Rules:
    """The rules with rounding to nearest if they take random bits."""
    if not rules.random_bits:
        return rules
    return rules.replace(rounding="rne") if isinstance(rules, Cast) else rules.replaced(rounding="rne")


def _inputs(rules: Rules) -> set[Role]:
    return {port.role for port in rules.ports if port.direction == "input"}


def inputs_of_software(rules: Rules) -> set[Role]:
    """Inputs that rules for software may have: it finds the constants of a tensor itself."""
    constants = {Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX}
    return _inputs(rules) | constants if isinstance(rules, Nvfp4Encode) else _inputs(rules)


def _departures(rules: Rules) -> Iterator[tuple[str, Rules]]:
    if isinstance(rules, Cast):
        for name, kind in CAST_RULES.items():
            for rule in kind:
                if rule not in (getattr(rules, name), "sr"):  # that needs another port
                    with suppress(ValueError):  # rules that do not go together
                        yield f"{name}={rule}", rules.replace(**cast("CastFields", {name: str(rule)}))
        return
    for other in BLOCKS.values():
        if other.element.bits == rules.block.element.bits and other.element != rules.block.element:
            yield f"format={other.name}", rules.replaced(block=other.resized(rules.block_size))
    for name, kind in rules.rules().items():
        for rule in kind:
            if rule not in (getattr(rules, name), "sr"):  # that needs another port
                with suppress(ValueError):  # rules that do not go together
                    yield f"{name}={rule}", rules.replaced(**{name: rule})


@dataclass(frozen=True)
class Converted:
    """Blocks, and the results of a converter."""

    given: Transactions
    made: Transactions

    @classmethod
    def joined(cls, parts: Iterable[Converted]) -> Converted:
        """The blocks of all parts."""
        every = list(parts)
        return cls(*(Transactions.joined(side) for side in ([one.given for one in every], [one.made for one in every])))

    def first(self, count: int) -> Converted:
        return self.rows(slice(count))

    def rows(self, chosen: slice | np.ndarray) -> Converted:
        """Some of the blocks."""
        return Converted(self.given.rows(chosen), self.made.rows(chosen))


@dataclass(frozen=True)
class Judged:
    """Results that differ from the golden model."""

    differs: np.ndarray
    """(n,) whether the results of a block differ."""
    words: Mapping[Role, int]
    """Differing results by the role of their port."""


def judged(rules: Rules, blocks: Converted, nan_codes_free: bool = False) -> Judged:
    """Compare results with the golden model. With ``nan_codes_free`` codes under a scale of NaN may be anything."""
    expected = golden(rules, blocks.given)
    if nan_codes_free:
        differs = of(rules).why(blocks.given, expected, blocks.made, nan_codes_free) >= 0
    else:
        differs = expected.differ(blocks.made)
    words = {role: int(np.count_nonzero(array != blocks.made[role])) for role, array in expected.arrays.items()}
    return Judged(differs, words)


FEW, NEAREST = 10_000, 8
"""Blocks of N(0,1) on which all candidates are tried, and candidates that are tried on other blocks too."""


def ranked(
    tried: Sequence[Candidate],
    converted: Callable[[Rules], tuple[Converted, Converted]],
    judge: Callable[[Rules, Converted], Judged] = judged,
) -> list[Candidate]:
    """The nearest candidates with their counts of differing blocks, the nearest first.

    A candidate is nearest if it has the fewest differing blocks of N(0,1), and then the fewest differing results. The
    nearest for each kind of result and all candidates without a difference are kept too.

    ``converted`` returns the hard blocks and the blocks of N(0,1) as inputs and results of some rules.
    """

    @cache
    def of_hard(rules: Rules) -> int:
        return int(judge(rules, converted(rules)[0]).differs.sum())

    def of_normal(candidate: Candidate, count: int | None = None) -> Candidate:
        normal = converted(candidate.numerics)[1]
        found = judge(candidate.numerics, normal if count is None else normal.first(count))
        return dataclasses.replace(candidate, normal=int(found.differs.sum()), words=found.words)

    def of_all(candidate: Candidate) -> Candidate:
        return dataclasses.replace(candidate, blocks=candidate.normal + of_hard(candidate.numerics))

    def usual(candidate: Candidate) -> tuple[int, int]:
        return candidate.normal, sum(candidate.words.values())

    def of_role(role: Role, candidate: Candidate) -> tuple[int, int, int]:
        return (candidate.words[role], *usual(candidate))

    def near(candidate: Candidate) -> tuple[int, int, int]:
        return (*usual(candidate), candidate.blocks)

    def least(count: int, key: Callable[[Candidate], tuple[int, ...]]) -> list[Candidate]:
        """The candidates with the smallest keys. Hard blocks decide between equal keys only, so not all are tried."""
        most = sorted(map(key, few))[min(count, len(few)) - 1]
        within = [of_all(candidate) for candidate in few if key(candidate) <= most]
        return sorted(within, key=lambda candidate: (*key(candidate), candidate.blocks))[:count]

    few = [of_normal(candidate, FEW) for candidate in tried]
    chosen = least(NEAREST, usual)
    for role in few[0].words:
        chosen += least(1, partial(of_role, role))
    chosen += [candidate for candidate in map(of_all, (one for one in few if not one.normal)) if not candidate.blocks]
    names = {candidate.numerics for candidate in chosen}
    nearest = sorted((of_all(candidate) for candidate in few if candidate.numerics in names), key=near)
    return sorted((of_all(of_normal(candidate)) for candidate in nearest), key=near)
