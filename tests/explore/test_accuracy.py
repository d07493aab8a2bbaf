"""Figures of accuracy, against sums by hand and against exact arithmetic."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.explore import accuracy
from mxcast.explore.accuracy import Loss, loss
from mxcast.explore.tensors import Tensor, given, standard
from mxcast.models import dequantize, quantize
from mxcast.models.exact.cast import cast_number
from mxcast.models.exact.decode import decode_block
from mxcast.models.exact.encode import element_value, quantize_block
from mxcast.spec import FixedFormat, casting, decoding, numerics, nvfp4_encoding


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MXCAST_CACHE", str(tmp_path / "cache"))


def test_by_hand():
    """E2M1 with blocks of 4: the largest magnitude 8 has the scale 2, and 8 / 2 = 4 is a code.

    5.0 / 2 = 2.5 lies between 2 and 3, and goes to the even code 2, so the result is 4.0. 0.3 / 2 = 0.15 goes to 0.
    -1.5 / 2 = -0.75 lies between -0.5 and -1, and goes to the even code of -1, so the result is -2.
    """
    x = np.array([8, 5, 0.3125, -1.5], np.float32)
    total, each = loss(numerics("e2m1", block_size=4), given({"x": x}))
    assert each == {"x": total}
    assert total.sqnr_db == pytest.approx(
        10 * math.log10((64 + 25 + 0.3125**2 + 2.25) / (1 + 0.3125**2 + 0.25)), abs=1e-12
    )
    assert total.flushed == 0.25 and total.saturated == 0.0 and total.max_relative_error == 1 / 8
    assert total.mean_bias == (14 - 14.8125) / 14.8125


def test_saturation_and_what_is_not_finite():
    x = np.array([7.9, 1, 0, -0.0, math.inf, 1, 1, 1], np.float32)
    total, _ = loss(numerics("e2m1", block_size=4), given({"x": x}))  # 7.9 becomes 6; the second block is NaN
    assert (total.saturated, total.lost) == (0.2, 0.6) and total.max_relative_error == pytest.approx(
        (7.9 - 6) / 7.9, rel=1e-6
    )
    assert loss(numerics("e2m1", block_size=4), given({"x": np.zeros(4, np.float32)}))[0].sqnr_db is None


def test_nothing_is_lost():
    total, _ = loss(numerics("e2m1", block_size=4), given({"x": np.array([6, -1.5, 0, 0.5], np.float32)}))
    assert total.sqnr_db == math.inf and total.max_relative_error == total.mean_bias == 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "uint16"])
def test_a_narrow_tensor_is_judged_by_every_source(dtype):
    """The loss equals the loss of the same numbers in FP32, for each source; uint16 are patterns of BF16."""
    narrow = (
        np.random.default_rng(5).standard_normal((4, 64)).astype(ml_dtypes.bfloat16 if dtype == "uint16" else dtype)
    )
    as_given = narrow.view(np.uint16) if dtype == "uint16" else narrow
    for source in ("fp32", "bf16", "fp16"):
        rules = numerics("e4m3", source=source, block_size=16)
        assert loss(rules, given({"x": as_given})) == loss(rules, given({"x": narrow.astype(np.float32)}))


@pytest.mark.parametrize("rules", [{}, {"scale_rule": "ceil"}, {"rounding": "rtz"}, {"input_subnormals": "flush"}])
@pytest.mark.parametrize("name", ["e4m3", "e2m1", "int8"])
def test_against_exact_arithmetic(name, rules):
    """Every figure from the rational values of the independent model."""
    chosen = numerics(name, block_size=8, **rules)
    x = (
        np.random.default_rng(3).standard_normal((6, 8)) * np.array([[1], [2.0**-126], [1e30], [3], [1e-3], [0.1]])
    ).astype(np.float32)
    errors = signal = noise = before = after = Fraction(0)
    for block in x:
        y = exact_values(block, chosen)
        largest = max(abs(Fraction(float(v))) for v in block)
        for number, got in zip(block, y):
            number = Fraction(float(number))
            errors = max(errors, abs(got - number) / largest)
            signal, noise = signal + number**2, noise + (got - number) ** 2
            before, after = before + abs(number), after + abs(got)
    total, _ = loss(chosen, given({"x": x}))
    assert total.max_relative_error == pytest.approx(float(errors), rel=1e-12)
    assert total.mean_bias == pytest.approx(float((after - before) / before), rel=1e-9)
    assert total.sqnr_db == pytest.approx(
        10 * math.log10(signal / noise), abs=1e-4
    )  # the sums of a block are in single precision


def exact_values(block, chosen):
    """Values of the codes of a block, by the definitions."""
    scale, codes = quantize_block([int(pattern) for pattern in block.view(np.uint32)], chosen)
    element, found = chosen.block.element, []
    for code in codes:
        sign = code >> element.bits - 1
        code = (-code if isinstance(element, FixedFormat) else code) % (1 << element.bits - 1) if sign else code
        found.append((-1) ** sign * element_value(code, element) * Fraction(2) ** (scale - 127))
    return found


def judged(pairs) -> Loss:
    """The figures of numbers and their results, as fractions; None for NaN and infinities."""
    kept = [(before, after) for before, after, _ in pairs if after is not None]
    errors = [abs(after - before) for before, after in kept]
    signal, sizes = sum(before**2 for before, _ in kept), sum(abs(before) for before, _ in kept)
    noise = sum(error**2 for error in errors)
    return Loss(
        sqnr_db=10 * math.log10(signal / noise) if noise else math.inf,
        max_relative_error=float(max(error / abs(before) for error, (before, _) in zip(errors, kept))),
        saturated=sum(is_beyond for *_, is_beyond in pairs) / len(pairs),
        flushed=sum(after == 0 for _, after in kept) / len(pairs),
        lost=1 - len(kept) / len(pairs),
        mean_bias=float((sum(abs(after) for _, after in kept) - sizes) / sizes),
        differing=sum(before != after for before, after, _ in pairs) / len(pairs),
    )


def same(total: Loss, expected: Loss) -> bool:
    return total.to_dict() == pytest.approx(expected.to_dict(), rel=1e-9, abs=1e-15)


def number(code: int, format) -> Fraction | None:
    """The value of a code; None unless it is finite."""
    found = format.decode(code)
    return (-1) ** found.negative * found.magnitude if found.kind == "finite" else None


@pytest.mark.parametrize(
    "name, profile, fields",
    [
        ("e5m2", "ocp", {"destination": "fp16"}),
        ("e4m3", "ocp", {"destination": "fp16", "overflow": "saturate", "rounding": "rtz"}),
        ("e2m1", "te", {}),
        ("int8", "idma", {}),
        ("e4m3", "ocp", {}),
    ],
)
def test_decoders_against_exact_arithmetic(name, profile, fields):
    """Codes of OCP's encoder, decoded by the exact definition, against exact products."""
    rules, x = decoding(name, profile, block_size=8, **fields), np.random.default_rng(3).standard_normal((6, 8))
    x = (x * np.array([[1], [2.0**-126], [1e30], [3], [2.0**-17], [70000]])).astype(np.float32)
    encode, largest, pairs = numerics(rules.block), number(rules.destination.max_code, rules.destination), []
    for block in x:
        scale, codes = quantize_block([int(pattern) for pattern in block.view(np.uint32)], encode)
        for before, pattern in zip(exact_values(block, encode), decode_block(scale, codes, rules), strict=True):
            if before:
                pairs.append((before, number(pattern, rules.destination), abs(before) > largest))
    assert same(loss(rules, given({"x": x}))[0], judged(pairs))


@pytest.mark.parametrize(
    "name, fields",
    [
        ("e4m3", {}),
        ("e5m2", {"overflow": "inf", "source": "bf16", "lanes": 4}),
        ("e8m0", {"rounding": "rp", "lanes": 2}),
        ("e5m2", {"destination": "fp16"}),
        ("e8m0", {"destination": "fp16"}),
    ],
)
def test_casts_against_exact_arithmetic(name, fields):
    """Casts of the numbers, and casts of their codes under OCP back to numbers."""
    rules = casting(name, **fields)
    x = (np.random.default_rng(3).standard_normal((3, 8)) * np.array([[1], [1e5], [2.0**-17]])).astype(np.float32)
    numbers, largest, pairs = (
        np.abs(x) if name == "e8m0" else x,
        number(rules.destination.max_code, rules.destination),
        [],
    )
    for value in numbers.reshape(-1):
        before = Fraction(float(value))
        pattern = int(np.float32(value).view(np.uint32))
        if rules.is_back:
            pattern = cast_number(pattern, casting(name))
            before = number(pattern, rules.source)
        elif rules.source.bits == 16:
            pattern = int(value.astype(ml_dtypes.bfloat16).view(np.uint16))
        if before:
            pairs.append((before, number(cast_number(pattern, rules), rules.destination), abs(before) > largest))
    assert same(loss(rules, given({"x": numbers}))[0], judged(pairs))


def test_tensors_that_count():
    a, b = (
        Tensor(name=name, values=np.full(32, value, np.float32), source="-", counts=name == "a")
        for name, value in (("a", 1), ("b", 3e-45))
    )
    total, each = loss(numerics("e4m3", input_subnormals="flush"), [a, b])
    assert total == each["a"] and each["b"].flushed == 1.0 and total.flushed == 0.0


@pytest.mark.parametrize("source", ["bf16", "fp16"])
def test_a_narrow_source_is_judged_against_the_numbers_given(source):
    """Numbers are first rounded to the source, to nearest even. In BF16, 1 + 2^-8 + 2^-20 is a little above a tie, so
    it goes to 1 + 2^-7.
    """
    x = np.array([1 + 2.0**-8 + 2.0**-20] * 16 + [1 + 3 * 2.0**-8, 1 + 2.0**-8] * 8, np.float32)
    cut = x.astype(ml_dtypes.bfloat16 if source == "bf16" else np.float16)
    rules = numerics("int8", source=source)
    got = dequantize(quantize(cut, rules)).astype(np.float64)
    total, _ = loss(rules, given({"x": x}))
    assert total.sqnr_db == pytest.approx(
        10 * math.log10((x.astype(np.float64) ** 2).sum() / ((got - x) ** 2).sum()), abs=1e-5
    )
    assert loss(rules, given({"x": cut.view(np.uint16) if source == "bf16" else cut}))[0].sqnr_db != total.sqnr_db


def test_what_is_lost():
    """Under OCP's rules a NaN takes its block with it; the numbers of that block are in this figure and in no other."""
    x = np.ones((2, 32), np.float32)
    x[0, 0], x[0, 1], x[1, 5] = math.nan, 0, 3e-3
    ocp, drop = (loss(numerics("e4m3", specials=specials), given({"x": x}))[0] for specials in ("nan_block", "drop"))
    assert (ocp.lost, drop.lost) == (30 / 62, 0.0) and ocp.flushed == 0
    assert loss(numerics("e4m3"), given({"x": x[:1]}))[0] == Loss(
        lost=1.0, **dict.fromkeys(("sqnr_db", "max_relative_error", "saturated", "flushed", "mean_bias"))
    )


@pytest.mark.parametrize(
    "values, description",
    [
        (np.zeros((3, 0), np.float32), "tensor x has no numbers along an axis"),
        (np.float32(1), "tensor x has no numbers"),
        (np.zeros(32), "tensor x: x must be float32"),
        (np.zeros(32, int), "not int64"),
    ],
)
def test_tensors_that_cannot_be_judged(values, description):
    with pytest.raises((TypeError, ValueError), match=description):
        given({"x": values})


def test_results_are_kept_by_content(monkeypatch):
    x = given({"x": np.ones(32, np.float32)})
    first = loss(numerics("e4m3"), x)
    monkeypatch.setitem(accuracy.CHUNKS, "encode", lambda *parts: pytest.fail("computed twice"))
    assert loss(numerics("e4m3"), x) == first
    with pytest.raises(pytest.fail.Exception):
        loss(numerics("e4m3"), given({"x": np.full(32, 2, np.float32)}))


def test_the_tensors_that_ship():
    found = standard()
    assert [t.name for t in found if t.counts] == ["minilm weights"] and len({t.name for t in found}) == len(found) >= 4
    assert [t.sha256 for t in found] == [t.sha256 for t in standard()]
    assert all(t.values.dtype == np.float32 and np.isfinite(t.values).all() for t in found)
    tiny = next(t for t in found if t.name == "tiny")
    assert 0.5 < np.mean(np.abs(tiny.values) < 2.0**-126) < 1


@pytest.mark.parametrize("profile, fields", [("nvfp4_te", {}), ("nvfp4_ao_single", {"source": "bf16"})])
def test_a_scale_of_the_tensor_is_that_of_all_chunks(profile, fields, monkeypatch):
    """Chunks of 64 numbers give the same figures as one call of `quantize`."""
    monkeypatch.setattr(accuracy, "CHUNK", 64)
    x = (np.random.default_rng(3).standard_normal(4096).astype(np.float32).view(np.uint32) & 0xFFFF0000).view(
        np.float32
    )
    y = mxcast.dequantize(mxcast.quantize(x, "nvfp4", profile=profile)).astype(np.float64)
    found, _ = loss(nvfp4_encoding("nvfp4", profile, **fields), given({"x": x}))
    error = y - x.astype(np.float64)
    assert found.sqnr_db == pytest.approx(
        10 * np.log10((x.astype(np.float64) ** 2).sum() / (error**2).sum()), rel=1e-12
    )
    assert found.differing is None and found.lost == 0
