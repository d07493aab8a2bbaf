"""The rules that a converter follows, its departures from them, and their counts."""

from __future__ import annotations

from collections.abc import Callable

from ...spec.catalogue import constructed
from ..subject.subject import Function, Subject
from .candidates import Candidate, Rules, ranked, to_nearest
from .outcome import NEAREST, Identification, Verdict, is_departure, named
from .told_apart import told_apart
from .trial import Trial
from .witnesses import compared_with, departures_from

HARD = 20_000
"""Random blocks that are tried with the directed ones."""


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
    subject : a function on arrays, as in `subject.CALLED_WITH`, or a `Subject`
    rules : the operation with the formats in question; its rules are tried with all others
    expected : whether the converter should follow these rules; the witness then shows a departure from them
    nan_codes_free : codes under a NaN scale may be anything, because readers ignore them
    samples : calls with the same blocks by which a random function is judged; 0 for a function that is not random
    seed, blocks : seed and number of random blocks, which are tried with the directed ones
    name : name in messages
    progress : called with each step, in words

    Returns
    -------
    Identification
        FOLLOWS: some rules give all results, and tried blocks separate these rules from all other known rules. DIFFERS:
        it departs from all known rules; the nearest are named, with the smallest witness. UNKNOWN: no tried block
        separates two sets of rules that fit, or the function is random. With random bits in the rules the function is
        called with them too, and its bits are compared.

    Raises
    ------
    SubjectError
        if the function raises, or returns something else than results
    ValueError
        for operations that cannot be identified, or not with ``samples``
    """
    say = progress or (lambda text: None)
    if samples:
        rules = to_nearest(rules)
    convert = Function(subject, rules, name) if not isinstance(subject, Function) else subject
    say("calling it with ordinary blocks")
    trial = Trial(rules, convert, seed, blocks, nan_codes_free)
    if found := trial.vacuous(name, samples, expected, say):
        return found
    say("calling it with hard blocks")
    hard, normal = trial.converted(rules)
    say("trying rules")
    order = sorted(ranked(trial.candidates, trial.converted, trial.judge), key=_distance)
    known: dict[str, object] = {
        "rules": rules,
        "blocks": len(hard.given) + len(normal.given),
        "normal": len(normal.given),
    }
    matches = [one for one in order if not one.blocks]
    if matches:
        say("telling rules apart")
        fits_asked = any(one.numerics == rules for one in matches)
        matches, pair = told_apart(trial, matches)
        if pair:
            known |= {"pair": pair, "matches": tuple(matches), "remarks": trial.remarks}
            sentence = f"{name} fits {pair[0]} and {pair[1]}, and no block that was tried tells them apart"
            if not expected or fits_asked:
                return constructed(Identification, known | {"verdict": Verdict.UNKNOWN, "sentence": sentence})
    known |= {"matches": tuple(matches), "nearest": tuple(one for one in order if one not in matches)[:NEAREST]}
    if matches:
        known |= {"verdict": Verdict.FOLLOWS, "sentence": f"{name} follows {named(matches)}"}
        if pair:
            known |= {"verdict": Verdict.DIFFERS, "sentence": f"{name} fits {pair[0]} and {pair[1]}"}
        known |= {"remarks": trial.remarks}
        if not expected or any(one.numerics == rules for one in matches):
            return constructed(Identification, known)
    say("looking for the smallest block")
    asked = next((one for one in trial.candidates if one.numerics == rules), order[0])
    base = trial.counted(asked if expected else compared_with(trial, order))
    departures, remarks = departures_from(trial, base)
    known |= {"departures": departures, "causes": {one.text: one.blocks for one in departures}}
    if departures:
        known |= {"witness": departures[0].witness, "witness_block": departures[0].block}
    if samples:
        say("calling it again and again")
        remarks += (trial.distribution(name, samples, expected).sentence,)
    known |= {"remarks": remarks}
    if matches:
        sentence = f"{known['sentence']}, not {' = '.join(base.names)}"
        return constructed(Identification, known | {"sentence": sentence})
    rate = f"{base.normal:,} of {len(normal.given):,} blocks of N(0,1)"
    nearest = "it was compared with" if expected else "the nearest are"
    sentence = f"{name} follows no known rules; {nearest} {' = '.join(base.names)}, from which {rate} differ"
    return constructed(Identification, known | {"verdict": Verdict.DIFFERS, "sentence": sentence})


def _distance(one: Candidate) -> tuple[int, int, bool, int]:
    """A profile comes before a departure with the same counts on N(0,1)."""
    return one.normal, sum(one.words.values()), is_departure(one), one.blocks
