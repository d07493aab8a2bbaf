"""The operations of NVFP4 in binary64 of NumPy. Each rounding has a name, and one of them can be replaced by another.
Written from docs/numerics.md alone.

Products and quotients of two binary32 numbers, rounded to binary64 first, are rounded to 24 bits as the exact ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

LARGEST, C = float(np.finfo(np.float32).max), 2688.0

HALF = ("half_up", "half_down", "half_away", "half_toward")
"""Other roundings to nearest, by the direction of ties: up, down, away from zero, or toward it."""
ROUNDINGS = (*HALF, "toward", "away", "none")
"""... and toward zero, away from it, and no rounding at all."""

TIE_GOES_UP: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "half_even": lambda low, negative: low % 2 == 1,
    "half_up": lambda low, negative: np.full_like(negative, True),
    "half_down": lambda low, negative: np.full_like(negative, False),
    "half_away": lambda low, negative: ~negative,
    "half_toward": lambda low, negative: negative,
}


def rounded(x: np.ndarray, man_bits: int, emin: int, how: str = "half_even") -> np.ndarray:
    """Finite numbers on the grid of a floating-point format without a largest number."""
    if how == "none":
        return x
    step = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - 1, emin) - man_bits)
    low, negative = np.floor(x / step), np.signbit(x)
    part = x / step - low
    if how in TIE_GOES_UP:
        up = (part > 0.5) | (part == 0.5) & TIE_GOES_UP[how](low, negative)
    else:
        up = (part > 0) & (negative if how == "toward" else ~negative)
    return np.copysign((low + up) * step, x)


@dataclass
class Rounder:
    """Rounds steps by their names; one of them in another way."""

    step: str = ""
    how: str = "half_even"
    steps: list[str] = field(default_factory=list)
    """The names of all steps so far."""

    def __call__(self, step: str, x: np.ndarray | float) -> np.ndarray:
        """To binary32."""
        found = self.to(step, np.asarray(x, float), 23, -126, np.inf)
        return np.where(np.abs(found) > LARGEST, np.copysign(np.inf, found), found)

    def to(self, step: str, x: np.ndarray, man_bits: int, emin: int, most: float) -> np.ndarray:
        if step not in self.steps:
            self.steps.append(step)
        found = rounded(x, man_bits, emin, self.how if step == self.step else "half_even")
        return np.copysign(np.minimum(np.abs(found), most), found)


Constants = dict[str, np.ndarray]


@dataclass(frozen=True)
class Plain:
    """An order: constants of a tensor, t, and y of x (n, size), where all others are (n, 1)."""

    constants: Callable[[Rounder, np.ndarray], Constants]
    t: Callable[[Rounder, np.ndarray, Constants], np.ndarray]
    y: Callable[[Rounder, np.ndarray, np.ndarray, Constants], np.ndarray]
    least: float = 0
    """The limit of t below."""
    t_of_zero: float = 0
    """The value that replaces t = 0."""
    zero_scale: float = 0
    signed_zero: bool = True

    def encode(self, r: Rounder, x: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scales (n, 1) and elements (n, size), as numbers."""
        with np.errstate(all="ignore"):
            constants = self.constants(r, a)
            t = self.t(r, np.abs(x).max(axis=1, keepdims=True), constants)
            t = np.where(t == 0, self.t_of_zero, t)
            s = r.to("scale", np.clip(t, self.least, 448), 3, -6, 448)
            s = np.where(s == 0, self.zero_scale, s)
            y = self.y(r, x, s, constants)
            element = r.to("element", y, 1, 0, 6)
            return s, element if self.signed_zero else np.where(y == 0, 0, element)


def s_and_d(r: Rounder, a: np.ndarray) -> Constants:
    s = np.minimum(r("S", C / a), LARGEST)
    return {"S": s, "d": r("d", 1 / s)}


def te(r: Rounder, a: np.ndarray) -> Constants:
    found = s_and_d(r, a)
    return {**found, "k": r("k", found["S"] * r("1/6", 1 / 6))}


def by_reciprocal(r: Rounder, x: np.ndarray, s: np.ndarray, c: Constants) -> np.ndarray:
    return r("y", x * np.minimum(r("f", 1 / r("s*d", s * c["d"])), LARGEST))


def ao(r: Rounder, a: np.ndarray) -> Constants:
    k = r("k", a / C)
    return {"k": k, "d": r("d", 1 / k)}


def without(r: Rounder, a: np.ndarray) -> Constants:
    return {"k": np.ones_like(a), "d": np.ones_like(a)}


def finite(k: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(k), k, 1)


AO = Plain(
    constants=ao,
    t=lambda r, b, c: r("t", r("b/6", b / 6) / c["k"]),
    y=lambda r, x, s, c: r("y", x * r("f", c["d"] / s)),
    least=2.0**-6,
)
PLAIN = {
    "te": Plain(constants=te, t=lambda r, b, c: r("t", b * c["k"]), y=by_reciprocal),
    "paper": Plain(constants=s_and_d, t=lambda r, b, c: r("t", r("b/6", b / 6) * c["S"]), y=by_reciprocal),
    "ao": AO,
    "ao_single": replace(AO, constants=without),
    "modelopt": Plain(
        constants=lambda r, a: {"k": r("k", a / C)},
        t=lambda r, b, c: r("t", b / r("6*k", 6 * c["k"])),
        y=lambda r, x, s, c: r("y", x / r("f", s * c["k"])),
        least=2.0**-9,
        t_of_zero=1,
        signed_zero=False,
    ),
    "compressed_tensors": Plain(
        constants=lambda r, a: {"k": finite(r("k", C * r("1/a", 1 / np.maximum(a, 2.0**-126))))},
        t=lambda r, b, c: r("t", c["k"] * r("b/6", b / 6)),
        y=lambda r, x, s, c: r("y", x / r("f", s / c["k"])),
        zero_scale=0.125,
        signed_zero=False,
    ),
}

T = Callable[[Rounder, np.ndarray, Constants], np.ndarray]
Y = Callable[[Rounder, np.ndarray, np.ndarray, Constants], np.ndarray]

OTHER_T: dict[str, dict[str, T]] = {
    "te": {
        "(b * S) / 6": lambda r, b, c: r("", r("", b * c["S"]) / 6),
        "(b * S) * (1 / 6)": lambda r, b, c: r("", r("", b * c["S"]) * r("", 1 / 6)),
        "b * (S / 6)": lambda r, b, c: r("", b * r("", c["S"] / 6)),
        "(b / 6) * S": lambda r, b, c: r("", r("", b / 6) * c["S"]),
        "(b * (1 / 6)) * S": lambda r, b, c: r("", r("", b * r("", 1 / 6)) * c["S"]),
    },
    "paper": {
        "(b * S) / 6": lambda r, b, c: r("", r("", b * c["S"]) / 6),
        "b * (S / 6)": lambda r, b, c: r("", b * r("", c["S"] / 6)),
        "b * (S * (1 / 6))": lambda r, b, c: r("", b * r("", c["S"] * r("", 1 / 6))),
        "(b * (1 / 6)) * S": lambda r, b, c: r("", r("", b * r("", 1 / 6)) * c["S"]),
    },
    "ao": {
        "b / (6 * k)": lambda r, b, c: r("", b / r("", 6 * c["k"])),
        "(b / k) / 6": lambda r, b, c: r("", r("", b / c["k"]) / 6),
        "(b / 6) * (1 / k)": lambda r, b, c: r("", r("", b / 6) * c["d"]),
        "(b * (1 / 6)) / k": lambda r, b, c: r("", r("", b * r("", 1 / 6)) / c["k"]),
    },
    "modelopt": {
        "(b / 6) / k": lambda r, b, c: r("", r("", b / 6) / c["k"]),
        "(b / k) / 6": lambda r, b, c: r("", r("", b / c["k"]) / 6),
        "b * (1 / (6 * k))": lambda r, b, c: r("", b * r("", 1 / r("", 6 * c["k"]))),
    },
    "compressed_tensors": {
        "(k * b) / 6": lambda r, b, c: r("", r("", c["k"] * b) / 6),
        "(k / 6) * b": lambda r, b, c: r("", r("", c["k"] / 6) * b),
        "k * (b * (1 / 6))": lambda r, b, c: r("", c["k"] * r("", b * r("", 1 / 6))),
    },
}
"""For an order, t in other orders of the operations."""

RECIPROCAL: dict[str, Y] = {
    "x * (S / s)": lambda r, x, s, c: r("", x * r("", c["S"] / s)),
    "x / (s * d)": lambda r, x, s, c: r("", x / r("", s * c["d"])),
    "(x * S) / s": lambda r, x, s, c: r("", r("", x * c["S"]) / s),
    "(x / s) * S": lambda r, x, s, c: r("", r("", x / s) * c["S"]),
}
OTHER_Y: dict[str, dict[str, Y]] = {
    "te": RECIPROCAL,
    "paper": RECIPROCAL,
    "ao": {
        "x / (s * k)": lambda r, x, s, c: r("", x / r("", s * c["k"])),
        "(x * d) / s": lambda r, x, s, c: r("", r("", x * c["d"]) / s),
        "(x / s) * d": lambda r, x, s, c: r("", r("", x / s) * c["d"]),
    },
    "ao_single": {"x / s": lambda r, x, s, c: r("", x / s)},
    "modelopt": {
        "(x / k) / s": lambda r, x, s, c: r("", r("", x / c["k"]) / s),
        "(x / s) / k": lambda r, x, s, c: r("", r("", x / s) / c["k"]),
        "x * (1 / (s * k))": lambda r, x, s, c: r("", x * r("", 1 / r("", s * c["k"]))),
    },
    "compressed_tensors": {
        "x * (k / s)": lambda r, x, s, c: r("", x * r("", c["k"] / s)),
        "(x * k) / s": lambda r, x, s, c: r("", r("", x * c["k"]) / s),
        "(x / s) * k": lambda r, x, s, c: r("", r("", x / s) * c["k"]),
    },
}
"""... and y."""


def exchanged(order: str) -> Iterator[tuple[str, Plain]]:
    """Orders in which two operations of one change places."""
    own = PLAIN[order]
    for name, t in OTHER_T.get(order, {}).items():
        yield f"t = {name}", replace(own, t=t)
    for name, y in OTHER_Y[order].items():
        yield f"y = {name}", replace(own, y=y)
    if order == "compressed_tensors":
        yield "k = C / a", replace(own, constants=lambda r, a: {"k": finite(r("", C / a))})
