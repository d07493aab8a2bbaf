"""Configurations with handshakes other than valid and ready, and those whose blocks may enter and leave in beats."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, cast

from ...spec import BlockOperation, Encode, Nvfp4Encode, Operation, Port, Role
from ...spec.catalogue import excerpt
from .architecture import BeatArchitecture, Interface, StreamArchitecture
from .axis import encoder_pins
from .hardware import HardwareConfig, Op

if TYPE_CHECKING:
    from ..decode.packed import BlockStream

OF_BLOCK = (Role.MODE, Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT)
"""Roles of inputs of an encoder that belong to a whole block."""

WITH_CODES = (Role.RANDOM, Role.TENSOR_SCALE)
"""Roles of inputs of a decoder that enter with codes."""


@dataclass(frozen=True, kw_only=True)
class StreamConfig(HardwareConfig[Op]):
    """A configuration with a choice of the handshake."""

    microarchitecture: StreamArchitecture = field(default_factory=StreamArchitecture)

    def _name_registers(self) -> None:
        """Name the registers that are always there."""
        micro = self.microarchitecture
        missing = sorted(micro.always_registered - {*micro.registered_after})
        if missing:
            every = (*micro.registered_after, *missing)
            object.__setattr__(self, "microarchitecture", dataclasses.replace(micro, registered_after=every))

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        found = super().hardware_options(targets)
        if {*self.microarchitecture.registered_after} <= self.microarchitecture.always_registered:
            found.pop("registered_after", None)
        return found

    @property
    @abstractmethod
    def axis_pins(self) -> tuple[Port, ...]:
        """The ports of the top module with AXI4-Stream."""

    @property
    def at_once(self) -> Self:
        """The configuration of the whole block at once, without registers."""
        return dataclasses.replace(self, microarchitecture=self.microarchitecture.at_once)

    @property
    def is_elastic(self) -> bool:
        return self.microarchitecture.interface is not Interface.STREAM

    @property
    def has_axis(self) -> bool:
        return self.microarchitecture.interface is Interface.AXIS

    @property
    def pins(self) -> tuple[Port, ...]:
        return self.axis_pins if self.has_axis else super().pins


@dataclass(frozen=True, kw_only=True)
class BeatConfig(StreamConfig[Op]):
    """A configuration with lanes: its ports are of a beat, and ``beats`` of them are a block."""

    microarchitecture: BeatArchitecture = field(default_factory=BeatArchitecture)

    def _check_lanes(self) -> None:
        """Raise ValueError for lanes that are impossible. Name the registers that lanes always have."""
        micro, size = self.microarchitecture, self.numerics.block_size
        if micro.layout and micro.interface is Interface.SKID:
            raise ValueError("the interface skid has no layout: leave out layout or interface")
        if not micro.lanes:
            self._name_registers()
            return
        possible = [1 << place for place in range(size.bit_length() - 1)]
        if micro.lanes not in possible:
            raise ValueError(
                f"lanes must be {', '.join(map(str, possible))}, so that a block of {size} has several beats, not "
                f"{excerpt(micro.lanes)}"
            )
        if micro.layout and not self.has_axis:
            raise ValueError(
                "a layout needs whole blocks, but lanes deliver parts of a block: leave out layout or lanes"
            )
        self._name_registers()

    @property
    def lanes(self) -> int:
        """Elements that enter in a clock cycle."""
        return self.microarchitecture.lanes or self.numerics.block_size

    @property
    def beats(self) -> int:
        return self.numerics.block_size // self.lanes

    @property
    def of_block(self) -> tuple[Port, ...]:
        """The inputs that are the same for all beats of a block: its mode, or the constants of its tensor."""
        return tuple(port for port in self.ports if port.direction == "input" and port.role in OF_BLOCK)

    @property
    def with_codes(self) -> tuple[Port, ...]:
        """The inputs of a decoder that are in ``tuser`` of the stream of codes."""
        return tuple(port for port in self.operation_ports if port.role in WITH_CODES)

    @property
    def block_stream(self) -> BlockStream | None:
        """The bytes of blocks in a stream; None if it has the codes alone, the first in the low bits."""
        return None

    @property
    def of_a_beat(self) -> Self:
        """The configuration of a beat at once: a block of as many elements as lanes, without registers."""
        rules: Operation = self.numerics
        assert isinstance(rules, BlockOperation)
        return dataclasses.replace(self.at_once, numerics=cast("Op", rules.replaced(block_size=self.lanes)))

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """The ports of the operation. With lanes, elements and random bits are the part of a block in a beat."""
        size = self.numerics.block_size
        return tuple(
            dataclasses.replace(port, lanes=self.lanes) if port.lanes == size else port for port in self.numerics.ports
        )


@dataclass(frozen=True, kw_only=True)
class StoredConfig(BeatConfig[Op]):
    """The configuration of an encoder. With lanes a store holds a block until its scale is known."""

    @property
    def gathered(self) -> int:
        return self.beats

    @property
    def latency(self) -> int:
        return super().latency + self.has_axis  # a register at the input

    @property
    def axis_pins(self) -> tuple[Port, ...]:
        rules: Operation = self.numerics
        assert isinstance(rules, Encode | Nvfp4Encode)
        return encoder_pins(rules, self.lanes, self.of_block)

    def _check_lanes(self) -> None:
        super()._check_lanes()
        if self.has_axis and self.microarchitecture.layout:
            raise ValueError("an encoder with AXI4-Stream has no layout: leave out layout or interface")
