"""Judge a random converter by its distribution: call it with the same blocks many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ....models.arrays.codes import code_values
from ....sim.operations import golden
from ....sim.transactions import Transactions
from ....spec import Cast, Encode, Nvfp4Encode, Role
from ....spec.catalogue import constructed
from ... import tensors
from ...subject.subject import Subject
from ..candidates import Candidate, Converted, Rules, candidates, inputs_of_software, to_nearest, with_random_bits
from ..expected.returned_numbers import numbers_of
from ..expected.scaled import element_of, magnitudes, patterns_of, scaled
from ..outcome import NEAREST, Identification, Verdict, is_departure, named
from ..separation import soon_separated
from .fairness import RISK, judgement
from .samples import Samples

DIRECTED, NORMAL = 64, 192
"""Blocks of each kind that are converted again and again."""
FRACTIONS = [1 / 4096, 1 / 256, 1 / 64, 1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8, 15 / 16, 255 / 256]
"""Places of directed numbers between two elements."""
FEWEST = 10
"""The smallest number of samples."""
BITS = 8
"""Random bits that are named if they fit."""
OF_SCALES = (" with scale_rule=", " with specials=", " with order=")
"""Departures that change scales."""


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
    """Judge a function that is called without random bits.

    Parameters
    ----------
    convert, rules, name, seed, expected : as in `identify`; the rounding of the rules does not matter
    hard : converted hard blocks as inputs and results of some rules; their scales are compared
    samples : calls with the same blocks

    Returns
    -------
    Identification
        FOLLOWS: known rules give the scales, every result is an element next to the exact number, and stochastic
        rounding gives the shares. DIFFERS: one of these is not so; the sentence says which. UNKNOWN: two
        sets of rules give the same scales for all blocks that were tried.

    Raises ValueError for other operations, for casts to a format without a sign, and for too few samples.
    """
    if samples < FEWEST:
        raise ValueError(f"a distribution needs {FEWEST} samples or more, not {samples}")
    asked = to_nearest(rules)
    if not isinstance(asked, Encode | Nvfp4Encode | Cast) or (
        isinstance(asked, Cast) and (asked.is_back or not asked.scalar.signed)
    ):
        raise ValueError("samples are for encoders and for casts to a format with a sign")
    given = _blocks(asked, seed)
    tried = _tried(asked)
    first = convert(given)
    known: dict[str, object] = {"rules": rules, "blocks": len(given) + len(hard(asked).given)}
    wrong_blocks = [_wrong(one, given, first) + _wrong_of(one, hard) for one in tried]
    fewest = min(wrong_blocks)
    right, nearest = [one for one, count in zip(tried, wrong_blocks) if not count], tried[wrong_blocks.index(fewest)]
    sampled_under = _sampled_under(right or [nearest], given, first)
    scales = first.get(Role.SCALE)
    for _ in range(samples):
        made = convert(given)
        if scales is not None and not np.array_equal(made[Role.SCALE], scales):
            row = int(np.flatnonzero((made[Role.SCALE] != scales).any(axis=1))[0])
            text = f"0x{int(scales[row, 0]):02X} and 0x{int(made[Role.SCALE][row, 0]):02X}"
            sentence = f"{name} has random scales: the same block got {text}"
            return constructed(Identification, known | {"verdict": Verdict.DIFFERS, "sentence": sentence})
        results = _results(asked, made)
        for one in sampled_under:
            one.add(results)
    base = min(sampled_under, key=lambda one: int((one.others > 0).sum()))
    judged = judgement(base)
    sampled = f"{samples:,} samples of {base.v.size:,} elements"
    scale_sentence = ""
    if not right:
        scale_sentence = (
            f"{name} follows no known rules for scales; the nearest are {' = '.join(nearest.names)}, from which "
            f"{fewest:,} of {known['blocks']:,} blocks differ"
        )
    independence = base.independence(asked, judged.probabilities)
    if not judged.is_fair:
        text = judged.text
        if repeated := independence.repeated():
            text = f"repeats its results, and is no stochastic rounding: {repeated}"
        sentence = f"{name} {text}, in {sampled}" + (f"; {scale_sentence}" if scale_sentence else "")
        witness = base.described(given[Role.NUMBERS], judged.worst) if judged.worst else ""
        known |= {"witness": witness, "nearest": tuple(right[:NEAREST])}
        return constructed(Identification, known | {"verdict": Verdict.DIFFERS, "sentence": sentence})
    fair = (
        f"in {sampled} every result is one of the two neighbours, and the share of the upper one is within "
        f"{judged.bound:.4f} of {judged.text} for every element (Hoeffding; a fair function fails once in "
        f"{round(1 / RISK):,} runs)"
    )
    dependence = independence.found()
    known |= {"remarks": (fair, judged.fitting, dependence.remark(samples, len(independence.places)))}
    if text := dependence.text or independence.repeated():
        sentence = f"{name} has the right probabilities in {sampled}, but its results depend on each other: {text}"
        return constructed(
            Identification,
            known | {"verdict": Verdict.DIFFERS, "sentence": sentence, "nearest": tuple(right[:NEAREST])},
        )
    if scale_sentence:
        return constructed(
            Identification, known | {"verdict": Verdict.DIFFERS, "sentence": f"{scale_sentence}; {fair}"}
        )
    matches, pair = _told_apart([one for one in base.found if not is_departure(one)] or base.found, convert)
    if not matches:
        sentence = f"{name} rounds stochastically, and no known rules give its scales"
        return constructed(Identification, known | {"verdict": Verdict.DIFFERS, "sentence": sentence})
    bits = BITS if BITS in judged.bits else judged.bits[-1]
    random = tuple(one for one in (_random(match, bits) for match in matches) if one is not None)
    known |= {"matches": random, "rules": with_random_bits(rules, bits) or rules}
    if pair:
        sentence = f"{name} rounds stochastically, and no block that could be tried tells {pair[0]} from {pair[1]}"
        return constructed(Identification, known | {"verdict": Verdict.UNKNOWN, "sentence": sentence, "pair": pair})
    sentence = f"{name} follows {named(matches)} with stochastic rounding ({samples:,} samples)"
    found = constructed(Identification, known | {"verdict": Verdict.FOLLOWS, "sentence": sentence})
    if expected and not any(one.numerics == asked for one in matches):
        return replace(found, sentence=f"{sentence}, not the rules asked for")
    return found


def _random(found: Candidate, bits: int) -> Candidate | None:
    rules = with_random_bits(found.numerics, bits)
    names = tuple(f"{name} with rounding=sr, random_bits={bits}" for name in found.names)
    return None if rules is None else replace(found, numerics=rules, names=names)


def _tried(asked: Rules) -> list[Candidate]:
    """Rules whose scales may be right: profiles, and departures from them that change scales."""
    every = candidates(asked, inputs_of_software(asked))
    if isinstance(asked, Cast):
        return [one for one in every if one.numerics == asked]
    return [
        one
        for one in every
        if with_random_bits(one.numerics, BITS) is not None
        and (not is_departure(one) or any(text in one.names[0] for text in OF_SCALES))
    ]


def _wrong(one: Candidate, given: Transactions, made: Transactions) -> int:
    """Blocks with a wrong scale. If numbers were returned: blocks with a number that is not next to the exact one under
    the expected scale.
    """
    rules = one.numerics
    if isinstance(rules, Cast):
        return 0
    seen = tensors.seen(rules, given)
    expected = golden(rules, seen)
    if Role.SCALE in made.arrays:
        return int((expected[Role.SCALE] != made[Role.SCALE]).any(axis=1).sum())
    assert isinstance(rules, Encode)
    y, right = (
        numbers.view(np.float32).astype(np.float64) for numbers in (made[Role.NUMBERS], numbers_of(rules, expected))
    )
    v = scaled(rules, seen, expected[Role.SCALE])
    unit = code_values(rules.block.scale).astype(np.float64)[expected[Role.SCALE]]
    is_special = ~np.isfinite(v)
    checked = Samples.under(one, np.where(is_special, 0, v), unit, rules.block.element)
    checked.add(np.where(is_special, 0, y))
    is_same = (y == right) | np.isnan(y) & np.isnan(right)
    is_wrong = np.where(is_special, ~is_same, (checked.others > 0) & ~is_same)
    return int(is_wrong.any(axis=1).sum())


def _wrong_of(one: Candidate, hard: Callable[[Rules], Converted]) -> int:
    blocks = hard(one.numerics)
    return _wrong(one, blocks.given, blocks.made)


def _blocks(rules: Encode | Nvfp4Encode | Cast, seed: int) -> Transactions:
    """Finite blocks: directed ones with numbers at places between two elements, and blocks of N(0,1). The largest
    number of a directed block makes the scale 1 under nearly all rules. For NVFP4 the blocks are tensors, and fewer.
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
    return Transactions({Role.NUMBERS: patterns_of(rules.source, numbers)})


def _sampled_under(found: Sequence[Candidate], given: Transactions, first: Transactions) -> list[Samples]:
    """Samples for each set of numbers that some rules round."""
    made: list[Samples] = []
    for one in found:
        rules = one.numerics
        seen = tensors.seen(rules, given)
        scales, unit = first.get(Role.SCALE), np.ones((len(given), 1))
        if scales is None and not isinstance(rules, Cast):
            scales = golden(rules, seen)[Role.SCALE]
            unit = code_values(rules.block.scale).astype(np.float64)[scales]
        v = scaled(rules, seen, scales)
        with np.errstate(invalid="ignore"):
            v = np.where(np.isfinite(v), v, 0)
        same = next((h for h in made if np.array_equal(h.v, v) and np.array_equal(h.unit, unit)), None)
        if same is None:
            made.append(Samples.under(one, v, unit, element_of(rules)))
        else:
            same.found.append(one)
    return made


def _results(rules: Rules, made: Transactions) -> np.ndarray:
    """float64: elements without their scales, or numbers."""
    if Role.CODES in made.arrays:
        return code_values(element_of(rules)).astype(np.float64)[made[Role.CODES]]
    return made[Role.NUMBERS].view(np.float32).astype(np.float64)


def _told_apart(found: Sequence[Candidate], convert: Subject) -> tuple[list[Candidate], tuple[str, ...]]:
    """The rules whose scales are also right for blocks that separate them, and two rules that no block separates."""
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
        is_wrong = [bool(_wrong(one, apart.block, made)) for one in (first, other)]
        if is_wrong == [True, False]:
            kept = [other]
        elif is_wrong == [True, True]:
            return [], ()
        elif is_wrong == [False, False]:
            if Role.SCALE not in made.arrays:
                return [*kept, other], (first.names[0], other.names[0])
            kept.append(other)  # only their codes differ
    return kept, ()
