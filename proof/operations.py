"""The operations that can be proved."""

from __future__ import annotations

from ..hdl import HardwareConfig
from ..hdl.config.architecture import Interface
from ..hdl.config.beats import StreamConfig
from ..spec import Decode, Encode
from .questions.elementwise import ProvableCast, ProvableDecode
from .questions.encode import ProvableEncode
from .questions.lanes import DecodeInBeats, EncodeInBeats
from .questions.nvfp4.decoder import ProvableNvfp4Decode
from .questions.nvfp4.encoder import ProvableNvfp4
from .questions.provable import AnyProvable

OPERATIONS: dict[str, AnyProvable] = {
    "encode": ProvableEncode(),
    "decode": ProvableDecode(),
    "cast": ProvableCast(),
    "two_level_encode": ProvableNvfp4(),
    "two_level_decode": ProvableNvfp4Decode(),
}
"""The proof of each operation by its name; the others are not proved yet."""

WITH_LANES: dict[str, AnyProvable] = {"encode": EncodeInBeats(), "decode": DecodeInBeats()}
"""The proof of operations whose hardware has lanes."""

INTERFACES = {Encode.name: tuple(Interface), Decode.name: (Interface.SKID,)}
"""Interfaces of hardware with lanes that are proved, by operation; `Interface.STREAM` alone for all others."""


def provable(config: HardwareConfig) -> AnyProvable:
    """The proof of the operation of a configuration. Raises ValueError if it is not proved yet."""
    rules = config.numerics
    if rules.name not in OPERATIONS:
        raise ValueError(
            f"{config.formats}, operation {rules.name}, is not proved yet: verify compares its Verilog with the model"
        )
    table = WITH_LANES if config.beats > 1 else OPERATIONS
    if rules.name not in table:
        raise ValueError(
            f"{config.formats} with lanes is not proved yet: verify and test compare its Verilog with the model"
        )
    interface = config.microarchitecture.interface if isinstance(config, StreamConfig) else Interface.STREAM
    known = INTERFACES.get(rules.name, ()) if config.beats > 1 else ()
    if interface not in (Interface.STREAM, *known):
        raise ValueError(
            f"{config.formats} with interface={interface} is not proved yet: verify and test compare its Verilog with "
            "the model"
        )
    table[rules.name].check(rules)
    return table[rules.name]
