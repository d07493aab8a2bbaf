"""The configuration of a decoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Unpack

from ...spec import BlockFormat, Decode, DecodeFields, NumberFormat, Subnormals, decoding
from ...spec.catalogue import constructed
from .architecture import SUPPORTS, DecoderArchitecture, DecoderArchitectureFields, Lane, supports
from .beats import ThroughConfig
from .goals import Goal, decoder_fields_of, optimized_decoder
from .hardware import Fields, TargetFields


class DecoderFields(DecodeFields, DecoderArchitectureFields, TargetFields, total=False):
    """Fields of `spec.Decode` and of the hardware. Fields of the hardware change no bit.

    >>> from mxcast import DecodingRules
    >>> rules: DecodingRules = {"destination": "bf16"}      # checked by mypy and editors
    >>> decoder_config("e4m3", **rules).numerics.destination.name
    'bf16'
    """


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(ThroughConfig[Decode]):
    """A decoder.

    >>> [port.name for port in decoder_config("e2m1", registered_after="scale").ports]
    ['clk', 'rst', 'p', 'scale', 'i_valid', 'i_ready', 'y', 'o_valid', 'o_ready']
    """

    OPERATION: ClassVar[type[Decode]] = Decode
    ARCHITECTURE: ClassVar[type[DecoderArchitecture]] = DecoderArchitecture
    RESOLVED = staticmethod(decoding)
    KIND: ClassVar[str] = "a decoder"

    microarchitecture: DecoderArchitecture = field(default_factory=DecoderArchitecture)

    def _check(self) -> None:
        super()._check()
        self._check_lanes()

    def _refused(self) -> dict[str, bool]:
        lane = self.microarchitecture.lane
        return {f"{SUPPORTS[lane][1]}: leave lane as shift": True} if not supports(lane, self.modes) else {}

    @classmethod
    def _architecture(cls, modes: tuple[Decode, ...], goal: Goal, target: str, chosen: Fields) -> DecoderArchitecture:
        return constructed(optimized_decoder, {"goal": goal, "rules": modes[0], "target": target, **chosen})

    @property
    def stages(self) -> tuple[str, ...]:
        """Stage boundaries: ``input``, ``scale``, three in the element decoders, and ``output``. At ``read`` each
        element decoder has its own copy of the factor. ``sum`` is the exponent. ``shifted`` exists if results can be
        subnormal.
        """
        shifted = () if self.numerics.subnormals is Subnormals.FLUSH else ("shifted",)
        return "input", "scale", "read", "sum", *shifted, "output"

    @property
    def title(self) -> str:
        return f"{self.numerics.block.name} to {self.numerics.destination.name} block decoder"

    def port_words(self) -> dict[str, str]:
        rules, block = self.numerics, self.numerics.block
        if self.has_axis:
            return self.axis_words()
        first, of_block, when = "element 0", "", ""
        if self.beats > 1:
            first, of_block = "the first of the beat", f"; {self.beats} beats are a block"
            when = ", taken with the first beat of a block"
        return {
            "p": f"{self.lanes} {block.element.name} codes of {block.element.bits} bits, "
            f"{first} in the low bits{of_block}",
            "scale": f"shared scale, one byte: {rules.scale_reading}{when}",
            "random": self.random_words(),
            "y": f"{self.lanes} {rules.destination.name} numbers, {first} in the low bits",
        }

    @property
    def uses_tables(self) -> bool:
        return self.microarchitecture.lane is Lane.TABLES

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        return decoder_fields_of(self.microarchitecture, self.numerics, targets)

    @property
    def _usual_format(self) -> NumberFormat:
        return self.numerics.block.element


def decoder_config(
    block: str | BlockFormat | NumberFormat | Decode | DecoderConfig,
    profile: str | None = None,
    **fields: Unpack[DecoderFields],
) -> DecoderConfig:
    """The configuration of a decoder, with the parameters and the errors of `converter_config`.

    A `Decode` or a `DecoderConfig` can replace the format. ``fields`` are fields of `Decode` and `DecoderArchitecture`,
    ``optimize``, and ``target``, one of `BEST_DECODERS`. The default profile is ``ocp``.

    >>> decoder_config("e5m2", "idma", registered_after="scale").latency
    1
    """
    return DecoderConfig.built(block, profile, fields)
