"""Which rules somebody's converter follows, where it departs from them, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from ...sim.operations import drawn, golden, of
from ...sim.transactions import Transactions
from ...spec import Encode, Nvfp4Encode, Role
from .. import tensors
from ..subject.subject import Function, Subject, SubjectError
from .candidates import Candidate, Converted, Judged, Rules, candidates, judged, ranked
from .character import character, depends_on_others, is_random
from .departures import Causes, Departure, unexplained
from .distribution import judged_by_distribution, without_random_bits
from .minimise import smallest
from .named_causes import named_causes
from .outcome import NEAREST, Identification, Verdict, is_departure, named
from .returned_numbers import described_numbers, judged_numbers, numbers_of, remarks_on_numbers
from .separation import separation
from .suspicions import is_exchanged, suspicions

HARD, NORMAL = 20_000, 10_000
"""Random blocks beside the directed ones, and blocks of N(0,1)."""
COMPLETED = 512
"""Blocks among which one is looked for whose numbers tell two rules apart."""
FEW = 500
"""Blocks of N(0,1) by which rules are chosen to compare with where most differ from all rules."""
WITNESSES = 4
"""Causes of which the smallest block is looked for."""
HOW_RANDOM = "Under rounding=sr it is called with random bits too; samples, as 10000, judge it by its distribution"
"""What can be done about it."""


def identify(
    subject: Subject | Callable,
    rules: Rules,
    *,
    expected: bool = False,
    nan_codes_free: bool = False,
    samples: int = 0,
    seed: int = 0,
    blocks: int = HARD,
    name: str = "the function",
    progress: Callable[[str], None] | None = None,
) -> Identification:
    """Find the rules that a converter follows.

    Parameters
    ----------
    subject : a function on arrays, as `subject.CALLED_WITH` has it, or a `Subject`
    rules : the operation with the formats in question; its rules are tried with all others
    expected : whether the converter is to follow these very rules: then the witness is of where it does not
    nan_codes_free : codes under a scale that is NaN may be anything, as readers do not look at them
    samples : calls with the same blocks, by which a function that is random is judged; 0: it is not
    seed, blocks : of random blocks, beside directed ones
    name : what messages call it
    progress : is called with what is done

    Returns
    -------
    Identification
        FOLLOWS: it gives the bits of some rules for all blocks, and blocks were tried that tell these from all other
        known rules. DIFFERS: it departs from all known rules; the nearest are named, with the smallest witness.
        UNKNOWN: two sets of rules fit that could not be told apart, or it is random. Under rules with random bits the
        function is called with these too, and its bits are compared.

    Raises
    ------
    SubjectError
        where the function raises or returns something else
    ValueError
        for operations that cannot be identified, and for samples of what is not judged by a distribution
    """
    say = progress or (lambda text: None)
    if samples:
        rules = without_random_bits(rules)
    convert = Function(subject, rules, name) if not isinstance(subject, Function) else subject
    say("calling it with ordinary blocks")
    trial = _Trial(rules, convert, seed, blocks, nan_codes_free)
    if found := trial.vacuous(name, samples, expected, say):
        return found
    say("calling it with hard blocks")
    hard, normal = trial.converted(rules)
    say("trying rules")
    order = sorted(ranked(candidates(rules, trial.inputs), trial.converted, trial.judge), key=_distance)
    known: dict[str, Any] = {"rules": rules, "blocks": len(hard.given) + len(normal.given), "normal": len(normal.given)}
    matches = [one for one in order if not one.blocks]
    if matches:
        say("telling rules apart")
        fits_asked = any(one.numerics == rules for one in matches)
        matches, pair = trial.told_apart(matches)
        if pair:
            known |= {"pair": pair, "matches": tuple(matches), "remarks": trial.remarks}
            sentence = f"{name} fits {pair[0]} and {pair[1]}, and no block that was tried tells them apart"
            if not expected or fits_asked:
                return Identification(verdict=Verdict.UNKNOWN, sentence=sentence, **known)
    known |= {"matches": tuple(matches), "nearest": tuple(one for one in order if one not in matches)[:NEAREST]}
    if matches:
        known |= {"verdict": Verdict.FOLLOWS, "sentence": f"{name} follows {named(matches)}"}
        if pair:
            known |= {"verdict": Verdict.DIFFERS, "sentence": f"{name} fits {pair[0]} and {pair[1]}"}
        known |= {"remarks": trial.remarks}
        if not expected or any(one.numerics == rules for one in matches):
            return Identification(**known)
    say("looking for the smallest block")
    asked = next((one for one in candidates(rules, trial.inputs) if one.numerics == rules), order[0])
    base = trial.counted(asked if expected else trial.base(order))
    departures, known["remarks"] = trial.departures(base)
    known |= {"departures": departures, "causes": {one.text: one.blocks for one in departures}}
    if departures:
        known |= {"witness": departures[0].witness, "witness_block": departures[0].block}
    if samples:
        say("calling it again and again")
        known["remarks"] += (trial.distribution(name, samples, expected).sentence,)
    if matches:
        known["sentence"] += f", not {' = '.join(base.names)}"
        return Identification(**known)
    rate = f"{base.normal:,} of {len(normal.given):,} blocks of N(0,1)"
    nearest = "it was compared with" if expected else "the nearest are"
    sentence = f"{name} follows no known rules; {nearest} {' = '.join(base.names)}, from which {rate} differ"
    return Identification(verdict=Verdict.DIFFERS, sentence=sentence, **known)


def _distance(one: Candidate) -> tuple[int, int, bool, int]:
    """Profiles are named before departures from them that are no nearer on N(0,1)."""
    return one.normal, sum(one.words.values()), is_departure(one), one.blocks


@dataclass
class _Trial:
    """One converter, and the blocks that it is tried on."""

    rules: Rules
    convert: Function
    seed: int
    random: int
    nan_codes_free: bool
    is_of_tensors: bool = field(init=False)
    raises: str = ""
    """For what it raises, in words."""
    separating: list[Converted] = field(default_factory=list)
    """Blocks that told rules apart."""

    def __post_init__(self) -> None:
        self.is_of_tensors = isinstance(self.rules, Nvfp4Encode)
        self._made = cache(self._make)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is noticed whatever it follows."""
        return tuple(filter(None, [self.raises, self.convert.remark]))

    @property
    def inputs(self) -> set[Role]:
        """What rules may take: software finds the constants of a tensor itself."""
        own = {port.role for port in self.rules.ports if port.direction == "input"}
        constants = {Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX}
        return own | constants if self.is_of_tensors else own

    def _make(self, kind: str) -> Converted:
        given = self._given(kind)
        try:
            return Converted(given, self.convert(given))
        except SubjectError:
            finite = given.rows(self._finite(given))
            if self.is_of_tensors or len(finite) in (0, len(given)):
                raise
            made = Converted(finite, self.convert(finite))
            self.raises = "it raises for blocks with NaN or Inf, which are left out"
            return made

    def _finite(self, given: Transactions) -> np.ndarray:
        """(n,) of which blocks all numbers are finite."""
        source = getattr(self.rules, "source", None)
        if source is None or Role.NUMBERS not in given.arrays:
            return np.ones(len(given), bool)
        patterns = given[Role.NUMBERS]
        return ((patterns & patterns.dtype.type(source.magnitude_mask)) < source.inf_field).all(axis=1)

    def _given(self, kind: str) -> Transactions:
        rules = self.rules
        if isinstance(rules, Nvfp4Encode):
            found = tensors.usual(rules, self.seed, NORMAL) if kind == "normal" else tensors.hard(rules, self.seed)
        elif kind == "normal":
            found = of(rules).usual(NORMAL, self.seed)
        else:
            known = [one for _, parts in of(rules).stimuli("standard", self.random, self.seed) for one in parts]
            found = Transactions.joined(known)
        return drawn(rules, found, self.seed)

    def converted(self, rules: Rules) -> tuple[Converted, Converted]:
        """Hard blocks and blocks of N(0,1), as some rules see them."""
        hard, normal = self._made("hard"), self._made("normal")
        if not self.is_of_tensors:
            return hard, normal
        seen = (Converted(self._seen(rules, one.given), one.made) for one in (hard, normal))
        return next(seen), next(seen)

    def judge(self, rules: Rules, blocks: Converted) -> Judged:
        """By bytes and codes or, where numbers are returned by what encodes, by numbers."""
        if isinstance(rules, Encode) and Role.NUMBERS in blocks.made.arrays:
            return judged_numbers(rules, blocks)
        return judged(rules, blocks, self.nan_codes_free)

    def counted(self, candidate: Candidate) -> Candidate:
        """The same with how many blocks differ."""
        hard, normal = (self.judge(candidate.numerics, one) for one in self.converted(candidate.numerics))
        count = int(normal.differs.sum())
        return replace(candidate, blocks=int(hard.differs.sum()) + count, normal=count, words=normal.words)

    def distribution(self, name: str, samples: int, expected: bool) -> Identification:
        """The judgement by distribution."""
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
        """What ends the search: no conversion, or one that is not a function of its blocks."""
        normal = self._made("normal")
        text = character(self.rules, normal)
        known: dict[str, Any] = {"rules": self.rules, "blocks": len(normal.given), "normal": len(normal.given)}
        if text is not None:
            return Identification(verdict=Verdict.DIFFERS, sentence=f"{name} {text}", **known)
        if is_random(self.convert, normal):
            if samples:
                say("calling it again and again")
                return self.distribution(name, samples, expected)
            sentence = f"{name} is random: the same blocks gave other results. {HOW_RANDOM}"
            return Identification(verdict=Verdict.UNKNOWN, sentence=sentence, **known)
        if not self.is_of_tensors and depends_on_others(self.convert, normal):
            sentence = f"{name} depends on the batch: blocks alone gave other results than among others"
            return Identification(verdict=Verdict.DIFFERS, sentence=sentence, remarks=self._straddles(), **known)
        return None

    def told_apart(self, matches: list[Candidate]) -> tuple[list[Candidate], tuple[str, ...]]:
        """Of rules that fit all blocks those that fit also where they differ, and the names of two that differ nowhere
        that was looked at, although not everything was. Departures count only where no profile fits.
        """
        profiles = [one for one in matches if not is_departure(one)]
        if not profiles:
            return matches, ()
        kept = [profiles[0]]
        for other in profiles[1:]:
            first = kept[0]
            found = separation(first.numerics, other.numerics)
            if found.block is None and not found.is_whole:
                return [*kept, other], (first.names[0], other.names[0])
            if found.block is None:
                kept.append(other)
                continue
            if self.raises and not self._finite(found.block).all():
                return [*kept, other], (first.names[0], other.names[0])
            for block in (found.block, *self._completed(found.block, first, other)):
                made = Converted(block, self.convert(block))
                self.separating.append(made)
                fits = [not self._differs(one.numerics, made) for one in (first, other)]
                if fits != [True, True]:
                    break
            else:  # numbers that are alike, of codes that are not
                return [*kept, other], (first.names[0], other.names[0])
            if not fits[0]:
                kept = [other] if fits[1] else []
            if not kept:
                return [], ()
        return kept, ()

    def _completed(self, block: Transactions, first: Candidate, other: Candidate) -> Iterator[Transactions]:
        """A block with smaller numbers beside its largest, where the numbers that two rules make of it differ: those of
        the block itself may be alike under two scales.
        """
        a, b = first.numerics, other.numerics
        if (
            not (isinstance(a, Encode) and isinstance(b, Encode))
            or Role.NUMBERS not in self._made("normal").made.arrays
        ):
            return
        patterns = np.repeat(block[Role.NUMBERS], COMPLETED, axis=0)
        largest = patterns[:, :1] & patterns.dtype.type(a.source.magnitude_mask)
        rng = np.random.default_rng(self.seed)
        distances = rng.integers(0, min(20 << a.source.man_bits, int(largest.max()) + 1), patterns.shape)
        smaller = np.maximum(largest.astype(np.int64) - distances, 0).astype(patterns.dtype)
        given = block.rows(np.zeros(COMPLETED, int)).with_arrays(
            {Role.NUMBERS: np.where(np.arange(patterns.shape[1]) == 0, patterns, smaller)}
        )
        differs = (numbers_of(a, golden(a, given)) != numbers_of(b, golden(b, given))).any(axis=1)
        if differs.any():
            yield given.rows(np.flatnonzero(differs)[:1])

    @property
    def _profiles(self) -> list[Candidate]:
        return [one for one in candidates(self.rules, self.inputs) if not is_departure(one)]

    def _few(self, rules: Rules) -> Converted:
        return self.converted(rules)[1].first(FEW)

    def base(self, order: Sequence[Candidate]) -> Candidate:
        """The rules to compare with: the nearest ones. If most blocks differ from all rules, a profile comes first from
        which results are only exchanged, or for which named causes explain most of what differs.
        """
        normal = self._made("normal")
        if order[0].normal * 2 < len(normal.given):
            return order[0]
        for one in self._profiles if Role.CODES in normal.made.arrays else ():
            if isinstance(one.numerics, Encode) and is_exchanged(one.numerics, normal):
                return one
        left = [unexplained(one.numerics, self._few(one.numerics)) for one in self._profiles]
        best = int(np.argmin(left))
        return self._profiles[best] if left[best] * 2 < FEW else order[0]

    def _straddles(self) -> tuple[str, ...]:
        """How blocks straddle, in a sentence, if they do."""
        causes = (named_causes(one.numerics, few := self._few(one.numerics), few) for one in self._profiles)
        return next(((cause.text,) for some in causes for cause in some if cause.is_of_batch), ())

    def _differs(self, rules: Rules, blocks: Converted) -> bool:
        seen = Converted(self._seen(rules, blocks.given), blocks.made)
        return bool(self.judge(rules, seen).differs.any())

    def _seen(self, rules: Rules, given: Transactions) -> Transactions:
        return tensors.with_constants(rules, given) if isinstance(rules, Nvfp4Encode) else given

    def departures(self, base: Candidate) -> tuple[tuple[Departure, ...], tuple[str, ...]]:
        """Where it departs from some rules, the worst cause first, the first ones with their smallest blocks; and
        remarks.
        """
        rules, (hard, normal) = base.numerics, self.converted(base.numerics)
        told = [Converted(self._seen(rules, one.given), one.made) for one in self.separating]
        causes = Causes.of(rules, normal, hard, self.nan_codes_free)
        found = causes.found([normal, hard, *told])
        departures = [
            self._with_witness(causes, departure, block) if place < WITNESSES else departure
            for place, (departure, block) in enumerate(found)
        ]
        return tuple(departures), (*self.remarks, *self._remarks(rules, normal, hard))

    def _remarks(self, rules: Rules, normal: Converted, hard: Converted) -> tuple[str, ...]:
        """Sentences about all that differs."""
        parts = ((normal.given, hard.given), (normal.made, hard.made))
        every = Converted(*map(Transactions.joined, parts))
        if isinstance(rules, Encode) and Role.NUMBERS in normal.made.arrays:
            return remarks_on_numbers(rules, normal, every)
        know = of(rules)
        why = know.why(every.given, golden(rules, every.given), every.made, self.nan_codes_free)
        only = know.only([know.causes[number] for number in np.unique(why[why >= 0])])
        return tuple(dict.fromkeys([*filter(None, [only]), *suspicions(rules, normal), *suspicions(rules, every)]))

    def _with_witness(self, causes: Causes, departure: Departure, found: Converted) -> Departure:
        """The same with the smallest block that was found to differ for this cause."""
        rules, role = causes.rules, next(iter(found.given.arrays))

        def differs(elements: np.ndarray) -> np.ndarray:
            given = found.given.rows(np.zeros(len(elements), int)).with_arrays({role: elements})
            is_tried = self._finite(given) if self.raises else np.ones(len(given), bool)
            rows = np.flatnonzero(is_tried)
            if len(rows):
                tried = given.rows(rows)
                parts = [tried.rows(slice(i, i + 1)) for i in range(len(tried))] if self.is_of_tensors else [tried]
                made = [self._alone(rules, part) for part in parts]
                is_tried[rows] = np.concatenate([causes.texts(one) == departure.text for one in made])
            return is_tried

        small = found
        if differs(found.given[role])[0]:
            elements = smallest(found.given[role][0], differs)
            small = self._alone(rules, found.given.with_arrays({role: elements[None]}))
        return replace(departure, witness=self._described(rules, small), block=small.given)

    def _alone(self, rules: Rules, blocks: Transactions) -> Converted:
        """Blocks by themselves; of tensors one block, in a tensor of its own, as some rules see it."""
        if not self.is_of_tensors:
            return Converted(blocks, self.convert(blocks))
        own = Transactions(
            {role: array for role, array in blocks.arrays.items() if role in (Role.NUMBERS, Role.RANDOM)}
        )
        return Converted(self._seen(rules, own), self.convert(own))

    def _described(self, rules: Rules, block: Converted) -> str:
        if isinstance(rules, Encode) and Role.NUMBERS in block.made.arrays:
            return described_numbers(rules, block.given, block.made)
        return of(rules).described("the smallest block", block.given, golden(rules, block.given), block.made)
