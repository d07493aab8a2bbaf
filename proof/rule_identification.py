"""Which rules a design follows, if not those it was asked for: every profile, and every single departure from one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from ..models import Quantized, quantize
from ..models.source import DTYPES
from ..sim.causes import causes
from ..sim.command import command_line
from ..spec import BLOCKS, PROFILES, RULES, Encode, EncodeFields, Rounding, numerics

__all__ = ["Candidate", "candidates", "ranked", "suspicions"]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Rules that a design may follow."""

    names: tuple[str, ...]
    """Profiles with these rules, or one departure from a profile (``ocp with rounding=rna``)."""
    numerics: Encode
    blocks: int = 0
    """Blocks that the design converts otherwise, of all that it was tried on."""
    normal: int = 0
    """... of those of N(0,1)."""
    scales: int = 0
    """Scale bytes of these that differ."""
    codes: int = 0
    """Codes of these that differ."""

    def to_dict(self) -> dict:
        return {
            "names": list(self.names),
            "command": command_line(self.numerics),
            "mismatched_blocks": self.blocks,
            "mismatched_normal_blocks": self.normal,
            "mismatched_normal_scales": self.scales,
            "mismatched_normal_codes": self.codes,
        }


def candidates(asked: Encode) -> list[Candidate]:
    """Profiles first, for the format, block size and source that were asked for; then what was asked for with one rule
    changed, its format being a rule too; then the same of the profiles."""
    found: dict[Encode, list[str]] = {}
    size, source, block = asked.block_size, asked.source, asked.block
    profiles = {name: numerics(block, name, source=source, block_size=size) for name in PROFILES}
    for name, rules in profiles.items():
        found.setdefault(rules, []).append(name)
    profile = next((name for name, rules in profiles.items() if rules == asked), "the rules asked for")
    found.setdefault(asked, []).append(profile)
    for name, rules in [(profile, asked), *profiles.items()]:
        for text, changed in _departures(rules):
            if changed not in found:
                found[changed] = [f"{name} with {text}"]
    return [Candidate(names=tuple(dict.fromkeys(names)), numerics=rules) for rules, names in found.items()]


def _departures(rules: Encode) -> Iterator[tuple[str, Encode]]:
    for other in BLOCKS.values():
        if other.element.bits == rules.block.element.bits and other.element != rules.block.element:
            yield f"format={other.name}", rules.replace(block=other.resized(rules.block_size))
    for field, kind in RULES.items():
        for rule in kind:
            if rule not in (getattr(rules, field), Rounding.SR):  # that needs another port
                yield f"{field}={rule}", rules.replace(**cast("EncodeFields", {field: rule}))


Converted = tuple[np.ndarray, np.ndarray | None, Quantized]
"""Blocks (n, block_size) of source patterns, their random bits, and what a design makes of them."""


FEW, NEAREST = 10_000, 8
"""Blocks of N(0,1) on which all candidates are tried, and how many of them are tried on the others too."""


def ranked(asked: Encode, hard: Converted, normal: Converted, nan_codes_free: bool = False) -> list[Candidate]:
    """The nearest candidates with how many blocks a design converts otherwise, of ``hard`` ones and of N(0,1): the
    nearest on N(0,1) first, then the nearest on all, then in their order; those whose scale bytes or codes are nearest;
    and all that differ nowhere. Codes under a scale of NaN may be free."""

    def counted(candidate: Candidate, normal: Converted) -> Candidate:
        others, scales, codes = [], 0, 0
        for patterns, random, actual in (hard, normal):
            expected = _expected(candidate.numerics, patterns, random)
            others.append(int((causes(candidate.numerics, patterns, expected, actual, nan_codes_free) >= 0).sum()))
            scales, codes = int((expected.scales != actual.scales).sum()), int((expected.codes != actual.codes).sum())
        return dataclasses.replace(candidate, blocks=sum(others), normal=others[1], scales=scales, codes=codes)

    def near(candidate: Candidate) -> tuple[int, int]:
        return candidate.normal, candidate.blocks

    few = _first(normal, FEW)
    found = sorted((counted(candidate, few) for candidate in candidates(asked)), key=near)
    chosen = [*found[:NEAREST], min(found, key=lambda c: c.scales), min(found, key=lambda c: c.codes)]
    alike = [candidate for candidate in found if not candidate.blocks]
    return sorted((counted(candidate, normal) for candidate in found if candidate in [*chosen, *alike]), key=near)


def _first(converted: Converted, count: int) -> Converted:
    patterns, random, made = converted
    return (
        patterns[:count],
        None if random is None else random[:count],
        Quantized(scales=made.scales[:count], codes=made.codes[:count], numerics=made.numerics),
    )


def _expected(rules: Encode, patterns: np.ndarray, random: np.ndarray | None) -> Quantized:
    return quantize(patterns.view(DTYPES[rules.source.name]), rules, random=random if rules.random_bits else None)


def suspicions(asked: Encode, patterns: np.ndarray, random: np.ndarray | None, actual: Quantized) -> Iterator[str]:
    """What blocks of N(0,1) say about a fault, in sentences."""
    expected = _expected(asked, patterns, random)
    differs = causes(asked, patterns, expected, actual) >= 0
    if not differs.any():
        return
    if np.array_equal(expected.scales, actual.scales) and np.array_equal(expected.codes, actual.codes[:, ::-1]):
        yield "the codes are right, in the reverse order of elements: does @msb belong to one side of the map?"
    apart = np.unique(actual.scales.astype(int) - expected.scales)
    if len(apart) == 1 and apart[0]:
        yield f"every scale byte is {abs(apart[0])} too {'large' if apart[0] > 0 else 'small'}"
    magnitude = (patterns & patterns.dtype.type(asked.source.sign_mask - 1)).max(axis=1)
    binades = (magnitude >> asked.source.man_bits).astype(int) - asked.source.bias
    affected = np.unique(binades[differs])
    if len(affected) <= len(np.unique(binades)) // 2 and np.ptp(affected) == len(affected) - 1:
        share = differs[np.isin(binades, affected)].mean()
        yield (
            f"the blocks that differ have their largest magnitude in [2^{affected[0]}, 2^{affected[-1] + 1}), "
            f"where {'all' if share == 1 else f'{100 * share:.1f} %'} differ"
        )
