"""Encoders that return numbers, quantized and back: the numbers expected, and the codes behind returned numbers."""

from __future__ import annotations

import numpy as np

from ....hdl.config.command import command_line
from ....models.arrays.codes import code_values
from ....models.fast.decode import decode_blocks
from ....sim.operations import golden, of
from ....sim.transactions import Transactions
from ....spec import Decode, Encode, Role
from ..candidates import Converted, Judged
from ..causes.suspicions import suspicions

NO_ELEMENT = "numbers that no element has under the right scale"
OTHER_ELEMENTS = "other elements"


def judged_numbers(rules: Encode, blocks: Converted) -> Judged:
    """Compare returned numbers with the golden model."""
    differs = numbers_of(rules, golden(rules, blocks.given)) != _plain(rules, blocks.made[Role.NUMBERS])
    return Judged(differs.any(axis=1), {Role.NUMBERS: int(differs.sum())})


def kinds_of_numbers(rules: Encode, blocks: Converted, expected: Transactions) -> np.ndarray:
    """(n,) kinds of blocks whose numbers differ, in words; empty if nothing differs."""
    made, is_off = as_codes(rules, expected, blocks.made[Role.NUMBERS])
    known = of(rules)
    why = known.why(blocks.given, expected, made, False)
    kinds = [cause.text.partition(":")[0] for cause in known.causes]
    texts = [["", *(f"{kind}: {what}" for kind in kinds)] for what in (OTHER_ELEMENTS, NO_ELEMENT)]
    return np.array(texts, object)[is_off.astype(int), why + 1]


def remarks_on_numbers(rules: Encode, normal: Converted, every: Converted) -> tuple[str, ...]:
    """Sentences about wrong numbers of blocks of N(0,1), and of all blocks."""
    expected, known = golden(rules, every.given), of(rules)
    made, _ = as_codes(rules, expected, every.made[Role.NUMBERS])
    why = known.why(every.given, expected, made, False)
    found = sorted(set(why[why >= 0].tolist()))
    remarks = [known.only([known.causes[number] for number in found]), _ratio(rules, normal)]
    for blocks in (normal, every):
        right = golden(rules, blocks.given)
        codes, is_off = as_codes(rules, right, blocks.made[Role.NUMBERS])
        if not is_off.all():  # otherwise no code is known
            kept = Converted(blocks.given.rows(~is_off), codes.rows(~is_off))
            remarks += suspicions(rules, kept)
    return tuple(dict.fromkeys(filter(None, remarks)))


def described_numbers(rules: Encode, given: Transactions, made: Transactions) -> str:
    """The first number of a block that differs, in words, with the command that explains the block."""
    expected = numbers_of(rules, golden(rules, given))
    numbers, found = expected.view(np.float32)[0], made[Role.NUMBERS].view(np.float32)[0]
    lane = int(np.flatnonzero(expected[0] != _plain(rules, made[Role.NUMBERS])[0])[0])
    block = given[Role.NUMBERS][0]
    digits = rules.source.bits // 4
    whole = ",".join(f"0x{pattern:0{digits}X}" for pattern in block[: int(np.flatnonzero(block).max(initial=0)) + 1])
    return (
        f"the smallest block: element {lane}: input 0x{block[lane]:0{digits}X}, expected {numbers[lane]:.9g}, "
        f"got {found[lane]:.9g}\n    to explain: mxcast explain {command_line(rules)} --values {whole}"
    )


def numbers_of(rules: Encode, encoded: Transactions) -> np.ndarray:
    """Numbers of codes under their scales, as FP32 patterns with one NaN."""
    codes = np.ascontiguousarray(encoded[Role.CODES])
    y = np.empty(codes.shape, np.float32)
    decode_blocks(encoded[Role.SCALE][:, 0], codes, Decode(block=rules.block), y)
    return _plain(rules, y.view(np.uint32))


def _plain(rules: Encode, patterns: np.ndarray) -> np.ndarray:
    """Patterns with one NaN and, if elements have no -0, one zero."""
    plain = np.where(np.isnan(np.ascontiguousarray(patterns).view(np.float32)), np.uint32(0x7FC00000), patterns)
    return plain if rules.block.element.signed_zero else np.where(plain == 1 << 31, np.uint32(0), plain)


def as_codes(rules: Encode, expected: Transactions, patterns: np.ndarray) -> tuple[Transactions, np.ndarray]:
    """The codes of numbers under the expected scales, and (n,) whether a number of a block is not an element under its
    scale. The scale of such a block is changed.
    """
    scales, right = expected[Role.SCALE], expected[Role.CODES]
    same = _plain(rules, patterns) == numbers_of(rules, expected)
    values = code_values(rules.block.element).astype(np.float64)
    known, places = np.unique(values.view(np.uint64), return_index=True)
    with np.errstate(all="ignore"):
        scaled = _plain(rules, patterns).view(np.float32) / code_values(rules.block.scale).astype(np.float64)[scales]
    wanted = np.ascontiguousarray(scaled).view(np.uint64)
    if np.isnan(values).any():
        wanted = np.where(np.isnan(scaled), values[np.isnan(values)][:1].view(np.uint64), wanted)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    is_element = same | (known[at] == wanted) & ~np.isnan(code_values(rules.block.scale))[scales]
    codes = np.where(same, right, places[at].astype(right.dtype))
    is_off = ~is_element.all(axis=1)
    codes = np.where(is_element, codes, right ^ 1).astype(right.dtype)
    return Transactions({Role.SCALE: np.where(is_off[:, None], scales ^ 1, scales), Role.CODES: codes}), is_off


def _ratio(rules: Encode, blocks: Converted) -> str | None:
    """The factor by which every number is too large or too small, in words; None if factors differ."""
    expected = numbers_of(rules, golden(rules, blocks.given)).view(np.float32).astype(np.float64)
    made = blocks.made[Role.NUMBERS].view(np.float32).astype(np.float64)
    has_ratio = np.isfinite(expected) & (expected != 0)
    if not has_ratio.any():
        return None
    ratios = np.unique(made[has_ratio] / expected[has_ratio])
    if len(ratios) > 1 or ratios[0] == 1 or not np.isfinite(ratios[0]) or ratios[0] == 0:
        return None
    return f"every number is {ratios[0]:g} times the right one"
