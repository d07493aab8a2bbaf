"""Ways to read the arrays of a quantized tensor, with the evidence for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...spec.layouts.scaled import AnyLayout
from ..containers.contents import Stored
from .library_metadata import COMFY

TELLS = {
    "comfy": f"ComfyUI's array {COMFY.name}",
    "torchao": "torchao's metadata",
    "torchao_swizzled": "torchao's metadata",
    "quark": "the configuration of the checkpoint",
    "te": "the dtype in the state of Transformer Engine",
    "te_columnwise": "the dtype in the state of Transformer Engine",
    "onnx": "the types in the ONNX model",
}
"""Evidence that would decide between a dialect and others, or between its block formats."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One way to read the arrays of a tensor: the layouts that read the bytes so, and the evidence for them."""

    layouts: tuple[AnyLayout, ...]
    evidence: tuple[str, ...]

    @property
    def layout(self) -> AnyLayout:
        """The first of the layouts, which all read the same numbers."""
        return self.layouts[0]

    @property
    def names(self) -> str:
        return " or ".join(layout.name for layout in self.layouts)

    def described(self) -> dict[str, str]:
        """Properties of the bytes, in words."""
        return self.layout.described()

    def to_dict(self) -> dict:
        names = [layout.name for layout in self.layouts]
        return {"layouts": names, **self.described(), "evidence": list(self.evidence)}


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """The arrays of one quantized tensor, and the ways to read them. Several ways make it ambiguous."""

    name: str
    readings: tuple[Reading, ...]
    arrays: Mapping[str, Stored]
    """The arrays of all readings, by name."""
    may_be_plain: bool = False
    """May it be an array of bytes that is not quantized? The name is the same if one array has scales and codes."""
    contradiction: str = ""
    """The contradiction between its arrays, as a sentence; empty without one."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the stored codes."""
        return self.arrays[self.readings[0].layout.codes.of(self.name)].shape

    @property
    def is_ambiguous(self) -> bool:
        """Do several layouts fit that read different numbers?"""
        return len(self.readings) > 1 or self.may_be_plain

    @property
    def differences(self) -> str:
        """The difference between ambiguous readings and the missing evidence, as a sentence."""
        said = [reading.described() for reading in self.readings]
        keys = [key for key in said[0] if len({one[key] for one in said}) > 1]
        parts = [
            reading.names + (f" ({', '.join(f'{key} {one[key]}' for key in keys)})" if keys else "")
            for reading, one in zip(self.readings, said)
        ]
        plain = ["an array that is not quantized"] if self.may_be_plain else []
        tells = {TELLS[one.dialect] for reading in self.readings for one in reading.layouts if one.dialect in TELLS}
        hint = f"{' or '.join(sorted(tells))} would tell" if tells else "only who wrote the file can tell"
        return f"it is {', or '.join(parts + plain)}: {hint}"
