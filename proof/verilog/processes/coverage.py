"""Labels of a case statement, and whether they cover every value."""

from __future__ import annotations

Pattern = tuple[int, int]
"""A mask of the bits that matter, and their values."""


def pattern(digits: str, wild: str) -> Pattern | None:
    """The pattern of a label from its binary digits, where digits in ``wild`` match both; None if it matches nothing.

    >>> pattern("1z0", "z")
    (5, 4)
    """
    if not set(digits) <= {"0", "1", *wild}:
        return None
    return (
        int("".join("0" if digit in wild else "1" for digit in digits), 2),
        int("".join("1" if digit == "1" else "0" for digit in digits), 2),
    )


def covers_all(patterns: list[Pattern]) -> bool:
    """Does every number match one of the patterns?"""
    if not patterns:
        return False
    if any(not care for care, _ in patterns):
        return True
    bit = 1 << (patterns[0][0].bit_length() - 1)
    return all(
        covers_all([(care & ~bit, value & ~bit) for care, value in patterns if not care & bit or value & bit == digit])
        for digit in (0, bit)
    )
