"""The configuration of an encoder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, Unpack

from ...spec import FP16, TF32, BlockFormat, Encode, EncodeFields, NumberFormat, numerics
from ...spec.catalogue import constructed
from .architecture import (
    DIGIT_BITS,
    SUPPORTS,
    TOGETHER,
    AmaxKey,
    Microarchitecture,
    MicroarchitectureFields,
    Quantizer,
    supports,
)
from .beats import StoredConfig
from .goals import Goal, fields_of, optimized
from .hardware import Fields, TargetFields

SCALE_STAGE = "scale"
"""The stage boundary at which an encoder with lanes always has registers: there the scale meets the stored numbers."""

Format: TypeAlias = "str | BlockFormat | NumberFormat | Encode | ConverterConfig"
"""The output format of an encoder, its operation, or its configuration."""


class ConverterFields(EncodeFields, MicroarchitectureFields, TargetFields, total=False):
    """Fields of `spec.Encode` and of the hardware. Fields of the hardware change no bit. ``scale_rule`` may name
    several rules, with commas between them.

    >>> from mxcast import Rules
    >>> rules: Rules = {"scale_rule": "ceil", "source": "bf16"}      # checked by mypy and editors
    >>> converter_config("e4m3", "nvidia", **rules).numerics.source.name
    'bf16'
    """


@dataclass(frozen=True, kw_only=True)
class ConverterConfig(StoredConfig[Encode]):
    """An encoder.

    An encoder with ``alternatives`` has a mode input: mode 0 is ``numerics``, mode i is alternative i. Modes may differ
    in the scale rule and in the element format, but not in the width of the elements.

    >>> [port.name for port in converter_config("e2m1,int4", registered_after="scale").ports]
    ['clk', 'rst', 'x', 'mode', 'i_valid', 'i_ready', 'scale', 'p', 'o_valid', 'o_ready']
    >>> [f"{port.name}[{port.width}]" for port in converter_config("e2m1", layout="ggml").pins]
    ['x[1024]', 'block[136]']
    """

    OPERATION: ClassVar[type[Encode]] = Encode
    ARCHITECTURE: ClassVar[type[Microarchitecture]] = Microarchitecture
    RESOLVED = staticmethod(numerics)
    KIND: ClassVar[str] = "an encoder"

    microarchitecture: Microarchitecture = field(default_factory=Microarchitecture)

    def _check(self) -> None:
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
        self._check_lanes()

    @classmethod
    def _modes(cls, format: object, profile: str | None, rules: Fields) -> tuple[Encode, ...]:
        scale_rules = (
            [{"scale_rule": rule} for rule in _several(rules["scale_rule"])] if "scale_rule" in rules else [{}]
        )
        return tuple(
            constructed(numerics, {"block": one, "profile": profile, **rules, **scale_rule})
            for one in _several(format)
            for scale_rule in scale_rules
        )

    @classmethod
    def _architecture(cls, modes: tuple[Encode, ...], goal: Goal, target: str, chosen: Fields) -> Microarchitecture:
        return constructed(optimized, {"goal": goal, "modes": modes, "target": target, **chosen})

    @property
    def tree_stages(self) -> tuple[str, ...]:
        """Stage boundaries in the search for the largest key. The last level or digit is its output."""
        amax, key = self.microarchitecture.amax, self.microarchitecture.amax_key
        if amax not in TOGETHER:
            return "key", *(
                f"digit{number}" for number in range(1, self.numerics.source.exp_bits // DIGIT_BITS[amax] + 1)
            )
        left, levels = self.lanes, list[str]()
        while left > 1:
            left = -(-left // TOGETHER[amax])
            levels.append(f"level{len(levels) + 1}")
        return ("key", *levels) if key is AmaxKey.REDUCED else (*levels, "key")

    @property
    def element_stages(self) -> tuple[str, ...]:
        """Stage boundaries in an element quantizer."""
        return {
            Quantizer.SHIFT: ("normalised", "aligned", "rounded"),
            Quantizer.TABLE: ("top", "distance", "chosen"),
            Quantizer.GATES: ("top", "distance"),
        }[self.microarchitecture.quantizer]

    @property
    def stages(self) -> tuple[str, ...]:
        """Stage boundaries, in the order of the data.

        ``input``, ``widened`` (FP16 sources only)
        ``key``: the bits of a number that are compared; if whole magnitudes are compared, they follow the tree
        ``level1`` and so on: the levels of the tree, or ``digit1`` and so on, with two bits of the exponent each
        ``scale``
        ``normalised``, ``aligned`` and ``rounded`` in the quantizers, or ``top`` (of the block), ``distance`` and,
        in tables, ``chosen``
        ``output``
        """
        widened = ("widened",) if self.numerics.source in (FP16, TF32) else ()  # TF32 is what FP16 is widened to
        return ("input", *widened, *self.tree_stages, "scale", *self.element_stages, "output")

    @property
    def title(self) -> str:
        return f"{self.numerics.source.name} to {self.formats.replace(',', ' or ')} block converter"

    def port_words(self) -> dict[str, str]:
        rules, block = self.numerics, self.numerics.block
        elements = " or ".join(dict.fromkeys(mode.block.element.name for mode in self.modes))
        if self.has_axis:
            return self.axis_words()
        first = "the first of the beat" if self.beats > 1 else "element 0"
        of_block = f"; {self.beats} beats are a block" if self.beats > 1 else ""
        return {
            "x": f"{self.lanes} {rules.source.name} numbers, {first} in the low bits{of_block}",
            "mode": "; ".join(
                f"{number}: {mode.block.element.name} {mode.scale_rule}" for number, mode in enumerate(self.modes)
            ),
            "random": self.random_words(),
            "scale": f"shared scale, {block.scale.name} (byte = exponent + {block.scale.bias})",
            "p": f"{self.lanes} {elements} codes of {block.element.bits} bits, {first} in the low bits",
        }

    @property
    def uses_tables(self) -> bool:
        micro = self.microarchitecture
        return micro.quantizer is Quantizer.TABLE or micro.amax not in TOGETHER

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        return fields_of(self.microarchitecture, self.modes, targets)

    @property
    def _usual_format(self) -> NumberFormat:
        return self.numerics.block.element


def converter_config(block: Format, profile: str | None = None, **fields: Unpack[ConverterFields]) -> ConverterConfig:
    """The configuration of an encoder.

    Format and ``scale_rule`` may name several, with commas between them or in a list. Then the encoder has a mode for
    each format under each rule, the rules of the first format first.

    Parameters
    ----------
    block : a format by name or as an object, an `Encode`, or a `ConverterConfig`, which is returned as it is
    profile : the name of the profile with the rules; ``ocp`` by default
    fields : fields of `Encode` that replace rules of the profile, and fields of `Microarchitecture`; ``optimize`` (a
        `Goal`) and ``target`` (one of `BEST`) choose the fields of `Microarchitecture` that are not given

    Raises
    ------
    TypeError
        for a value of the wrong kind, a profile with an `Encode`, and a profile or fields with a `ConverterConfig`
    ValueError
        for an unknown name, and for an encoder that cannot be built

    >>> converter_config("e4m3", "ocp", amax_key="magnitude").microarchitecture.amax_key.value
    'magnitude'
    >>> converter_config("e4m3", registered_after="scale, level2").microarchitecture.registered_after
    ('level2', 'scale')
    >>> [(m.block.short_name, str(m.scale_rule)) for m in converter_config("e4m3,e5m2", scale_rule="floor,ceil").modes]
    [('e4m3', 'floor'), ('e4m3', 'ceil'), ('e5m2', 'floor'), ('e5m2', 'ceil')]
    """
    return ConverterConfig.built(block, profile, fields)


def _several(names: object) -> list[object]:
    """The items of a list, or of a text with commas. Anything else is one item."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",")]
    return list(names) if isinstance(names, list | tuple) and names else [names]
