"""A converter that is random, judged by its distribution: it is called with the same blocks again and again.

Of an element let v be the number that is rounded (x / 2^X, of NVFP4 the binary32 number of the order), lo and hi the
two elements beside its magnitude, and f = (|v| - lo) / (hi - lo). A fair function gives hi with probability f, one with
n random bits with probability floor(2^n f) / 2^n. By Hoeffding's inequality the share of hi in N samples is within
sqrt(ln(2 M / RISK) / (2 N)) of its probability for all of M elements at once, but with the probability RISK. For that
only the calls have to be independent; `independence` judges whether all results are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from ...models.arrays.codes import code_values
from ...sim.operations import golden
from ...sim.transactions import Transactions
from ...spec import Cast, Encode, NumberFormat, Nvfp4Encode, Role
from .. import tensors
from ..subject.subject import Subject
from .candidates import Candidate, Converted, Rules, candidates
from .independence import RISK as INDEPENDENT
from .independence import Dependence, Independence, is_central
from .outcome import NEAREST, Identification, Verdict, is_departure, named
from .returned_numbers import numbers_of
from .scaled import element_of, magnitudes, patterns_of, scaled
from .separation import soon_separated

RISK = 1e-6
"""The probability that a fair function is called unfair."""
DIRECTED, NORMAL = 64, 192
"""Blocks of each kind that are converted again and again."""
FRACTIONS = [1 / 4096, 1 / 256, 1 / 64, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 15 / 16, 255 / 256]
"""Places between two elements of the numbers of directed blocks."""
MOST_BITS = 16
"""Random bits that are tried."""
FEWEST = 10
"""Samples at least."""


def bound(samples: int, elements: int) -> float:
    """How far shares may be from their probabilities.

    >>> round(bound(10_000, 8192), 4)
    0.0343
    """
    return sqrt(log(2 * max(elements, 1) / RISK) / (2 * samples))


@dataclass
class _Hypothesis:
    """Rules whose scales are right, and what is then rounded: (n, lanes) each."""

    found: list[Candidate]
    v: np.ndarray
    """float64."""
    unit: np.ndarray
    """What numbers that are returned are divided by; of codes 1."""
    lower: np.ndarray
    upper: np.ndarray
    ups: np.ndarray
    """How often the upper one was returned."""
    others: np.ndarray
    """How often neither of the two was."""
    stray: np.ndarray
    """The last of these results."""
    calls: list[bytes] = field(default_factory=list)
    """For each sample packed bits: did the elements of `central` get the upper one?"""

    @classmethod
    def of(cls, found: Candidate, v: np.ndarray, unit: np.ndarray, format: NumberFormat) -> _Hypothesis:
        known = magnitudes(format)
        at = np.searchsorted(known, np.abs(v), side="right") - 1
        lower = known[at]
        upper = np.where(lower == np.abs(v), lower, known[np.minimum(at + 1, len(known) - 1)])
        zeros = np.zeros(v.shape, np.int64)
        return cls([found], v, unit, lower, upper, zeros, zeros.copy(), np.zeros(v.shape))

    def add(self, results: np.ndarray) -> None:
        """One more sample: (n, lanes) float64."""
        with np.errstate(all="ignore"):
            lower, upper = ((side * self.unit).astype(np.float32) for side in (self.lower, self.upper))
            magnitude = np.abs(results)
            has_sign = (np.signbit(results) == np.signbit(self.v)) | (results == 0)
            is_upper = (magnitude == upper) & has_sign
            is_other = ~(is_upper | (magnitude == lower) & has_sign)
            self.stray = np.where(is_other, results / self.unit, self.stray)
        self.ups += is_upper
        self.others += is_other
        self.calls.append(np.packbits(is_upper[self.central]).tobytes())

    @property
    def between(self) -> np.ndarray:
        return self.lower < self.upper

    @property
    def fraction(self) -> np.ndarray:
        """f of the elements that are between two."""
        kept = self.between
        return (np.abs(self.v[kept]) - self.lower[kept]) / (self.upper[kept] - self.lower[kept])

    @cached_property
    def central(self) -> np.ndarray:
        """(n, lanes) the elements by which dependence is judged."""
        found = self.between.copy()
        found[found] = is_central(self.fraction)
        return found

    def independence(self, rules: Rules, probabilities: np.ndarray) -> Independence:
        """The results of all samples, with the probabilities of the elements that are between two."""
        kept = self.central[self.between]
        lanes = 0 if isinstance(rules, Cast) else self.v.shape[1]
        return Independence(np.flatnonzero(self.central), probabilities[kept], self.calls, lanes)

    def shares(self, samples: int) -> np.ndarray:
        return self.ups[self.between] / samples


def judged_by_distribution(
    convert: Subject,
    rules: Rules,
    hard: Callable[[Rules], Converted],
    samples: int,
    *,
    name: str = "the function",
    seed: int = 0,
    expected: bool = False,
) -> Identification:
    """Judge a function that is called without its random bits.

    Parameters
    ----------
    convert, rules, name, seed, expected : as `identify` has them; of the rules the rounding does not matter
    hard : hard blocks as some rules see them, and what the function made of them, whose scales are compared
    samples : calls with the same blocks

    Returns
    -------
    Identification
        FOLLOWS: its scales are those of known rules, every result is one of the two elements beside the exact number,
        and the share of each is that of stochastic rounding. DIFFERS: it is not so, as the sentence has it. UNKNOWN:
        two sets of rules have the same scales for all blocks that were tried.

    Raises ValueError for other operations, and for too few samples.
    """
    if samples < FEWEST:
        raise ValueError(f"a distribution needs {FEWEST} samples or more, not {samples}")
    if not isinstance(rules, Encode | Nvfp4Encode | Cast) or (isinstance(rules, Cast) and not _is_judged(rules)):
        raise ValueError("what is judged by its distribution encodes, or casts to a format with a sign")
    asked = without_random_bits(rules)
    given = _blocks(asked, seed)
    tried = _tried(asked)
    first = convert(given)
    known: dict[str, Any] = {"rules": rules, "blocks": len(given)}
    known["blocks"] += len(hard(asked).given)
    wrong_blocks = [_wrong(one, given, first) + _wrong_of(one, hard) for one in tried]
    fewest = min(wrong_blocks)
    right, nearest = [one for one, count in zip(tried, wrong_blocks) if not count], tried[wrong_blocks.index(fewest)]
    scale_sentence = ""
    hypotheses = _hypotheses(right or [nearest], given, first)
    scales = first.get(Role.SCALE)
    for _ in range(samples):
        made = convert(given)
        if scales is not None and not np.array_equal(made[Role.SCALE], scales):
            row = int(np.flatnonzero((made[Role.SCALE] != scales).any(axis=1))[0])
            text = f"0x{int(scales[row, 0]):02X} and 0x{int(made[Role.SCALE][row, 0]):02X}"
            sentence = f"{name} has random scales: the same block got {text}"
            return Identification(verdict=Verdict.DIFFERS, sentence=sentence, **known)
        results = _results(asked, made)
        for one in hypotheses:
            one.add(results)
    base = min(hypotheses, key=lambda one: int((one.others > 0).sum()))
    verdict = _verdict(base, samples)
    sampled = f"{samples:,} samples of {base.v.size:,} elements"
    if not right:
        scale_sentence = (
            f"{name} follows no known rules for scales; the nearest are {' = '.join(nearest.names)}, from which "
            f"{fewest:,} of {known['blocks']:,} blocks differ"
        )
    independence = base.independence(asked, verdict.probabilities)
    if not verdict.is_fair:
        text = verdict.text
        if repeated := independence.repeated():
            text = f"repeats its results, and is no stochastic rounding: {repeated}"
        sentence = f"{name} {text}, in {sampled}" + (f"; {scale_sentence}" if scale_sentence else "")
        witness = _witness(base, given, samples, verdict.worst)
        return Identification(
            verdict=Verdict.DIFFERS, sentence=sentence, witness=witness, nearest=tuple(right[:NEAREST]), **known
        )
    fair = (
        f"in {sampled} every result is one of the two neighbours, and the share of the upper one is within "
        f"{verdict.bound:.4f} of {verdict.text} for every element (Hoeffding; a fair function fails once in "
        f"{round(1 / RISK):,} runs)"
    )
    dependence = independence.found()
    known |= {"remarks": (fair, _fitting(verdict), _independent(dependence, samples, len(independence.places)))}
    if text := dependence.text or independence.repeated():
        sentence = f"{name} has the right probabilities in {sampled}, but its results depend on each other: {text}"
        return Identification(verdict=Verdict.DIFFERS, sentence=sentence, nearest=tuple(right[:NEAREST]), **known)
    if scale_sentence:
        return Identification(verdict=Verdict.DIFFERS, sentence=f"{scale_sentence}; {fair}", **known)
    matches, pair = _told_apart([one for one in base.found if not is_departure(one)] or base.found, convert)
    if not matches:
        sentence = f"{name} rounds stochastically, and its scales are those of no known rules"
        return Identification(verdict=Verdict.DIFFERS, sentence=sentence, **known)
    bits = verdict.bits[-1] if 8 not in verdict.bits else 8
    random = tuple(one for one in (_random(match, bits) for match in matches) if one is not None)
    known |= {"matches": random, "rules": _of_bits(rules, bits) or rules}
    if pair:
        sentence = f"{name} rounds stochastically, and no block that could be tried tells {pair[0]} from {pair[1]}"
        return Identification(verdict=Verdict.UNKNOWN, sentence=sentence, pair=pair, **known)
    sentence = f"{name} follows {named(matches)} with stochastic rounding ({samples:,} samples)"
    found = Identification(verdict=Verdict.FOLLOWS, sentence=sentence, **known)
    if expected and not any(one.numerics == asked for one in matches):
        return replace(found, sentence=f"{sentence}, not the rules asked for")
    return found


def _is_judged(rules: Cast) -> bool:
    return not rules.is_back and rules.scalar.signed


def without_random_bits(rules: Any) -> Any:
    """The same rules with rounding to nearest, where they take random bits."""
    if not rules.random_bits:
        return rules
    return rules.replace(rounding="rne") if isinstance(rules, Cast) else rules.replaced(rounding="rne")


def _of_bits(rules: Any, bits: int) -> Any:
    """Rules with so many random bits; None where they take none."""
    try:
        changed: dict[str, Any] = {"rounding": "sr", "random_bits": bits}
        return rules.replace(**changed) if isinstance(rules, Cast) else rules.replaced(**changed)
    except ValueError:
        return None


def _random(found: Candidate, bits: int) -> Candidate | None:
    rules = _of_bits(found.numerics, bits)
    names = tuple(f"{name} with rounding=sr, random_bits={bits}" for name in found.names)
    return None if rules is None else replace(found, numerics=rules, names=names)


def _tried(asked: Rules) -> list[Candidate]:
    """Rules whose scales may be right: profiles, and what differs from them in the rule of the scale."""
    inputs = {port.role for port in asked.ports if port.direction == "input"}
    if isinstance(asked, Nvfp4Encode):
        inputs |= {Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX}
    if isinstance(asked, Cast):
        return [one for one in candidates(asked, inputs) if one.numerics == asked]
    return [
        one
        for one in candidates(asked, inputs)
        if _of_bits(one.numerics, 8) is not None
        and (
            not is_departure(one)
            or any(text in one.names[0] for text in (" with scale_rule=", " with specials=", " with order="))
        )
    ]


def _seen(rules: Rules, given: Transactions) -> Transactions:
    return tensors.with_constants(rules, given) if isinstance(rules, Nvfp4Encode) else given


def _wrong(one: Candidate, given: Transactions, made: Transactions) -> int:
    """Blocks whose scale is another one or, where numbers were returned, which have numbers that are none of the two
    elements beside the exact one under the scale expected.
    """
    rules: Any = one.numerics
    if isinstance(rules, Cast):
        return 0
    seen = _seen(rules, given)
    expected = golden(rules, seen)
    if Role.SCALE in made.arrays:
        return int((expected[Role.SCALE] != made[Role.SCALE]).any(axis=1).sum())
    y, right = (
        numbers.view(np.float32).astype(np.float64) for numbers in (made[Role.NUMBERS], numbers_of(rules, expected))
    )
    v = scaled(rules, seen, expected[Role.SCALE])
    unit = code_values(rules.block.scale).astype(np.float64)[expected[Role.SCALE]]
    is_special = ~np.isfinite(v)
    checked = _Hypothesis.of(one, np.where(is_special, 0, v), unit, rules.block.element)
    checked.add(np.where(is_special, 0, y))
    is_same = (y == right) | np.isnan(y) & np.isnan(right)
    is_wrong = np.where(is_special, ~is_same, (checked.others > 0) & ~is_same)
    return int(is_wrong.any(axis=1).sum())


def _wrong_of(one: Candidate, hard: Callable[[Rules], Converted]) -> int:
    blocks = hard(one.numerics)
    return _wrong(one, blocks.given, blocks.made)


def _blocks(rules: Rules, seed: int) -> Transactions:
    """Finite blocks: directed ones, whose largest number makes the scale 1 under nearly all rules, with numbers at
    places between two elements, and blocks of N(0,1). Of NVFP4 these are tensors, and fewer.
    """
    rng = np.random.default_rng(seed)
    known, width = magnitudes(element_of(rules)), rules.ports[0].lanes
    top = 2.0 ** np.floor(np.log2(known[-1])) if isinstance(rules, Encode) else known[-1]
    most = int(np.searchsorted(known, top))
    step = rng.integers(0, most, (DIRECTED, width))
    places = rng.choice(FRACTIONS, (DIRECTED, width)) * np.diff(known)[step] + known[step]
    directed = (places * rng.choice([-1, 1], places.shape)).astype(np.float32)
    directed[:, 0] = top
    normal = rng.standard_normal((NORMAL, width), np.float32)
    if isinstance(rules, Nvfp4Encode):
        size = tensors.BLOCKS_OF_TENSOR
        directed = directed[: 2 * size]
        directed[::size, 0] = 448 * known[-1]
        normal = normal[: NORMAL // 2 // size * size]
    numbers = np.concatenate([directed, normal])
    return Transactions({Role.NUMBERS: patterns_of(rules.source, numbers)})  # type: ignore[union-attr]


def _hypotheses(found: Sequence[Candidate], given: Transactions, first: Transactions) -> list[_Hypothesis]:
    """Rules whose numbers are rounded alike are one."""
    made: list[_Hypothesis] = []
    for one in found:
        rules: Any = one.numerics
        seen = _seen(rules, given)
        scales, unit = first.get(Role.SCALE), np.ones((len(given), 1))
        if scales is None and not isinstance(rules, Cast):
            scales = golden(rules, seen)[Role.SCALE]
            unit = code_values(rules.block.scale).astype(np.float64)[scales]
        v = scaled(rules, seen, scales)
        with np.errstate(invalid="ignore"):
            v = np.where(np.isfinite(v), v, 0)
        same = next((h for h in made if np.array_equal(h.v, v) and np.array_equal(h.unit, unit)), None)
        if same is None:
            made.append(_Hypothesis.of(one, v, unit, element_of(rules)))
        else:
            same.found.append(one)
    return made


def _results(rules: Any, made: Transactions) -> np.ndarray:
    """float64: what the codes stand for, without their scales, or numbers."""
    if Role.CODES in made.arrays:
        return code_values(element_of(rules)).astype(np.float64)[made[Role.CODES]]
    return made[Role.NUMBERS].view(np.float32).astype(np.float64)


@dataclass(frozen=True)
class _Judgement:
    """Whether a distribution is that of stochastic rounding, and in words which or why not."""

    is_fair: bool
    text: str
    bound: float
    bits: tuple[int, ...] = ()
    """Numbers of random bits that fit."""
    is_exact: bool = False
    """Does the exact probability fit?"""
    worst: tuple[int, int] | None = None
    """The element that is farthest off."""
    probabilities: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Probabilities of the elements that are between two, by the nearest fit."""


def _verdict(one: _Hypothesis, samples: int) -> _Judgement:
    f, shares = one.fraction, one.shares(samples)
    limit = bound(samples, f.size)
    if one.others.any():
        row, lane = np.unravel_index(int(one.others.argmax()), one.v.shape)
        count = int((one.others > 0).sum())
        text = f"returns results that are no neighbours of the exact number, for {count:,} of {one.v.size:,} elements"
        return _Judgement(False, text, limit, worst=(int(row), int(lane)), probabilities=f)
    if not f.size:
        return _Judgement(False, "was given no number between two elements", limit, probabilities=f)
    of_bits = {n: np.floor(f * 2.0**n) / 2.0**n for n in range(1, MOST_BITS + 1)}
    bits = tuple(n for n, p in of_bits.items() if np.abs(shares - p).max() <= limit)
    is_exact = bool(np.abs(shares - f).max() <= limit)
    if is_exact or bits:
        what = "the exact probability" if is_exact else f"that of {_bits(bits)}"
        fits = [*([f] if is_exact else []), *(of_bits[n] for n in bits)]
        nearest = min(fits, key=lambda p: float(np.square(shares - p).sum()))
        return _Judgement(True, what, limit, bits or (MOST_BITS,), is_exact, probabilities=nearest)
    rows, lanes = np.nonzero(one.between)
    place = int(np.abs(shares - f).argmax())
    worst = int(rows[place]), int(lanes[place])
    text = _bias(f, shares, ~np.signbit(one.v[one.between]), limit)
    return _Judgement(False, text, limit, worst=worst, probabilities=f)


def _bias(f: np.ndarray, shares: np.ndarray, is_positive: np.ndarray, limit: float) -> str:
    """In words how shares differ from what they should be."""
    constant = {
        "always rounds away from zero": np.ones_like(f),
        "always rounds toward zero": np.zeros_like(f),
        "always rounds up": is_positive.astype(float),
        "always rounds down": (~is_positive).astype(float),
    }
    for text, wanted in constant.items():
        if np.array_equal(shares, wanted):
            return f"{text} and is no stochastic rounding"
    if np.abs(shares - 0.5).max() <= limit:
        return "is biased: both neighbours have the probability 1/2, whatever the number is"
    away, up = shares - f, np.where(is_positive, shares - f, f - shares)
    mean, signed = float(away.mean()), float(up.mean())
    if abs(signed) > abs(mean):
        return f"is biased {'up' if signed > 0 else 'down'}, by {abs(signed):.3f} of a step on average"
    if abs(mean) * 10 < float(np.abs(away).mean()):
        return f"rounds with other probabilities than the distances, by {np.abs(away).mean():.3f} on average"
    return f"is biased {'away from' if mean > 0 else 'toward'} zero, by {abs(mean):.3f} of a step on average"


def _fitting(verdict: _Judgement) -> str:
    bits = verdict.bits
    if verdict.is_exact:
        return f"random bits that fit too: {bits[0]} to {bits[-1]}" if len(bits) > 1 else "no number of bits tells more"
    return f"the exact probability does not fit, and that of {_bits(bits)} does"


def _independent(dependence: Dependence, samples: int, elements: int) -> str:
    if not dependence.is_tested:
        return f"independence not tested: {samples:,} samples of {elements:,} elements near the middle are too few"
    return (
        f"independence was tested: of two results of a call, of a call and the next one, and of one element in any two "
        f"calls; between neighbours a correlation of {dependence.bound:.3f} would show (Freedman; an independent "
        f"function fails once in {round(1 / INDEPENDENT):,} runs)"
    )


def _bits(numbers: Sequence[int]) -> str:
    return "1 random bit" if tuple(numbers) == (1,) else f"{' or '.join(map(str, numbers))} random bits"


def _witness(one: _Hypothesis, given: Transactions, samples: int, worst: tuple[int, int] | None) -> str:
    if worst is None:
        return ""
    word = given[Role.NUMBERS][worst]
    digits = given[Role.NUMBERS].dtype.itemsize * 2
    lower, upper = (np.copysign(side[worst], one.v[worst]) for side in (one.lower, one.upper))
    head = f"an element: input 0x{int(word):0{digits}X}, {one.v[worst]:.9g} under its scale, is "
    where = f"{lower:.9g}" if lower == upper else f"between {lower:.9g} and {upper:.9g}"
    if one.others[worst]:
        return f"{head}{where}, and became {one.stray[worst]:.9g}, {int(one.others[worst]):,} of {samples:,} times"
    f = (abs(one.v[worst]) - one.lower[worst]) / (one.upper[worst] - one.lower[worst])
    return f"{head}{where}: {upper:.9g} came {int(one.ups[worst]):,} of {samples:,} times, expected {f * samples:,.1f}"


def _told_apart(found: Sequence[Candidate], convert: Subject) -> tuple[list[Candidate], tuple[str, ...]]:
    """Of rules those whose scales are right where they differ, and two that were not told apart."""
    kept = [found[0]]
    for other in found[1:]:
        first = kept[0]
        apart = soon_separated(first.numerics, other.numerics)
        if apart.block is None:
            if not apart.is_whole:
                return [*kept, other], (first.names[0], other.names[0])
            kept.append(other)
            continue
        made = convert(apart.block)
        wrong = [bool(_wrong(one, apart.block, made)) for one in (first, other)]
        if wrong == [True, False]:
            kept = [other]
        elif wrong == [True, True]:
            return [], ()
        elif wrong == [False, False]:
            if Role.SCALE not in made.arrays:
                return [*kept, other], (first.names[0], other.names[0])
            kept.append(other)  # they differ in codes alone
    return kept, ()
