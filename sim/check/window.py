"""A few blocks around one of those that `verify` compares, to look at them in a waveform."""

from __future__ import annotations

from dataclasses import dataclass

from ..transactions import Transactions

AROUND = 3
"""Blocks on each side of the one that is asked for."""


@dataclass
class Window:
    """The block ``number`` of a stimulus, or of all blocks, and its neighbours once they are found."""

    number: int
    stimulus: str | None = None
    first: int = 0
    """The number of the first of the blocks."""
    mode: int = 0
    blocks: Transactions | None = None

    @classmethod
    def named(cls, text: str) -> Window:
        """The window of a text ``NUMBER`` or ``STIMULUS:NUMBER``, as in the report of a mismatch.

        >>> Window.named("random:17").number, Window.named("17").stimulus
        (17, None)
        """
        stimulus, _, number = text.rpartition(":")
        if not number.isdecimal():
            raise ValueError(f"a block must be a number, or a stimulus and a number such as random:17, not {text!r}")
        return cls(int(number), stimulus or None)

    def offer(self, stimulus: str, before: int, before_all: int, mode: int, chunk: Transactions) -> None:
        """Take the neighbours if the block is in a chunk, which follows so many blocks of its stimulus and of all."""
        if self.stimulus not in (None, stimulus):
            return
        first = before if self.stimulus else before_all
        if self.blocks is None and first <= self.number < first + len(chunk):
            start = max(self.number - first - AROUND, 0)
            self.blocks = chunk.rows(slice(start, self.number - first + AROUND + 1))
            self.first, self.mode, self.stimulus = first + start, mode, stimulus

    def found(self) -> Transactions:
        """The blocks. Raises ValueError if the block was not compared."""
        if self.blocks is None:
            where = f"{self.stimulus}:" if self.stimulus else ""
            raise ValueError(f"no block {where}{self.number} was compared: the table lists stimuli and their blocks")
        return self.blocks
