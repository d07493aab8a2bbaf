"""Numbers before the last rounding, exactly: an encoder or a cast rounds them to elements."""

from __future__ import annotations

import numpy as np

from ....models.arrays.codes import code_values
from ....models.arrays.source import DTYPES, narrow, widen
from ....models.fast.nvfp4_encode import ORDERS
from ....sim.transactions import Transactions
from ....spec import Cast, Encode, FloatFormat, NumberFormat, Nvfp4Encode, Role
from ..candidates import Rules


def wide(source: FloatFormat, patterns: np.ndarray) -> np.ndarray:
    """float32 numbers of source patterns."""
    numbers = np.ascontiguousarray(patterns).view(DTYPES[source.name])
    return widen(numbers, np.empty(numbers.shape, np.uint32)).view(np.float32)


def patterns_of(source: FloatFormat, numbers: np.ndarray) -> np.ndarray:
    """Patterns of numbers that a source has."""
    with np.errstate(over="ignore"):
        return narrow(numbers.astype(np.float32).view(np.uint32), source).view(f"u{source.bits // 8}")


def element_of(rules: Rules) -> NumberFormat:
    """The format of the results for each element."""
    return rules.scalar if isinstance(rules, Cast) else rules.block.element


def scaled(rules: Rules, given: Transactions, scales: np.ndarray | None) -> np.ndarray:
    """(n, lanes) float64: x / 2^X under scale bytes (n, 1), the binary32 number of an order of NVFP4, or a number that
    is cast. Not finite if the number or the scale is not.
    """
    assert isinstance(rules, Encode | Nvfp4Encode | Cast)
    x = wide(rules.source, given[Role.NUMBERS])
    with np.errstate(all="ignore"):
        if isinstance(rules, Cast) or scales is None:
            return x.astype(np.float64)
        if not isinstance(rules, Nvfp4Encode):
            return x / code_values(rules.block.scale).astype(np.float64)[scales]
        arithmetic, constant = ORDERS[rules.order], given.get(Role.ELEMENT_CONSTANT)
        d = np.ones((len(x), 1), np.float32) if constant is None else constant.view(np.float32)
        factor = arithmetic.factor(code_values(rules.block.scale)[scales], d)
        return arithmetic.scaled(x, factor).astype(np.float64)


def magnitudes(format: NumberFormat) -> np.ndarray:
    """The finite magnitudes of a format, in order: float64."""
    values = code_values(format).astype(np.float64)
    return np.unique(np.abs(values[np.isfinite(values)]))


def rounded_to(numbers: np.ndarray, format: FloatFormat) -> np.ndarray:
    """float64 numbers rounded to a format, to nearest, ties to even; beyond its largest number they become Inf."""
    with np.errstate(all="ignore"):
        step = np.ldexp(1.0, np.maximum(np.frexp(numbers)[1] - 1, format.emin) - format.man_bits)
        rounded = np.rint(numbers / step) * step
        return np.where(np.abs(rounded) > float(format.max_value), np.copysign(np.inf, numbers), rounded)
