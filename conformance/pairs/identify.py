"""The rules that made a file of quantized tensors from a file of numbers. Nothing is called; all blocks are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ...sim.operations import golden
from ...spec import Encode, Nvfp4Encode, Role
from ...spec.catalogue import constructed
from .. import tensors
from ..identify.candidates import Candidate
from ..identify.outcome import NEAREST, Identification, Verdict, is_departure, named
from ..identify.separation import soon_separated
from .departures import departures
from .files import Files, Tried
from .tensor import Tensor

SEPARATED = 4
"""Rules that are compared with the first that fit, to find two that no block of the files separates."""
NAMED = 8
"""Other rules that fit and are named."""


@dataclass(frozen=True, kw_only=True)
class OfPairs(Identification):
    """The outcome of `identify_pairs`."""

    has_normal: ClassVar[bool] = False
    tensors: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By name the blocks of each tensor, and how many differ from the rules compared with."""

    def to_dict(self) -> dict[str, object]:
        counts = {name: {"blocks": blocks, "differing": wrong} for name, (blocks, wrong) in self.tensors.items()}
        return {**super().to_dict(), "tensors": counts}


def identify_pairs(
    paired: Sequence[Tensor],
    rules: Encode | Nvfp4Encode,
    *,
    expected: bool = False,
    nan_codes_free: bool = False,
    name: str = "the file",
    progress: Callable[[str], None] | None = None,
) -> OfPairs:
    """Find the rules that made quantized tensors from numbers.

    Parameters
    ----------
    paired : tensors as numbers and as stored blocks, all in the block format of the rules
    rules : the operation with the formats in question
    expected, nan_codes_free, name, progress : as in `identify.identify`

    Returns
    -------
    OfPairs
        FOLLOWS: some rules give every block and every tensor scale, and no other known rules do. DIFFERS: no known
        rules give all of them; the nearest are named, with the simplest block that differs. UNKNOWN: two sets of rules
        fit, and no block of the files separates them.

    Raises ValueError if there are no blocks, and for rules with random bits.
    """
    if rules.random_bits:
        raise ValueError("files do not have the random bits of stochastic rounding: leave out rounding=sr")
    say = progress or (lambda text: None)
    files = Files(paired, rules, nan_codes_free)
    say("trying rules on some blocks")
    order = files.ranked()
    nearest = tuple(one.candidate for one in order)[:NEAREST]
    known: dict[str, object] = {"rules": rules, "blocks": files.count, "nearest": nearest}
    matches = [one.candidate for one in order if not one.candidate.blocks and not files.wrong_scales(one)]
    matches = [one for one in matches if not is_departure(one)] or matches
    if matches:
        say("telling rules apart")
        pair, equal, block = _not_told_apart(matches)
        known |= {"matches": tuple(matches), "tensors": {one.name: (one.count, 0) for one in paired}}
        known["nearest"] = tuple(one for one in nearest if one not in matches)
        fits_asked = any(one.numerics == rules for one in matches)
        if pair and (not expected or fits_asked):
            others = [one.names[0] for one in matches if one.names[0] not in pair]
            also = f" (and {', '.join(others[:NAMED])})" if others else ""
            sentence = f"{name} fits {pair[0]} and {pair[1]}{also}, and no block of the files tells these two apart"
            known |= {"pair": pair, "remarks": (block,) if block else ()}
            return constructed(OfPairs, known | {"verdict": Verdict.UNKNOWN, "sentence": sentence})
        known |= {"matches": tuple(equal), "verdict": Verdict.FOLLOWS, "sentence": f"{name} follows {named(equal)}"}
        if pair:
            known |= {"verdict": Verdict.DIFFERS, "sentence": f"{name} fits {pair[0]} and {pair[1]}"}
        if not expected or fits_asked:
            return constructed(OfPairs, known)
    say("looking for the simplest block")
    base = order[0]
    if expected:
        base = files.counted([Tried(candidate=one) for one in files.candidates() if one.numerics == rules])[0]
    known |= vars(departures(files, base))
    if matches:
        sentence = f"{known['sentence']}, not {' = '.join(base.candidate.names)}"
        return constructed(OfPairs, known | {"sentence": sentence})
    sentence = f"{name} {files.character() or _departure(files, base, expected)}"
    return constructed(OfPairs, known | {"verdict": Verdict.DIFFERS, "sentence": sentence})


def _departure(files: Files, base: Tried, expected: bool) -> str:
    """How far the file is from the rules compared with, in words."""
    names = " = ".join(base.candidate.names)
    if not base.candidate.blocks:
        scales = f"{len(files.wrong_scales(base))} of {len(files.tensors)} tensor scales are others"
        where = " under the tensor scales of the file" if base.of_file else ""
        return f"follows no known rules: its blocks follow {names}{where}, but {scales}"
    nearest = "it was compared with" if expected else "the nearest are"
    rate = f"{base.candidate.blocks:,} of {files.count:,} blocks differ"
    return f"follows no known rules; {nearest} {names}, from which {rate}"


def _not_told_apart(matches: Sequence[Candidate]) -> tuple[tuple[str, ...], list[Candidate], str]:
    """The names of two sets of rules that may differ, the rules that are the same as the first, and a block that would
    separate the two, in words.
    """
    first, *others = matches
    equal = [first]
    for other in others[: max(SEPARATED, sum(not is_departure(one) for one in others))]:
        found = soon_separated(first.numerics, other.numerics)
        if found.block is None and found.is_whole:
            equal.append(other)
            continue
        pair = first.names[0], other.names[0]
        if found.block is None:
            return pair, equal, ""
        block, among = found.block[Role.NUMBERS], ""
        a, b = first.numerics, other.numerics
        if isinstance(a, Nvfp4Encode) and isinstance(b, Nvfp4Encode):
            made = [golden(rules, tensors.with_constants(rules, found.block)) for rules in (a, b)]
            row = int(np.flatnonzero(made[0].differ(made[1]))[0])
            largest = (block & block.dtype.type(a.source.magnitude_mask)).max()
            among, block = f", in a tensor whose largest magnitude is {_words(largest.reshape(1))}", block[row:]
        shown = _words(block[0, : int(np.flatnonzero(block[0]).max(initial=0)) + 1])
        return pair, equal, f"a block that would tell {pair[0]} from {pair[1]}: {shown}{among}"
    return (), equal, ""


def _words(patterns: np.ndarray) -> str:
    return ",".join(f"0x{word:0{patterns.dtype.itemsize * 2}X}" for word in patterns)
