"""A design whose blocks enter and leave in several beats: gaps on both sides, and the blocks put together again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ....hdl import HardwareConfig
from ...transactions import Transactions
from ..beats import in_beats, in_blocks, unsteady
from .handshake import HandshakeError, StalledDriver

FAULTS = (
    "",
    "a beat changed while it was not taken",
    "a beat came before its inputs were complete",
    "beats have no result",
    "the first beat of a result did not come after the latency",
    "no beat could enter although nothing waited",
    "o_first or o_last is wrong",
    "i_ready or o_valid follows o_ready or i_valid within the cycle",
)
"""Faults that `beats.cpp` finds, by their number."""


class BeatDriver(StalledDriver):
    """A design with lanes as a function over blocks. Its ports are of a beat, and ``config.beats`` of them are a block.

    Raises `HandshakeError` if a beat does not have its one result in its place, and if the scale is not the same in all
    beats of a block. If ``config.is_elastic``, no output may follow an input within the cycle. A design of others
    (``is_ours`` unset) may take a beat whenever it likes, and give results after any time.
    """

    def __init__(self, library: Path, config: HardwareConfig, seed: int = 0, is_ours: bool = True) -> None:
        super().__init__(library, config, seed)
        self.config, self.beats = config, config.beats
        self.is_steady = config.is_steady and is_ours

    def __call__(self, entering: Transactions) -> Transactions:
        found = super().__call__(in_beats(entering, self.inputs, self.beats))
        if differs := unsteady(found, self.outputs, self.beats):
            port, block = differs
            raise HandshakeError(f"{port.name} changes within result {block}, with the gaps of seed {self.seed}")
        return in_blocks(found, self.outputs, self.beats)

    def fill(self, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]) -> None:
        config = self.config
        given = (
            self.latency,
            self.beats,
            self.seed & 0xFFFFFFFF,
            config.is_elastic,
            config.gathered,
            self.is_steady,
            self.pause + self.interval - 1,
        )
        fault, results = self._call("mxcast_beats", inputs, outputs, *given, found=2)
        if fault:
            raise HandshakeError(f"{FAULTS[fault]}: after {results} beats, with the gaps of seed {self.seed}")
