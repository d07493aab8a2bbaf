"""How stored blocks differ from rules: causes, counts by tensor, and the simplest block."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...sim.operations import of
from ...sim.transactions import Transactions
from ...spec import Role
from ..identify.candidates import Converted
from ..identify.causes.named_causes import named_causes
from ..identify.causes.suspicions import suspicions
from .files import SAMPLE, Files, Tried

SHOWN = 3
"""Wrong tensor scales that are shown."""


@dataclass(frozen=True, kw_only=True)
class Departures:
    """Differences from some rules."""

    causes: dict[str, int]
    """By cause in words the number of blocks."""
    remarks: tuple[str, ...]
    tensors: dict[str, tuple[int, int]]
    """By name of a tensor its blocks, and how many of them differ."""
    witness: str = ""
    """The simplest block that differs, in words."""
    witness_block: Transactions | None = None
    """The inputs of this block."""


def departures(files: Files, base: Tried) -> Departures:
    """Compare all blocks with some rules."""
    rules, know = base.rules, of(base.rules)
    causes: dict[str, int] = {}
    numbers: set[int] = set()
    differing = dict.fromkeys((one.name for one in files.tensors), 0)
    best: tuple[tuple[int, ...], str, Converted] | None = None
    examples: list[Converted] = []
    for part in files.parts():
        tensor, blocks, _ = part
        seen = files.converted(base, part)
        expected = know.golden(seen.given)
        why = know.why(seen.given, expected, seen.made, files.nan_codes_free)
        wrong = np.flatnonzero(why >= 0)
        if not len(wrong):
            continue
        differing[tensor.name] += len(wrong)
        for number, count in zip(*np.unique(why[wrong], return_counts=True)):
            text = know.causes[number].text
            numbers.add(int(number))
            causes[text] = causes.get(text, 0) + int(count)
        if sum(len(one.given) for one in examples) < SAMPLE:
            examples.append(seen.rows(wrong[:SAMPLE]))
        complexity = _complexity(seen, expected, wrong)
        simplest = int(np.lexsort(complexity.T[::-1])[0])
        key, row = tuple(complexity[simplest].tolist()), int(wrong[simplest])
        if best is None or key < best[0]:
            best = key, tensor.described(blocks.matrix, *blocks.place(row)), seen.rows(slice(row, row + 1))
    wrong_scales = files.wrong_scales(base)
    if wrong_scales:
        causes["the scale of the tensor"] = len(wrong_scales)
    remarks = [know.only([know.causes[number] for number in sorted(numbers)])]
    if examples:  # with blocks that are right, as a named cause must hold for all blocks
        every = Converted.joined([*examples, files.sampled(base)])
        tensor, blocks, _ = files.sample[0]
        in_order = files.converted(base, (tensor, blocks, slice(SAMPLE)))
        remarks += [cause.text for cause in named_causes(rules, in_order, every)]
        remarks += suspicions(rules, every)
    remarks += wrong_scales[:SHOWN]
    found = Departures(
        causes=causes,
        remarks=tuple(dict.fromkeys(filter(None, remarks))),
        tensors={one.name: (one.count, differing[one.name]) for one in files.tensors},
    )
    if best is None:
        return found
    _, where, block = best
    text = know.described(where, block.given, know.golden(block.given), block.made)
    return replace(found, witness=text, witness_block=block.given)


def _complexity(seen: Converted, expected: Transactions, rows: np.ndarray) -> np.ndarray:
    """(n, 3): numbers that are not zero, results that differ, and bits that are set in the numbers."""
    patterns = seen.given[Role.NUMBERS][rows]
    wrong = [(expected[role][rows] != seen.made[role][rows]).sum(axis=1) for role in expected.arrays]
    bits = np.bitwise_count(patterns).sum(axis=1)
    return np.stack([(patterns != 0).sum(axis=1), np.sum(wrong, axis=0), bits], axis=1)
