"""Micro-architectures: named alternatives that give the same bits, and the rules that each supports."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self, TypedDict

from ...spec import (
    FP32,
    LAYOUTS,
    Decode,
    DecodedNan,
    DecodedOverflow,
    Encode,
    Kind,
    Rounding,
    Rule,
    ScalePlace,
    ScaleReading,
    Specials,
    Subnormals,
)
from ...spec.catalogue import constructed, excerpt, known_name, unknown_name
from ..decode.factor import EXPONENTS
from ..encode.threshold import exponent_offset


class AmaxKey(Rule):
    """The bits that the comparator tree compares."""

    REDUCED = "reduced", "the exponent, and one flag bit where the scale rule or the specials need the fraction"
    MAGNITUDE = "magnitude", "the whole magnitude, as in the FPGA paper; reduced after the tree"


class Amax(Rule):
    """The search for the largest key of a block."""

    COMPARE = "compare", "a tree of two-input comparators, five levels for 32 numbers, as in the FPGA paper"
    RADIX4 = "radix4", "a tree of nodes that compare four numbers, each with each: half the levels"
    MSB_FIRST = (
        "msb_first",
        "two bits at a time from the top: the largest digit of the lanes still in, then lanes with less drop out",
    )
    BIT_BY_BIT = "bit_by_bit", "one bit at a time from the top: lanes without a bit that another lane has drop out"
    CARRY_CHAIN = "carry_chain", "msb_first, with the ORs over all lanes on carry chains"

    @classmethod
    def formerly(cls) -> Mapping[str, str]:
        return {"fours": cls.RADIX4, "elimination": cls.MSB_FIRST, "chains": cls.CARRY_CHAIN}


class Quantizer(Rule):
    """The method of an element quantizer."""

    SHIFT = "shift", "align the fraction by a shifter, then round and saturate: any numerics"
    TABLE = (
        "table",
        (
            "the distance to the top of the block decides everything, and rounding is folded into functions of a few "
            "bits: one format, of one to three fraction bits or fixed-point of six to eight bits, without random bits"
        ),
    )
    GATES = (
        "gates",
        (
            "one line for each place that a number moves down selects among fractions that are rounded already, for "
            "gates and LUTs of four inputs: as table, without rnz, guard_half_up and flushed elements, and with the "
            "specials nan_block and te"
        ),
    )


class Structure(Rule):
    """The modules that synthesis may dissolve."""

    FLAT = "flat", "everything: functions may be merged across all borders"
    KEPT = "kept", "functions of the size of a LUT6 are modules with keep_hierarchy, so that each stays one LUT"


class Lane(Rule):
    """The method of a lane of a decoder."""

    SHIFT = "shift", "add the exponents, shift what is subnormal, then round: any rules"
    TABLES = (
        "tables",  # not "table", because the keys of `SUPPORTS` must have different names
        (
            "functions of a few bits, found from what is right for every scale byte and element code: elements of one "
            "to three fraction bits whose results are not rounded, in FP32 and BF16"
        ),
    )


class Nvfp4Form(Rule):
    """The method of the lanes of an NVFP4 encoder."""

    PRODUCT = "product", "a binary32 multiplier in every lane, then the rounding to the element"
    THRESHOLDS = (
        "thresholds",
        "comparisons with a row of thresholds, which is made once for a block of the factor and its reciprocal",
    )
    TABLE = (
        "table",
        "comparisons with a row of thresholds, which the scale chooses from a table that software writes for a tensor",
    )
    CACHE = (
        "cache",
        "comparisons with a row of thresholds, which is computed when its scale first comes, and kept in a memory",
    )


class HadamardForm(Rule):
    """The sums of a Hadamard transform."""

    PARALLEL = "parallel", "all bits of all sums at once; a block can enter in every cycle"
    LIMBS = (
        "limbs",
        "16 bits of all sums in a cycle, the lowest first, and then one result in a cycle; a block enters in 17 cycles",
    )


class Interface(Rule):
    """The handshake of hardware."""

    STREAM = "stream", "valid and ready; i_ready follows o_ready within the cycle"
    SKID = "skid", "valid and ready; results and i_ready depend on registers only"
    AXIS = "axis", "AXI4-Stream with packets: numbers and codes, and a stream of scales if they are apart"


CHOICES: dict[str, type[Rule]] = {"amax_key": AmaxKey, "amax": Amax, "quantizer": Quantizer, "structure": Structure}
"""Fields of `Microarchitecture` that are enumerations."""

DECODER_CHOICES: dict[str, type[Rule]] = {"lane": Lane, "structure": Structure}
"""Fields of `DecoderArchitecture` that are enumerations."""

NVFP4_CHOICES: dict[str, type[Rule]] = {"form": Nvfp4Form}
"""Fields of `Nvfp4Architecture` that are enumerations."""

HADAMARD_CHOICES: dict[str, type[Rule]] = {"form": HadamardForm}
"""Fields of `HadamardArchitecture` that are enumerations."""

TOGETHER = {Amax.COMPARE: 2, Amax.RADIX4: 4}
"""How many numbers a node of the tree compares. The other ways to find the largest compare digits."""

DIGIT_BITS = {Amax.MSB_FIRST: 2, Amax.BIT_BY_BIT: 1, Amax.CARRY_CHAIN: 2}
"""How many bits of the exponent such a step finds."""


class ArchitectureFields(TypedDict, total=False):
    """Fields of any `Architecture` by name."""

    registered_after: str | list[str] | tuple[str, ...]


class LayoutFields(ArchitectureFields, total=False):
    """Fields of an `Architecture` for blocks under scales."""

    layout: str


class StreamFields(ArchitectureFields, total=False):
    """Fields of `StreamArchitecture` by name."""

    interface: str


class BeatFields(LayoutFields, StreamFields, total=False):
    """Fields of `BeatArchitecture` by name."""

    lanes: int
    scale_place: str


class MicroarchitectureFields(BeatFields, total=False):
    """Fields of `Microarchitecture` by name."""

    amax: str
    amax_key: str
    quantizer: str
    structure: str


class DecoderArchitectureFields(BeatFields, total=False):
    """Fields of `DecoderArchitecture` by name."""

    lane: str
    structure: str


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """The structure of hardware. It never changes a bit, and the models never see it."""

    CHOICES: ClassVar[Mapping[str, type[Rule]]] = {}
    """Fields that are enumerations."""
    ALWAYS: ClassVar[tuple[str, ...]] = ()
    """Choices that `to_dict` contains even if they are the default."""

    registered_after: tuple[str, ...] = ()
    """Stage boundaries with registers (`HardwareConfig.stages`): names, or one text with commas. A `HardwareConfig`
    sorts them. Hardware without registers has no clock.
    """
    layout: str = ""
    """The layout of blocks at the ports, a dialect of `spec.LAYOUTS`. By default element 0 is in the low bits, and the
    scale has a port of its own."""

    def __post_init__(self) -> None:
        for name, choice in self.CHOICES.items():
            object.__setattr__(self, name, choice.named(name, getattr(self, name)))
        if self.layout != "":
            object.__setattr__(self, "layout", known_name("layout", self.layout, LAYOUTS))
        names: object = self.registered_after
        if isinstance(names, str):
            names = [name.strip() for name in names.split(",")] if names else []
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"registered_after must be names of stage boundaries, not {excerpt(names)}")
        object.__setattr__(self, "registered_after", tuple(names))

    @property
    def always_registered(self) -> frozenset[str]:
        """Stage boundaries that always have registers."""
        return frozenset()

    @classmethod
    def from_dict(cls, choices: Mapping[str, object]) -> Self:
        """The choices that `to_dict` wrote. Raises ValueError and TypeError for anything else."""
        known = [field.name for field in dataclasses.fields(cls)]
        if unknown := [name for name in choices if name not in known]:
            raise ValueError(unknown_name("field of microarchitecture", unknown[0], known))
        return constructed(cls, choices)

    def to_dict(self) -> dict[str, object]:
        """The choices by name, without defaults, which files of older versions do not mention."""
        first = {f.name: f.default for f in dataclasses.fields(self)}
        chosen: dict[str, object] = {
            name: str(getattr(self, name))
            for name in self.CHOICES
            if name in self.ALWAYS or getattr(self, name) != first[name]
        }
        registered = {"registered_after": list(self.registered_after)} if self.registered_after else {}
        return chosen | registered | ({"layout": self.layout} if self.layout else {}) | self._more()

    def _more(self) -> dict[str, object]:
        """The other choices by name, without defaults."""
        return {}


@dataclass(frozen=True, kw_only=True)
class StreamArchitecture(Architecture):
    """The micro-architecture of hardware that may have other handshakes than valid and ready."""

    interface: Interface = Interface.STREAM

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "interface", Interface.named("interface", self.interface))

    @property
    def always_registered(self) -> frozenset[str]:
        """Stage boundaries that always have registers: ``output`` if results leave registers."""
        return frozenset() if self.interface is Interface.STREAM else frozenset(("output",))

    @property
    def at_once(self) -> Self:
        """The choices for a whole block at once, without registers."""
        return dataclasses.replace(self, interface=Interface.STREAM, registered_after=())

    def _more(self) -> dict[str, object]:
        return {"interface": str(self.interface)} if self.interface is not Interface.STREAM else {}


@dataclass(frozen=True, kw_only=True)
class BeatArchitecture(StreamArchitecture):
    """The micro-architecture of hardware whose blocks may enter and leave in beats of ``lanes`` elements."""

    MEETING: ClassVar[str] = "scale"
    """The stage boundary that always has registers in beats: there values of a block meet its elements."""

    lanes: int = 0
    """Elements that enter and leave in a clock cycle; 0 for a whole block."""
    scale_place: ScalePlace = ScalePlace.APART
    """The place of the scale in a stream, next to the codes of its block."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale_place", ScalePlace.named("scale_place", self.scale_place))
        if type(self.lanes) is not int:
            raise TypeError(f"lanes must be a whole number, not {excerpt(self.lanes)}")
        if self.scale_place is not ScalePlace.APART:
            if self.interface is not Interface.AXIS:
                raise ValueError(f"the scale is {self.scale_place} the codes in a stream only: give interface=axis")
            if self.layout:
                raise ValueError(f"the layout {self.layout} says where the scale is: leave out scale_place")

    @property
    def in_beats(self) -> bool:
        """Do blocks enter in beats? A beat is a whole block without lanes, and with another interface than `STREAM`."""
        return self.lanes > 0 or self.interface is not Interface.STREAM

    @property
    def always_registered(self) -> frozenset[str]:
        """Stage boundaries that always have registers; in beats also `MEETING`."""
        return super().always_registered | ({self.MEETING} if self.in_beats else frozenset())

    @property
    def at_once(self) -> Self:
        whole, apart = Interface.STREAM, ScalePlace.APART
        return dataclasses.replace(self, lanes=0, interface=whole, layout="", registered_after=(), scale_place=apart)

    def _more(self) -> dict[str, object]:
        place = {"scale_place": str(self.scale_place)} if self.scale_place is not ScalePlace.APART else {}
        return ({"lanes": self.lanes} if self.lanes else {}) | super()._more() | place


@dataclass(frozen=True, kw_only=True)
class DecoderArchitecture(BeatArchitecture):
    """The micro-architecture of a decoder of a shared exponent."""

    CHOICES: ClassVar[Mapping[str, type[Rule]]] = DECODER_CHOICES

    lane: Lane = Lane.SHIFT
    structure: Structure = Structure.FLAT


@dataclass(frozen=True, kw_only=True)
class CastArchitecture(StreamArchitecture):
    """The micro-architecture of a cast, which has one form."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecoderArchitecture(BeatArchitecture):
    """The micro-architecture of an NVFP4 decoder, which has one form."""

    MEETING: ClassVar[str] = "products"


@dataclass(frozen=True, kw_only=True)
class HadamardArchitecture(StreamArchitecture):
    """The micro-architecture of a Hadamard transform."""

    CHOICES: ClassVar[Mapping[str, type[Rule]]] = HADAMARD_CHOICES

    form: HadamardForm = HadamardForm.PARALLEL

    @property
    def always_registered(self) -> frozenset[str]:
        in_limbs = ("input", "total", "held", "output") if self.form is HadamardForm.LIMBS else ()
        return super().always_registered | {*in_limbs}


@dataclass(frozen=True, kw_only=True)
class Nvfp4Architecture(BeatArchitecture):
    """The micro-architecture of an NVFP4 encoder."""

    CHOICES: ClassVar[Mapping[str, type[Rule]]] = NVFP4_CHOICES
    ALWAYS: ClassVar[tuple[str, ...]] = ("form",)
    MEETING: ClassVar[str] = "factor"

    form: Nvfp4Form = Nvfp4Form.THRESHOLDS


@dataclass(frozen=True, kw_only=True)
class Microarchitecture(BeatArchitecture):
    """The micro-architecture of an encoder."""

    CHOICES: ClassVar[Mapping[str, type[Rule]]] = CHOICES
    ALWAYS: ClassVar[tuple[str, ...]] = ("amax_key",)

    amax_key: AmaxKey = AmaxKey.REDUCED
    amax: Amax = Amax.COMPARE
    quantizer: Quantizer = Quantizer.SHIFT
    structure: Structure = Structure.FLAT

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.in_beats and self.amax_key is AmaxKey.MAGNITUDE:
            raise ValueError("beats bring the reduced key of a block: leave amax_key as reduced")
        if self.lanes == 1 and self.amax is not Amax.COMPARE:
            raise ValueError("one lane has no numbers to compare in a cycle: leave amax as compare")
        if self.amax is not Amax.COMPARE and self.amax_key is AmaxKey.MAGNITUDE:
            raise ValueError(
                f"amax {self.amax} works on the reduced key only: whole magnitudes are compared by the tree (compare)"
            )


def _tables(modes: tuple[Encode, ...]) -> bool:
    numerics = modes[0]
    element = numerics.block.element
    offset = exponent_offset(numerics)
    if len(modes) > 1 or numerics.random_bits:
        return False
    # under rnz every bit of a fraction decides whether it carries into the exponent
    if numerics.rounding is Rounding.RNZ and element.kind is Kind.FLOAT:
        return False
    if numerics.rounding is Rounding.GUARD_HALF_UP and numerics.specials is Specials.TE:  # two different largest codes
        return False
    # otherwise numbers would be binades above the top
    if element.kind is Kind.FIXED:
        return 6 <= element.bits <= 8 and offset <= element.emax
    within = element.bias + offset < 1 << element.exp_bits
    return 1 <= element.man_bits <= 3 and element.exp_bits >= 2 and element.emax >= 0 and within


def _gates(modes: tuple[Encode, ...]) -> bool:
    numerics = modes[0]
    return (
        _tables(modes)
        and (numerics.block.element.kind is Kind.FIXED or numerics.block.element.exp_bits <= 5)
        and numerics.rounding not in (Rounding.RNZ, Rounding.GUARD_HALF_UP)
        and numerics.element_subnormals is Subnormals.EXACT
        and numerics.specials in (Specials.NAN_BLOCK, Specials.TE)
    )


def _decodes_by_tables(modes: tuple[Decode, ...]) -> bool:
    rules = modes[0]
    element, to = rules.block.element, rules.destination
    if element.kind is not Kind.FLOAT or rules.random_bits:
        return False
    if not (element.subnormals and 1 <= element.man_bits <= 3 and 2 <= element.exp_bits <= 5):
        return False
    if (
        to.exp_bits != FP32.exp_bits or rules.scale_reading is ScaleReading.FIELD
    ):  # blocks could be small and large at once
        return False
    lowest = EXPONENTS[rules.scale_reading][0] + element.lowest_exponent
    has_nan = element.max_code < element.magnitude_mask
    return rules.subnormals is Subnormals.FLUSH or (
        lowest >= to.lowest_exponent
        and rules.overflow is DecodedOverflow.INF
        and (rules.nan is DecodedNan.CANONICAL or (rules.nan is DecodedNan.PAYLOAD and not has_nan))
    )


SUPPORTS: dict[Rule, tuple[Callable[..., bool], str]] = {
    Lane.TABLES: (
        _decodes_by_tables,
        "tables decode elements of one to three fraction bits and two to five exponent bits to FP32 and BF16, without "
        "random bits and not under scale_reading field; they need subnormals flush, or overflow inf, nan canonical and "
        "a format in which no result is rounded",
    ),
    Quantizer.TABLE: (
        _tables,
        "the table quantizer makes one format, with one to three fraction bits or fixed-point of six to eight bits, "
        "without random bits and run-time modes; floating-point formats not under the rounding rnz",
    ),
    Quantizer.GATES: (
        _gates,
        "the gates quantizer makes what the table quantizer makes, with at most five exponent bits, under the specials "
        "nan_block and te and with exact element_subnormals, but not under the roundings rnz and guard_half_up",
    ),
}
"""The rules that an implementation supports: a function of all modes, and the same in words. Implementations without an
entry support all rules, and replace one that does not support the rules."""


def supports(choice: Rule, modes: tuple[Encode, ...] | tuple[Decode, ...]) -> bool:
    """Does this implementation support these modes?"""
    return choice not in SUPPORTS or SUPPORTS[choice][0](modes)
