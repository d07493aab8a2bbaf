"""The path of beats by AXI4-Stream through a decoder or a cast: what the statements about it need of the hardware."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....hdl.config.beats import BeatConfig
from ....spec import Packing, ScalePlace
from ....spec.layouts.catalogue import ScaleByte
from ...netlist.beats.axis_cast import AxisCast
from ...netlist.beats.parts import NUMBERS, Beats
from ...netlist.design import Design


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """Blocks of a layout in a stream: where the scale is, its byte, and the places of codes in the bytes of a beat."""

    place: ScalePlace
    bias: int
    """The code of a scale minus its byte."""
    places: tuple[tuple[int, int] | None, ...]
    """The code and its bit, by the bit of a beat; None for padding."""


def places_of(packing: Packing, bits: int, lanes: int) -> tuple[tuple[int, int] | None, ...]:
    """The code and its bit, by the bit of the packed codes, as `spec.Packing` says.

    >>> places_of(Packing.HALVES, 4, 4)[:5]
    ((0, 0), (0, 1), (0, 2), (0, 3), (2, 0))
    """
    if packing is Packing.BYTES:
        return tuple((lane, bit) if bit < bits else None for lane in range(lanes) for bit in range(8))
    if packing is Packing.HIGH_PARTS:
        upper = [(lane, bit) for lane in (3, 2, 1, 0) for bit in (4, 5)]
        lower = [(lane, bit) for lane in (1, 0, 3, 2) for bit in range(4)]
        return tuple((4 * four + lane, bit) for four in range(lanes // 4) for lane, bit in [*upper, *lower])
    order = {
        Packing.LOW_FIRST: list(range(lanes)),
        Packing.LITTLE_ENDIAN: list(range(lanes)),
        Packing.HIGH_FIRST: [lane ^ 1 for lane in range(lanes)],
        Packing.HALVES: [lane // 2 + lane % 2 * (lanes // 2) for lane in range(lanes)],
    }
    return tuple((lane, bit) for lane in order[packing] for bit in range(bits))


@dataclass(frozen=True, kw_only=True)
class StreamPath:
    """The path of beats through hardware, whose module of numbers is left out."""

    design: Design
    control: dict
    """The flat top module, in which the ports of the module `NUMBERS` are ports too."""
    lanes: int
    bits: int
    """Bits of a word."""
    user: Mapping[str, int]
    """Bits of other inputs of the module, which are in ``tuser`` above its low bit, by the name of the input."""
    places: tuple[str, ...]
    """The places of registers."""
    beats: int = 1
    """Beats of a block."""
    scale: int = 0
    """Bits of a scale; 0 without scales."""
    numbers: int
    """Bits of a number that leaves."""
    blocks: Blocks | None = None
    """The blocks of the stream; None if it has the words alone."""
    has_marks: bool = False
    """Are the marks' registers among the control, and numbers left to other checks?"""

    @property
    def random(self) -> int:
        """Bits in ``tuser`` above its low bit."""
        return sum(self.user.values())

    @property
    def marks(self) -> int:
        """Bits of a packet: its end, the low bit of ``tuser``, and whether each word has all its bytes, or the beat."""
        return 3 if self.packed else 2 + self.lanes

    @property
    def words(self) -> dict[str, tuple[str, int, str]]:
        """The parts of a beat that waits: its wire or port in the control, its bits, and what enters in `joined`."""
        data, keep = (len(self.control["ports"][f"s_axis_t{name}"]["bits"]) for name in ("data", "keep"))
        if self.packed:
            parts = {"word": (data, "tdata"), "keep": (keep, "tkeep"), "last": (1, "tlast"), "mark": (1, "tuser[0]")}
            found = {name: (f"beat_{name}", width, text) for name, (width, text) in parts.items()}
            return found | {name: (f"beat_{name}", width, f"tuser[{width}:1]") for name, width in self.user.items()}
        places = self.blocks.places if self.blocks else places_of(Packing.LITTLE_ENDIAN, self.bits, self.lanes)
        at = {place: bit for bit, place in enumerate(places)}
        every = [[at[lane, bit] for bit in range(self.bits)] for lane in range(self.lanes)]
        ends = [max(bits) // 8 for bits in every]
        marks = ", ".join([*(f"tkeep[{end}]" for end in reversed(ends)), "tuser[0]", "tlast"])
        codes = ", ".join(f"tdata[{bit}]" for bits in reversed(every) for bit in reversed(bits))
        parts = {"p": (self.bits * self.lanes, f"{{{codes}}}")}
        parts |= {"marks": (self.marks, f"{{{marks}}}")}
        parts |= {name: (width, f"tuser[{width}:1]") for name, width in self.user.items()}
        return {name: (f"{NUMBERS}_{name}", width, text) for name, (width, text) in parts.items()}

    @property
    def packed(self) -> Blocks | None:
        """The blocks of the stream, if the scale is next to the codes."""
        return self.blocks if self.blocks and self.blocks.place is not ScalePlace.APART else None

    @property
    def has_scales(self) -> bool:
        """Have scales a stream of their own?"""
        return bool(self.scale) and not self.packed

    def own(self, *names: str) -> list[str]:
        """The ports of the module `NUMBERS` in the control."""
        return [f"{NUMBERS}_{name}" for name in names]


def blocks_of(config: BeatConfig) -> Blocks | None:
    """The blocks of the stream of a configuration; None if it has the codes alone."""
    stream = config.block_stream
    if stream is None:
        return None
    return Blocks(
        place=stream.place,
        bias=127 if stream.scale_byte is ScaleByte.EXPONENT else 0,
        places=places_of(stream.packing, config.numerics.block.element.bits, config.lanes),
    )


def path_of_decoder(beats: Beats) -> StreamPath:
    """The path of beats through a decoder."""
    rules, config = beats.config.numerics, beats.config
    return StreamPath(
        design=beats.design,
        control=beats.control(),
        lanes=config.lanes,
        bits=rules.block.element.bits,
        user={port.name: port.width for port in config.with_codes},
        places=beats.places,
        beats=config.beats,
        scale=rules.block.scale.bits,
        blocks=blocks_of(config),
        numbers=rules.destination.bits,
    )


def path_of_cast(cast: AxisCast) -> StreamPath:
    """The path of beats through a cast."""
    rules = cast.config.numerics
    return StreamPath(
        design=cast.design,
        control=cast.control(),
        lanes=rules.lanes,
        bits=rules.ports[0].bits,
        user={"random": rules.random_bits * rules.lanes} if rules.random_bits else {},
        numbers=rules.ports[-1].bits,
        has_marks=True,
        places=tuple(cast.config.microarchitecture.registered_after),
    )


def vector(width: int) -> str:
    """The range of a vector in Verilog."""
    return f"[{width - 1}:0]"
