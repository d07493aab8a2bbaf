"""Comparison of blocks with their expected scales and codes, and a report that an engineer can act on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..hdl import ConverterConfig
from ..models import Quantized
from ..models.block_array import code_values
from ..models.source import DTYPES, widen
from ..spec import Encode
from .command import command_line

__all__ = ["Scoreboard", "described"]

SHOWN = 5
"""Mismatched blocks that a report shows in full."""


@dataclass
class Scoreboard:
    """Counts compared blocks and keeps the first mismatches. There is no tolerance: bits are equal or not.

    ``repeat`` is the command that runs the same stimuli again.
    """

    config: ConverterConfig
    repeat: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """Blocks compared, by stimulus."""
    mismatched_blocks: int = 0
    mismatches: list[str] = field(default_factory=list)

    def compare(
        self,
        stimulus: str,
        patterns: np.ndarray,
        expected: Quantized,
        actual: Quantized,
        random: np.ndarray | None = None,
    ) -> None:
        """Compare blocks: (n, block_size) source patterns with their (n, 1) scales and (n, block_size) codes.

        ``random`` are the random bits that both were given, (n, block_size).
        """
        first = self.counts.get(stimulus, 0)
        self.counts[stimulus] = first + len(patterns)
        if np.array_equal(expected.scales, actual.scales) and np.array_equal(expected.codes, actual.codes):
            return
        wrong_scale = expected.scales.reshape(-1) != actual.scales.reshape(-1)
        wrong_code = (expected.codes != actual.codes).any(axis=1)
        wrong = np.flatnonzero(wrong_scale | wrong_code)
        self.mismatched_blocks += len(wrong)
        for row in wrong[: SHOWN - len(self.mismatches)]:
            self.mismatches.append(
                described(
                    f"{stimulus} block {first + row}",
                    expected.numerics,
                    patterns[row],
                    (int(expected.scales[row, 0]), expected.codes[row]),
                    (int(actual.scales[row, 0]), actual.codes[row]),
                    None if random is None else random[row],
                )
            )

    def refuse(self, stimulus: str, blocks: int, fault: str) -> None:
        """Count blocks whose results cannot be told apart, and say why."""
        self.counts[stimulus] = self.counts.get(stimulus, 0) + blocks
        self.mismatched_blocks += blocks
        if len(self.mismatches) < SHOWN:
            self.mismatches.append(f"{stimulus}: {fault}")

    @property
    def blocks(self) -> int:
        return sum(self.counts.values())

    @property
    def passed(self) -> bool:
        """True only if something was compared, for every stimulus, and nothing differed."""
        return bool(self.counts) and all(self.counts.values()) and not self.mismatched_blocks

    @property
    def report(self) -> str:
        """What differed, in words; empty if all is well."""
        if self.passed:
            return ""
        if not self.counts or not all(self.counts.values()):
            return "nothing was compared, which is a failure" + "".join(
                f" ({s})" for s, n in self.counts.items() if not n
            )
        return "\n".join(
            [
                f"{self.mismatched_blocks} of {self.blocks} blocks differ ({command_line(self.config)})",
                *self.mismatches,
                *([f"to repeat: {self.repeat}"] if self.repeat else []),
            ]
        )


def described(
    title: str,
    numerics: Encode,
    block: np.ndarray,
    expected: tuple[int, np.ndarray],
    actual: tuple[int, np.ndarray],
    random: np.ndarray | None,
) -> str:
    """What differs in a block of patterns, of whose result the scale and the codes are given, in words."""
    (scale, codes), (got_scale, got_codes) = expected, actual
    element, source_digits = numerics.block.element, numerics.source.bits // 4
    values, digits = code_values(element), -(-element.bits // 4)
    numbers = widen(block.view(DTYPES[numerics.source.name]), np.empty(block.shape, np.uint32)).view(np.float32)
    lines = [
        f"{title}: "
        + (
            f"scale expected 0x{scale:02X}, got 0x{got_scale:02X} (differs)"
            if scale != got_scale
            else f"scale 0x{scale:02X} as expected"
        )
    ]
    for lane in np.flatnonzero(codes != got_codes)[:4]:
        want, got = int(codes[lane]), int(got_codes[lane])
        drawn = "" if random is None else f" with random bits {random[lane]:#x}"
        lines.append(
            f"    element {lane}: input 0x{block[lane]:0{source_digits}X} = {numbers[lane]:.9g}{drawn}, "
            f"expected 0x{want:0{digits}X} ({values[want]:.9g}), got 0x{got:0{digits}X} ({values[got]:.9g})"
        )
    more = int((codes != got_codes).sum()) - 4
    if more > 0:
        lines.append(f"    and {more} more elements of this block")
    end = int(np.flatnonzero(block).max(initial=0)) + 1  # zeros complete a block
    whole = ",".join(f"0x{v:0{source_digits}X}" for v in block[:end])
    drawn = "" if random is None else " --random " + ",".join(map(str, random))
    lines.append(f"    to explain: mxcast explain {command_line(numerics)} --values {whole}{drawn}")
    return "\n".join(lines)
