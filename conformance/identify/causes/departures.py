"""Departures from rules by their causes, the worst cause first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....models.arrays.codes import code_values
from ....sim.operations import golden, of
from ....sim.transactions import Transactions
from ....spec import Cast, Decode, Encode, Role
from ..candidates import Converted, Rules
from ..expected.returned_numbers import as_codes, kinds_of_numbers, numbers_of
from ..expected.scaled import wide
from .faults import Named
from .named_causes import named_causes


@dataclass(frozen=True, kw_only=True)
class Departure:
    """One cause of wrong results."""

    text: str
    """The cause in words: its name, or a kind of blocks."""
    blocks: int
    """Tried blocks that differ because of it."""
    normal: int = 0
    """Blocks of N(0,1) among them."""
    error: float = 0.0
    """The sum of the relative errors of results that should be finite."""
    others: float = 0.0
    """The number of results that should be NaN or Inf, and are not."""
    witness: str = ""
    """The smallest block that shows it, in words."""
    block: Transactions | None = None
    """The inputs of this block."""

    def to_dict(self) -> dict[str, object]:
        block = self.block
        return {
            "cause": self.text,
            "blocks": self.blocks,
            "normal_blocks": self.normal,
            "witness": self.witness,
            "witness_block": block and {str(role): array[0].tolist() for role, array in block.arrays.items()},
        }


@dataclass(frozen=True)
class Causes:
    """Causes of departures from some rules."""

    rules: Rules
    nan_codes_free: bool
    named: Sequence[Named]
    """Named causes that hold, the one that explains most first."""

    @classmethod
    def of(cls, rules: Rules, normal: Converted, hard: Converted, nan_codes_free: bool = False) -> Causes:
        """Look for named causes in blocks of N(0,1) and in hard ones."""
        kept = [_as_encoded(rules, one) for one in (normal, hard)]
        named = named_causes(rules, *kept) if all(len(one.given) for one in kept) else []
        if isinstance(rules, Encode) and Role.NUMBERS in normal.made.arrays:
            named = [one for one in named if one.role is not Role.SCALE]
        return cls(rules, nan_codes_free, named)

    def texts(self, blocks: Converted, in_order: bool = False) -> np.ndarray:
        """(n,) causes in words, empty if nothing differs. ``in_order`` says that they are all blocks of a call."""
        expected = golden(self.rules, blocks.given)
        rules = self.rules
        if isinstance(rules, Encode) and Role.NUMBERS in blocks.made.arrays:
            found = kinds_of_numbers(rules, blocks, expected)
            blocks = Converted(blocks.given, as_codes(rules, expected, blocks.made[Role.NUMBERS])[0])
        else:
            know = of(rules)
            why = know.why(blocks.given, expected, blocks.made, self.nan_codes_free)
            found = np.array(["", *(cause.text for cause in know.causes)], object)[why + 1]
        rows = np.arange(len(found)) if in_order else np.flatnonzero(found != "")
        for named in reversed(self.named):
            if in_order or not named.is_of_batch:
                explained = named.explains(blocks.rows(rows), expected.rows(rows)).any(axis=1)
                chosen = rows[explained]
                found[chosen] = np.where(found[chosen] != "", named.text, "")
        return found

    def errors(self, blocks: Converted) -> tuple[float, float]:
        """The sum of the relative errors of results that should be finite, each at most 1; and the number of results
        that should be NaN or Inf, and are not.
        """
        right, made = (self._values(one) for one in (golden(self.rules, blocks.given), blocks.made))
        finite = np.isfinite(right)
        magnitude = np.abs(np.where(finite, right, 0))
        if isinstance(self.rules, Cast | Decode):
            of_each = np.maximum(magnitude, float(2.0**self.rules.destination.emin))
        else:  # elements of a block share its scale
            of_each = magnitude.max(axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            error = np.abs(made - right) / of_each
        error = np.where(finite & (made != right), np.where(np.isfinite(error), np.minimum(error, 1), 1), 0)
        others = ~finite & (made != right) & ~(np.isnan(made) & np.isnan(right))
        return float(error.sum()), float(others.sum())

    def _values(self, results: Transactions) -> np.ndarray:
        """(n, lanes) float64: the numbers of some results."""
        rules = self.rules
        if Role.NUMBERS in results.arrays:
            to = rules.destination if isinstance(rules, Cast | Decode) else None
            numbers = results[Role.NUMBERS]
            return (numbers.view(np.float32) if to is None else wide(to, numbers)).astype(np.float64)
        if isinstance(rules, Encode):
            return numbers_of(rules, results).view(np.float32).astype(np.float64)
        format = rules.scalar if isinstance(rules, Cast) else rules.block.element
        elements = code_values(format).astype(np.float64)[results[Role.CODES]]
        if isinstance(rules, Cast):
            return elements
        with np.errstate(all="ignore"):
            return elements * code_values(rules.block.scale)[results[Role.SCALE]]

    def found(self, parts: Sequence[Converted]) -> list[tuple[Departure, Converted]]:
        """Departures, each with its first block; the largest sum of errors comes first. The first part are blocks of
        N(0,1).
        """
        texts = [self.texts(blocks, in_order=True) for blocks in parts]
        found = []
        for text in dict.fromkeys(text for some in texts for text in some if text):
            rows = [np.flatnonzero(some == text) for some in texts]
            pairs = [self.errors(blocks.rows(some)) for blocks, some in zip(parts, rows) if len(some)]
            counts, (error, others) = [len(some) for some in rows], map(sum, zip(*pairs))
            departure = Departure(text=text, blocks=sum(counts), normal=counts[0], error=error, others=others)
            first = next(blocks.rows(some[:1]) for blocks, some in zip(parts, rows) if len(some))
            found.append((departure, first))
        return sorted(found, key=lambda one: (one[0].error, one[0].others, one[0].blocks), reverse=True)


def unexplained(rules: Rules, blocks: Converted) -> int:
    """The number of blocks of a call that differ from rules, and not because of a named cause."""
    causes = Causes.of(rules, blocks, blocks)
    texts = causes.texts(blocks, in_order=True)
    return int(((texts != "") & ~np.isin(texts, [named.text for named in causes.named])).sum())


def _as_encoded(rules: Rules, blocks: Converted) -> Converted:
    """Blocks with codes in place of returned numbers, if these are elements under their scale."""
    if not isinstance(rules, Encode) or Role.NUMBERS not in blocks.made.arrays:
        return blocks
    codes, is_off = as_codes(rules, golden(rules, blocks.given), blocks.made[Role.NUMBERS])
    return Converted(blocks.given, codes).rows(np.flatnonzero(~is_off))
