"""A converter on trial: its results for hard blocks and for blocks of N(0,1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...sim.operations import drawn, of
from ...sim.transactions import Transactions
from ...spec import Encode, Nvfp4Encode, Role
from ...spec.catalogue import constructed
from .. import tensors
from ..subject.subject import Function, SubjectError
from .candidates import Candidate, Converted, Judged, Rules, candidates, inputs_of_software, judged
from .causes.named_causes import named_causes
from .character import character, depends_on_others, is_random
from .expected.returned_numbers import judged_numbers
from .outcome import Identification, Verdict, is_departure
from .stochastic.distribution import judged_by_distribution

NORMAL = 10_000
"""Blocks of N(0,1)."""
FEW = 500
"""Blocks of N(0,1) that are tried with each profile if most blocks differ from all rules."""
HOW_RANDOM = "Under rounding=sr it is called with random bits too; samples, as 10000, judge it by its distribution"
"""The ways out for a random function."""


@dataclass
class Trial:
    """One converter, and the blocks that it is tried on."""

    rules: Rules
    convert: Function
    seed: int
    random: int
    nan_codes_free: bool
    raises: str = ""
    """The blocks for which it raises, in words."""
    separating: list[Converted] = field(default_factory=list)
    """Blocks that were tried to separate rules."""

    @property
    def is_of_tensors(self) -> bool:
        """Whether it converts whole tensors."""
        return isinstance(self.rules, Nvfp4Encode)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that hold whatever rules it follows."""
        return tuple(filter(None, [self.raises, self.convert.remark]))

    @cached_property
    def hard(self) -> Converted:
        """Directed blocks, and random ones."""
        rules = self.rules
        if isinstance(rules, Nvfp4Encode):
            return self._called(tensors.hard(rules, self.seed))
        stimuli = of(rules).stimuli("standard", self.random, self.seed)
        return self._called(Transactions.joined([one for _, parts in stimuli for one in parts]))

    @cached_property
    def normal(self) -> Converted:
        """Blocks of N(0,1)."""
        rules = self.rules
        if isinstance(rules, Nvfp4Encode):
            return self._called(tensors.usual(rules, self.seed, NORMAL))
        return self._called(of(rules).usual(NORMAL, self.seed))

    def _called(self, blocks: Transactions) -> Converted:
        given = drawn(self.rules, blocks, self.seed)
        try:
            return Converted(given, self.convert(given))
        except SubjectError:
            finite = given.rows(self.finite(given))
            if self.is_of_tensors or len(finite) in (0, len(given)):
                raise
            made = Converted(finite, self.convert(finite))
            self.raises = "it raises for blocks with NaN or Inf, which are left out"
            return made

    def finite(self, given: Transactions) -> np.ndarray:
        """(n,) whether all numbers of a block are finite."""
        source = getattr(self.rules, "source", None)
        if source is None or Role.NUMBERS not in given.arrays:
            return np.ones(len(given), bool)
        patterns = given[Role.NUMBERS]
        return ((patterns & patterns.dtype.type(source.magnitude_mask)) < source.inf_field).all(axis=1)

    def converted(self, rules: Rules) -> tuple[Converted, Converted]:
        """Hard blocks and blocks of N(0,1), as inputs and results of some rules."""
        hard, normal = self.hard, self.normal
        return (self.seen(rules, hard), self.seen(rules, normal)) if self.is_of_tensors else (hard, normal)

    def judge(self, rules: Rules, blocks: Converted) -> Judged:
        """Compare with rules: bytes and codes, or the numbers that an encoder returns."""
        if isinstance(rules, Encode) and Role.NUMBERS in blocks.made.arrays:
            return judged_numbers(rules, blocks)
        return judged(rules, blocks, self.nan_codes_free)

    def counted(self, candidate: Candidate) -> Candidate:
        """A candidate with the number of blocks that differ."""
        hard, normal = (self.judge(candidate.numerics, one) for one in self.converted(candidate.numerics))
        count = int(normal.differs.sum())
        return replace(candidate, blocks=int(hard.differs.sum()) + count, normal=count, words=normal.words)

    def distribution(self, name: str, samples: int, expected: bool) -> Identification:
        """The judgement of a random converter."""
        return judged_by_distribution(
            self.convert,
            self.rules,
            lambda rules: self.converted(rules)[0],
            samples,
            name=name,
            seed=self.seed,
            expected=expected,
        )

    def vacuous(self, name: str, samples: int, expected: bool, say: Callable[[str], None]) -> Identification | None:
        """The outcome for a converter that converts nothing, or whose results depend on more than the block."""
        normal = self.normal
        text = character(self.rules, normal)
        known: dict[str, object] = {"rules": self.rules, "blocks": len(normal.given), "normal": len(normal.given)}
        if text is not None:
            return constructed(Identification, known | {"verdict": Verdict.DIFFERS, "sentence": f"{name} {text}"})
        if is_random(self.convert, normal):
            if samples:
                say("calling it again and again")
                return self.distribution(name, samples, expected)
            sentence = f"{name} is random: the same blocks gave other results. {HOW_RANDOM}"
            return constructed(Identification, known | {"verdict": Verdict.UNKNOWN, "sentence": sentence})
        if not self.is_of_tensors and depends_on_others(self.convert, normal):
            sentence = f"{name} depends on the batch: blocks alone gave other results than among others"
            return constructed(
                Identification, known | {"verdict": Verdict.DIFFERS, "sentence": sentence, "remarks": self._straddles()}
            )
        return None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The rules that it may follow."""
        return candidates(self.rules, inputs_of_software(self.rules))

    @property
    def profiles(self) -> list[Candidate]:
        """The candidates that are profiles."""
        return [one for one in self.candidates if not is_departure(one)]

    def few(self, rules: Rules) -> Converted:
        """Some blocks of N(0,1), as inputs and results of some rules."""
        return self.converted(rules)[1].first(FEW)

    def _straddles(self) -> tuple[str, ...]:
        """How blocks straddle, in a sentence, if they do."""
        causes = (named_causes(one.numerics, few := self.few(one.numerics), few) for one in self.profiles)
        return next(((cause.text,) for some in causes for cause in some if cause.is_of_batch), ())

    def seen(self, rules: Rules, blocks: Converted) -> Converted:
        """Blocks as inputs and results of some rules: with the constants that these give to a tensor."""
        return Converted(tensors.seen(rules, blocks.given), blocks.made)

    def fits(self, rules: Rules, blocks: Converted) -> bool:
        """Whether no result differs from some rules."""
        return not self.judge(rules, self.seen(rules, blocks)).differs.any()

    def alone(self, rules: Rules, blocks: Transactions) -> Converted:
        """Results for blocks by themselves, or for a tensor of one block, as inputs and results of some rules."""
        if not self.is_of_tensors:
            return Converted(blocks, self.convert(blocks))
        own = Transactions(
            {role: array for role, array in blocks.arrays.items() if role in (Role.NUMBERS, Role.RANDOM)}
        )
        return self.seen(rules, Converted(own, self.convert(own)))
