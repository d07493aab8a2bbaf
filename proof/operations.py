"""The operations that can be proved."""

from __future__ import annotations

from ..hdl import HardwareConfig
from .questions.cached import ProvableCached
from .questions.core import ProvableAround
from .questions.elementwise import ProvableCast, ProvableDecode
from .questions.encode import ProvableEncode
from .questions.hadamard import ProvableHadamard
from .questions.lanes import CastInBeats, DecodeInBeats, EncodeInBeats, Nvfp4DecodeInBeats, Nvfp4InBeats
from .questions.limbs import ProvableLimbs
from .questions.nvfp4.decoder import ProvableNvfp4Decode
from .questions.nvfp4.encoder import ProvableNvfp4
from .questions.provable import AnyProvable
from .questions.tile import ProvableNvfp4Tile, ProvableTile

OPERATIONS: dict[str, AnyProvable] = {
    "encode": ProvableEncode(),
    "decode": ProvableDecode(),
    "cast": ProvableCast(),
    "two_level_encode": ProvableNvfp4(),
    "two_level_decode": ProvableNvfp4Decode(),
    "hadamard": ProvableHadamard(),
}
"""The proof of operations whose hardware takes a block at once, by the name of the operation."""

IN_BEATS: dict[str, AnyProvable] = {
    "encode": EncodeInBeats(),
    "decode": DecodeInBeats(),
    "cast": CastInBeats(),
    "two_level_encode": Nvfp4InBeats(),
    "two_level_decode": Nvfp4DecodeInBeats(),
    "tile": ProvableTile(),
    "nvfp4_tile": ProvableNvfp4Tile(),
}
"""The proof of operations whose hardware has lanes, rows, or another interface than valid and ready."""


def provable(config: HardwareConfig) -> AnyProvable:
    """The proof of the operation of a configuration."""
    if config.core is not None:
        return ProvableAround(provable(config.core))
    if config.interval > 1:
        return ProvableLimbs()
    if config.pause:
        return ProvableCached()
    return (IN_BEATS if config.in_beats else OPERATIONS)[config.numerics.name]
