"""The operations that can be proved."""

from __future__ import annotations

from ..hdl import HardwareConfig
from .questions.elementwise import ProvableCast, ProvableDecode
from .questions.encode import ProvableEncode
from .questions.hadamard import ProvableHadamard
from .questions.lanes import CastInBeats, DecodeInBeats, EncodeInBeats
from .questions.nvfp4.decoder import ProvableNvfp4Decode
from .questions.nvfp4.encoder import ProvableNvfp4
from .questions.provable import AnyProvable

OPERATIONS: dict[str, AnyProvable] = {
    "encode": ProvableEncode(),
    "decode": ProvableDecode(),
    "cast": ProvableCast(),
    "two_level_encode": ProvableNvfp4(),
    "two_level_decode": ProvableNvfp4Decode(),
    "hadamard": ProvableHadamard(),
}
"""The proof of each operation by its name; the others are not proved yet."""

WITH_LANES: dict[str, AnyProvable] = {"encode": EncodeInBeats(), "decode": DecodeInBeats(), "cast": CastInBeats()}
"""The proof of operations whose hardware has lanes, or another interface than valid and ready."""


def provable(config: HardwareConfig) -> AnyProvable:
    """The proof of the operation of a configuration. Raises ValueError if it is not proved yet."""
    rules = config.numerics
    if rules.name not in OPERATIONS:
        raise ValueError(
            f"{config.formats}, operation {rules.name}, is not proved yet: verify compares its Verilog with the model"
        )
    return (WITH_LANES if config.has_beats else OPERATIONS)[rules.name]
