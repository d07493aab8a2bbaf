"""The profile `microxcaling` against the library, if it is installed: what its PyTorch code gives on the CPU.

The library returns numbers, not bytes and codes, and every zero as +0: numbers are compared, zeros without sign. Three
steps of it are FP32 arithmetic where the rule is exact: log2 of the largest magnitude, log2 of an element, and the
addition of one half (numerics.md, B.6 and C.3). What they do is predicted here, element by element.
"""

import numpy as np
import pytest

from mxcast.models import dequantize, quantize
from mxcast.models.exact import encode as exact
from mxcast.sim import stimuli
from mxcast.spec import FP32, FixedFormat, numerics

torch = pytest.importorskip("torch", reason="torch is optional")
mx_ops = pytest.importorskip(
    "mx.mx_ops",
    reason="microxcaling is optional, and not a package of the Python Package Index: "
    "put a checkout of github.com/microsoft/microxcaling on the path",
)
from mx.formats import ElemFormat  # noqa: E402

FORMATS = {
    "e5m2": "fp8_e5m2",
    "e4m3": "fp8_e4m3",
    "e3m2": "fp6_e3m2",
    "e2m3": "fp6_e2m3",
    "e2m1": "fp4_e2m1",
    "int8": "int8",
}
ROUNDINGS = {"even": "rne", "nearest": "rna", "floor": "rtz"}


def microxcaling(x: np.ndarray, element: str, rounding: str) -> np.ndarray:
    return mx_ops._quantize_mx(
        torch.from_numpy(x.copy()), 8, ElemFormat.from_str(FORMATS[element]), axes=[-1], block_size=32, round=rounding
    ).numpy()


def blocks(rules) -> np.ndarray:
    """Blocks of all kinds, and largest magnitudes a few steps below each power of two, where log2 is an integer in
    FP32.
    """
    below = np.zeros((254 * 48, 32), np.uint32)
    below[:, 0] = np.arange(1, 255).repeat(48) * (1 << 23) - np.tile(np.arange(48), 254)
    below[:, 1] = below[:, 0] - (2 << 23) * (below[:, 0] > 2 << 23)
    return np.concatenate(
        [
            stimuli.corner_blocks(rules),
            stimuli.boundary_blocks(rules),
            below,
            stimuli.random_blocks(rules, 5_000, seed=17),
        ]
    ).view(np.float32)


def log2_exponents(x: np.ndarray, rules) -> np.ndarray:
    """floor(log2 a) - emax with log2 rounded to FP32."""
    amax = np.abs(x).max(axis=1)
    log2 = np.log2(np.where(amax == 0, 2.0**-126, amax.astype(np.float64))).astype(np.float32)
    return np.floor(log2) - rules.block.element.emax


def smallest_exponent(rules) -> int:
    """The exponent of the step between the smallest elements."""
    element = rules.block.element
    return -element.frac_bits if isinstance(element, FixedFormat) else element.emin - element.man_bits


def with_fp32_elements(numbers: np.ndarray, x: np.ndarray, exponents: np.ndarray, rounding: str, rules) -> np.ndarray:
    """``numbers`` (n, 32), with those replaced where the library's elements feel FP32 arithmetic.

    To nearest: one FP32 step below half of the smallest element, adding one half gives 1. Toward zero: where log2 of an
    element just below a power of two is an integer, the step is twice too large.
    """
    element, scaled = rules.block.element, np.ldexp(np.abs(x.astype(np.float64)), -exponents[:, None])
    if rounding != "floor":
        lost = np.ldexp(scaled, -smallest_exponent(rules)) == 0.5 - 2.0**-25
        wrong, becomes = lost, np.full_like(scaled, 2.0 ** smallest_exponent(rules))
    elif isinstance(element, FixedFormat):
        return numbers
    else:
        log2 = np.log2(np.where(scaled == 0, 1, scaled))
        taken = np.maximum(np.floor(log2.astype(np.float32)), element.emin).astype(int)
        wrong = (scaled > 0) & (taken > element.emin) & (np.ldexp(1.0, taken) > scaled)
        becomes = np.minimum(np.ldexp(1 - 2.0**-element.man_bits, taken), float(element.max_value))
    return np.where(wrong, np.copysign(np.ldexp(becomes, exponents[:, None]), x), numbers)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("element", FORMATS)
def test_numbers_equal_microxcaling(element, rounding):
    rules = numerics(element, "microxcaling", rounding=ROUNDINGS[rounding])
    x = blocks(rules)
    q, theirs = quantize(x, rules), microxcaling(x, element, rounding)
    finite = np.isfinite(x).all(axis=1)
    assert finite.sum() > 10_000 and (~finite).sum() > 10
    assert np.isnan(theirs[~finite]).all() and (q.scales[~finite] == 255).all()

    x, theirs, ours = x[finite], theirs[finite], dequantize(q)[finite].astype(np.float64)
    ours_exponents, exponents = q.scales[finite, 0].astype(int) - 127, log2_exponents(x, rules)
    over = exponents > 127
    assert np.isnan(theirs[over]).all() and over.any() == (element == "int8")
    exponents = np.maximum(exponents, -127).astype(int)
    higher = (exponents > ours_exponents) & ~over
    assert (exponents[higher] == ours_exponents[higher] + 1).all() and higher.sum() > 1000
    values = [float(exact.element_value(code, rules.block.element)) for code in range(rules.block.element.max_code + 1)]
    for row in np.flatnonzero(higher):  # the exact definition, with the exponent that the library takes
        for lane in np.flatnonzero(x[row]):
            number = exact.decode(int(x[row, lane].view(np.uint32)), FP32)
            code = exact.round_element(exact.Number(False, number.magnitude), int(exponents[row]), rules)
            ours[row, lane] = np.ldexp(-values[code] if number.negative else values[code], int(exponents[row]))
    exponents[over] = 0
    with np.errstate(over="ignore"):  # what rounds up to 2**128 is Inf on both sides
        ours = with_fp32_elements(ours, x, exponents, rounding, rules).astype(np.float32)
    np.testing.assert_array_equal(theirs[~over], ours[~over])


def test_the_published_witness_of_the_lost_half():
    """0x3A7FFFFF under byte 127: the code is exactly 00, and 01 in the library."""
    x = np.zeros((1, 32), np.uint32)
    x[0, :2] = 0x3A7FFFFF, 0x43800000
    x = x.view(np.float32)
    assert quantize(x, "e4m3", "microxcaling").codes[0, 0] == 0
    assert microxcaling(x, "e4m3", "even")[0, 0] == 2.0**-9
