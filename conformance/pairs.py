"""Which rules made a file of quantized tensors of a file of numbers: nothing is called, and all blocks are there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from ..models.arrays.packing import scale_in_convention
from ..models.arrays.source import DTYPES, widen
from ..models.exact.encode import fp32
from ..models.fast.nvfp4_encode import STORED, tensor_constants
from ..sim.operations import golden, of
from ..sim.transactions import Transactions
from ..spec import BlockFormat, Convention, Encode, FloatFormat, Nvfp4Encode, Order, Role
from . import tensors
from .identify.candidates import Candidate, Converted, candidates, judged
from .identify.character import character
from .identify.named_causes import named_causes
from .identify.outcome import NEAREST, Identification, Verdict, is_departure, named
from .identify.separation import soon_separated
from .identify.suspicions import suspicions

SAMPLE = 20_000
"""Blocks on which all candidates are tried; the best of them are then tried on all blocks."""
SEPARATED = 4
"""Rules that are compared with the first that fit, to find two that the files do not tell apart."""


class Blocks(Protocol):
    """Some blocks of a tensor."""

    @property
    def patterns(self) -> np.ndarray:
        """Numbers (n, block_size), as patterns of their format."""

    @property
    def scales(self) -> np.ndarray:
        """(n, 1)."""

    @property
    def codes(self) -> np.ndarray:
        """(n, block_size)."""

    @property
    def matrix(self) -> int:
        """Which matrix of the leading axes they are of."""

    def place(self, row: int) -> tuple[int, int]:
        """The line and the block of one of them."""


class Tensor(Protocol):
    """A tensor as numbers, and as what is stored of it."""

    @property
    def name(self) -> str: ...

    @property
    def block(self) -> BlockFormat: ...

    @property
    def source(self) -> FloatFormat:
        """The format of its numbers."""

    @property
    def count(self) -> int:
        """Blocks that it has."""

    @property
    def convention(self) -> Convention:
        """What its tensor scale is."""

    @property
    def tensor_scales(self) -> np.ndarray:
        """float32: one, one for each matrix, or none."""

    def amax(self, order: Order) -> np.ndarray:
        """float32: the largest magnitudes that belong to them."""

    def portions(self, whole: bool) -> Iterator[Blocks]:
        """All blocks, or some at even distances."""

    def described(self, matrix: int, line: int, block: int) -> str:
        """Where a block is, in words."""


@dataclass(frozen=True, kw_only=True)
class OfPairs(Identification):
    """The outcome of `identify_pairs`. No block is of N(0,1)."""

    tensors: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By name the blocks of each tensor, and how many differ from the rules compared with."""

    def to_dict(self) -> dict[str, object]:
        known = super().to_dict()
        del known["normal_blocks"]
        for one in [*known["matches"], *known["nearest"]]:  # type: ignore[misc]  # lists of objects
            for key in [key for key in one if key.startswith("mismatched_normal")]:
                del one[key]
        counts = {name: {"blocks": all_, "differing": wrong} for name, (all_, wrong) in self.tensors.items()}
        return {**known, "tensors": counts}


@dataclass(frozen=True, kw_only=True)
class _Tried:
    """A candidate, and under which scales of the tensors its blocks are compared: its own, or those of the file."""

    candidate: Candidate
    of_file: bool = False

    @property
    def rules(self) -> Any:
        return self.candidate.numerics


def identify_pairs(
    paired: Sequence[Tensor],
    rules: Encode | Nvfp4Encode,
    *,
    expected: bool = False,
    nan_codes_free: bool = False,
    name: str = "the file",
    progress: Callable[[str], None] | None = None,
) -> OfPairs:
    """Find the rules that made quantized tensors of numbers.

    Parameters
    ----------
    paired : numbers, and what is stored of them, all in the block format of the rules
    rules : the operation with the formats in question
    expected, nan_codes_free, name, progress : those of `identify.identify`

    Returns
    -------
    OfPairs
        FOLLOWS: every block and every tensor scale is that of some rules, and of no others that are known. DIFFERS: no
        known rules give all of them; the nearest are named, with the simplest block that differs. UNKNOWN: two sets of
        rules fit, and no block of the files tells them apart.

    Raises ValueError where there are no blocks, and for rules with random bits.
    """
    if rules.random_bits:
        raise ValueError("files do not have the random bits of stochastic rounding: leave out rounding=sr")
    say = progress or (lambda text: None)
    files = _Files(paired, rules, nan_codes_free)
    say("trying rules on some blocks")
    order = files.ranked()
    known: dict[str, Any] = {"rules": rules, "blocks": files.count}
    known["nearest"] = tuple(one.candidate for one in order)[:NEAREST]
    matches = [one.candidate for one in order if not one.candidate.blocks and not files.wrong_scales(one)]
    profiles = [one for one in matches if not is_departure(one)]
    matches = profiles or matches
    if matches:
        say("telling rules apart")
        pair, equal, tells = _not_told_apart(matches)
        known |= {"matches": tuple(matches), "tensors": {one.name: (one.count, 0) for one in paired}}
        known["nearest"] = tuple(one for one in known["nearest"] if one not in matches)
        fits_asked = any(one.numerics == rules for one in matches)
        if pair and (not expected or fits_asked):
            others = [one.names[0] for one in matches if one.names[0] not in pair]
            also = f" (and {', '.join(others[:8])})" if others else ""
            sentence = f"{name} fits {pair[0]} and {pair[1]}{also}, and no block of the files tells these two apart"
            return OfPairs(
                verdict=Verdict.UNKNOWN, sentence=sentence, **known | {"pair": pair, "remarks": (tells,) * bool(tells)}
            )
        known |= {"matches": tuple(equal), "verdict": Verdict.FOLLOWS, "sentence": f"{name} follows {named(equal)}"}
        if pair:
            known |= {"verdict": Verdict.DIFFERS, "sentence": f"{name} fits {pair[0]} and {pair[1]}"}
        if not expected or fits_asked:
            return OfPairs(**known)
    say("looking for the simplest block")
    base = order[0]
    if expected:
        asked = next(one for one in candidates(rules, files.inputs) if one.numerics == rules)
        base = files.counted([_Tried(candidate=asked)])[0]
    known |= files.departures(base)
    if matches:
        known["sentence"] += f", not {' = '.join(base.candidate.names)}"
        return OfPairs(**known)
    known["verdict"] = Verdict.DIFFERS
    if (text := files.character()) is not None:
        return OfPairs(sentence=f"{name} {text}", **known)
    called = " = ".join(base.candidate.names)
    if not base.candidate.blocks:
        wrong = files.wrong_scales(base)
        scale = f"{len(wrong)} of {len(paired)} tensor scales are others"
        where = " under the tensor scales of the file" if base.of_file else ""
        sentence = f"{name} follows no known rules: its blocks are those of {called}{where}, and {scale}"
        return OfPairs(sentence=sentence, **known)
    nearest = "it was compared with" if expected else "the nearest are"
    rate = f"{base.candidate.blocks:,} of {files.count:,} blocks differ"
    sentence = f"{name} follows no known rules; {nearest} {called}, from which {rate}"
    return OfPairs(sentence=sentence, **known)


def _not_told_apart(matches: Sequence[Candidate]) -> tuple[tuple[str, ...], list[Candidate], str]:
    """The names of two sets of rules that differ somewhere or may do so, those that are the same as the first, and what
    would tell the two apart.
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
        tensor, among = found.block[Role.NUMBERS], ""
        if isinstance(first.numerics, Nvfp4Encode):
            both: list[Any] = [first.numerics, other.numerics]
            made = [golden(one, tensors.with_constants(one, found.block)) for one in both]
            row = int(np.flatnonzero(made[0].differ(made[1]))[0])
            largest = tensor & tensor.dtype.type(first.numerics.source.magnitude_mask)
            among, tensor = f", in a tensor whose largest magnitude is {_words(largest.max().reshape(1))}", tensor[row:]
        shown = _words(tensor[0, : int(np.flatnonzero(tensor[0]).max(initial=0)) + 1])
        return pair, equal, f"a block that would tell {pair[0]} from {pair[1]}: {shown}{among}"
    return (), equal, ""


def _words(patterns: np.ndarray) -> str:
    return ",".join(f"0x{word:0{patterns.dtype.itemsize * 2}X}" for word in patterns)


class _Files:
    """All tensors of two files."""

    def __init__(self, tensors: Sequence[Tensor], rules: Encode | Nvfp4Encode, nan_codes_free: bool) -> None:
        self.tensors, self.rules, self.nan_codes_free = tensors, rules, nan_codes_free
        self.count = sum(one.count for one in tensors)
        if not self.count:
            raise ValueError("there is no block to compare")
        self.is_of_tensors = isinstance(rules, Nvfp4Encode)
        self._sample: list[tuple[Tensor, Blocks, slice | np.ndarray]] = []
        for tensor in tensors:
            share = max(SAMPLE * tensor.count // self.count, 1)
            parts = list(tensor.portions(whole=tensor.count <= share))
            there = sum(len(part.codes) for part in parts)
            step = max(there // share, 1)
            self._sample += [(tensor, part, slice(None, None, step)) for part in parts]

    @property
    def inputs(self) -> set[Role]:
        constants = {Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX} if self.is_of_tensors else set()
        return {Role.NUMBERS} | constants

    def ranked(self) -> list[_Tried]:
        """The nearest candidates, with how many of all blocks differ, the nearest first."""
        tried = [_Tried(candidate=one) for one in candidates(self.rules, self.inputs)]
        if self.is_of_tensors:
            tried += [_Tried(candidate=one.candidate, of_file=True) for one in tried if self.wrong_scales(one)]
        sampled = sorted(self._counted(tried, self._sample), key=self._distance)
        alike = [one for one in sampled if not one.candidate.blocks]
        chosen = [*alike, *[one for one in sampled if one.candidate.blocks][: NEAREST + 3]]
        return sorted(self.counted(chosen), key=self._distance)

    def _distance(self, one: _Tried) -> tuple[int, int, bool, bool, bool]:
        """Profiles come before departures from them, and those first that store what the file has of a tensor."""
        found, conventions = one.candidate, {tensor.convention for tensor in self.tensors}
        is_other = self.is_of_tensors and {one.rules.block.convention} != conventions
        return found.blocks, sum(found.words.values()), is_departure(found), is_other, one.of_file

    def counted(self, tried: Sequence[_Tried]) -> list[_Tried]:
        """The same with how many of all blocks differ."""
        return self._counted(tried, self._all())

    def _all(self) -> Iterator[tuple[Tensor, Blocks, slice | np.ndarray]]:
        return ((tensor, part, slice(None)) for tensor in self.tensors for part in tensor.portions(whole=True))

    def _counted(
        self, tried: Sequence[_Tried], parts: Iterable[tuple[Tensor, Blocks, slice | np.ndarray]]
    ) -> list[_Tried]:
        blocks, words = [0] * len(tried), [dict.fromkeys((Role.SCALE, Role.CODES), 0) for _ in tried]
        for tensor, part, rows in parts:
            for number, one in enumerate(tried):
                seen = self.converted(one, tensor, part, rows)
                found = judged(one.rules, seen, self.nan_codes_free)
                blocks[number] += int(found.differs.sum())
                for role, count in found.words.items():
                    words[number][role] += count
        return [
            replace(one, candidate=replace(one.candidate, blocks=count, words=of_words))
            for one, count, of_words in zip(tried, blocks, words)
        ]

    def converted(self, one: _Tried, tensor: Tensor, part: Blocks, rows: slice | np.ndarray = slice(None)) -> Converted:
        """Blocks as some rules see them."""
        patterns = self._of_source(part.patterns[rows], tensor.source, one.rules.source)
        given = {Role.NUMBERS: patterns}
        if isinstance(one.rules, Nvfp4Encode):
            given |= self._constants(one, tensor, part.matrix, len(patterns))
        made = {Role.SCALE: part.scales[rows], Role.CODES: part.codes[rows]}
        return Converted(Transactions(given), Transactions(made))

    def _of_source(self, patterns: np.ndarray, source: FloatFormat, wanted: FloatFormat) -> np.ndarray:
        if source == wanted:
            return np.ascontiguousarray(patterns)
        numbers = np.ascontiguousarray(patterns).view(DTYPES[source.name])
        return widen(numbers, np.empty(numbers.shape, np.uint32))

    def _constants(self, one: _Tried, tensor: Tensor, matrix: int, count: int) -> dict[Role, np.ndarray]:
        """Of the tensor, for each of so many blocks."""
        rules: Nvfp4Encode = one.rules
        if rules.block.tensor_scale is None:
            return {}
        constants = tensor_constants(tensor.amax(rules.order), rules)
        k, d, a = (np.atleast_1d(one) for one in (constants.k, constants.d, constants.a))
        stored = tensor.tensor_scales
        if one.of_file and stored.size and tensor.convention == rules.block.convention:
            a = stored if tensor.convention is Convention.AMAX else a
            with np.errstate(all="ignore"):
                if tensor.convention is Convention.AMAX:
                    constants = tensor_constants(stored, rules)
                    k, d = np.atleast_1d(constants.k), np.atleast_1d(constants.d)
                elif rules.order in FROM_STORED:
                    k, d = FROM_STORED[rules.order](stored)
        roles = {Role.SCALE_CONSTANT: k, Role.ELEMENT_CONSTANT: d}
        if any(port.role is Role.TENSOR_AMAX for port in rules.ports):
            roles[Role.TENSOR_AMAX] = a
        return {
            role: np.full((count, 1), values[matrix if len(values) > 1 else 0].astype(np.float32).view(np.uint32))
            for role, values in roles.items()
        }

    def wrong_scales(self, one: _Tried) -> list[str]:
        """Tensor scales that are not those of some rules, each in words."""
        rules = one.rules
        if not isinstance(rules, Nvfp4Encode):
            return []
        found = []
        for tensor in self.tensors:
            stored, expected = tensor.tensor_scales, _expected_scales(tensor, rules)
            if not np.array_equal(expected.view(np.uint32), stored.view(np.uint32)):
                found.append(
                    f"tensor {tensor.name!r}: tensor scale ({tensor.convention}) expected {_number(expected)}, "
                    f"got {_number(stored)}"
                )
        return found

    def departures(self, base: _Tried) -> dict[str, Any]:
        """What differs from some rules: kinds of blocks with their counts, by tensor, what this looks like, and the
        simplest block.
        """
        rules, know = base.rules, of(base.rules)
        causes: dict[str, int] = {}
        numbers: set[int] = set()
        by_tensor = {one.name: [one.count, 0] for one in self.tensors}
        best: tuple[tuple[int, ...], str, Converted, int] | None = None
        differing: list[Converted] = []
        for tensor, part, rows in self._all():
            seen = self.converted(base, tensor, part, rows)
            expected = golden(rules, seen.given)
            why = know.why(rules, seen.given, expected, seen.made, self.nan_codes_free)
            wrong = np.flatnonzero(why >= 0)
            by_tensor[tensor.name][1] += len(wrong)
            if not len(wrong):
                continue
            for number, count in zip(*np.unique(why[wrong], return_counts=True)):
                text = know.causes[number].text
                numbers.add(int(number))
                causes[text] = causes.get(text, 0) + int(count)
            if sum(len(one.given) for one in differing) < SAMPLE:
                differing.append(Converted(seen.given.rows(wrong[:SAMPLE]), seen.made.rows(wrong[:SAMPLE])))
            row = int(wrong[_simplest(seen, expected, wrong)])
            key = _complexity(seen, expected, np.array([row]))[0]
            if best is None or tuple(key) < best[0]:
                where = tensor.described(part.matrix, *part.place(row))
                best = tuple(key), where, Converted(seen.given.rows([row]), seen.made.rows([row])), row  # type: ignore[arg-type]
        wrong_scales = self.wrong_scales(base)
        if wrong_scales:
            causes["the scale of the tensor"] = len(wrong_scales)
        remarks = [*filter(None, [know.only([know.causes[number] for number in sorted(numbers)])])] if numbers else []
        if differing:  # beside blocks of all kinds, as what is said of every block must hold for all
            differing += [self.converted(base, tensor, part, rows) for tensor, part, rows in self._sample]
            every = Converted(*map(Transactions.joined, zip(*((one.given, one.made) for one in differing))))
            tensor, part, _ = self._sample[0]
            in_order = self.converted(base, tensor, part, slice(SAMPLE))
            remarks += [cause.text for cause in named_causes(rules, in_order, every)]
            remarks += suspicions(rules, every)
        remarks += wrong_scales[:3]
        found: dict[str, Any] = {
            "causes": causes,
            "remarks": tuple(dict.fromkeys(remarks)),
            "tensors": {name: (all_, wrong_) for name, (all_, wrong_) in by_tensor.items()},
        }
        if best is not None:
            _, where, block, _ = best
            text = know.described(rules, where, block.given, golden(rules, block.given), block.made)
            found |= {"witness": text, "witness_block": block.given}
        return found

    def character(self) -> str | None:
        """What the file is that is no conversion of these numbers, in words."""
        tried = _Tried(candidate=Candidate(names=(), numerics=self.rules))
        seen = [self.converted(tried, tensor, part, rows) for tensor, part, rows in self._sample]
        every = Converted(*map(Transactions.joined, zip(*((one.given, one.made) for one in seen))))
        if len(np.unique(every.given[Role.NUMBERS], axis=0)) < 2:
            return None
        text = character(self.rules, every)
        return None if text is None else text.replace("returns", "has", 1)


FROM_STORED: dict[Order, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    Order.AO: lambda g: (g, np.float32(1) / g),
    Order.MODELOPT: lambda g: (g, g),
    Order.COMPRESSED_TENSORS: lambda g: (g, g),
}
"""k and d of a tensor scale, by the orders that compute them from it."""


def _expected_scales(tensor: Tensor, rules: Nvfp4Encode) -> np.ndarray:
    """The tensor scales that rules give, in the convention of the file: where this is another than that of the rules,
    the nearest float32.
    """
    own, wanted = rules.block.convention, tensor.convention
    stored = STORED[own](tensor_constants(tensor.amax(rules.order), rules))
    if stored is None and wanted is Convention.NONE:
        return np.zeros(0, np.float32)
    scales = np.atleast_1d(np.ones(1) if stored is None else stored).astype(np.float32)
    if wanted in (own, Convention.NONE):
        return scales
    most = Fraction(rules.scale_max) * Fraction(rules.block.element.max_value)
    return np.array([_converted(float(g), (own, most), (wanted, most)) for g in scales], np.float32)


def _converted(g: float, own: tuple[Convention, Fraction], wanted: tuple[Convention, Fraction]) -> np.float32:
    if not np.isfinite(g) or g == 0:
        return np.float32(g)
    with np.errstate(over="ignore"):
        return np.float32(float(fp32(scale_in_convention(Fraction(g), own, wanted))))


def _number(scales: np.ndarray) -> str:
    if not scales.size:
        return "none"
    shown = ", ".join(f"{one:.9g} (0x{int(np.float32(one).view(np.uint32)):08X})" for one in scales[:2])
    return shown + (f" and {len(scales) - 2} more" if len(scales) > 2 else "")


def _complexity(seen: Converted, expected: Transactions, rows: np.ndarray) -> np.ndarray:
    """(n, 3): numbers that are not zero, results that differ, and bits that are set in the numbers."""
    patterns = seen.given[Role.NUMBERS][rows]
    wrong = [(expected[role][rows] != seen.made[role][rows]).sum(axis=1) for role in expected.arrays]
    bits = np.bitwise_count(patterns).sum(axis=1)
    return np.stack([(patterns != 0).sum(axis=1), np.sum(wrong, axis=0), bits], axis=1)


def _simplest(seen: Converted, expected: Transactions, rows: np.ndarray) -> int:
    complexity = _complexity(seen, expected, rows)
    return int(np.lexsort(complexity.T[::-1])[0])
