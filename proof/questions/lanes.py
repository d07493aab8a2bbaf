"""Questions about hardware with lanes or AXI4-Stream: the order of its beats, then the bits of a block or of a beat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

from ...hdl import (
    CastConfig,
    ConverterConfig,
    DecoderConfig,
    HadamardConfig,
    HardwareConfig,
    Nvfp4Config,
    Nvfp4DecoderConfig,
    Nvfp4TileConfig,
    TileConfig,
)
from ...hdl.config.beats import BeatConfig
from ...hdl.decode.beats import AnyDecoder
from ...hdl.lanes.keys import EncoderConfig
from ...sim.transactions import Transactions
from ...spec import BlockOperation, Cast, Decode, Encode, Nvfp4Decode, Nvfp4Encode
from ..netlist.beats.axis_cast import AxisCast, of_a_word
from ..netlist.beats.cached import CachedParts
from ..netlist.beats.core import AroundCore
from ..netlist.beats.limbs import LimbParts
from ..netlist.beats.nvfp4_tile import Nvfp4Tile
from ..netlist.beats.one_beat import one_beat
from ..netlist.beats.parts import ADDRESS, ENDS, Beats
from ..netlist.beats.tile import Tile
from ..netlist.beats.whole_block import whole_block
from ..netlist.design import Design
from ..netlist.structure import StructureError
from ..specification.beats.around_core import around_core
from ..specification.beats.axis import around as around_packets
from ..specification.beats.axis import axis_questions
from ..specification.beats.axis_through import around_path, through_questions
from ..specification.beats.cached import flow, rows
from ..specification.beats.induction import Induction
from ..specification.beats.order import Order
from ..specification.beats.stream_path import path_of_cast, path_of_decoder
from ..specification.beats.tile import orders
from ..specification.encode import Specification
from ..specification.nvfp4 import Nvfp4Specification
from .elementwise import ElementSpecification, ProvableCast, ProvableDecode
from .encode import ProvableEncode
from .limbs import flow as limb_flow
from .nvfp4.decoder import ProvableNvfp4Decode
from .nvfp4.encoder import ProvableNvfp4
from .question import Question


class InParts:
    """Hardware that is proved in parts only."""

    is_asked_whole: ClassVar[bool] = False

    def monolithic(self, config: HardwareConfig, design: Design, nan_codes_free: bool = False) -> list[Question]:
        raise StructureError(f"{config.formats} is proved in parts only")


class Stored(InParts):
    """Hardware with a store of beats."""

    def knows_addresses(self, config: HardwareConfig, written: list[str]) -> bool:
        return written == [ADDRESS]


def taken_apart(config: EncoderConfig | AnyDecoder, design: Design) -> tuple[Design, Iterator[Question]]:
    """The bits of a design without its beats: a whole block, put together from the modules of a beat, or one beat if no
    beat waits for its block. And the questions about the order of beats, for any numbers or codes."""
    order = order_of(config, design)
    beats = order.beats
    beats.check_delays()

    def asked() -> Iterator[Question]:
        if order.has_store or not config.has_axis:
            yield from order.questions()
        if config.has_axis:
            packets = axis_questions(*around_packets(beats)) if order.has_store else None
            yield from packets or through_questions(path_of_decoder(beats))
        beats.check_known()

    if isinstance(config, EncoderConfig):
        return whole_block(design, config, beats.without_registers(), beats.modules), asked()
    return one_beat(beats, config), asked()


class EncodeInBeats(Stored, ProvableEncode):
    """The proof of an encoder with lanes to a format with a shared exponent."""

    handshake: ClassVar[str] = ENDS[Encode.name].delays

    def composed(
        self, config: HardwareConfig[Encode], design: Design, specify: Callable[[Encode], Specification]
    ) -> Iterator[Question]:
        """The questions of `taken_apart`, and those about the block."""
        assert isinstance(config, ConverterConfig)
        whole, asked = taken_apart(config, design)
        yield from asked
        yield from super().composed(config.at_once, whole, specify)


class Nvfp4InBeats(Stored, ProvableNvfp4):
    """The proof of an NVFP4 encoder with lanes."""

    handshake: ClassVar[str] = ENDS[Nvfp4Encode.name].delays

    def composed(
        self, config: HardwareConfig[Nvfp4Encode], design: Design, specify: Callable[[Nvfp4Encode], Nvfp4Specification]
    ) -> Iterator[Question]:
        """The questions of `taken_apart`, and the lemmas about the block."""
        assert isinstance(config, Nvfp4Config)
        whole, asked = taken_apart(config, design)
        yield from asked
        yield from super().composed(config.at_once, whole, specify)


def in_every_beat(rules: BlockOperation, values: dict[str, int]) -> dict[str, int]:
    """The values of a block whose beats all have the values of one beat."""
    names = [port.name for port in rules.ports if port.direction == "input" and port.lanes > 1]
    lanes = dict.fromkeys(names, 0)
    for name in names:
        while f"{name}{lanes[name]}" in values or (not lanes[name] and name in values):
            lanes[name] += 1
    every = {
        f"{name}{lane}": values.get(f"{name}{lane % lanes[name]}", values.get(name, 0))
        for name in names
        for lane in range(rules.block_size)
    }
    return {**values, **every}


class DecodeInBeats(InParts, ProvableDecode):
    """The proof of a decoder of a shared exponent with lanes."""

    handshake: ClassVar[str] = ENDS[Decode.name].delays

    def composed(
        self, config: HardwareConfig[Decode], design: Design, specify: Callable[[Decode], ElementSpecification]
    ) -> Iterator[Question]:
        """The questions of `taken_apart`, and those about the numbers of a beat."""
        assert isinstance(config, DecoderConfig)
        beat, asked = taken_apart(config, design)
        yield from asked
        yield from super().composed(config.of_a_beat, beat, specify)

    def blocks(self, rules: Decode, values: dict[str, int]) -> Transactions:
        return super().blocks(rules, in_every_beat(rules, values))


class Nvfp4DecodeInBeats(InParts, ProvableNvfp4Decode):
    """The proof of an NVFP4 decoder with lanes."""

    handshake: ClassVar[str] = ENDS[Nvfp4Decode.name].delays

    def composed(
        self,
        config: HardwareConfig[Nvfp4Decode],
        design: Design,
        specify: Callable[[Nvfp4Decode], ElementSpecification],
    ) -> Iterator[Question]:
        """The questions of `taken_apart`, and those about the numbers of a beat."""
        assert isinstance(config, Nvfp4DecoderConfig)
        beat, asked = taken_apart(config, design)
        yield from asked
        yield from super().composed(config.of_a_beat, beat, specify)

    def blocks(self, rules: Nvfp4Decode, values: dict[str, int]) -> Transactions:
        return super().blocks(rules, in_every_beat(rules, values))


class CastInBeats(InParts, ProvableCast):
    """The proof of a cast by AXI4-Stream."""

    handshake: ClassVar[str] = "the datapath of words is a pure delay with an enable"

    def composed(
        self, config: HardwareConfig[Cast], design: Design, specify: Callable[[Cast], ElementSpecification]
    ) -> Iterator[Question]:
        """Questions about the order of beats, for any words, and those about the words of a beat."""
        assert isinstance(config, CastConfig)
        cast = AxisCast(design, config)
        word = cast.word()
        yield from through_questions(path_of_cast(cast))
        cast.check_known()
        yield from super().composed(of_a_word(config), word, specify)


def order_of(config: HardwareConfig, design: Design) -> Order:
    """The statements about the order of the beats of a design."""
    assert isinstance(config, BeatConfig)
    return Order(Beats(design, config))


def around_order(config: HardwareConfig, design: Design) -> tuple[Induction, ...]:
    """The statements about what is around a core, or about packets. Of a tile encoder, or of a decoder or a cast with
    AXI4-Stream, there are no others."""
    if config.core is not None:
        around = AroundCore(design, config)
        return *around_core(around), *around_order(around.core, around.inner)
    if isinstance(config, HadamardConfig) and config.in_limbs:
        return (limb_flow(LimbParts(design, config)),)
    if config.pause:
        assert isinstance(config, Nvfp4Config)
        parts = CachedParts(design, config)
        return flow(parts), rows(parts)
    if not config.in_beats:
        return ()
    if isinstance(config, TileConfig):
        return orders(Tile(design, config))
    if isinstance(config, Nvfp4TileConfig):
        return orders(Nvfp4Tile(design, config))
    if isinstance(config, CastConfig):
        return around_path(path_of_cast(AxisCast(design, config)))
    beats = order_of(config, design).beats
    if beats.config.has_axis:
        return around_packets(beats) if beats.ends.front else around_path(path_of_decoder(beats))
    return ()
