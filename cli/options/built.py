"""Choices of the hardware. Its import takes Amaranth along, so commands about numbers leave it out."""

from __future__ import annotations

import dataclasses

from ...hdl import CHOICES, CONSTRAINTS, DECODER_CHOICES, HADAMARD_CHOICES, NVFP4_CHOICES, Microarchitecture

OF_ANY = ("registered_after", "optimize", "target", *CONSTRAINTS)
OF_STREAMS = (*OF_ANY, "interface")
OF_BEATS = (*OF_STREAMS, "layout", "lanes", "scale_place")

BUILT: dict[str, tuple[str, ...]] = {
    "encode": (*(field.name for field in dataclasses.fields(Microarchitecture)), "optimize", "target", *CONSTRAINTS),
    "decode": (*DECODER_CHOICES, *OF_BEATS),
    "cast": OF_STREAMS,
    "two_level_encode": (*NVFP4_CHOICES, *OF_BEATS),
    "two_level_decode": OF_BEATS,
    "hadamard": (*HADAMARD_CHOICES, *OF_STREAMS),
    "tile": (*CHOICES, *OF_STREAMS),
    "nvfp4_tile": (*NVFP4_CHOICES, *OF_STREAMS),
}
"""Choices of the hardware that --set takes, by operation. `RULES` has the rules that it takes."""
