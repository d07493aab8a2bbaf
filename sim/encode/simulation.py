"""Encoders in simulations."""

from __future__ import annotations

import numpy as np

from ...hdl.config.command import command_line
from ...models import quantize
from ...models.arrays.codes import code_values
from ...models.arrays.source import DTYPES, narrow, widen
from ...spec import Encode, Role
from .. import stimuli as make
from ..causes import Cause
from ..simulation import RANDOM, EncoderSimulation, Stimuli
from ..transactions import Transactions

SWEPT = 1 << 20
"""About so many blocks are in a sweep that is not exhaustive."""
OF_EACH = 3
"""Blocks of each family of corners in `sample`."""
SHOWN = 4
"""Elements of a block that are shown."""

KINDS = {
    "ordinary": "ordinary blocks",
    "elements": "subnormal elements",
    "inputs": "subnormal inputs",
    "byte_0": "blocks of scale byte 0",
    "zeros": "blocks of zeros",
    "specials": "blocks with NaN or Inf",
    "byte_255": "blocks of scale byte 255",
}
"""Kinds of blocks in words; a block is of the last kind that fits it. In blocks of ``elements`` and ``inputs`` only
codes of subnormal numbers differ. In blocks of ``byte_255`` the byte is right, so no reader looks at the codes.
"""
SORTED = tuple(
    (kind, has_scale)
    for kind in KINDS
    for has_scale in (True, False)
    if (kind, has_scale) not in (("elements", True), ("inputs", True), ("byte_255", True))
)
"""For each cause the kind of block, and whether the scale byte differs or codes alone."""


def blocks_of(patterns: np.ndarray) -> Transactions:
    """Blocks (n, block_size) of source patterns."""
    return Transactions({Role.NUMBERS: patterns})


class EncodeSimulation(EncoderSimulation[Encode]):
    """The operation `Encode` in simulations."""

    kinds = ("standard", "corner", "boundary", "distance", "random", "stratified", "exhaustive")
    large = ("stratified", "exhaustive")
    causes = tuple(
        Cause(kind, f"{KINDS[kind]}: {'the scale byte' if has_scale else 'codes only'}") for kind, has_scale in SORTED
    )
    sentences = (
        (
            {"byte_255"},
            "only codes under scale byte 255 differ, at which no reader looks (--nan-codes free leaves them out)",
        ),
        ({"byte_0", "zeros"}, "only blocks of scale byte 0 differ"),
        ({"specials", "byte_255"}, "only blocks with NaN or Inf differ"),
        ({"inputs"}, "only subnormal inputs differ"),
        ({"elements"}, "only subnormal elements differ"),
        ({"elements", "inputs"}, "only subnormal elements and inputs differ"),
        (
            {"elements", "inputs", "byte_0", "zeros"},
            "only subnormal elements and inputs, and blocks of scale byte 0, differ",
        ),
    )

    def golden(self, entering: Transactions) -> Transactions:
        x = entering[Role.NUMBERS].view(DTYPES[self.rules.source.name])
        q = quantize(x, self.rules, random=entering.get(Role.RANDOM) if self.rules.random_bits else None)
        return Transactions({Role.SCALE: q.scales, Role.CODES: q.codes})

    def directed(self, kind: str, seed: int) -> Stimuli:
        """``exhaustive`` is every source pattern and every relevant distance below the maximum, ``stratified`` a 64th
        of that.
        """
        rules = self.rules
        if kind == "corner":
            yield kind, [self.corners(seed)]
        if kind == "boundary":
            yield kind, [blocks_of(make.boundary_blocks(rules))]
        if kind == "distance":
            yield kind, [blocks_of(make.distance_blocks(rules))]
        if kind == "exhaustive":
            yield kind, map(blocks_of, make.exhaustive_blocks(rules))
        if kind == "stratified":
            yield kind, map(blocks_of, make.stratified_blocks(rules, seed))

    def corners(self, seed: int) -> Transactions:
        return blocks_of(make.corner_blocks(self.rules))

    def random(self, blocks: int, seed: int) -> Transactions:
        return blocks_of(make.random_blocks(self.rules, blocks, seed))

    def usual(self, blocks: int, seed: int) -> Transactions:
        source, rng = self.rules.source, np.random.default_rng(seed)
        numbers = rng.standard_normal((blocks, self.rules.block_size), dtype=np.float32)
        dtype = DTYPES[source.name]
        return blocks_of(narrow(numbers.view(np.uint32), source).view(f"u{dtype.itemsize}"))

    def of_tensor(self, patterns: np.ndarray) -> Transactions:
        return blocks_of(patterns)

    def swept(self, blocks: int, seed: int, exhaustive: bool) -> Stimuli:
        yield from super().swept(blocks, seed, exhaustive)
        total = make.exhaustive_total(self.rules)
        if exhaustive or total <= SWEPT:
            yield from self.directed("exhaustive", seed)
        else:
            share = 1 << (total // SWEPT).bit_length()
            yield f"1/{share} of all", map(blocks_of, make.stratified_blocks(self.rules, seed, share))

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        return {
            **{name: blocks_of(patterns) for name, patterns in make.corner_cases(self.rules).items()},
            "boundary": blocks_of(make.boundary_blocks(self.rules)),
            "random": self.random(blocks, seed),
        }

    def sample(self, seed: int) -> Transactions:
        """Directed blocks of every family, and some random ones."""
        return Transactions.joined([blocks_of(make.corner_blocks(self.rules, OF_EACH)), self.random(RANDOM, seed)])

    def few(self, corners: int, singles: int) -> Transactions:
        """The first directed blocks, and blocks that differ in one bit."""
        return Transactions.joined([self.corners(0).rows(slice(corners)), self.single_bits(0).rows(slice(singles))])

    def why(
        self, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
    ) -> np.ndarray:
        found = np.full(len(expected), -1, np.int8)
        rows = np.flatnonzero(expected.differ(actual))
        if len(rows):
            found[rows] = self._why(given.rows(rows), expected.rows(rows), actual.rows(rows), nan_codes_free)
        return found

    def _why(
        self, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
    ) -> np.ndarray:
        """The causes of blocks that differ."""
        source, element, scale = self.rules.source, self.rules.block.element, self.rules.block.scale
        patterns, scales, codes = given[Role.NUMBERS], expected[Role.SCALE], expected[Role.CODES]
        magnitude = patterns & patterns.dtype.type(source.magnitude_mask)
        wrong_scale = (scales != actual[Role.SCALE]).any(axis=1)
        wrong_codes = codes != actual[Role.CODES]
        is_nan = (scales == scale.nan_code).all(axis=1) & ~wrong_scale
        if nan_codes_free:
            wrong_codes &= ~is_nan[:, None]
        only_codes = ~wrong_scale & wrong_codes.any(axis=1)
        small_input = (magnitude >> source.man_bits) == 0
        small_element = np.array(
            [element.is_subnormal(code & (element.sign_mask - 1)) for code in range(1 << element.bits)]
        )[codes]
        kinds = {
            "ordinary": np.ones(len(patterns), bool),
            "elements": ~wrong_scale & (small_input | small_element | ~wrong_codes).all(axis=1),
            "inputs": ~wrong_scale & (small_input | ~wrong_codes).all(axis=1),
            "byte_0": (scales == 0).all(axis=1),
            "zeros": ~magnitude.any(axis=1),
            "specials": (magnitude > source.max_code).any(axis=1),
            "byte_255": is_nan,
        }
        found = np.full(len(patterns), -1, np.int8)
        for number, (kind, has_scale) in enumerate(SORTED):  # the last cause wins
            found[kinds[kind] & (wrong_scale if has_scale else only_codes)] = number
        return found

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        block, codes, got_codes = given[Role.NUMBERS][0], expected[Role.CODES][0], actual[Role.CODES][0]
        scale, got_scale = (int(side[Role.SCALE][0, 0]) for side in (expected, actual))
        bits = given.get(Role.RANDOM)
        element, source_digits = self.rules.block.element, self.rules.source.bits // 4
        values, digits = code_values(element), -(-element.bits // 4)
        numbers = widen(block.view(DTYPES[self.rules.source.name]), np.empty(block.shape, np.uint32)).view(np.float32)
        lines = [
            f"{title}: "
            + (
                f"scale expected 0x{scale:02X}, got 0x{got_scale:02X} (differs)"
                if scale != got_scale
                else f"scale 0x{scale:02X} as expected"
            )
        ]
        for lane in np.flatnonzero(codes != got_codes)[:SHOWN]:
            want, got = int(codes[lane]), int(got_codes[lane])
            drawn = "" if bits is None else f" with random bits {bits[0, lane]:#x}"
            lines.append(
                f"    element {lane}: input 0x{block[lane]:0{source_digits}X} = {numbers[lane]:.9g}{drawn}, "
                f"expected 0x{want:0{digits}X} ({values[want]:.9g}), got 0x{got:0{digits}X} ({values[got]:.9g})"
            )
        more = int((codes != got_codes).sum()) - SHOWN
        if more > 0:
            lines.append(f"    and {more} more elements of this block")
        end = int(np.flatnonzero(block).max(initial=0)) + 1  # zeros complete a block
        whole = ",".join(f"0x{v:0{source_digits}X}" for v in block[:end])
        drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0]))
        lines.append(f"    to explain: mxcast explain {command_line(self.rules)} --values {whole}{drawn}")
        return "\n".join(lines)
