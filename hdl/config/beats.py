"""Configurations with handshakes other than valid and ready, and those whose blocks may enter and leave in beats."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self, cast

from ...spec import (
    BlockOperation,
    Decode,
    Encode,
    Layout,
    Nvfp4Decode,
    Nvfp4Encode,
    Operation,
    Packing,
    Port,
    Role,
    ScalePlace,
    layout_named,
)
from ...spec.catalogue import excerpt
from .architecture import BeatArchitecture, Interface, StreamArchitecture
from .axis import BYTE, decoder_pins, decoder_words, encoder_pins, encoder_words, pins_around
from .hardware import HardwareConfig, Op

if TYPE_CHECKING:
    from ..lanes.packed import BlockStream

OF_BLOCK = (Role.MODE, Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT, Role.TENSOR_AMAX)
"""Roles of inputs of an encoder that belong to a whole block."""

WITH_CODES = (Role.RANDOM, Role.TENSOR_SCALE)
"""Roles of inputs of a decoder that enter with codes."""


@dataclass(frozen=True, kw_only=True)
class StreamConfig(HardwareConfig[Op]):
    """A configuration with a choice of the handshake."""

    AROUND: ClassVar[tuple[Interface, ...]] = ()
    """The interfaces of a module around one with valid and ready."""

    microarchitecture: StreamArchitecture = field(default_factory=StreamArchitecture)

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        found = super().hardware_options(targets)
        if {*self.microarchitecture.registered_after} <= self.always_registered:
            found.pop("registered_after", None)
        return found

    @property
    def axis_pins(self) -> tuple[Port, ...]:
        """The ports of the top module with AXI4-Stream."""
        return pins_around(self.operation_ports)

    @property
    def at_once(self) -> Self:
        """The configuration of the whole block at once, without registers."""
        return dataclasses.replace(self, microarchitecture=self.microarchitecture.at_once)

    @property
    def core(self) -> Self | None:
        micro = self.microarchitecture
        if micro.interface not in self.AROUND:
            return None
        inner = Interface.SKID if micro.interface is Interface.AXIS else Interface.STREAM
        return dataclasses.replace(self, microarchitecture=dataclasses.replace(micro, interface=inner))

    @property
    def latency(self) -> int:
        at_input = self.core is not None and self.has_axis
        return super().latency + at_input

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
        """Raise ValueError for lanes that are impossible."""
        micro = self.microarchitecture
        if micro.layout and micro.interface is Interface.SKID:
            raise ValueError("the interface skid has no layout: leave out layout or interface")
        if micro.lanes:
            self._check_beats()
        if self.has_axis:
            self._check_stream()

    def _check_beats(self) -> None:
        """Raise ValueError for lanes that do not divide a block into beats."""
        micro, size = self.microarchitecture, self.numerics.block_size
        possible = [1 << place for place in range(size.bit_length() - 1)]
        if micro.lanes not in possible:
            raise ValueError(
                f"lanes must be {', '.join(map(str, possible))}, so that a block of {size} has several beats, not "
                f"{excerpt(micro.lanes)}"
            )
        if micro.layout and not self.has_axis:
            raise ValueError(
                "a layout needs whole blocks, but lanes deliver parts of a block: leave out layout or lanes, or give "
                "interface=axis"
            )

    def _check_stored(self, layout: Layout) -> None:
        if not self.has_axis:  # a stream has its own places (`_check_stream`)
            super()._check_stored(layout)

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
        place, layout = self.microarchitecture.scale_place, self._stream_layout
        if not self.has_axis or (layout is None and place is ScalePlace.APART):
            return None
        from ..lanes.packed import BlockStream  # imports amaranth, which no list needs

        if layout is None:
            return BlockStream(packing=Packing.LITTLE_ENDIAN, place=place)
        return BlockStream(packing=layout.packing, place=layout.place, scale_byte=layout.scale_byte)

    @property
    def _stream_layout(self) -> Layout | None:
        rules: Operation = self.numerics
        assert isinstance(rules, BlockOperation)
        return layout_named(self.microarchitecture.layout, rules.block) if self.microarchitecture.layout else None

    @property
    def is_even(self) -> bool:
        """Does a beat of codes enter or leave for each beat of numbers, without the bytes of scales?"""
        stream = self.block_stream
        return stream is None or stream.place is ScalePlace.APART

    def _check_stream(self) -> None:
        """Raise ValueError if hardware cannot have the blocks of the stream."""
        rules: Operation = self.numerics
        assert isinstance(rules, BlockOperation)
        micro, element, layout = self.microarchitecture, rules.block.element, self._stream_layout
        if layout is not None and layout.together != 1:
            raise ValueError(f"hardware has no layout {layout.name}: it groups {layout.together} blocks")
        stream = self.block_stream
        if stream is None:
            return
        if micro.lanes and stream.packing is Packing.HALVES:
            raise ValueError("a byte has codes of both halves of a block: leave out lanes")
        if micro.lanes and stream.packing is Packing.HIGH_PARTS and micro.lanes % 4:
            raise ValueError("three bytes have four codes: give lanes=4 or more")
        if stream.word_bits(element, self.lanes) % BYTE:
            raise ValueError(f"{self.lanes} codes of {element.bits} bits are not whole bytes: give more lanes")

    def block_words(self, pin: str) -> dict[str, str]:
        """A description of the bytes of blocks at a pin, if they are more than the codes, the first in the low bits."""
        stream, rules = self.block_stream, cast("BlockOperation", self.numerics)
        if stream is None:
            return {}
        element = rules.block.element
        how = stream.packing.__doc__ if self.microarchitecture.layout else "the first in the low bits"
        packed = f"codes of {element.name}, {how}"
        if self.is_even:
            return {pin: f"{self.lanes} {packed}; {self.beats} beats are a block"}
        size = stream.word_bytes(element, self.lanes)
        parts = ("scale", "codes") if stream.place is ScalePlace.BEFORE else ("codes", "scale")
        order, total = f"the {parts[0]}, then the {parts[1]}", size * self.beats + 1
        return {pin: f"{size} bytes of blocks of {total} bytes, which follow each other: {order}; {packed}"}

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
    """The configuration of an encoder. In beats a store holds a block until its scale is known."""

    @property
    def gathered(self) -> int:
        return self.beats

    @property
    def latency(self) -> int:
        stored = self.beats if self.in_beats and self.core is None else 0
        around = self.has_axis + (not self.is_even)  # registers at the input, and of packed blocks
        return len(self.microarchitecture.registered_after) + stored + around

    @property
    def axis_pins(self) -> tuple[Port, ...]:
        if self.core is not None:
            return super().axis_pins
        rules: Operation = self.numerics
        assert isinstance(rules, Encode | Nvfp4Encode)
        stream = self.block_stream
        size = None if stream is None else stream.word_bytes(rules.block.element, self.lanes)
        return encoder_pins(rules, self.lanes, self.of_block, size, self.is_even)

    def axis_words(self) -> dict[str, str]:
        """A description of each of `axis_pins` by its name."""
        rules: Operation = self.numerics
        assert isinstance(rules, Encode | Nvfp4Encode)
        words = encoder_words(rules, self.lanes, self.beats, self.of_block) | self.block_words("m_axis_tdata")
        if self.is_even:
            return words
        return words | {
            "m_axis_tkeep": "bytes of blocks, all ones before the end of a packet",
            "m_axis_tlast": "the last bytes of a packet",
            "m_axis_tuser": "zeros completed the block of the last byte",
        }


@dataclass(frozen=True, kw_only=True)
class ThroughConfig(BeatConfig[Op]):
    """The configuration of a decoder. A beat does not wait for its block."""

    AROUND: ClassVar[tuple[Interface, ...]] = (Interface.SKID,)

    def _check_stream(self) -> None:
        super()._check_stream()
        stream = self.block_stream
        if stream is not None and self.microarchitecture.lanes and stream.place is ScalePlace.AFTER:
            raise ValueError("the scale is behind the codes of its block: leave out lanes")

    @property
    def axis_pins(self) -> tuple[Port, ...]:
        rules: Operation = self.numerics
        assert isinstance(rules, Decode | Nvfp4Decode)
        stream = self.block_stream
        size = None if stream is None else stream.word_bytes(rules.block.element, self.lanes)
        return decoder_pins(rules, self.lanes, self.with_codes, size, self.is_even)

    def axis_words(self) -> dict[str, str]:
        """A description of each of `axis_pins` by its name."""
        rules: Operation = self.numerics
        assert isinstance(rules, Decode | Nvfp4Decode)
        words = decoder_words(rules, self.lanes, self.beats) | self.block_words("s_axis_tdata")
        if self.is_even:
            return words
        return words | {
            "s_axis_tkeep": "bytes of blocks, all ones before the end of a packet",
            "s_axis_tlast": "ends a packet; an incomplete beat leaves without bytes",
            "m_axis_tkeep": "all ones, or zeros if the packet ended within the beat",
        }
