"""The signals between the stages of an encoder, and the source format of the stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from amaranth.hdl import Cat, Value, unsigned
from amaranth.lib import data

from ...spec import FP16, Encode, EncodedZero, Operation, Specials, Subnormals
from ..config.encode import ConverterConfig
from .threshold import rounds_up

FLAGS = {Specials.NAN_BLOCK: ("nan",), Specials.INF_SCALE: ("nan", "inf"), Specials.TE: (), Specials.DROP: ()}
"""Per-block flags that each lane receives with the scale."""


def operand_config(config: ConverterConfig) -> ConverterConfig:
    """The configuration of the stages behind the inputs. FP16 is widened to a format in which none of its numbers is
    subnormal. FP32 and BF16 have the range of the scales, and are not changed.
    """
    if config.numerics.source is not FP16:
        return config

    def widened(mode: Encode) -> Encode:
        return mode.widened()

    return dataclasses.replace(
        config, numerics=widened(config.numerics), alternatives=tuple(map(widened, config.alternatives))
    )


def operand_layout(numerics: Encode) -> data.StructLayout:
    """The fields of a source number: fraction in the low bits, then the biased exponent, then the sign."""
    source = numerics.source
    return data.StructLayout(
        {"fraction": unsigned(source.man_bits), "exponent": unsigned(source.exp_bits), "sign": unsigned(1)}
    )


def operand(numerics: Encode, x: Value) -> data.View:
    """The fields of a source number, with the sign that the rules give to zero."""
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
"""The sign of a number, from its own sign and whether it is not zero."""


def scale_key_layout(config: ConverterConfig) -> data.StructLayout:
    """The bits that decide the scale: the biased exponent and, below it, one flag from the fraction.

    The flag of a finite number is set if the scale rule adds one; for exponent 255 it separates NaN from Inf. It has no
    width if no rule needs it. Keys are ordered like their magnitudes, so the largest key of a block is the key of its
    largest magnitude.
    """
    numerics = config.numerics
    needs_fraction = any(rounds_up(mode.scale_rule) for mode in config.modes) or numerics.specials is Specials.INF_SCALE
    return data.StructLayout(
        {"flag": unsigned(1 if needs_fraction else 0), "exponent": unsigned(numerics.source.exp_bits)}
    )


def special_flags(numerics: Encode) -> tuple[str, ...]:
    """Names of the one-bit signals from the scale unit to the element quantizers that mark a special block."""
    return FLAGS[numerics.specials]


def lane_name(kind: str, lane: int, numerics: Operation) -> str:
    """Instance name of a part of a lane, with leading zeros, so that names sort like lanes."""
    return f"{kind}_{lane:0{len(str(numerics.block_size - 1))}}"
