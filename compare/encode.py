"""Comparison of two encoders on all inputs.

It covers the scale byte of every largest magnitude, the code of every number that a block can contain under a byte that
both encoders choose, and whole blocks around every NaN and Inf pattern. Every counterexample is a block for which
`quantize` gives different bits under the two numerics.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..spec import Encode
from .certificate import Comparison, require_no_random_bits, require_same_block
from .evaluation import COST, ConvertedBlock, Evaluation
from .input_domain import ElementRange, InputDomain, common_domain
from .run_length import RunLengthEncoding, merged

Progress = Callable[[int, int], None]
Example = Callable[[int], "Counterexample"]
"""From a rank to a counterexample."""
Difference = tuple[int, int, int]
"""Number of ranks that differ, the first and the last of them."""

ONE, INF, NAN, MINUS = 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000000


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """A block for which `quantize` gives different bits under ``a`` and ``b``."""

    a: ConvertedBlock
    b: ConvertedBlock


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Number of compared cases and of differences, and the first and the last difference."""

    compared: int
    differing: int
    first: Counterexample | None = None
    last: Counterexample | None = None


@dataclass(frozen=True, kw_only=True)
class Certificate(Comparison[Encode]):
    """The comparison of two encoders over the numbers that both sources have.

    ``scale`` counts largest magnitudes. ``elements`` counts pairs of a pattern and a byte. Normal FP32 numbers are
    counted in classes instead: by sign, fraction, and distance of the exponent field from the byte. ``specials`` counts
    blocks.
    """

    numbers: str
    scale: Finding
    elements: Finding
    specials: Finding

    @property
    def findings(self) -> dict[str, Finding]:
        return {"scale": self.scale, "elements": self.elements, "specials": self.specials}

    @property
    def equal(self) -> bool:
        return not any(finding.differing for finding in self.findings.values())

    def results(self) -> dict[str, object]:
        return {"numbers": self.numbers, **{name: asdict(finding) for name, finding in self.findings.items()}}


def compare(a: Encode, b: Encode, progress: Progress | None = None) -> Certificate:
    """Compare two encoders of the same block format on the whole input domain, which takes minutes at most.

    Parameters
    ----------
    a, b : the numerics; if their sources differ, the numbers that both sources have are compared
    progress : called with the work done and an estimate of all work, in arbitrary units

    Returns
    -------
    Certificate
        numbers of compared cases and of differences, with counterexamples

    Raises
    ------
    ValueError
        if the block formats differ, and for stochastic rounding
    """
    require_same_block(a.block, b.block)
    require_no_random_bits(a, b)
    domain = common_domain(a.source, b.source)
    advance = _meter(domain, a, progress) if progress else lambda cost: None
    first = Evaluation(a, domain, advance)
    found = certificate(first, first if a == b else Evaluation(b, domain, advance))
    if progress:
        progress(1, 1)
    return found


def certificate(a: Evaluation, b: Evaluation) -> Certificate:
    """The certificate of two evaluations on the same input domain."""
    return Certificate(
        a=a.numerics,
        b=b.numerics,
        numbers=a.domain.name,
        scale=compare_scales(a, b),
        elements=compare_elements(a, b),
        specials=compare_specials(a, b),
    )


def compare_scales(a: Evaluation, b: Evaluation) -> Finding:
    """Compare the bytes of all largest magnitudes; counterexamples are in increasing order."""
    domain = a.domain

    def example(rank: int) -> Counterexample:
        number = int(domain.patterns(rank, rank + 1)[0])
        return _counterexample(a, b, (number,), a.scales().at(rank), b.scales().at(rank))

    return _finding([(_difference(a.scales(), b.scales(), domain.size), example)], domain.size)


def compare_elements(a: Evaluation, b: Evaluation) -> Finding:
    """Compare the codes of all classes of elements in blocks with the same byte on both sides.

    Counterexamples are in the order of `InputDomain.element_ranges`, in each range the positive numbers first. A
    sequence ends with the first range whose elements are all zero on both sides, whatever their signs.
    """
    starts, ends, of_a, of_b = merged(a.scales(), b.scales(), a.domain.size)
    shared = [
        (int(byte), int(start), int(end))
        for byte, start, end, same in zip(of_a[0], starts, ends, of_a[0] == of_b[0], strict=True)
        if same
    ]
    largest: dict[int, int] = {}
    for byte, _, end in shared:
        largest[byte] = end - 1
    differences, compared = [], 0
    for sequence in a.domain.element_ranges(largest):
        for elements in sequence:
            all_zero = True
            for sign in (0, MINUS):
                codes_a, codes_b = a.codes(elements, sign), b.codes(elements, sign)
                example = _element_example(a, b, elements, sign, shared)
                differences.append((_difference(codes_a, codes_b, elements.stop), example))
                compared += elements.stop - elements.start
                all_zero &= _all_zero(codes_a, elements.stop, a.numerics) and _all_zero(
                    codes_b, elements.stop, b.numerics
                )
            if all_zero and elements.stop - elements.start == 1 << 23:
                break
    return _finding(differences, compared)


def _element_example(
    a: Evaluation, b: Evaluation, elements: ElementRange, sign: int, shared: list[tuple[int, int, int]]
) -> Example:
    """Counterexamples by rank: a block of the number alone if its byte fits, or together with the next larger number
    whose byte fits.
    """

    def example(rank: int) -> Counterexample:
        largest = min(max(start, rank) for byte, start, end in shared if byte == elements.byte and end > rank)
        number, other = (int(a.domain.patterns(r, r + 1)[0]) for r in (rank, largest))
        block = (number | sign,) if largest == rank else (number | sign, other)
        of_a, of_b = ((elements.byte, *one.codes(elements, sign).at(rank)) for one in (a, b))
        return _counterexample(a, b, block, of_a, of_b)

    return example


def compare_specials(a: Evaluation, b: Evaluation) -> Finding:
    """Compare blocks of every Inf and NaN pattern together with each of six lists of other numbers.

    Counterexamples are in the order of the lists, then of the patterns.
    """
    domain = a.domain
    smallest, largest = (int(domain.patterns(rank, rank + 1)[0]) for rank in (1, domain.size - 1))
    lists: list[tuple[int, ...]]
    lists = [(), (smallest,), (ONE,), (largest | MINUS,), (INF, ONE | MINUS), (NAN, ONE | MINUS)]
    width = min(a.numerics.block_size, 4) - 1
    differences = []
    for numbers in lists:
        others = (*numbers, 0, 0, 0)[:width]
        difference = _difference(a.specials(others), b.specials(others), domain.special_count)
        differences.append((difference, _special_example(a, b, others)))
    return _finding(differences, len(lists) * domain.special_count)


def _special_example(a: Evaluation, b: Evaluation, others: tuple[int, ...]) -> Example:
    """Counterexamples by the rank of their Inf or NaN pattern."""

    def example(rank: int) -> Counterexample:
        pattern = int(a.domain.special_patterns(rank, rank + 1)[0])
        block = (pattern, *filter(None, others))
        return _counterexample(a, b, block, a.specials(others).at(rank), b.specials(others).at(rank))

    return example


def _counterexample(
    a: Evaluation, b: Evaluation, block: tuple[int, ...], of_a: tuple[int, ...], of_b: tuple[int, ...]
) -> Counterexample:
    """The block, after a check that `quantize` gives the byte and the codes of the evaluation."""
    converted = a.converted(block), b.converted(block)
    for one, evaluated in zip(converted, (of_a, of_b)):
        bits = one.byte, *one.codes
        if any(x != y for x, y in zip(bits, evaluated)):
            raise AssertionError(f"quantize gives {bits} for {one.values}, and the evaluation gave {evaluated}")
    return Counterexample(a=converted[0], b=converted[1])


def _finding(differences: Sequence[tuple[Difference, Example]], compared: int) -> Finding:
    """The sum of differences, each with its counterexamples by rank."""
    differing = [(difference, example) for difference, example in differences if difference[0]]
    if not differing:
        return Finding(compared=compared, differing=0)
    ((_, first, _), first_example), ((_, _, last), last_example) = differing[0], differing[-1]
    return Finding(
        compared=compared,
        differing=sum(count for (count, _, _), _ in differing),
        first=first_example(first),
        last=last_example(last),
    )


def _difference(a: RunLengthEncoding, b: RunLengthEncoding, stop: int) -> Difference:
    """The ranks up to ``stop`` that differ."""
    starts, ends, of_a, of_b = merged(a, b, stop)
    differ = (of_a != of_b).any(axis=0)
    if not differ.any():
        return 0, 0, 0
    return int((ends - starts)[differ].sum()), int(starts[differ][0]), int(ends[differ][-1]) - 1


def _all_zero(codes: RunLengthEncoding, stop: int, numerics: Encode) -> bool:
    element = numerics.block.element
    zeros = [element.signed_code(0, negative) for negative in (False, True)]
    return bool(np.isin(codes.values[0, codes.starts < stop], zeros).all())


def _meter(domain: InputDomain, numerics: Encode, progress: Progress) -> Callable[[int], None]:
    """A function that adds up costs for ``progress``. The grid of the element gives an estimate of the classes."""
    element = numerics.block.element
    binades = element.emax - 2 * element.lowest_exponent + 8
    classes = min(binades << 24, domain.size * 255)
    total = 2 * (COST["scales"] * domain.size + COST["codes"] * classes + COST["specials"] * 6 * domain.special_count)
    done = 0

    def advance(cost: int) -> None:
        nonlocal done
        done += cost
        progress(min(done, total), total)

    return advance
