"""The configuration of an NVFP4 decoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Unpack

from ...spec import E4M3, BlockFormat, Convention, NumberFormat, Nvfp4Decode, Nvfp4DecodeFields, nvfp4_decoding
from .architecture import BeatFields, Nvfp4DecoderArchitecture
from .beats import ThroughConfig
from .hardware import TargetFields
from .nvfp4_encode import NVFP4_NUMBERS


class Nvfp4DecoderFields(Nvfp4DecodeFields, BeatFields, TargetFields, total=False):
    """Fields of `spec.Nvfp4Decode` and of the hardware, which change no bit."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4DecoderConfig(ThroughConfig[Nvfp4Decode]):
    """An NVFP4 decoder.

    >>> [port.name for port in nvfp4_decoder_config("nvfp4", registered_after="products").ports]
    ['clk', 'rst', 'p', 'scale', 'g', 'i_valid', 'i_ready', 'y', 'o_valid', 'o_ready']
    """

    OPERATION: ClassVar[type[Nvfp4Decode]] = Nvfp4Decode
    ARCHITECTURE: ClassVar[type[Nvfp4DecoderArchitecture]] = Nvfp4DecoderArchitecture
    RESOLVED = staticmethod(nvfp4_decoding)
    KIND: ClassVar[str] = "an NVFP4 decoder"

    microarchitecture: Nvfp4DecoderArchitecture = field(default_factory=Nvfp4DecoderArchitecture)

    def _refused(self) -> dict[str, bool]:
        rules, block = self.numerics, self.numerics.block
        return {
            f"hardware decodes {block.name} to {' and '.join(one.name for one in NVFP4_NUMBERS)} numbers, "
            f"not {rules.destination.name}": rules.destination not in NVFP4_NUMBERS,
            f"hardware reads scales {E4M3.name}, not {block.scale.name}": block.scale != E4M3,
        }

    def _check(self) -> None:
        super()._check()
        self._check_lanes()

    @property
    def stages(self) -> tuple[str, ...]:
        """Stage boundaries: ``input``, ``scaled`` (the product of both scales), ``reduced`` (if the tensor scale is a
        largest magnitude), ``products`` (the results of all codes) and ``output``.
        """
        reduced = ("reduced",) if self.numerics.convention is Convention.AMAX else ()
        return "input", "scaled", *reduced, "products", "output"

    @property
    def title(self) -> str:
        rules = self.numerics
        return f"{rules.block.name} to {rules.destination.name} block decoder, convention {rules.convention}"

    def port_words(self) -> dict[str, str]:
        rules, block = self.numerics, self.numerics.block
        if self.has_axis:
            return self.axis_words()
        first, of_block, when = "element 0", "", ""
        if self.beats > 1:
            first, of_block = "the first of the beat", f"; {self.beats} beats are a block"
            when = ", taken with the first beat of a block"
        return {
            "p": f"{self.lanes} {block.element.name} codes of {block.element.bits} bits, {first} in the low "
            f"bits{of_block}",
            "scale": f"block scale, {block.scale.name}{when}",
            "g": f"scale of the tensor, fp32{when}",
            "y": f"{self.lanes} {rules.destination.name} numbers, {first} in the low bits",
        }


def nvfp4_decoder_config(
    block: str | BlockFormat | NumberFormat | Nvfp4Decode | Nvfp4DecoderConfig,
    profile: str | None = None,
    **fields: Unpack[Nvfp4DecoderFields],
) -> Nvfp4DecoderConfig:
    """The configuration of an NVFP4 decoder, with the parameters and the errors of `converter_config`.

    ``block`` is ``nvfp4``, ``nvfp4_32``, a `Nvfp4Decode` or a `Nvfp4DecoderConfig`. ``fields`` are fields of
    `Nvfp4Decode` and `Nvfp4DecoderArchitecture`. The default profile is ``nvfp4_te``. ``target`` and ``optimize``
    do not change the hardware.

    >>> nvfp4_decoder_config("nvfp4", "nvfp4_ao", destination="bf16").numerics.convention.value
    'multiplier'
    """
    return Nvfp4DecoderConfig.built(block, profile, fields)
