"""The configuration of a Hadamard transform."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Unpack

from ...spec import BF16, Hadamard
from ...spec.catalogue import constructed, known_name
from ...spec.profiles.resolve import profile_named
from ..hadamard.schedule import LEVELS, LIMBS, RESULTS
from .architecture import HadamardArchitecture, HadamardForm, Interface, StreamFields
from .axis import words_around
from .beats import StreamConfig
from .goals import Goal
from .hardware import Fields, TargetFields

LEVEL_STAGES = tuple(f"level{level + 1}" for level in range(LEVELS))
SUM_STAGES = ("placed", "aligned", *LEVEL_STAGES)
"""Stage boundaries in the sums of limbs."""
ROUNDING_STAGES = ("leading", "shifted", "magnitude")
"""Stage boundaries in the rounding of one sum."""
USUAL_STAGES = ("placed", "aligned", "level2", "level4", "digits", "chosen", *ROUNDING_STAGES)
"""Stage boundaries with registers in limbs by default, next to those that always have some."""


class HadamardFields(StreamFields, TargetFields, total=False):
    """Fields of `spec.Hadamard` and of the hardware, which change no bit."""

    signs: int
    form: str


def hadamard(format: str | Hadamard, profile: str | None = None, **rules: int) -> Hadamard:
    """The operation of a format under a profile, with ``signs`` replaced. An operation is returned as it is."""
    if isinstance(format, Hadamard):
        if rules or profile is not None:
            raise TypeError("an operation has all its rules: leave out profile and signs")
        return format
    known_name("format", format, [Hadamard().subject])
    profile_named(Hadamard.name, "te" if profile is None else profile)
    return Hadamard(**rules)


@dataclass(frozen=True, kw_only=True)
class HadamardConfig(StreamConfig[Hadamard]):
    """A Hadamard transform.

    >>> [port.name for port in hadamard_config("hadamard16", registered_after="level2").ports]
    ['clk', 'rst', 'x', 'i_valid', 'i_ready', 'y', 'o_valid', 'o_ready']
    """

    OPERATION: ClassVar[type[Hadamard]] = Hadamard
    ARCHITECTURE: ClassVar[type[HadamardArchitecture]] = HadamardArchitecture
    RESOLVED = staticmethod(hadamard)
    KIND: ClassVar[str] = "a Hadamard transform"
    AROUND: ClassVar[tuple[Interface, ...]] = (Interface.SKID, Interface.AXIS)

    microarchitecture: HadamardArchitecture = field(default_factory=HadamardArchitecture)

    def _refused(self) -> dict[str, bool]:
        size = self.numerics.size
        return {f"hardware transforms 16 numbers, not {size}: models.rotate does": size != 16}

    @classmethod
    def _architecture(
        cls, modes: tuple[Hadamard, ...], goal: Goal, target: str, chosen: Fields
    ) -> HadamardArchitecture:
        if str(chosen.get("form")) == HadamardForm.LIMBS:
            chosen.setdefault("registered_after", USUAL_STAGES)
        return constructed(HadamardArchitecture, chosen)

    @classmethod
    def _rule_names(cls) -> list[str]:
        return ["signs"]

    @property
    def stages(self) -> tuple[str, ...]:
        """Stage boundaries: ``input``, ``aligned`` (the numbers as integers), ``level1`` to ``level4`` (their sums and
        differences) and ``output``.

        In limbs also ``placed`` (the numbers as parts of integers), ``digits`` (a limb of each sum), ``total`` (the
        windows of sums while limbs come), ``held`` (the same, while results are rounded), ``chosen`` (one window),
        ``leading`` (the place of its leading bit), ``shifted`` and ``magnitude`` (the bits of the result).
        """
        if not self.in_limbs:
            return "input", "aligned", *LEVEL_STAGES, "output"
        return "input", *SUM_STAGES, "digits", "total", "held", "chosen", *ROUNDING_STAGES, "output"

    @property
    def in_limbs(self) -> bool:
        """Are sums made limb by limb?"""
        return self.microarchitecture.form is HadamardForm.LIMBS

    @property
    def interval(self) -> int:
        return LIMBS if self.in_limbs else 1

    @property
    def latency(self) -> int:
        return super().latency + (LIMBS - 1 + RESULTS - 1) * self.in_limbs

    @property
    def title(self) -> str:
        return "random Hadamard transform"

    def port_words(self) -> dict[str, str]:
        numbers = f"{self.numerics.block_size} {BF16.name} numbers"
        words = {
            "x": f"{numbers}, number 0 in the low bits",
            "y": f"{numbers}, the transformed ones, number 0 in the low bits",
        }
        return words_around(self.operation_ports, words, "block") if self.has_axis else words


def hadamard_config(
    format: str | Hadamard | HadamardConfig, profile: str | None = None, **fields: Unpack[HadamardFields]
) -> HadamardConfig:
    """The configuration of a Hadamard transform, with the parameters and the errors of `converter_config`.

    ``format`` is ``hadamard16``, a `Hadamard` or a `HadamardConfig`. ``fields`` are ``signs``, which replace the signs
    of the profile, ``form``, ``registered_after`` and ``interface``. The only profile is ``te``, the signs of
    Transformer Engine. ``target`` and ``optimize`` do not change the hardware.

    >>> hadamard_config("hadamard16", signs=0).numerics
    Hadamard(size=16, signs=0, random_bits=0)
    """
    return HadamardConfig.built(format, profile, fields)
