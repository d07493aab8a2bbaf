"""All blocks of two files, counted under candidates for their rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...models.arrays.source import DTYPES, widen
from ...sim.transactions import Transactions
from ...spec import Encode, FloatFormat, Nvfp4Encode, Role
from ..identify.candidates import Candidate, Converted, candidates, inputs_of_software, judged
from ..identify.character import character
from ..identify.outcome import NEAREST, is_departure
from .tensor import Blocks, Tensor
from .tensor_scales import constants, wrong_scales

SAMPLE = 20_000
"""Blocks on which all candidates are tried; the best of them are then tried on all blocks."""
MORE = 3
"""Candidates that are tried on all blocks beyond those that are named."""

Part = tuple[Tensor, Blocks, slice | np.ndarray]
"""A tensor, some of its blocks, and the rows of them that count."""


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A candidate whose blocks are compared under its own tensor scales, or under the tensor scales of the file."""

    candidate: Candidate
    of_file: bool = False

    @property
    def rules(self) -> Encode | Nvfp4Encode:
        rules = self.candidate.numerics
        assert isinstance(rules, Encode | Nvfp4Encode)
        return rules


class Files:
    """All tensors of two files."""

    def __init__(self, tensors: Sequence[Tensor], rules: Encode | Nvfp4Encode, nan_codes_free: bool) -> None:
        self.tensors, self.rules, self.nan_codes_free = tensors, rules, nan_codes_free
        self.count = sum(one.count for one in tensors)
        if not self.count:
            raise ValueError("there is no block to compare")
        self.is_of_tensors = isinstance(rules, Nvfp4Encode)
        self.sample: list[Part] = []
        for tensor in tensors:
            share = max(SAMPLE * tensor.count // self.count, 1)
            parts = list(tensor.parts(whole=tensor.count <= share))
            read = sum(len(part.codes) for part in parts)
            self.sample += [(tensor, part, slice(None, None, max(read // share, 1))) for part in parts]

    def candidates(self) -> list[Candidate]:
        """Rules that may have made the file. They may take constants of a tensor."""
        return candidates(self.rules, inputs_of_software(self.rules))

    def ranked(self) -> list[Tried]:
        """The nearest candidates with the number of all blocks that differ, the nearest first."""
        tried = [Tried(candidate=one) for one in self.candidates()]
        if self.is_of_tensors:
            tried += [Tried(candidate=one.candidate, of_file=True) for one in tried if self.wrong_scales(one)]
        sampled = sorted(self._counted(tried, self.sample), key=self._distance)
        alike = [one for one in sampled if not one.candidate.blocks]
        others = [one for one in sampled if one.candidate.blocks]
        return sorted(self.counted([*alike, *others[: NEAREST + MORE]]), key=self._distance)

    def _distance(self, one: Tried) -> tuple[int, int, bool, bool, bool]:
        """Profiles come before departures from them, and rules with the convention of the file before others."""
        found, conventions = one.candidate, {tensor.convention for tensor in self.tensors}
        is_other = self.is_of_tensors and {one.rules.block.convention} != conventions
        return found.blocks, sum(found.words.values()), is_departure(found), is_other, one.of_file

    def counted(self, tried: Sequence[Tried]) -> list[Tried]:
        """Candidates with the number of all blocks that differ."""
        return self._counted(tried, self.parts())

    def parts(self) -> Iterator[Part]:
        """All blocks."""
        return ((tensor, part, slice(None)) for tensor in self.tensors for part in tensor.parts(whole=True))

    def _counted(self, tried: Sequence[Tried], parts: Iterable[Part]) -> list[Tried]:
        blocks, words = [0] * len(tried), [dict.fromkeys((Role.SCALE, Role.CODES), 0) for _ in tried]
        for part in parts:
            for number, one in enumerate(tried):
                found = judged(one.rules, self.converted(one, part), self.nan_codes_free)
                blocks[number] += int(found.differs.sum())
                for role, count in found.words.items():
                    words[number][role] += count
        return [
            replace(one, candidate=replace(one.candidate, blocks=count, words=of_words))
            for one, count, of_words in zip(tried, blocks, words)
        ]

    def converted(self, one: Tried, part: Part) -> Converted:
        """Blocks as inputs and results of a candidate."""
        tensor, blocks, rows = part
        patterns = _as_source(blocks.patterns[rows], tensor.source, one.rules.source)
        given = {Role.NUMBERS: patterns}
        if isinstance(one.rules, Nvfp4Encode):
            for role, values in constants(tensor, one.rules, one.of_file).items():
                value = values[blocks.matrix if len(values) > 1 else 0]
                given[role] = np.full((len(patterns), 1), value.view(np.uint32))
        made = {Role.SCALE: blocks.scales[rows], Role.CODES: blocks.codes[rows]}
        return Converted(Transactions(given), Transactions(made))

    def sampled(self, one: Tried) -> Converted:
        """The blocks on which all candidates are tried."""
        return Converted.joined(self.converted(one, part) for part in self.sample)

    def wrong_scales(self, one: Tried) -> list[str]:
        """Tensor scales that a candidate does not give, each in words."""
        return list(wrong_scales(self.tensors, one.rules)) if isinstance(one.rules, Nvfp4Encode) else []

    def character(self) -> str | None:
        """How the stored blocks show that they are no conversion of the numbers, in words; None if they may be one."""
        every = self.sampled(Tried(candidate=Candidate(names=(), numerics=self.rules)))
        if len(np.unique(every.given[Role.NUMBERS], axis=0)) < 2:
            return None
        text = character(self.rules, every)
        return None if text is None else text.replace("returns", "has", 1)


def _as_source(patterns: np.ndarray, source: FloatFormat, wanted: FloatFormat) -> np.ndarray:
    """Patterns of the format that rules take: the format of the tensor, or FP32."""
    numbers = np.ascontiguousarray(patterns)
    return numbers if source == wanted else widen(numbers.view(DTYPES[source.name]), np.empty(numbers.shape, np.uint32))
