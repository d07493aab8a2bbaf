"""What factor a scale byte stands for, on integers."""

from __future__ import annotations

from ...spec import Decode, ScaleReading

EXPONENTS: dict[ScaleReading, tuple[int, int]] = {
    ScaleReading.E8M0: (-127, 127),
    ScaleReading.POWER: (-127, 128),
    ScaleReading.FIELD: (-126, 127),
    ScaleReading.SIGNED: (-128, 127),
}
"""The least and the largest exponent of a factor that is a power of two."""

FLAGS: dict[ScaleReading, dict[str, int]] = {
    ScaleReading.E8M0: {"nan": 0xFF},
    ScaleReading.POWER: {},
    ScaleReading.FIELD: {"zero": 0x00, "inf": 0xFF},
    ScaleReading.SIGNED: {},
}
"""What a factor can be that is no power of two, and the byte by which it is."""


def flag_of(rules: Decode, byte: int) -> str | None:
    """What the factor of this byte is that is no power of two: ``nan``, ``inf``, ``zero``, or None."""
    return next((flag for flag, at in FLAGS[rules.scale_reading].items() if at == byte), None)


def exponent_of(rules: Decode, byte: int) -> int:
    """The exponent of the factor of this byte; for a byte with a flag, what it would be without."""
    is_signed = rules.scale_reading is ScaleReading.SIGNED
    return byte - (byte >> 7 << 8) if is_signed else byte - rules.block.scale.bias
