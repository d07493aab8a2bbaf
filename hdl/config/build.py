"""A converter to build: the bits it must produce, and how the hardware is to produce them."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar, Unpack

from ...spec import (
    BF16,
    E4M3,
    FP32,
    BlockFormat,
    BlockOperation,
    Cast,
    CastFields,
    Decode,
    DecodeFields,
    Encode,
    EncodeFields,
    FloatFormat,
    FourOverSix,
    Hadamard,
    Layout,
    NumberFormat,
    Nvfp4Decode,
    Nvfp4DecodeFields,
    Nvfp4Encode,
    Nvfp4Fields,
    Operation,
    Order,
    Port,
    Role,
    Rounding,
    casting,
    decoding,
    is_nvfp4,
    layout_named,
    numerics,
    nvfp4_decoding,
    nvfp4_encoding,
    profile_of,
    short_id,
    stored_ports,
)
from ...spec.catalogue import entry, known_name, unknown_name
from ...spec.operations.operation import operation_of
from ...spec.profiles.resolve import profile_named
from ..nvfp4.threshold_row import row_ports
from .architecture import (
    SUPPORTS,
    Architecture,
    CastArchitecture,
    DecoderArchitecture,
    DecoderArchitectureFields,
    HadamardArchitecture,
    Microarchitecture,
    MicroarchitectureFields,
    Nvfp4Architecture,
    Nvfp4DecoderArchitecture,
    Nvfp4Form,
    supports,
)
from .boundaries import in_order
from .goals import BEST, GENERIC, Goal, optimized, optimized_decoder

Format: TypeAlias = "str | BlockFormat | NumberFormat | Encode | ConverterConfig"
"""What names a converter's output, or says all of a converter."""

AnyFormat: TypeAlias = (
    "Format | Decode | DecoderConfig | Cast | CastConfig | Nvfp4Encode | Nvfp4Config | Nvfp4Decode | "
    "Nvfp4DecoderConfig | Hadamard | HadamardConfig"
)
"""What names a format of any operation, or says all of one."""


Op = TypeVar("Op", bound=Operation)
"""The operation of a configuration."""


class BuildFields(EncodeFields, MicroarchitectureFields, total=False):
    """Fields of `spec.Encode`, and of the hardware's `Microarchitecture`, which changes no bit.

    ``optimize`` is a `Goal`; ``scale_rule`` may name several with commas between them.
    """

    optimize: str


class ConverterFields(BuildFields, total=False):
    """Those of `BuildFields`, and ``target``, one of `BEST`."""

    target: str


class DecoderFields(DecodeFields, DecoderArchitectureFields, total=False):
    """Those of `spec.Decode`, and of the hardware, which change no bit."""

    optimize: str
    target: str


class CastHardwareFields(CastFields, total=False):
    """Those of `spec.Cast`, and of the hardware, which change no bit."""

    registered_after: str | list[str] | tuple[str, ...]
    optimize: str
    target: str


class Nvfp4HardwareFields(Nvfp4Fields, total=False):
    """Those of `spec.Nvfp4Encode`, and of the hardware, which change no bit."""

    form: str
    registered_after: str | list[str] | tuple[str, ...]
    layout: str
    optimize: str
    target: str


class Nvfp4DecoderFields(Nvfp4DecodeFields, total=False):
    """Those of `spec.Nvfp4Decode`, and of the hardware, which change no bit."""

    registered_after: str | list[str] | tuple[str, ...]
    layout: str
    optimize: str
    target: str


class HadamardFields(TypedDict, total=False):
    """Those of `spec.Hadamard`, and of the hardware, which change no bit."""

    signs: int
    registered_after: str | list[str] | tuple[str, ...]
    optimize: str
    target: str


class AnyBuildFields(BuildFields, DecodeFields, DecoderArchitectureFields, CastFields, total=False):
    """Fields of any operation, and of its hardware but ``target``."""


class ConstraintFields(TypedDict, total=False):
    """What is asked of registers in place of ``registered_after`` (`synth.constrained`)."""

    latency: int
    """Clock cycles."""
    frequency_mhz: float
    delays_of: str
    """The target whose delays count; ``ecp5`` unless given."""


CONSTRAINTS = tuple(ConstraintFields.__annotations__)


class AnyFields(AnyBuildFields, total=False):
    """Those of `AnyBuildFields`, and ``target``, one of `BEST`."""

    target: str


@dataclass(frozen=True, kw_only=True)
class HardwareConfig(ABC, Generic[Op]):
    """What hdl, sim, synth and cli pass around: an operation, or one for each mode, and how hardware computes it."""

    numerics: Op
    alternatives: tuple[Op, ...] = ()
    microarchitecture: Architecture
    profile: str | None = field(default=None, compare=False)
    """The profile whose rules these are, for names and reports; not part of the identity."""

    def __post_init__(self) -> None:
        if len(set(self.modes)) < len(self.modes):
            raise ValueError("the modes of a converter must differ from each other")
        for mode in self.modes:
            if isinstance(mode, BlockOperation) and len(mode.block.shape) > 1:
                raise ValueError(f"hardware converts blocks along one axis, not {mode.block.name}")
        if self.microarchitecture.layout:
            self._check_layout()
        ordered = in_order(self, self.microarchitecture.registered_after)
        object.__setattr__(
            self, "microarchitecture", dataclasses.replace(self.microarchitecture, registered_after=ordered)
        )

    def _check_layout(self) -> None:
        """Raise ValueError for a layout that this hardware cannot have."""
        dialect = self.microarchitecture.layout
        found = [layout_named(dialect, mode.block) for mode in self.modes if isinstance(mode, BlockOperation)]
        if not found:
            raise ValueError(f"{self.formats} has no blocks under scales: leave out layout")
        if len({(layout.packing, layout.place) for layout in found}) > 1:
            raise ValueError(f"the layout {dialect} packs the formats of these modes in different ways")
        stored_ports(found[0], self.operation_ports)

    @property
    def modes(self) -> tuple[Op, ...]:
        """The operation of each mode, by mode number; one where there is no mode input."""
        return (self.numerics, *self.alternatives)

    @property
    def mode_bits(self) -> int:
        """Width of the mode input; 0 where there is none."""
        return len(self.alternatives).bit_length()

    @property
    def ports(self) -> tuple[Port, ...]:
        """What enters and leaves the top module: the ports of the operation, the mode input where there are several,
        and clock, reset and handshake where there are registers. They are its ports (`pins`) unless blocks have a
        layout.

        >>> [port.name for port in converter_config("e2m1,int4", registered_after="scale").ports]
        ['clk', 'rst', 'x', 'mode', 'i_valid', 'i_ready', 'scale', 'p', 'o_valid', 'o_ready']
        """
        return self._with_control(self.operation_ports)

    @property
    def pins(self) -> tuple[Port, ...]:
        """The ports of the top module in the order of its Verilog.

        >>> [f"{port.name}[{port.width}]" for port in converter_config("e2m1", layout="ggml").pins]
        ['x[1024]', 'block[136]']
        """
        ports = self.operation_ports
        return self._with_control(ports if self.layout is None else stored_ports(self.layout, ports))

    @property
    def layout(self) -> Layout | None:
        """As which blocks stand in the pins; None where they stand as in `ports`."""
        rules, dialect = self.numerics, self.microarchitecture.layout
        return layout_named(dialect, rules.block) if dialect and isinstance(rules, BlockOperation) else None

    @property
    def stored_pin(self) -> Port | None:
        """The pin with the bytes of a layout."""
        return next((pin for pin in self.pins if pin.role in (Role.STORED_CODES, Role.STORED_BLOCK)), None)

    def _with_control(self, ports: tuple[Port, ...]) -> tuple[Port, ...]:
        """Ports of an operation with those that hardware has besides."""

        def control(*ports: tuple[str, Role, str]) -> list[Port]:
            return [Port(name=name, role=role, direction=to) for name, role, to in ports if self.latency]

        entering = [port for port in ports if port.direction == "input"]
        mode = Port(name="mode", role=Role.MODE, direction="input", bits=self.mode_bits)
        return (
            *control(("clk", Role.CLOCK, "input"), ("rst", Role.RESET, "input")),
            *(port for port in entering if port.role is not Role.RANDOM),
            *([mode] if self.alternatives else []),
            *(port for port in entering if port.role is Role.RANDOM),
            *control(("i_valid", Role.VALID, "input"), ("i_ready", Role.READY, "output")),
            *(port for port in ports if port.direction == "output"),
            *control(("o_valid", Role.VALID, "output"), ("o_ready", Role.READY, "input")),
        )

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """The ports of the operation as this hardware has them."""
        return self.numerics.ports

    @property
    def formats(self) -> str:
        """What all modes convert: of block operations the block formats, as `converter_config` takes them."""
        return ",".join(dict.fromkeys(mode.subject for mode in self.modes))

    @property
    @abstractmethod
    def is_usual(self) -> bool:
        """Do format and profile alone mean it?"""

    @property
    def latency(self) -> int:
        """Clock cycles from a block to its result; 0 where there is no clock."""
        return len(self.microarchitecture.registered_after)

    def to_dict(self) -> dict[str, object]:
        alternatives = {"alternatives": [mode.to_dict() for mode in self.alternatives]} if self.alternatives else {}
        return {
            "numerics": self.numerics.to_dict(),
            **alternatives,
            "microarchitecture": self.microarchitecture.to_dict(),
        }

    def identity(self) -> dict[str, object]:
        """What `to_dict` says, in short (`Operation.identity`)."""
        alternatives = {"alternatives": [mode.identity() for mode in self.alternatives]} if self.alternatives else {}
        return {
            "numerics": self.numerics.identity(),
            **alternatives,
            "microarchitecture": self.microarchitecture.to_dict(),
        }

    @property
    def config_id(self) -> str:
        """`short_id` of `identity`."""
        return short_id(self.identity())


@dataclass(frozen=True, kw_only=True)
class ConverterConfig(HardwareConfig[Encode]):
    """An encoder.

    A converter with ``alternatives`` has a mode input: mode 0 is ``numerics``, mode i the i-th alternative. Modes may
    differ in the scale rule and in the element format, whose width they share.
    """

    microarchitecture: Microarchitecture = field(default_factory=Microarchitecture)

    def __post_init__(self) -> None:
        first = self.numerics
        for mode in self.alternatives:
            if mode.block.element.bits != first.block.element.bits:
                raise ValueError(
                    f"the element formats of one converter must have the same width, not {first.block.element.bits} "
                    f"bits ({first.block.element.name}) and {mode.block.element.bits} ({mode.block.element.name})"
                )
            shared = [f.name for f in dataclasses.fields(Encode) if f.name not in ("block", "scale_rule")]
            if any(getattr(mode, name) != getattr(first, name) for name in [*shared, "block_size"]):
                raise ValueError("the modes of one converter may differ in scale_rule and element format only")
        chosen = self.microarchitecture.quantizer
        if not supports(chosen, self.modes):
            raise ValueError(f"{SUPPORTS[chosen][1]}: leave quantizer as shift")
        super().__post_init__()

    @property
    def is_usual(self) -> bool:
        return self == converter_config(self.numerics.block.element, self.profile)

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> ConverterConfig:
        """The configuration that `to_dict` wrote. Raises ValueError and TypeError for what it cannot have written."""
        return cls(
            numerics=_numerics_of(entry(parts, "numerics", dict)),
            alternatives=tuple(map(_numerics_of, entry({"alternatives": [], **parts}, "alternatives", list))),
            microarchitecture=Microarchitecture.from_dict(entry(parts, "microarchitecture", dict)),
        )


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(HardwareConfig[Decode]):
    """A decoder.

    >>> [port.name for port in decoder_config("e2m1", registered_after="scale").ports]
    ['clk', 'rst', 'p', 'scale', 'i_valid', 'i_ready', 'y', 'o_valid', 'o_ready']
    """

    microarchitecture: DecoderArchitecture = field(default_factory=DecoderArchitecture)

    def __post_init__(self) -> None:
        if self.alternatives:
            raise ValueError("a decoder has one mode")
        chosen = self.microarchitecture.lane
        if not supports(chosen, (self.numerics,)):
            raise ValueError(f"{SUPPORTS[chosen][1]}: leave lane as shift")
        super().__post_init__()

    @property
    def is_usual(self) -> bool:
        return self == decoder_config(self.numerics.block.element, self.profile)

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> DecoderConfig:
        """The configuration that `to_dict` wrote."""
        return cls(
            numerics=Decode.from_dict(entry(parts, "numerics", dict)),
            microarchitecture=DecoderArchitecture.from_dict(entry(parts, "microarchitecture", dict)),
        )


@dataclass(frozen=True, kw_only=True)
class CastConfig(HardwareConfig[Cast]):
    """A cast, of one number or several side by side.

    >>> [port.name for port in cast_config("e4m3", registered_after="exponent").ports]
    ['clk', 'rst', 'x', 'i_valid', 'i_ready', 'p', 'o_valid', 'o_ready']
    """

    microarchitecture: CastArchitecture = field(default_factory=CastArchitecture)

    def __post_init__(self) -> None:
        if self.alternatives:
            raise ValueError("a cast has one mode")
        super().__post_init__()

    @property
    def is_usual(self) -> bool:
        return self.profile is not None and not self.latency

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> CastConfig:
        """The configuration that `to_dict` wrote."""
        return cls(
            numerics=Cast.from_dict(entry(parts, "numerics", dict)),
            microarchitecture=CastArchitecture.from_dict(entry(parts, "microarchitecture", dict)),
        )


NVFP4_ORDERS = (Order.TE, Order.PAPER, Order.AO, Order.AO_SINGLE)
"""Orders that hardware computes."""
NVFP4_SOURCES = (FP32, BF16)
"""Sources that it takes."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4Config(HardwareConfig[Nvfp4Encode]):
    """An encoder under two levels of scales.

    >>> [port.name for port in nvfp4_config("nvfp4", registered_after="scale").ports]
    ['clk', 'rst', 'x', 'k', 'd', 'i_valid', 'i_ready', 'scale', 'p', 'o_valid', 'o_ready']
    """

    microarchitecture: Nvfp4Architecture = field(default_factory=Nvfp4Architecture)

    def __post_init__(self) -> None:
        rules = self.numerics
        refused = {
            "an encoder under two levels of scales has one mode": bool(self.alternatives),
            f"hardware computes the orders {', '.join(NVFP4_ORDERS)}, not {rules.order}": (
                rules.order not in NVFP4_ORDERS
            ),
            f"hardware for {rules.block.name} takes {' and '.join(one.name for one in NVFP4_SOURCES)} numbers, not "
            f"{rules.source.name}": rules.source not in NVFP4_SOURCES,
            f"hardware makes scales {E4M3.name}, not {rules.block.scale.name}": rules.block.scale != E4M3,
            f"hardware converts blocks along one axis, not {rules.block.name}": len(rules.block.shape) > 1,
        }
        micro = self.microarchitecture
        refused[f"the form {micro.form} rounds elements by rne, not by {rules.rounding}: leave form as product"] = (
            rules.rounding is not Rounding.RNE and micro.form is not Nvfp4Form.PRODUCT
        )
        refused["the form table has one row of thresholds, and four_over_six tries two scales: leave out form"] = (
            micro.form is Nvfp4Form.TABLE and rules.four_over_six is not FourOverSix.OFF
        )
        refused["the form table has no registers: leave out registered_after"] = micro.form is Nvfp4Form.TABLE and bool(
            micro.registered_after
        )
        for sentence, is_refused in refused.items():
            if is_refused:
                raise ValueError(sentence)
        super().__post_init__()

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """Those of the operation; in the form `Nvfp4Form.TABLE` in place of the constant d a row of thresholds,
        which is that of the scale byte on the output ``scale`` in the same cycle.
        """
        own = self.numerics.ports
        if self.microarchitecture.form is not Nvfp4Form.TABLE:
            return own
        kept = [port for port in own if port.role is not Role.ELEMENT_CONSTANT]
        entering = sum(port.direction == "input" for port in kept)
        return (*kept[:entering], *row_ports(self.numerics.source), *kept[entering:])

    @property
    def is_usual(self) -> bool:
        return self.profile is not None and self == nvfp4_config(self.numerics.block, self.profile)

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Nvfp4Config:
        """The configuration that `to_dict` wrote."""
        return cls(
            numerics=Nvfp4Encode.from_dict(entry(parts, "numerics", dict)),
            microarchitecture=Nvfp4Architecture.from_dict(entry(parts, "microarchitecture", dict)),
        )


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecoderConfig(HardwareConfig[Nvfp4Decode]):
    """A decoder under two levels of scales.

    >>> [port.name for port in nvfp4_decoder_config("nvfp4", registered_after="products").ports]
    ['clk', 'rst', 'p', 'scale', 'g', 'i_valid', 'i_ready', 'y', 'o_valid', 'o_ready']
    """

    microarchitecture: Nvfp4DecoderArchitecture = field(default_factory=Nvfp4DecoderArchitecture)

    def __post_init__(self) -> None:
        rules = self.numerics
        refused = {
            "a decoder under two levels of scales has one mode": bool(self.alternatives),
            f"hardware decodes {rules.block.name} to {' and '.join(one.name for one in NVFP4_SOURCES)} numbers, "
            f"not {rules.destination.name}": rules.destination not in NVFP4_SOURCES,
            f"hardware reads scales {E4M3.name}, not {rules.block.scale.name}": rules.block.scale != E4M3,
            f"hardware converts blocks along one axis, not {rules.block.name}": len(rules.block.shape) > 1,
        }
        for sentence, is_refused in refused.items():
            if is_refused:
                raise ValueError(sentence)
        super().__post_init__()

    @property
    def is_usual(self) -> bool:
        return self.profile is not None and self == nvfp4_decoder_config(self.numerics.block, self.profile)

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Nvfp4DecoderConfig:
        """The configuration that `to_dict` wrote."""
        return cls(
            numerics=Nvfp4Decode.from_dict(entry(parts, "numerics", dict)),
            microarchitecture=Nvfp4DecoderArchitecture.from_dict(entry(parts, "microarchitecture", dict)),
        )


@dataclass(frozen=True, kw_only=True)
class HadamardConfig(HardwareConfig[Hadamard]):
    """A Hadamard transform.

    >>> [port.name for port in hadamard_config("hadamard16", registered_after="level2").ports]
    ['clk', 'rst', 'x', 'i_valid', 'i_ready', 'y', 'o_valid', 'o_ready']
    """

    microarchitecture: HadamardArchitecture = field(default_factory=HadamardArchitecture)

    def __post_init__(self) -> None:
        if self.alternatives:
            raise ValueError("a Hadamard transform has one mode")
        if self.numerics.size != 16:
            raise ValueError(f"hardware transforms 16 numbers, not {self.numerics.size}: models.rotate does")
        super().__post_init__()

    @property
    def is_usual(self) -> bool:
        return self.profile is not None and not self.latency

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> HadamardConfig:
        """The configuration that `to_dict` wrote."""
        return cls(
            numerics=Hadamard.from_dict(entry(parts, "numerics", dict)),
            microarchitecture=HadamardArchitecture.from_dict(entry(parts, "microarchitecture", dict)),
        )


AnyConfig: TypeAlias = ConverterConfig | DecoderConfig | CastConfig | Nvfp4Config | Nvfp4DecoderConfig | HadamardConfig
"""That of any operation."""


def config_of(parts: Mapping[str, Any]) -> HardwareConfig:
    """The configuration that `HardwareConfig.to_dict` wrote. Raises ValueError and TypeError for what it cannot have
    written.
    """
    kinds: dict[str, type[AnyConfig]] = {
        "encode": ConverterConfig,
        "decode": DecoderConfig,
        "cast": CastConfig,
        "two_level_encode": Nvfp4Config,
        "two_level_decode": Nvfp4DecoderConfig,
        "hadamard": HadamardConfig,
    }
    operation = operation_of(entry(parts, "numerics", dict))
    return kinds[operation.name].from_dict(parts)


def _numerics_of(fields: Mapping[str, object]) -> Encode:
    operation = operation_of(fields)
    if not isinstance(operation, Encode):
        raise ValueError(f"the operation of a converter must be {Encode.name}, not {operation.name}")
    return operation


def converter_config(block: Format, profile: str | None = None, **fields: Unpack[ConverterFields]) -> ConverterConfig:
    """A configuration from a format, a profile and any fields of `Encode` or `Microarchitecture`.

    Format and ``scale_rule`` may name several, with commas between them (lists are read too): then the converter has a
    mode for each format under each rule, the rules of the first format first.

    Parameters
    ----------
    block : a format by name or as an object, an `Encode`, or a `ConverterConfig`, which is returned as it is
    profile : the name of the profile that gives the rules; ``ocp`` unless given
    fields : those that differ from the profile; ``optimize`` is a `Goal` and ``target`` what the converter is built
        for (`BEST`), which together set the fields of `Microarchitecture` that are not given

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile beside an `Encode`, and anything beside a `ConverterConfig`
    ValueError
        for an unknown name, and for what no converter can be

    >>> converter_config("e4m3", "ocp", amax_key="magnitude").microarchitecture.amax_key.value
    'magnitude'
    >>> converter_config("e4m3", registered_after="scale, level2").microarchitecture.registered_after
    ('level2', 'scale')
    >>> [(m.block.short_name, str(m.scale_rule)) for m in converter_config("e4m3,e5m2", scale_rule="floor,ceil").modes]
    [('e4m3', 'floor'), ('e4m3', 'ceil'), ('e5m2', 'floor'), ('e5m2', 'ceil')]
    """
    if isinstance(block, ConverterConfig):
        if fields or profile is not None:
            raise TypeError("a ConverterConfig is complete: profile and fields cannot be given beside it")
        return block
    given: dict[str, Any] = {**fields}
    goal, target = given.pop("optimize", Goal.AREA), given.pop("target", GENERIC)
    micro_fields = {f.name for f in dataclasses.fields(Microarchitecture)}
    micro = {name: given.pop(name) for name in list(given) if name in micro_fields}
    known = [f.name for f in dataclasses.fields(Encode)] + ["block_size"]
    for name in given:
        if name not in known:
            raise ValueError(unknown_name("field", name, [*known, *sorted(micro_fields), "optimize", "target"]))
    scale_rules = _several(given.pop("scale_rule")) if "scale_rule" in given else [None]
    modes = []
    for one in _several(block):
        for rule in scale_rules:
            modes.append(numerics(one, profile, **(given if rule is None else given | {"scale_rule": rule})))
    profiles = {profile_of(mode, profile) for mode in modes}
    chosen = optimized(goal, tuple(modes), target, **micro)
    return ConverterConfig(
        numerics=modes[0],
        alternatives=tuple(modes[1:]),
        microarchitecture=chosen,
        profile=profiles.pop() if len(profiles) == 1 else None,
    )


def decoder_config(
    block: str | BlockFormat | NumberFormat | Decode | DecoderConfig,
    profile: str | None = None,
    **fields: Unpack[DecoderFields],
) -> DecoderConfig:
    """A configuration of a decoder from a format, a profile and any fields of `Decode`.

    Parameters
    ----------
    block : a format by name or as an object, a `Decode`, or a `DecoderConfig`, which is returned as it is
    profile : the name of the decoder's profile that gives the rules; ``ocp`` unless given
    fields : those that differ from the profile, and those of `DecoderArchitecture`; ``optimize`` is a `Goal` and
        ``target`` what the decoder is built for (`BEST_DECODERS`), which together set those that are not given

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile beside a `Decode`, and anything beside a `DecoderConfig`
    ValueError
        for an unknown name, and for what no decoder can be

    >>> decoder_config("e5m2", "idma", registered_after="scale").latency
    1
    """
    if isinstance(block, DecoderConfig):
        if fields or profile is not None:
            raise TypeError("a DecoderConfig is complete: profile and fields cannot be given beside it")
        return block
    known = [*(f.name for f in dataclasses.fields(Decode)), "block_size"]
    given, micro, goal, target = _taken_apart(fields, known, DecoderArchitecture)
    operation = decoding(block, profile, **given)
    chosen = optimized_decoder(goal, operation, target, **micro)
    return DecoderConfig(numerics=operation, microarchitecture=chosen, profile=profile_of(operation, profile))


def cast_config(
    format: str | FloatFormat | Cast | CastConfig, profile: str | None = None, **fields: Unpack[CastHardwareFields]
) -> CastConfig:
    """A configuration of a cast from a format, a profile and any fields of `Cast`.

    Parameters
    ----------
    format : a scalar format by name, an instruction of PTX, a `Cast`, or a `CastConfig`, which is returned as it is
    profile : the name of the profile of casting that gives the rules; ``ocp`` unless given
    fields : those that differ from the profile, with ``destination`` those of the way back, and ``registered_after``;
        ``target`` and ``optimize`` are taken, and the hardware is the same for all of them

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile beside a `Cast`, and anything beside a `CastConfig`
    ValueError
        for an unknown name, and for what no cast can be

    >>> cast_config("cvt.rp.satfinite.ue8m0x2.f32").profile
    'ptx'
    """
    if isinstance(format, CastConfig):
        if fields or profile is not None:
            raise TypeError("a CastConfig is complete: profile and fields cannot be given beside it")
        return format
    given, micro, *_ = _taken_apart(fields, [f.name for f in dataclasses.fields(Cast)], CastArchitecture)
    operation = casting(format, profile, **given)
    return CastConfig(
        numerics=operation, microarchitecture=CastArchitecture(**micro), profile=profile_of(operation, profile)
    )


def nvfp4_config(
    block: str | BlockFormat | NumberFormat | Nvfp4Encode | Nvfp4Config,
    profile: str | None = None,
    **fields: Unpack[Nvfp4HardwareFields],
) -> Nvfp4Config:
    """A configuration of an encoder under two levels of scales, from a format, a profile and any fields of
    `Nvfp4Encode`.

    Parameters
    ----------
    block : ``nvfp4`` or ``nvfp4_32``, a `Nvfp4Encode`, or a `Nvfp4Config`, which is returned as it is
    profile : the name of the profile that gives the rules; ``nvfp4_te`` unless given
    fields : those that differ from the profile, and those of `Nvfp4Architecture`; the form is ``thresholds``,
        or ``product`` under stochastic rounding, unless given; ``target`` and ``optimize`` are taken, and the hardware
        is the same for all of them

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile beside a `Nvfp4Encode`, and anything beside a `Nvfp4Config`
    ValueError
        for an unknown name, and for what no encoder can be

    >>> nvfp4_config("nvfp4", "nvfp4_ao", source="bf16").numerics.order.value
    'ao'
    """
    if isinstance(block, Nvfp4Config):
        if fields or profile is not None:
            raise TypeError("a Nvfp4Config is complete: profile and fields cannot be given beside it")
        return block
    known = [*(f.name for f in dataclasses.fields(Nvfp4Encode)), "block_size"]
    given, micro, *_ = _taken_apart(fields, known, Nvfp4Architecture)
    operation = nvfp4_encoding(block, profile, **given)
    if operation.rounding is not Rounding.RNE:
        micro.setdefault("form", Nvfp4Form.PRODUCT)
    return Nvfp4Config(
        numerics=operation, microarchitecture=Nvfp4Architecture(**micro), profile=profile_of(operation, profile)
    )


def nvfp4_decoder_config(
    block: str | BlockFormat | NumberFormat | Nvfp4Decode | Nvfp4DecoderConfig,
    profile: str | None = None,
    **fields: Unpack[Nvfp4DecoderFields],
) -> Nvfp4DecoderConfig:
    """A configuration of a decoder under two levels of scales, from a format, a profile and any fields of
    `Nvfp4Decode`.

    Parameters
    ----------
    block : ``nvfp4`` or ``nvfp4_32``, a `Nvfp4Decode`, or a `Nvfp4DecoderConfig`, which is returned as it is
    profile : the name of the profile that gives the rules; ``nvfp4_te`` unless given
    fields : those that differ from the profile, and ``registered_after``; ``target`` and ``optimize`` are taken, and
        the hardware is the same for all of them

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile beside a `Nvfp4Decode`, and anything beside a
        `Nvfp4DecoderConfig`
    ValueError
        for an unknown name, and for what no decoder can be

    >>> nvfp4_decoder_config("nvfp4", "nvfp4_ao", destination="bf16").numerics.convention.value
    'multiplier'
    """
    if isinstance(block, Nvfp4DecoderConfig):
        if fields or profile is not None:
            raise TypeError("a Nvfp4DecoderConfig is complete: profile and fields cannot be given beside it")
        return block
    known = [*(f.name for f in dataclasses.fields(Nvfp4Decode)), "block_size"]
    given, micro, *_ = _taken_apart(fields, known, Nvfp4DecoderArchitecture)
    operation = nvfp4_decoding(block, profile, **given)
    return Nvfp4DecoderConfig(
        numerics=operation, microarchitecture=Nvfp4DecoderArchitecture(**micro), profile=profile_of(operation, profile)
    )


def hadamard_config(
    format: str | Hadamard | HadamardConfig, profile: str | None = None, **fields: Unpack[HadamardFields]
) -> HadamardConfig:
    """A configuration of a Hadamard transform.

    Parameters
    ----------
    format : ``hadamard16``, a `Hadamard`, or a `HadamardConfig`, which is returned as it is
    profile : ``te``, whose signs are those of Transformer Engine
    fields : ``signs``, in place of those, and ``registered_after``; ``target`` and ``optimize`` are taken, and the
        hardware is the same for all of them

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile or signs beside a `Hadamard`, and anything beside a `HadamardConfig`
    ValueError
        for an unknown name, and for signs of more than 16 bits

    >>> hadamard_config("hadamard16", signs=0).numerics
    Hadamard(size=16, signs=0, random_bits=0)
    """
    if isinstance(format, HadamardConfig):
        if fields or profile is not None:
            raise TypeError("a HadamardConfig is complete: profile and fields cannot be given beside it")
        return format
    given, micro, *_ = _taken_apart(fields, ["signs"], HadamardArchitecture)
    if isinstance(format, Hadamard):
        if given or profile is not None:
            raise TypeError("an operation says all its rules: a profile or signs cannot be given beside it")
        operation = format
    else:
        known_name("format", format, [Hadamard().subject])
        profile_named(Hadamard.name, "te" if profile is None else profile)
        operation = Hadamard(**given)
    return HadamardConfig(
        numerics=operation, microarchitecture=HadamardArchitecture(**micro), profile=profile_of(operation)
    )


def _taken_apart(
    fields: Mapping[str, Any], known: list[str], architecture: type[Architecture]
) -> tuple[dict[str, Any], dict[str, Any], Goal, str]:
    """The fields of an operation, those of its hardware, the goal and the target."""
    given = {**fields}
    goal = Goal.named("optimize", given.pop("optimize", Goal.AREA))
    target = known_name("target", given.pop("target", GENERIC), BEST)
    of_hardware = {f.name for f in dataclasses.fields(architecture)}
    micro = {name: given.pop(name) for name in list(given) if name in of_hardware}
    for name in given:
        if name not in known:
            raise ValueError(unknown_name("field", name, [*known, *sorted(of_hardware), "optimize", "target"]))
    return given, micro, goal, target


CONFIGURATIONS: dict[str, Callable[..., AnyConfig]] = {
    Encode.name: converter_config,
    Decode.name: decoder_config,
    Cast.name: cast_config,
    Nvfp4Encode.name: nvfp4_config,
    Nvfp4Decode.name: nvfp4_decoder_config,
    Hadamard.name: hadamard_config,
}
"""By the name of the operation, what makes a configuration of a format, a profile and fields."""

NVFP4_OPERATIONS = {Encode.name: Nvfp4Encode.name, Decode.name: Nvfp4Decode.name}
"""By the name of an operation, the one that stands for it where the format has two levels of scales."""


def configuration(op: str, format: AnyFormat, profile: str | None = None, **fields: Unpack[AnyFields]) -> AnyConfig:
    """A configuration of an operation by name, from what its own function takes (`CONFIGURATIONS`). The format says
    whether there are two levels of scales.

    Raises ValueError for an unknown operation and for a configuration of another one, and what that function raises.

    >>> configuration("cast", "ue8m0", "ptx").numerics.subject
    'fp32_to_e8m0'
    """
    if op not in CONFIGURATIONS:
        op = known_name("operation", op, [name for name in CONFIGURATIONS if name not in NVFP4_OPERATIONS.values()])
    if is_nvfp4(format.numerics if isinstance(format, HardwareConfig) else format):
        op = NVFP4_OPERATIONS.get(op, op)
    if isinstance(format, HardwareConfig) and format.numerics.name != op:
        raise ValueError(f"a {type(format).__name__} is of the operation {format.numerics.name}, not {op}")
    return CONFIGURATIONS[op](format, profile, **fields)


def _several(names: object) -> list[Any]:
    """The items of a list or of a text with commas; anything else is one item."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return list(names) if isinstance(names, list | tuple) and names else [names]
