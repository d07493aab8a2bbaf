"""NVFP4 encoders in simulations."""

from __future__ import annotations

import numpy as np

from ...hdl.config.command import command_line
from ...models.arrays.codes import code_values
from ...models.arrays.source import DTYPES
from ...models.fast.nvfp4_encode import Constants, encode_blocks, tensor_amax
from ...spec import FourOverSix, Nvfp4Encode, Role
from ..causes import causes_of
from ..simulation import EncoderSimulation, Stimuli
from ..transactions import Transactions
from . import stimuli as make
from .encode_ties import ties
from .factors import factors
from .nearest import nearest

BOUNDARY = 1 << 15
"""Blocks of the stimulus ``boundary``."""
SHOWN = 4
"""Elements of a block that are shown."""

CONSTANTS = {Role.SCALE_CONSTANT: "k", Role.ELEMENT_CONSTANT: "d", Role.TENSOR_AMAX: "a"}
"""The constants that a tensor gives its blocks."""


class Nvfp4EncodeSimulation(EncoderSimulation[Nvfp4Encode]):
    """The operation `Nvfp4Encode` in simulations."""

    kinds = ("standard", "corner", "boundary", "ties", "nearest", "random", "factors")
    large = ("factors",)
    causes = causes_of(
        {"codes": "codes under the right scale", "scale": "the scale byte", "specials": "blocks with NaN or Inf"}
    )
    sentences = (({"specials"}, "only blocks with NaN or Inf differ"), ({"codes"}, "only codes differ, and no scale"))

    def golden(self, entering: Transactions) -> Transactions:
        blocks = np.ascontiguousarray(entering[Role.NUMBERS])
        one = np.ones(len(blocks), np.float32)
        has = {port.role for port in self.rules.ports}  # inputs may have constants of other rules
        k, d, a = (entering[role][:, 0].view(np.float32) if role in has else one for role in CONSTANTS)
        scales, codes = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, np.uint8)
        numbers = blocks.view(DTYPES[self.rules.source.name])
        random = entering.get(Role.RANDOM) if self.rules.random_bits else None
        encode_blocks(numbers, self.rules, Constants(k, d, a), scales, codes, random)
        return Transactions({Role.SCALE: scales[:, None], Role.CODES: codes})

    def of_tensor(self, patterns: np.ndarray) -> Transactions:
        a = tensor_amax(patterns.view(DTYPES[self.rules.source.name]), self.rules.order).view(np.uint32)
        return make.with_constants(self.rules, patterns, np.broadcast_to(a, len(patterns)))

    def directed(self, kind: str, seed: int) -> Stimuli:
        """``corner`` are blocks in tensors of all magnitudes. ``boundary`` are blocks whose scale and elements are at
        or next to boundaries; with random bits also `stimuli.carries`, and under 4 over 6 also `stimuli.ties`.
        ``factors`` are blocks for every factor, millions of them.
        """
        rules = self.rules
        if kind == "corner":
            yield kind, [self.corners(seed)]
        if kind == "boundary":
            yield kind, [make.boundary(rules, BOUNDARY, seed)]
            if rules.random_bits:
                yield "carry", [make.carries(rules, seed)]
            if rules.four_over_six is not FourOverSix.OFF:
                yield "ties of 4 and 6", [make.ties(rules, BOUNDARY, seed)]
        if kind == "ties":
            yield kind, [self.tied(seed)]
        if kind == "nearest":
            yield kind, [nearest(rules, seed)]
        if kind == "factors":
            yield kind, factors(rules)

    def corners(self, seed: int) -> Transactions:
        return make.corners(self.rules)

    def tied(self, seed: int) -> Transactions:
        """Blocks of `encode_ties`."""
        found = ties(self.rules, seed)
        return make.with_constants(self.rules, found.patterns, found.a)

    def random(self, blocks: int, seed: int) -> Transactions:
        return make.random(self.rules, blocks, seed)

    def usual(self, blocks: int, seed: int) -> Transactions:
        return make.normal(self.rules, blocks, seed)

    def hard(self, blocks: int, seed: int) -> Transactions:
        rare = [make.carries(self.rules, seed)] if self.rules.random_bits else []
        directed = [self.corners(seed), self.tied(seed), *rare, nearest(self.rules, seed)]
        return Transactions.joined([*directed, self.random(blocks, seed)])

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        directed = {"corner": self.corners(seed), "boundary": make.boundary(self.rules, blocks, seed)}
        if self.rules.random_bits:
            directed["carry"] = make.carries(self.rules, seed)
        if self.rules.four_over_six is not FourOverSix.OFF:
            directed["ties"] = make.ties(self.rules, blocks, seed)
        return {**directed, "nearest": nearest(self.rules, seed), "random": self.random(blocks, seed)}

    def tried_as(self, candidate: Nvfp4Encode) -> Nvfp4Encode:
        """The rules in the order of the candidate, which has its own constants of a tensor; or the rules themselves if
        the ports differ.
        """
        if [port.role for port in self.rules.ports] != [port.role for port in candidate.ports]:
            return self.rules
        return self.rules.replace(order=candidate.order)

    def why(
        self, given: Transactions, expected: Transactions, actual: Transactions, nan_codes_free: bool
    ) -> np.ndarray:
        source, scale = self.rules.source, self.rules.scale_format
        patterns, scales = given[Role.NUMBERS], expected[Role.SCALE]
        wrong_scale = (scales != actual[Role.SCALE]).any(axis=1)
        wrong_codes = (expected[Role.CODES] != actual[Role.CODES]).any(axis=1)
        if nan_codes_free:
            wrong_codes &= ((scales & scale.magnitude_mask) != scale.nan_code).any(axis=1) | wrong_scale
        is_special = ((patterns & patterns.dtype.type(source.magnitude_mask)) > source.max_code).any(axis=1)
        found = np.where(is_special, 2, np.where(wrong_scale, 1, 0))
        return np.where(wrong_scale | wrong_codes, found, -1).astype(np.int8)

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        block, digits = given[Role.NUMBERS][0], self.rules.source.bits // 4
        codes, got = expected[Role.CODES][0], actual[Role.CODES][0]
        scale, got_scale = (int(side[Role.SCALE][0, 0]) for side in (expected, actual))
        values, bits = code_values(self.rules.block.element), given.get(Role.RANDOM)
        words = {name: f"0x{int(given[role][0, 0]):08X}" for role, name in CONSTANTS.items() if role in given.arrays}
        constants = "".join(f", {name} = {word}" for name, word in words.items())
        lines = [f"{title}: scale expected 0x{scale:02X}, got 0x{got_scale:02X}{constants}"]
        for lane in np.flatnonzero(codes != got)[:SHOWN]:
            drawn = "" if bits is None else f" with random bits {int(bits[0, lane]):#x}"
            lines.append(
                f"    element {lane}: input 0x{int(block[lane]):0{digits}X}{drawn}, expected {codes[lane]} "
                f"({values[codes[lane]]:g}), got {got[lane]} ({values[got[lane]]:g})"
            )
        end = int(np.flatnonzero(block).max(initial=0)) + 1  # zeros complete a block
        numbers = ",".join(f"0x{int(number):0{digits}X}" for number in block[:end])
        tensor = f" --constants {','.join(words.values())}" if words else ""
        drawn = "" if bits is None else " --random " + ",".join(map(str, bits[0]))
        lines.append(f"    to explain: mxcast explain {command_line(self.rules)}{tensor} --values {numbers}{drawn}")
        return "\n".join(lines)
