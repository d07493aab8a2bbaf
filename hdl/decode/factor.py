"""The factor of a scale byte, on integers."""

from __future__ import annotations

from ...spec import Decode, ScaleReading

EXPONENTS: dict[ScaleReading, tuple[int, int]] = {
    ScaleReading.E8M0: (-127, 127),
    ScaleReading.POWER: (-127, 128),
    ScaleReading.FIELD: (-126, 127),
    ScaleReading.SIGNED: (-128, 127),
}
"""The smallest and the largest exponent of a factor that is a power of two."""

FLAGS: dict[ScaleReading, dict[str, int]] = {
    ScaleReading.E8M0: {"nan": 0xFF},
    ScaleReading.POWER: {},
    ScaleReading.FIELD: {"zero": 0x00, "inf": 0xFF},
    ScaleReading.SIGNED: {},
}
"""Factors that are not a power of two, and their bytes."""


def flag_of(rules: Decode, byte: int) -> str | None:
    """``nan``, ``inf`` or ``zero`` if the factor of this byte is that, otherwise None."""
    return next((flag for flag, at in FLAGS[rules.scale_reading].items() if at == byte), None)


def exponent_of(rules: Decode, byte: int) -> int:
    """The exponent of the factor of this byte. The flags are ignored."""
    is_signed = rules.scale_reading is ScaleReading.SIGNED
    return byte - (byte >> 7 << 8) if is_signed else byte - rules.block.scale.bias
