"""Statistics of a conversion, against sums in double precision over single elements."""

import dataclasses
import math

import numpy as np
import pytest

from mxcast.models import Quantized, dequantize, error_statistics, quantize
from mxcast.models.fast.element import largest_value
from mxcast.spec import ELEMENTS, numerics

COUNTS = ("elements", "blocks", "saturated", "flushed", "nan")
DECIBELS = 0.001
"""How near the sums, which are kept in single precision within a block, must come to those in double."""


def reference(x: np.ndarray, q: Quantized) -> dict[str, float]:
    """The definitions of `Statistics`, element by element in Python's own numbers; along the last axis."""
    y, size = dequantize(q), q.numerics.block_size
    found = dict.fromkeys(COUNTS, 0) | {"signal": 0.0, "noise": 0.0, "amax": []}
    for numbers, values, scales in zip(*(array.reshape(-1, array.shape[-1]) for array in (x, y, q.scales))):
        for i, byte in enumerate(scales.tolist()):
            block = numbers[i * size : (i + 1) * size].astype(np.float64).tolist()
            got = values[i * size : (i + 1) * size].astype(np.float64).tolist()
            limit = math.inf if byte == 0xFF else largest_value(q.numerics) * 2.0 ** (byte - 127)
            found["blocks"] += 1
            found["amax"].append(max((abs(v) for v in block if math.isfinite(v)), default=0.0))
            for v, w in zip(block, got):
                found["elements"] += 1
                found["saturated"] += math.isfinite(v) and abs(v) > limit
                found["flushed"] += math.isfinite(v) and v != 0 and w == 0
                found["nan"] += math.isnan(w)
                if math.isfinite(v) and math.isfinite(w):
                    found["signal"] += v * v
                    found["noise"] += (v - w) ** 2
    return found


def assert_equal(got, expected: dict) -> None:
    assert {name: getattr(got, name) for name in COUNTS} == {name: expected[name] for name in COUNTS}
    assert (got.amax_min, got.amax_max) == (min(expected["amax"]), max(expected["amax"]))
    for name in ("signal", "noise"):
        theirs = expected[name]
        assert getattr(got, name) == pytest.approx(theirs, rel=DECIBELS * math.log(10) / 20, abs=0), name
    if expected["signal"] and expected["noise"]:
        assert abs(got.sqnr_db - 10 * math.log10(expected["signal"] / expected["noise"])) < DECIBELS


def hard_numbers(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Normal numbers times powers of two over the whole range, with zeros, subnormals, Inf and NaN among them."""
    with np.errstate(over="ignore"):
        x = (rng.standard_normal((rows, columns)) * 2.0 ** rng.integers(-160, 127, (rows, 1))).astype(np.float32)
    x[rng.random(x.shape) < 0.05] = 0
    for special in (np.nan, np.inf, -np.inf):
        x.reshape(-1)[rng.integers(0, x.size, max(1, rows // 8))] = special
    x[0] = 0
    x[1] = np.float32(2.0**-149)
    x[2] = np.finfo(np.float32).max
    x[3, 0] = np.inf  # under te a block of scale 0xFE, in which everything else is flushed
    x[4] = np.nan
    x[5, :2] = np.float32(2.0**127), np.float32(2.0**-149)  # far apart in one block
    x[6] = np.resize(
        [1.5, 1.75, 1.875, 127 / 64], columns
    )  # largest elements of the six formats: not beyond themselves
    return x


@pytest.mark.parametrize("format", [*ELEMENTS, "int4", "e5m10", "int16", "e3m0"])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"profile": "te"},
        {"profile": "gorodecky_sousa"},
        {"specials": "inf_scale"},
        {"scale_rule": "ceil", "rounding": "rtz"},
        {"input_subnormals": "flush", "element_subnormals": "flush"},
        {"block_size": 2},
        {"block_size": 128},
    ],
    ids=lambda rules: "-".join(map(str, rules.values())) or "ocp",
)
def test_counts_are_exact_and_the_ratio_near(format, rules, record_property):
    x = hard_numbers(np.random.default_rng(5), 40, 128)
    q = quantize(x, format, **rules)
    expected = reference(x, q)
    assert expected["nan"] or format.startswith("int") or rules.get("profile") or rules.get("specials")
    assert expected["flushed"] and expected["noise"]
    assert_equal(error_statistics(x, q), expected)
    record_property("elements", x.size)


@pytest.mark.parametrize("format", ["e4m3", "e2m1", "int8"])
@pytest.mark.parametrize("columns", [1, 31, 33, 100])
def test_padding_is_not_counted(format, columns):
    x = hard_numbers(np.random.default_rng(6), 20, columns if columns > 1 else 2)[:, :columns]
    x[7, -1] = np.nan  # in an incomplete block: its padding becomes NaN too
    q = quantize(x, format, pad=True)
    assert_equal(error_statistics(x, q), reference(x, q))


@pytest.mark.parametrize("dtype", [np.float16, np.uint16])
def test_short_sources(dtype):
    """16-bit numbers have the statistics of the same numbers widened."""
    patterns = np.random.default_rng(8).integers(0, 1 << 16, (64, 64), dtype=np.uint16)
    wide = (
        (patterns.astype(np.uint32) << 16).view(np.float32)
        if dtype is np.uint16
        else patterns.view(dtype).astype(np.float32)
    )
    q = quantize(wide, "e3m2")
    assert error_statistics(patterns.view(dtype), q) == error_statistics(wide, q)


def test_any_axis():
    x = np.random.default_rng(9).standard_normal((3, 70, 5), dtype=np.float32)
    got = error_statistics(x, quantize(x, "e2m3", axis=1, pad=True))
    moved = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    assert got == error_statistics(moved, quantize(moved, "e2m3", pad=True)) and got.elements == x.size


def test_codes_that_do_not_belong_to_the_numbers_are_measured_too():
    """Scales and codes of other numbers: nothing is assumed of them but their format."""
    rng = np.random.default_rng(10)
    x = hard_numbers(rng, 32, 64)
    with np.errstate(over="ignore", invalid="ignore"):
        for format in ("e5m2", "e4m3", "int8"):
            q = Quantized(
                scales=rng.integers(0, 256, (32, 2), dtype=np.uint8),
                numerics=numerics(format),
                length=64,
                codes=rng.integers(0, 256, (32, 64), dtype=np.uint8),
            )
            assert_equal(error_statistics(x, q), reference(x, q))


def test_parts_of_a_tensor_add_up():
    """Every count and sum, over more than one chunk of the model's."""
    x = np.random.default_rng(11).standard_normal((9000, 32), dtype=np.float32)
    q = quantize(x, "e4m3")
    whole = error_statistics(x, q)
    parts = [
        error_statistics(x[rows], Quantized(scales=q.scales[rows], codes=q.codes[rows], numerics=q.numerics, length=32))
        for rows in (slice(0, 4097), slice(4097, None))
    ]
    total = parts[0] + parts[1]
    assert {name: getattr(total, name) for name in COUNTS} == {name: getattr(whole, name) for name in COUNTS}
    assert total.sqnr_db == pytest.approx(whole.sqnr_db, abs=1e-9)


def test_codes_beyond_the_format_are_refused():
    with pytest.raises(ValueError, match="codes of e2m1 must be 0 to 15, not 16"):
        error_statistics(
            np.ones(32, np.float32),
            Quantized(
                scales=np.zeros(1, np.uint8), codes=np.full(32, 16, np.uint8), numerics=numerics("e2m1"), length=32
            ),
        )


WHOLE = quantize(np.ones((2, 32), np.float32), "e4m3")
AXES = "codes and scales must have the same axes and axis must be one of them"


@pytest.mark.parametrize(
    "change, kind, sentence",
    [
        ({"scales": WHOLE.scales.astype(int) - 300}, ValueError, "scales must be 0 to 255, not -181"),
        ({"scales": WHOLE.scales.astype(np.uint16) + 300}, ValueError, "scales must be 0 to 255, not 419"),
        (
            {"scales": WHOLE.scales.astype(float)},
            TypeError,
            "scales must be a NumPy array of whole numbers, not float64",
        ),
        ({"scales": WHOLE.scales[0]}, ValueError, f"{AXES}, not -1 for the shapes (2, 32) and (1,)"),
        (
            {"codes": np.ma.masked_array(WHOLE.codes, True)},
            TypeError,
            "codes must be a NumPy array of whole numbers, not MaskedArray",
        ),
        (
            {"codes": WHOLE.codes.astype(np.float32)},
            TypeError,
            "codes must be a NumPy array of whole numbers, not float32",
        ),
        ({"codes": WHOLE.codes.tolist()}, TypeError, "codes must be a NumPy array of whole numbers, not list"),
        ({"codes": WHOLE.codes.astype(int) - 300}, ValueError, "codes of e4m3 must be 0 to 255, not -180"),
        ({"codes": WHOLE.codes.astype(np.uint16) + 200}, ValueError, "codes of e4m3 must be 0 to 255, not 320"),
        ({"numerics": "e4m3"}, TypeError, "numerics must be of the class Encode or Nvfp4Encode, not 'e4m3'"),
        ({"numerics": None}, TypeError, "numerics must be of the class Encode or Nvfp4Encode, not None"),
        ({"axis": "a"}, TypeError, "axis must be a whole number, not 'a'"),
        ({"axis": 2}, ValueError, f"{AXES}, not 2 for the shapes (2, 32) and (2, 1)"),
        ({"length": 31.5}, TypeError, "length must be a whole number, not 31.5"),
    ],
)
def test_blocks_that_are_none(change, kind, sentence):
    for use in (dequantize, lambda q: error_statistics(np.ones((2, 32), np.float32), q)):
        with pytest.raises(kind) as error:
            use(dataclasses.replace(WHOLE, **change))
        assert str(error.value) == sentence


def test_codes_and_scales_may_be_other_whole_numbers():
    other = dataclasses.replace(WHOLE, scales=WHOLE.scales.astype(np.int64), codes=WHOLE.codes.astype(">u2"))
    np.testing.assert_array_equal(dequantize(other), dequantize(WHOLE))
