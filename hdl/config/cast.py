"""The configuration of a cast."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Unpack

from ...spec import Cast, CastFields, FloatFormat, Port, casting
from .architecture import CastArchitecture, Interface, StreamFields
from .axis import cast_pins, cast_words
from .beats import StreamConfig
from .hardware import TargetFields


class CastHardwareFields(CastFields, StreamFields, TargetFields, total=False):
    """Fields of `spec.Cast` and of the hardware. Fields of the hardware change no bit.

    >>> from mxcast import CastingRules
    >>> rules: CastingRules = {"rounding": "rtz", "lanes": 4}      # checked by mypy and editors
    >>> cast_config("e4m3", **rules).numerics.rounding.value
    'rtz'
    """


@dataclass(frozen=True, kw_only=True)
class CastConfig(StreamConfig[Cast]):
    """A cast of one number, or of several in parallel.

    >>> [port.name for port in cast_config("e4m3", registered_after="exponent").ports]
    ['clk', 'rst', 'x', 'i_valid', 'i_ready', 'p', 'o_valid', 'o_ready']
    """

    OPERATION: ClassVar[type[Cast]] = Cast
    ARCHITECTURE: ClassVar[type[CastArchitecture]] = CastArchitecture
    RESOLVED = staticmethod(casting)
    KIND: ClassVar[str] = "a cast"
    AROUND: ClassVar[tuple[Interface, ...]] = (Interface.SKID,)

    microarchitecture: CastArchitecture = field(default_factory=CastArchitecture)

    @property
    def axis_pins(self) -> tuple[Port, ...]:
        return cast_pins(self.numerics)

    @property
    def number_stages(self) -> tuple[str, ...]:
        """Stage boundaries in the cast of a number."""
        return ("exponent", *(["shifted"] if self.numerics.destination.subnormals else []), "rounded")

    @property
    def stages(self) -> tuple[str, ...]:
        """Stage boundaries: ``input``, ``exponent`` (of the result), ``shifted`` (if the destination has subnormals),
        ``rounded`` and ``output``.
        """
        return "input", *self.number_stages, "output"

    @property
    def title(self) -> str:
        return f"{self.numerics.source.name} to {self.numerics.destination.name} cast"

    def port_words(self) -> dict[str, str]:
        rules = self.numerics
        if self.has_axis:
            return cast_words(rules)
        many = ", element 0 in the low bits" if rules.lanes > 1 else ""
        words = {
            port.name: f"{rules.lanes} {port.format.name} {port.role} of {port.bits} bits{many}"
            for port in rules.ports
            if port.format
        }
        return {**words, "random": self.random_words("number")}

    @property
    def is_usual(self) -> bool:
        return self.profile is not None and not self.latency


def cast_config(
    format: str | FloatFormat | Cast | CastConfig, profile: str | None = None, **fields: Unpack[CastHardwareFields]
) -> CastConfig:
    """The configuration of a cast, with the parameters and the errors of `converter_config`.

    ``format`` is a scalar format, a PTX instruction, a `Cast` or a `CastConfig`. ``fields`` are fields of `Cast` and
    ``registered_after``. With ``destination`` the profile is the one of the cast back. The default profile is ``ocp``.
    ``target`` and ``optimize`` do not change the hardware.

    >>> cast_config("cvt.rp.satfinite.ue8m0x2.f32").profile
    'ptx'
    """
    return CastConfig.built(format, profile, fields)
