"""NVFP4 decoders in simulations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...hdl.config.command import command_line
from ...models.arrays.codes import code_values
from ...models.arrays.source import DTYPES
from ...models.fast.nvfp4_decode import decode_blocks
from ...models.fast.nvfp4_encode import quantize_nvfp4
from ...spec import FP32, Nvfp4Decode, Role
from ..causes import causes_of
from ..simulation import ElementSimulation, Stimuli
from ..transactions import Transactions
from .decode_bits import single_bits
from .decode_ties import ties
from .stimuli import TENSORS

COVERED = 4096
"""Most blocks of pairs in the regression."""
SHOWN = 4
"""Elements of a block that are shown."""
ENCODED = 16
"""Elements of a block that the encoder makes."""

NAN = FP32.inf_field | 1 << FP32.man_bits - 1
TENSOR_SCALES = np.array([*TENSORS, NAN, *(FP32.sign_mask | one for one in (0, TENSORS[-3], NAN))], np.uint32)
"""Patterns of tensor scales: zero, subnormal numbers, all exponents, Inf and NaN, and some with a sign."""


class Nvfp4DecodeSimulation(ElementSimulation[Nvfp4Decode]):
    """The operation `Nvfp4Decode` in simulations."""

    kinds = ("standard", "pairs", "ties", "bits", "random")
    causes = causes_of(
        {
            "ordinary": "ordinary elements",
            "small": "results that are subnormal or zero",
            "large": "results that are the largest number or Inf",
            "zeros": "elements that are zero",
            "nan": "results that are NaN",
        }
    )
    sentences = (
        ({"zeros"}, "only elements that are zero differ"),
        ({"nan"}, "only NaN differs"),
        ({"small"}, "only results that are subnormal or zero differ"),
        ({"large"}, "only results that are the largest number or Inf differ"),
    )

    def golden(self, entering: Transactions) -> Transactions:
        codes = entering[Role.CODES]
        y = np.empty(codes.shape, DTYPES[self.rules.destination.name])
        words = entering.get(Role.TENSOR_SCALE)
        g = np.array(1, np.float32) if words is None else np.ascontiguousarray(words[:, 0]).view(np.float32)
        decode_blocks(entering[Role.SCALE][:, 0], codes, self.rules, g, y)
        return Transactions({Role.NUMBERS: y.view(f"u{y.itemsize}")})

    def directed(self, kind: str, seed: int) -> Stimuli:
        if kind == "pairs":
            yield kind, [self.corners(seed)]
        if kind == "ties":
            yield kind, [self.tied(seed)]
        if kind == "bits":
            yield kind, [self.bits(seed)]

    def corners(self, seed: int) -> Transactions:
        """Every scale byte with every code, under each of `TENSOR_SCALES`; lanes have different codes at a time."""
        count, size = 1 << self.rules.block.element.bits, self.rules.block_size
        rounds = -(-count // size)  # blocks in which every code has its turn
        tensor, byte, turn = np.indices((len(TENSOR_SCALES), 1 << self.rules.block.scale.bits, rounds)).reshape(3, -1)
        codes = (turn[:, None] * size + byte[:, None] + np.arange(size)) % count
        return self._blocks(byte, codes, TENSOR_SCALES[tensor])

    def tied(self, seed: int) -> Transactions:
        """Every code under scales and tensor scales with which some results are at ties."""
        return self._every_code(*ties(self.rules, seed))

    def bits(self, seed: int) -> Transactions:
        """Every code under scales and tensor scales of which single bits change results."""
        return self._every_code(*single_bits(self.rules, seed))

    def _every_code(self, scales: np.ndarray, g: np.ndarray) -> Transactions:
        count, size = 1 << self.rules.block.element.bits, self.rules.block_size
        codes = (np.arange(len(scales))[:, None] + np.arange(size)) % count
        return self._blocks(scales, codes, g)

    def random(self, blocks: int, seed: int) -> Transactions:
        """Random bytes and codes under random patterns of tensor scales."""
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 1 << self.rules.block.element.bits, (blocks, self.rules.block_size))
        return self._blocks(rng.integers(0, 256, blocks), codes, rng.integers(0, 1 << 32, blocks))

    def usual(self, blocks: int, seed: int) -> Transactions:
        """Codes, scale bytes and the tensor scale to which an encoder converts numbers of N(0,1)."""
        rng, count = np.random.default_rng(seed), blocks * self.rules.block_size
        x = rng.standard_normal((-(-count // ENCODED), ENCODED), np.float32)
        q = quantize_nvfp4(x, "nvfp4")
        codes = q.codes.reshape(-1)[:count].reshape(blocks, self.rules.block_size)
        g = np.full(blocks, np.asarray(q.tensor_scale).view(np.uint32))
        return self._blocks(np.resize(q.scales[:, 0], blocks), codes, g)

    def _blocks(self, scales: np.ndarray, codes: np.ndarray, g: np.ndarray) -> Transactions:
        """Blocks of scale bytes (n,), codes (n, block_size) and patterns of tensor scales (n,)."""
        found: dict[Role, np.ndarray] = {
            Role.CODES: codes.astype(np.uint8),
            Role.SCALE: scales.astype(np.uint8)[:, None],
        }
        if any(port.role is Role.TENSOR_SCALE for port in self.rules.ports):
            found[Role.TENSOR_SCALE] = g.astype(np.uint32)[:, None]
        return Transactions(found)

    def hard(self, blocks: int, seed: int) -> Transactions:
        return Transactions.joined([self.corners(seed), self.tied(seed), self.bits(seed), self.random(blocks, seed)])

    def regression(self, blocks: int, seed: int) -> dict[str, Transactions]:
        return {
            "pairs": self.corners(seed).spread(COVERED),
            "bits": self.bits(seed),
            "random": self.random(blocks, seed),
        }

    def fits(self, given: Transactions, right: np.ndarray) -> Mapping[str, np.ndarray]:
        to = self.rules.destination
        magnitude = right & right.dtype.type(to.magnitude_mask)
        return {
            "small": (magnitude >> to.man_bits) == 0,
            "large": (magnitude >= to.max_code) & (magnitude <= to.inf_field),
            "zeros": code_values(self.rules.block.element)[given[Role.CODES]] == 0,
            "nan": magnitude > to.inf_field,
        }

    def described(self, title: str, given: Transactions, expected: Transactions, actual: Transactions) -> str:
        want, got, codes = expected[Role.NUMBERS][0], actual[Role.NUMBERS][0], given[Role.CODES][0]
        words, digits = given.get(Role.TENSOR_SCALE), self.rules.destination.bits // 4
        tensor = "" if words is None else f", tensor scale 0x{int(words[0, 0]):08X}"
        wrong = np.flatnonzero(want != got)
        lines = [f"{title}: scale 0x{int(given[Role.SCALE][0, 0]):02X}{tensor}"]
        for lane in wrong[:SHOWN]:
            lines.append(
                f"    element {lane}: code {codes[lane]}, expected 0x{int(want[lane]):0{digits}X}, got "
                f"0x{int(got[lane]):0{digits}X}"
            )
        if len(wrong) > SHOWN:
            lines.append(f"    and {len(wrong) - SHOWN} more elements of this block")
        scale = f" --scale 0x{int(given[Role.SCALE][0, 0]):02X}"
        g = "" if words is None else f" --tensor-scale 0x{int(words[0, 0]):08X}"
        shown = ",".join(f"0x{code:X}" for code in codes[: int(wrong.max(initial=0)) + 1])
        lines.append(f"    to explain: mxcast explain {command_line(self.rules)}{scale}{g} --codes {shown}")
        return "\n".join(lines)
