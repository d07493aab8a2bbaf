"""The bundles that travel between the stages of a converter, and the source format that they work on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from amaranth.hdl import Cat, Value, unsigned
from amaranth.lib import data

from ...spec import FP16, Encode, EncodedZero, Operation, ScaleRule, Specials, Subnormals
from ..config.encode import ConverterConfig

ROUNDS_UP = {
    ScaleRule.FLOOR: False,
    ScaleRule.BIAS_FLOOR: False,
    ScaleRule.CEIL: True,
    ScaleRule.RCEIL: True,
    ScaleRule.POW2_CEIL: True,
    ScaleRule.EVEN: True,
    ScaleRule.EVEN1: True,
    ScaleRule.ROUND_LOG2: True,
    ScaleRule.LINEAR_NEAREST: True,
    ScaleRule.MIDMAX: True,
}
"""Scale rules, and whether the fraction can put the exponent one up."""

FLAGS = {Specials.NAN_BLOCK: ("nan",), Specials.INF_SCALE: ("nan", "inf"), Specials.TE: (), Specials.DROP: ()}
"""What lanes are told of their block beside its scale."""


def operand_config(config: ConverterConfig) -> ConverterConfig:
    """The configuration of all that stands behind the inputs: FP16 is widened there, to a format in which none of its
    numbers is subnormal; FP32 and BF16 have the range of the scales and stay as they are."""
    if config.numerics.source is not FP16:
        return config

    def widened(mode: Encode) -> Encode:
        return mode.widened()

    return dataclasses.replace(
        config, numerics=widened(config.numerics), alternatives=tuple(map(widened, config.alternatives))
    )


def operand_layout(numerics: Encode) -> data.StructLayout:
    """A source number as it arrives: fraction in the low bits, then the biased exponent, then the sign."""
    source = numerics.source
    return data.StructLayout(
        {"fraction": unsigned(source.man_bits), "exponent": unsigned(source.exp_bits), "sign": unsigned(1)}
    )


def operand(numerics: Encode, x: Value) -> data.View:
    """A source number, zero with the sign that it is taken for."""
    number = data.View(operand_layout(numerics), x)
    if numerics.zero is EncodedZero.SIGNED:
        return number
    is_other = number.exponent.any()
    if numerics.input_subnormals is Subnormals.EXACT:
        is_other = is_other | number.fraction.any()
    return data.View(operand_layout(numerics), Cat(x[:-1], ZEROS[numerics.zero](number.sign, is_other)))


ZEROS: dict[EncodedZero, Callable[[Value, Value], Value]] = {
    EncodedZero.SIGNED: lambda sign, is_other: sign,
    EncodedZero.POSITIVE: lambda sign, is_other: sign & is_other,
    EncodedZero.TAKEN_POSITIVE: lambda sign, is_other: sign & is_other,
    EncodedZero.TAKEN_NEGATIVE: lambda sign, is_other: sign | ~is_other,
}
"""The sign of a number, by its own and whether it is another one than zero."""


def scale_key_layout(config: ConverterConfig) -> data.StructLayout:
    """What the scale depends on: the biased exponent and, below it, one flag about the fraction.

    For a number the flag says that the scale rule goes one up; for exponent 255 it tells NaN from Inf. It has no
    width where neither is asked. Keys are ordered like the magnitudes they come from, so the largest key of a block
    is the key of its largest magnitude.
    """
    numerics = config.numerics
    needs_fraction = any(ROUNDS_UP[mode.scale_rule] for mode in config.modes) or numerics.specials is Specials.INF_SCALE
    return data.StructLayout(
        {"flag": unsigned(1 if needs_fraction else 0), "exponent": unsigned(numerics.source.exp_bits)}
    )


def special_flags(numerics: Encode) -> tuple[str, ...]:
    """Names of the one-bit signals by which the scale unit tells every element quantizer of a special block."""
    return FLAGS[numerics.specials]


def lane_name(kind: str, lane: int, numerics: Operation) -> str:
    """Instance name of a lane's part, with leading zeros so that names sort like lanes."""
    return f"{kind}_{lane:0{len(str(numerics.block_size - 1))}}"
