"""The configuration of an NVFP4 encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, Unpack

from ...spec import (
    BF16,
    E4M3,
    FP32,
    BlockFormat,
    FourOverSix,
    NumberFormat,
    Nvfp4Encode,
    Nvfp4Fields,
    Order,
    Port,
    Role,
    Rounding,
    ScalePlace,
    nvfp4_encoding,
)
from ...spec.catalogue import constructed
from ..nvfp4.threshold_row import row_ports
from ..nvfp4_cache.schedule import ROW_CYCLES
from .architecture import BeatFields, Interface, Nvfp4Architecture, Nvfp4Form
from .beats import StoredConfig
from .goals import Goal
from .hardware import Fields, TargetFields

RECIPROCAL = (Order.TE, Order.PAPER)
"""Orders that multiply numbers with a reciprocal."""

BY_DIVISOR = (Order.MODELOPT, Order.COMPRESSED_TENSORS)
"""Orders that divide numbers."""

NVFP4_NUMBERS = (FP32, BF16)
"""Formats of the numbers that hardware encodes, and decodes to."""

SCALE_CAST = ("exponent", "shifted", "rounded")
"""Stage boundaries in the cast to the scale format."""

DIVISOR_STAGES = ("rows", "denominator", "divisor_cut", "divisor_rounded", "divisor")
"""Stage boundaries in the product of a scale and the constant of the tensor."""

RECIPROCAL_DIGITS = FP32.man_bits + 1
"""Steps of the division that computes the factor in the orders ``te`` and ``paper``."""


class Nvfp4ArchitectureFields(BeatFields, total=False):
    """Fields of `Nvfp4Architecture` by name."""

    form: str


class Nvfp4HardwareFields(Nvfp4Fields, Nvfp4ArchitectureFields, TargetFields, total=False):
    """Fields of `spec.Nvfp4Encode` and of the hardware, which change no bit."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4Config(StoredConfig[Nvfp4Encode]):
    """An NVFP4 encoder.

    >>> [port.name for port in nvfp4_config("nvfp4", registered_after="scale").ports]
    ['clk', 'rst', 'x', 'k', 'd', 'i_valid', 'i_ready', 'scale', 'p', 'o_valid', 'o_ready']
    """

    OPERATION: ClassVar[type[Nvfp4Encode]] = Nvfp4Encode
    ARCHITECTURE: ClassVar[type[Nvfp4Architecture]] = Nvfp4Architecture
    RESOLVED = staticmethod(nvfp4_encoding)
    KIND: ClassVar[str] = "an NVFP4 encoder"
    AROUND: ClassVar[tuple[Interface, ...]] = (Interface.SKID, Interface.AXIS)

    microarchitecture: Nvfp4Architecture = field(default_factory=Nvfp4Architecture)

    def _refused(self) -> dict[str, bool]:
        rules, block, micro = self.numerics, self.numerics.block, self.microarchitecture
        form = micro.form
        is_table, is_cache = form is Nvfp4Form.TABLE, form is Nvfp4Form.CACHE
        return {
            f"hardware for {block.name} takes {' and '.join(one.name for one in NVFP4_NUMBERS)} numbers, not "
            f"{rules.source.name}": rules.source not in NVFP4_NUMBERS,
            f"hardware makes scales {E4M3.name}, not {block.scale.name}": block.scale != E4M3,
            f"the form {form} rounds elements by rne, not by {rules.rounding}: leave form as product": (
                rules.rounding is not Rounding.RNE and form is not Nvfp4Form.PRODUCT
            ),
            "the form table has one row of thresholds, and four_over_six tries two scales: leave out form": (
                is_table and rules.four_over_six is not FourOverSix.OFF
            ),
            f"the order {rules.order} divides numbers, which the form {form} does not: leave out form": (
                rules.order in BY_DIVISOR and form is not Nvfp4Form.THRESHOLDS
            ),
            "the form table has no registers: leave out registered_after": (
                is_table and len(micro.registered_after) > 0 and not micro.in_beats
            ),
            "the form table has a handshake without registers only: leave out form, lanes and interface": (
                is_table and micro.in_beats
            ),
            f"the form cache computes rows in the orders te and paper, not {rules.order}: leave out form": (
                is_cache and rules.order not in RECIPROCAL
            ),
            "the form cache has one row of thresholds, and four_over_six tries two scales: leave out form": (
                is_cache and rules.four_over_six is not FourOverSix.OFF
            ),
            "the form cache has whole blocks: leave out form or lanes": is_cache and micro.lanes > 0,
            "the form cache has scale and codes apart: leave out form, layout and scale_place": (
                is_cache and (bool(micro.layout) or micro.scale_place is not ScalePlace.APART)
            ),
            "four_over_six compares errors of whole blocks, but lanes deliver parts of a block: leave out lanes": (
                rules.four_over_six is not FourOverSix.OFF and micro.lanes > 0
            ),
        }

    def _check(self) -> None:
        super()._check()
        self._check_lanes()

    @classmethod
    def _architecture(
        cls, modes: tuple[Nvfp4Encode, ...], goal: Goal, target: str, chosen: Fields
    ) -> Nvfp4Architecture:
        form = Nvfp4Form.THRESHOLDS if modes[0].rounding is Rounding.RNE else Nvfp4Form.PRODUCT
        chosen.setdefault("form", form)
        if str(chosen["form"]) == Nvfp4Form.CACHE:
            chosen.setdefault("registered_after", cls.cached_stages(modes[0]))
        return constructed(Nvfp4Architecture, chosen)

    @classmethod
    def cached_stages(cls, rules: Nvfp4Encode) -> tuple[str, ...]:
        """Stage boundaries with registers in the form `Nvfp4Form.CACHE` by default: those that shorten the longest
        path on an ECP5. From BF16 the zeros of a fraction of seven bits are counted in time.
        """
        left_out = {"input", "output", *(["leading"] if rules.source == BF16 else [])}
        stages = cls(numerics=rules, microarchitecture=Nvfp4Architecture(form=Nvfp4Form.CACHE)).stages
        return tuple(place for place in stages if place not in left_out)

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """The ports of the operation. In the form `Nvfp4Form.TABLE` a row of thresholds replaces the constant ``d``.
        It is the row for the scale byte on the output ``scale``, in the same cycle.
        """
        own = super().operation_ports
        if self.microarchitecture.form is not Nvfp4Form.TABLE:
            return own
        kept = [port for port in own if port.role is not Role.ELEMENT_CONSTANT]
        entering = sum(port.direction == "input" for port in kept)
        return (*kept[:entering], *row_ports(self.numerics.source), *kept[entering:])

    @property
    def core(self) -> Self | None:
        return super().core if self.microarchitecture.form is Nvfp4Form.CACHE else None

    @property
    def pause(self) -> int:
        return ROW_CYCLES if self.microarchitecture.form is Nvfp4Form.CACHE else 0

    @property
    def tree_stages(self) -> tuple[str, ...]:
        """Stage boundaries in the tree of whole magnitudes. The last one is its output."""
        return *(f"level{number}" for number in range((self.lanes - 1).bit_length() or 1)), "amax"

    @property
    def scale_stages(self) -> tuple[str, ...]:
        """Stage boundaries in the unit that computes the scale byte."""
        if self.numerics.order not in RECIPROCAL:
            return ()
        sixth = ("sixth",) if self.numerics.order is Order.PAPER else ()
        cast = (f"scale_{name}" for name in SCALE_CAST)
        sums, field = tuple[str, ...](), tuple[str, ...]()
        if self.microarchitecture.form is Nvfp4Form.CACHE:
            has_many = sixth or self.numerics.source is FP32  # 12 sums of two rows each, in place of four
            sums, field = ("sums", "joined") if has_many else ("sums",), ("field",)
        return *sixth, "leading", "normalised", "partials", *sums, "ratio", "nearest", *field, "packed", *cast

    @property
    def reciprocal_stages(self) -> tuple[str, ...]:
        """Stage boundaries in the unit that computes the factor, and at its output if it is part of another unit."""
        if self.numerics.order not in RECIPROCAL or self.microarchitecture.form in (Nvfp4Form.TABLE, Nvfp4Form.CACHE):
            return ()
        digits = (f"digits{count}" for count in range(2, RECIPROCAL_DIGITS + 1, 2))
        return *DIVISOR_STAGES, *digits, "compared", "reciprocal"

    @property
    def has_thresholds(self) -> bool:
        """Whether a unit computes thresholds from a factor, for every block."""
        return self.microarchitecture.form is Nvfp4Form.THRESHOLDS and self.numerics.order not in BY_DIVISOR

    @property
    def factor_stages(self) -> tuple[str, ...]:
        """Stage boundaries in the unit that prepares the scale for the lanes."""
        if self.microarchitecture.form is Nvfp4Form.CACHE:
            return ("lookup",)
        thresholds = ("multiples", "left", "least2", "least4", "threshold") if self.has_thresholds else ()
        return *self.reciprocal_stages, *thresholds

    @property
    def lane_stages(self) -> tuple[str, ...]:
        """Stage boundaries in a lane."""
        by_form = {Nvfp4Form.THRESHOLDS: ("entry",), Nvfp4Form.CACHE: ("entry", "passed")}
        return by_form.get(self.microarchitecture.form, ())

    @property
    def always_registered(self) -> frozenset[str]:
        is_cache = self.microarchitecture.form is Nvfp4Form.CACHE
        return super().always_registered | ({"lookup", "factor"} if is_cache else frozenset())

    @property
    def candidate_stages(self) -> tuple[str, ...]:
        """Stage boundaries in each of the two candidates of `FourOverSix`."""
        sums = (f"sum{number}" for number in range(1, self.numerics.block_size))
        return *self.factor_stages, "factor", *self.lane_stages, "codes", "errors", *sums

    @property
    def stages(self) -> tuple[str, ...]:
        """Always ``input``, ``level0`` and so on (the levels of the tree), ``amax``, ``scale``, ``factor`` (the signals
        that lanes receive) and ``output``.

        In the orders ``te`` and ``paper``, before ``scale``: ``sixth`` (``paper`` only), ``leading`` (the zeros before
        a subnormal number), ``normalised``, ``partials`` (the products of halves of significands), ``ratio``,
        ``nearest``, ``packed``, ``scale_exponent``, ``scale_shifted`` and ``scale_rounded``. After ``scale``: ``rows``
        and ``denominator`` (the product in the divisor), ``divisor_cut``, ``divisor_rounded``, ``divisor``, ``digits2``
        and so on (digits of its reciprocal), ``compared`` and ``reciprocal``.

        With thresholds of products, before ``factor``: ``multiples``, ``left``, ``least2`` and ``least4`` (digits of
        their corrections), and ``threshold``. After ``factor``: ``entry`` (the cell of a lane). If both 4 and 6 are
        tried, before ``output``: ``codes``, ``errors``, and ``sum1`` to ``sum15``.

        In the form `Nvfp4Form.CACHE`, after ``partials``: ``sums`` and, with significands of 24 bits, ``joined`` (sums
        of the products). After ``nearest``: ``field`` (of the exponent). Before ``factor``: ``lookup`` (the scale of
        the row that is read). After ``entry``: ``passed`` (the marks below a number).
        """
        lanes = (*self.factor_stages, "factor", *self.lane_stages)
        if self.numerics.four_over_six is not FourOverSix.OFF:
            lanes = self.candidate_stages
        return "input", *self.tree_stages, *self.scale_stages, "scale", *lanes, "output"

    @property
    def title(self) -> str:
        rules = self.numerics
        return f"{rules.source.name} to {rules.block.name} block converter, order {rules.order}"

    def port_words(self) -> dict[str, str]:
        rules, block = self.numerics, self.numerics.block
        if self.has_axis:
            return self.axis_words()
        first = "the first of the beat" if self.beats > 1 else "element 0"
        of_block = f"; {self.beats} beats are a block" if self.beats > 1 else ""
        rows = {
            port.name: f"{port.role.__doc__}, in the table at the byte scale"
            for port in self.operation_ports
            if port.role in (Role.ROW_START, Role.ROW_CELLS, Role.ROW_THRESHOLDS)
        }
        return {
            "x": f"{self.lanes} {rules.source.name} numbers, {first} in the low bits{of_block}",
            "k": "constant of the tensor for the scale, fp32",
            "d": "constant of the tensor for the elements, fp32",
            "a": "the largest magnitude of the tensor, a number of fp32",
            **rows,
            "random": self.random_words(),
            "scale": f"block scale, {block.scale.name}",
            "p": f"{self.lanes} {block.element.name} codes of {block.element.bits} bits, {first} in the low bits",
        }


def nvfp4_config(
    block: str | BlockFormat | NumberFormat | Nvfp4Encode | Nvfp4Config,
    profile: str | None = None,
    **fields: Unpack[Nvfp4HardwareFields],
) -> Nvfp4Config:
    """The configuration of an NVFP4 encoder, with the parameters and the errors of `converter_config`.

    ``block`` is ``nvfp4``, ``nvfp4_32``, a `Nvfp4Encode` or a `Nvfp4Config`. ``fields`` are fields of `Nvfp4Encode` and
    `Nvfp4Architecture`. The default profile is ``nvfp4_te``, and the default form is ``thresholds``, or ``product`` for
    stochastic rounding. ``target`` and ``optimize`` do not change the hardware.

    >>> nvfp4_config("nvfp4", "nvfp4_ao", source="bf16").numerics.order.value
    'ao'
    """
    return Nvfp4Config.built(block, profile, fields)
