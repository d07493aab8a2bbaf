"""Suspicions that the bytes of a tensor do not have the declared meaning.

Each check compares the declared reading with another one. It reports a suspicion if the other reading explains the
numbers and the declared one does not; undecided cases are not reported. Thresholds lie between the values of right and
of wrong files: all tensors of all-MiniLM-L6-v2 in every layout, and normal, uniform and heavy-tailed random numbers,
with and without scales of rows and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...models.arrays.codes import code_values
from ...models.arrays.stored_bytes import unswizzled
from ...spec import E4M3, E8M0
from ...spec.formats.number import E2M1
from ...spec.layouts.catalogue import Packing, ScaleByte, ScaleOrder
from .impossible import IMPOSSIBLE
from .judging import ENOUGH, Judged, Kind, Suspicion, is_plausible


def suspicions(judged: Judged) -> list[Suspicion]:
    """The suspicions about one tensor. Wrong bytes of scales explain a wrong magnitude, which is not reported then."""
    found = [one for check in CHECKS for one in check(judged)]
    is_explained = any(one.kind is Kind.SCALE_VALUES for one in found)
    return [one for one in found if not (is_explained and one.kind is Kind.MAGNITUDE)]


def _scale_values(judged: Judged) -> Iterator[Suspicion]:
    """Bytes that are not codes of E8M0. Numbers as bytes are powers of two, or zero if below one; as a code, 64 is
    2**-63. Exponents in two's complement lie around zero. Some layouts have exponents, and codes are wrong there.
    """
    tally = judged.tally
    if tally.block.scale != E8M0 or is_plausible(judged.amax) or tally.filled_blocks < ENOUGH:
        return
    used = np.flatnonzero(tally.scales).tolist()
    if set(used) <= {0, *(1 << i for i in range(8))}:
        yield judged.suspicion(
            Kind.SCALE_VALUES,
            f"the scale bytes are {', '.join(map(str, used))}, which are numbers and no codes of E8M0: as codes the "
            f"largest magnitude is {judged.amax:.3g}",
            {"amax": judged.amax},
        )
        return
    bias, has_exponents = E8M0.bias, judged.layout.scale_byte is ScaleByte.EXPONENT
    others = [(code + (-bias if has_exponents else bias)) % 256 for code in used]
    as_other = float(tally.block.element.max_value) * 2.0 ** (max(others) - bias)
    if is_plausible(as_other) and min(others) >= bias // 2:
        names = ("exponents", "codes of E8M0") if has_exponents else ("codes of E8M0", "exponents without the bias")
        yield judged.suspicion(
            Kind.SCALE_VALUES,
            f"as {names[0]} the scale bytes make a largest magnitude of {judged.amax:.3g}, and as {names[1]} one of "
            f"{as_other:.3g} or less",
            {"amax": judged.amax, "amax otherwise": as_other},
        )


NARROW, FULL = 1.2, 0.95
"""Codes of E4M3 scales have a standard deviation of 2.2 or more. For uniform numbers it is 0.9, and all blocks contain
the largest element; if nearly all blocks have the smallest scale it is less, and their code is not plausible as an
exponent. Codes of E8M0 scales, one a binade, have at most 0.8, and at most three in four blocks contain the largest
element.
"""
WIDE, MOSTLY_FULL = 2.0, 0.9
"""Codes of E8M0 scales deviate by more only if rows have scales of their own, and then too at most three in four blocks
contain the largest element. At least nine in ten blocks under E4M3 scales contain it.
"""


def _scale_format(judged: Judged) -> Iterator[Suspicion]:
    tally = judged.tally
    if tally.block.element != E2M1 or tally.filled_blocks < ENOUGH:
        return
    values = code_values(tally.block.scale)
    counts = np.where(np.isfinite(values) & (values > 0), tally.scales, 0)
    if not counts.any():
        return
    codes = np.arange(counts.size)
    mean = np.average(codes, weights=counts)
    spread = float(np.sqrt(np.average(np.square(codes - mean), weights=counts)))
    full, top = tally.full_blocks / tally.filled_blocks, int(np.flatnonzero(counts).max())
    if tally.block.scale == E4M3:
        as_exponents = float(tally.block.element.max_value) * 2.0 ** (top - E8M0.bias)
        looks, other = spread < NARROW and full < FULL and is_plausible(as_exponents), E8M0
    else:
        looks, other = spread > WIDE and full > MOSTLY_FULL and top < E4M3.sign_mask, E4M3
    if looks:
        yield judged.suspicion(
            Kind.SCALE_FORMAT,
            f"the scale bytes look like {other.name}, not {tally.block.scale.name}: their codes have a standard "
            f"deviation of {spread:.2g}, and {full:.0%} of the blocks have the largest element",
            {"standard deviation": spread, "full blocks": full},
        )


def _sign_bit(judged: Judged) -> Iterator[Suspicion]:
    tally = judged.tally
    if tally.block.scale != E4M3:
        return
    negative, even = int(tally.scales[code_values(E4M3) < 0].sum()), int(tally.scales[::2].sum())
    if negative:
        shifted = ", and all bytes are even, as codes are that were shifted by the sign bit"
        yield judged.suspicion(
            Kind.SIGN_BIT,
            f"{negative} of {tally.blocks} scales are negative as E4M3{shifted if even == tally.blocks else ''}",
            {"negative": negative, "even": even, "blocks": tally.blocks},
        )


CLEAR, CLEARER = 2.0, 1.5
"""The variance of scales between lines and between places of a line, in units of the residual; 1 without any order. The
right order has the largest, or nearly the largest if heads make whole rows of tiles alike (at least 0.994 of it). In
MiniLM a wrong order mostly has less than half of it.
"""


def _scale_order(judged: Judged) -> Iterator[Suspicion]:
    found = []
    for stored in judged.stored.rows_of_tiles():
        once = unswizzled(stored, *stored.shape)
        found.append([_order(scales) for scales in (stored, once, unswizzled(once, *stored.shape))])
    if not found:
        return
    orders, declared = np.mean(found, axis=0), int(judged.layout.order is not ScaleOrder.LINEAR)
    best = int(np.argmax(orders))
    if best != declared and orders[best] >= max(CLEAR, CLEARER * orders[declared]):
        words = "in the order of the blocks", "in tiles of 128 x 4", "in tiles of 128 x 4 twice"
        yield judged.suspicion(
            Kind.SCALE_ORDER,
            f"the scales seem to be {words[best]}, not {words[declared]}: the variance between lines and places is "
            f"{orders[best]:.2g} times the rest, and {orders[declared]:.2g} times as declared",
            dict(zip(words, orders.tolist())),
        )


def _order(scales: np.ndarray) -> float:
    """The variance between lines and between places of (lines, places), in units of the residual."""
    codes = scales.astype(np.float64)
    codes -= codes.mean()
    lines, places = codes.shape
    between = places * np.square(codes.mean(axis=1)).sum() + lines * np.square(codes.mean(axis=0)).sum()
    rest, freedom = np.square(codes).sum() - between, (lines - 1) * (places - 1)
    return float(between / (lines + places - 2) * freedom / rest) if rest > 0 else 1.0


def _scale_padding(judged: Judged) -> Iterator[Suspicion]:
    others = 0
    for tiles, lines, blocks in judged.stored.ends():
        stored = tiles.reshape(tiles.shape[0] * 128, -1)
        others += int(np.count_nonzero(stored)) - int(np.count_nonzero(unswizzled(stored, lines, blocks)))
    if others:
        yield judged.suspicion(
            Kind.SCALE_PADDING, f"{others} bytes of padding in tiles of scales are not zero", {"bytes": others}
        )


ALMOST_ALL, TOO_FEW = 0.99, 0.93
"""Shares of blocks with the largest element. Under E4M3 scales, which are the largest magnitude divided by the largest
element, all blocks contain it, and in MiniLM 0.87 to 0.90 of them if the codes of two blocks are mixed. Right files
with fewer such blocks, as with 4 over 6 or E8M0, do not reach `ALMOST_ALL` in any mixture.
"""


def _split(judged: Judged) -> Iterator[Suspicion]:
    tally = judged.tally
    if judged.layout.packing not in (Packing.LOW_FIRST, Packing.HIGH_FIRST) or tally.filled_blocks < ENOUGH:
        return
    full, split = (count / tally.filled_blocks for count in (tally.full_blocks, tally.full_when_split))
    if split >= ALMOST_ALL and full <= TOO_FEW:
        yield judged.suspicion(
            Kind.SPLIT,
            f"{1 - full:.1%} of the blocks have no largest element; {max(1 - split, 0):.1%} if the codes of each two "
            "blocks are split over the low and the high halves of their bytes",
            {"full blocks": full, "full blocks if split": split},
        )


IN_TURN = "gate_up_proj", "mlp1_weight"
"""Names in gpt-oss of tensors of experts with alternating rows of gate and up."""
APART, ALIKE = 8.0, 3.0
"""Differences of means in standard errors. The channels of a hidden layer have no order, so the halves of gate or of up
differ by at most 2.4 in MiniLM, with matrices of two layers as gate and up. In 11 of 15 such pairs, gate and up differ
by more than 8.
"""


def _gate_and_up(judged: Judged) -> Iterator[Suspicion]:
    """In a right file even and odd rows, which are gate and up, differ more than the halves of the rows."""
    if not judged.layout.dialect.startswith("gpt_oss") or judged.name.rpartition(".")[2] not in IN_TURN:
        return
    found = []
    for q in judged.stored.lines():
        width, values = judged.layout.width, code_values(judged.tally.block.element)
        scales = np.log2(code_values(judged.tally.block.scale))[q.scales]
        squares = np.square(values[q.codes]).reshape(len(q.codes), -1, width).mean(axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            lines = np.mean(np.log2(squares) + 2 * scales, axis=1)
        half = len(lines) // 2
        if len(lines) >= 2 * ENOUGH and np.isfinite(lines).all():
            found.append((_difference(lines[0::2], lines[1::2]), _difference(lines[:half], lines[half:])))
    if not found:
        return
    in_turn, halves = np.median(found, axis=0)
    if halves >= APART and in_turn <= ALIKE:
        yield judged.suspicion(
            Kind.GATE_AND_UP,
            "gate and up seem to be two halves instead of alternating rows: the halves of the rows differ by "
            f"{halves:.2g} standard errors, and even rows from odd ones by {in_turn:.2g}",
            {"halves": float(halves), "in turn": float(in_turn)},
        )


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """The difference of two means, in standard errors."""
    error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return float(abs(a.mean() - b.mean()) / error) if error else 0.0


CHECKS: tuple[Callable[[Judged], Iterator[Suspicion]], ...] = (
    _scale_values,
    _scale_format,
    _sign_bit,
    *IMPOSSIBLE,
    _scale_order,
    _scale_padding,
    _split,
    _gate_and_up,
)
