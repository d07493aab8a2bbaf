"""The compiled module and NumPy give the same bits, under every rule and with every instruction set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from sysconfig import get_paths
from types import SimpleNamespace

import numpy as np
import pytest

from mxcast.models import dequantize, native, quantize, quantize_blocks, statistics
from mxcast.models.arrays.scratch_buffers import scratch_buffers
from mxcast.models.fast import cast as fast_cast
from mxcast.models.fast import decode as fast_decode
from mxcast.models.fast import encode as fast_encode
from mxcast.models.fast.cast import cast_patterns
from mxcast.models.fast.encode import _quantize_part
from mxcast.models.native import decode as native_decode
from mxcast.models.native import encode as native_encode
from mxcast.models.native.encode import ROUNDINGS, SOURCES, Rules, encode_blocks, rules_of
from mxcast.spec import (
    ELEMENTS,
    FP16,
    FP32,
    Encode,
    EncodedZero,
    FloatFormat,
    Rounding,
    ScaleRule,
    Specials,
    Subnormals,
    block_format,
    casting,
    decoding,
    numerics,
)

pytestmark = pytest.mark.skipif(os.environ.get(native.VARIABLE) == "0", reason="the compiled module is turned off")

SETS = ["baseline", "avx2", "avx512"]
DTYPES = {"fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16}
OTHER_ELEMENTS = ["e3m0", "e2m2", "e5m1", "e1m6", "int4", "int5"]


@pytest.fixture(params=SETS)
def instruction_set(request):
    try:
        native.kernels.choose(request.param)
    except ValueError:
        pytest.skip(f"this processor lacks {request.param}")
    yield request.param
    native.kernels.choose(None)


def _blocks(source: str, size: int, seed: int, count: int = 512) -> np.ndarray:
    """Blocks of any patterns, of numbers of similar size, on ties of short fractions, and of zeros."""
    rng = np.random.default_rng(seed)
    dtype = DTYPES[source]
    width = np.dtype(dtype).itemsize * 8
    fraction = {"fp32": 23, "bf16": 7, "fp16": 10}[source]
    any_ = rng.integers(0, 1 << width, (count, size), dtype=dtype)
    base = rng.integers(0, 1 << width, (count, 1), dtype=dtype)
    near = base ^ rng.integers(0, 8 << fraction, (count, size), dtype=dtype)
    kept = dtype(((1 << width) - 1) ^ ((1 << max(fraction - 5, 0)) - 1))
    ties = near & kept | rng.integers(0, 2, near.shape, dtype=dtype)
    exact_ties = near & kept
    exact_ties[rng.random(near.shape) < 0.2] &= dtype(1 << (width - 1))
    blocks = np.concatenate([any_, near, ties, exact_ties])
    return blocks.view({"fp32": np.float32, "bf16": np.uint16, "fp16": np.float16}[source])


def _assert_same(rules: Encode, seed: int) -> None:
    blocks = _blocks(rules.source.name, rules.block_size, seed)
    random = None
    if rules.random_bits:
        random = np.random.default_rng(seed).integers(0, 1 << rules.random_bits, blocks.shape, dtype=np.uint16)
    assert rules_of(rules, rules.source) is not None
    expected = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, np.uint8)
    found = np.empty(len(blocks), np.uint8), np.empty(blocks.shape, np.uint8)
    _quantize_part(blocks, rules, *expected, random)
    quantize_blocks(blocks, rules, *found, random)
    for one, other in zip(expected, found, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("element", [*ELEMENTS, *OTHER_ELEMENTS])
def test_every_rule(element, instruction_set):
    everything = product(
        (rounding for rounding in Rounding if rounding in ROUNDINGS), EncodedZero, Subnormals, Subnormals
    )
    scale_rules, specials, sources = list(ScaleRule), list(Specials), [source.name for source in SOURCES]
    for number, (rounding, zero, inputs, elements) in enumerate(everything):
        for source in sources:
            try:
                rules = numerics(
                    element,
                    source=source,
                    rounding=rounding,
                    zero=zero,
                    input_subnormals=inputs,
                    element_subnormals=elements,
                    scale_rule=scale_rules[number % len(scale_rules)],
                    specials=specials[number % len(specials)],
                    block_size=(32, 16, 2, 64)[number % 4],
                )
            except ValueError:  # the rules do not fit the format
                continue
            _assert_same(rules, number)


@pytest.mark.parametrize("field, wrong", [(9, 2), (10, 122 << 23), (14, 416.0)], ids=["fraction", "lowest", "limit"])
def test_a_wrong_field_of_the_rules_is_found(field, wrong, instruction_set, monkeypatch):
    """Planted bugs: other fraction bits, another smallest exponent field and another largest element."""

    def planted(numerics: Encode, source: FloatFormat) -> Rules | None:
        rules = rules_of(numerics, source)
        assert rules is not None
        return rules._replace(numbers=(*rules.numbers[:field], wrong, *rules.numbers[field + 1 :]))

    monkeypatch.setattr(fast_encode, "rules_of", planted)
    with pytest.raises(AssertionError):
        _assert_same(numerics("e4m3"), 1)


@pytest.mark.parametrize("scale_rule", ScaleRule)
@pytest.mark.parametrize("element", ELEMENTS)
def test_every_scale_rule(element, scale_rule, instruction_set):
    _assert_same(numerics(element, scale_rule=scale_rule), 1)


@pytest.mark.parametrize("scale_rule", ScaleRule)
@pytest.mark.parametrize("element", ELEMENTS)
def test_scale_byte_of_every_maximum_near_a_step(element, scale_rule):
    """The byte of both neighbours of each step, of every exponent and fraction that the rule compares."""
    rules = numerics(element, scale_rule=scale_rule)
    found = rules_of(rules, rules.source)
    assert found is not None
    steps = (np.arange(255, dtype=np.uint32) << np.uint32(23)) + found.limits[:255]
    maxima = np.unique(np.concatenate([steps - 1, steps, steps + 1]) & np.uint32(0x7FFFFFFF))
    maxima = maxima[maxima < 0x7F800000]
    blocks = np.zeros((len(maxima), 32), np.uint32)
    blocks[:, 7] = maxima
    scales, codes = np.empty(len(maxima), np.uint8), np.empty(blocks.shape, np.uint8)
    quantize_blocks(blocks.view(np.float32), rules, scales, codes)
    expected, expected_codes = np.empty_like(scales), np.empty_like(codes)
    _quantize_part(blocks.view(np.float32), rules, expected, expected_codes, None)
    assert np.array_equal(scales, expected) and np.array_equal(codes, expected_codes)


@pytest.mark.parametrize("element", [*ELEMENTS, *OTHER_ELEMENTS, "e3m4"])
def test_every_scale_and_code_back(element, instruction_set):
    """All 256 scale bytes with all codes."""
    block = block_format(element)
    codes = np.arange(1 << block.element.bits, dtype=np.uint8).repeat(256).reshape(-1, 256).T.copy()
    codes = np.resize(codes, (256, max(codes.shape[1], 32)))
    scales = np.arange(256, dtype=np.uint8)
    rules = numerics(element)
    size = rules.block_size
    rows = codes.reshape(-1, size)
    bytes_ = scales.repeat(codes.shape[1] // size)
    y = np.empty(rows.shape, np.float32)
    fast_decode.decode_blocks(bytes_, rows, decoding(block), y)
    values, factors = fast_decode.code_values(block.element), fast_decode.code_values(block.scale)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = values[rows].astype(np.float64) * factors[bytes_].astype(np.float64)[:, None]
        expected = exact.astype(np.float32)
    expected[np.isnan(expected)] = np.nan
    assert np.array_equal(y.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("count", [1, 3, 5, 9, 31, 63, 67])
@pytest.mark.parametrize("element", ELEMENTS)
def test_blocks_beyond_the_last_whole_vectors(element, count, instruction_set):
    """Both ways. The blocks after the last whole vectors are computed one by one."""
    rules = numerics(element)
    whole = quantize(np.random.default_rng(5).standard_normal((128, 32), dtype=np.float32), rules)
    part = quantize(np.random.default_rng(5).standard_normal((128, 32), dtype=np.float32)[:count], rules)
    assert np.array_equal(part.codes, whole.codes[:count]) and np.array_equal(part.scales, whole.scales[:count])
    assert np.array_equal(dequantize(part), dequantize(whole)[:count])


@pytest.mark.parametrize("element, size", [("e4m3", 32), ("e2m1", 16), ("int8", 8), ("e5m2", 128), ("e3m2", 2)])
def test_errors_of_blocks(element, size, instruction_set):
    """Counts and maxima are equal. Sums are in another order than NumPy's, and the same with every instruction set."""
    rules = numerics(element, block_size=size)
    rng = np.random.default_rng(6)
    x = rng.standard_normal((999, size), dtype=np.float32)
    x[::3] *= np.exp2(rng.integers(-40, 1, x[::3].shape)).astype(np.float32)
    x[5], x[6, 0], x[7, 1] = 0, -0.0, np.inf
    q = quantize(x, rules)
    given = x.view(np.uint32).reshape(-1), q.scales[:, 0], q.codes, rules, scratch_buffers(x.size, rules)
    found, left_out = statistics._by_module(*given)
    expected, expected_left_out = statistics._by_numpy(*given)
    assert np.array_equal(left_out, expected_left_out) and left_out[7] and not left_out[6]
    for name in ("saturated", "flushed", "amax_min", "amax_max"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.flushed and found.saturated and found.amax_min == 0
    assert (found.signal, found.noise) == pytest.approx((expected.signal, expected.noise), rel=1e-5, abs=0)
    native.kernels.choose("baseline")
    assert statistics._by_module(*given)[0] == found


@pytest.mark.parametrize("format, source", [("e4m3", "fp32"), ("ue8m0", "fp64"), ("e5m2", "bf16"), ("e2m1", "fp16")])
def test_casts(format, source, monkeypatch):
    """Both ways, of any patterns and around each step of the table of results."""
    rules = casting(format, source=source)
    dtype = np.dtype(f"u{rules.source.bits // 8}")
    first = np.arange(0, 1 << 16, 7, dtype=np.uint64) << np.uint64(rules.source.bits - 16)
    every = np.random.default_rng(7).integers(0, 1 << rules.source.bits, 4096, dtype=np.uint64, endpoint=False)
    patterns = np.concatenate([first, first + np.uint64(1), first - np.uint64(1), every]).astype(dtype)
    back = casting(format, destination="fp32")
    codes = np.arange(1 << rules.destination.bits, dtype=np.uint8)
    results = []
    for kernels in (native.kernels, None):
        monkeypatch.setattr(fast_cast, "kernels", kernels)
        made, numbers = np.empty(patterns.shape, np.uint8), np.empty(codes.shape, np.uint32)
        cast_patterns(patterns, rules, made)
        cast_patterns(codes, back, numbers, jobs=2)
        results.append((made, numbers))
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other) and one.any()


def test_the_module_checks_tables():
    with pytest.raises(ValueError, match="of the same 8, 16 or 32 bits"):
        native.kernels.look_up(np.zeros(4, np.uint8), np.zeros(3, np.uint32), np.zeros(3, np.uint16), 16)
    with pytest.raises(ValueError, match="results must have 3 bytes, not 2"):
        native.kernels.look_up(np.zeros(4, np.uint8), np.zeros(3, np.uint32), np.zeros(2, np.uint8), 16)


def test_special_blocks_are_found(instruction_set):
    blocks = np.ones((64, 32), np.float32)
    blocks[5, 3], blocks[40, 31] = np.nan, -np.inf
    rules = rules_of(numerics("e4m3"), FP32)
    assert rules is not None
    scales, codes = np.empty(64, np.uint8), np.empty(blocks.shape, np.uint8)
    assert list(encode_blocks(blocks, rules, scales, codes, None)) == [5, 40]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("clang") is None, reason="needs clang")
def test_clang_compiles_the_same_module(instruction_set, tmp_path, monkeypatch):
    source = Path(__file__).parents[3] / "models" / "native" / "kernels.c"
    options = ["-O3", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC", "-I", get_paths()["include"]]
    subprocess.run(["clang", *options, source, "-o", tmp_path / "kernels.so"], check=True)
    found = spec_from_file_location("kernels", tmp_path / "kernels.so")
    assert found is not None and found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    module.choose(instruction_set)
    x = np.random.default_rng(8).standard_normal((131, 32), dtype=np.float32)
    expected = [dequantize(quantize(x, element)) for element in ELEMENTS]
    for place in (native_decode, native_encode):
        monkeypatch.setattr(place, "kernels", module)
    for element, numbers in zip(ELEMENTS, expected, strict=True):
        _assert_same(numerics(element), 9)
        assert np.array_equal(dequantize(quantize(x, element)), numbers)


def test_refused_rules_are_encoded_by_numpy():
    x = np.linspace(-4, 4, 64, dtype=np.float32)
    for rules in (numerics("e4m3", "gorodecky_sousa"), numerics("int12")):
        assert rules_of(rules, rules.source) is None
        assert quantize(x, rules).codes.any()


def test_the_module_checks_sizes():
    rules = rules_of(numerics("e4m3"), FP32)
    assert rules is not None
    with pytest.raises(ValueError, match="numbers must have 4096 bytes, not 4092"):
        encode_blocks(np.ones(1023, np.float32), rules, np.empty(32, np.uint8), np.empty(1024, np.uint8), None)


@pytest.mark.parametrize(
    "value, said",
    [("0", "None"), ("baseline", "baseline"), ("mmx", "must be 0 or an instruction set of this processor")],
)
def test_environment_variable(value, said):
    run = subprocess.run(
        [sys.executable, "-c", "from mxcast.models import native; print(native.instruction_set)"],
        env={**os.environ, native.VARIABLE: value},
        capture_output=True,
        text=True,
    )
    assert said in run.stdout + run.stderr


def test_threads_give_the_same_bits():
    x = _blocks("fp32", 32, 3, count=1 << 14).reshape(-1)
    one, four = quantize(x, "e4m3"), quantize(x, "e4m3", jobs=4)
    assert np.array_equal(one.codes, four.codes) and np.array_equal(one.scales, four.scales)
    assert np.array_equal(dequantize(one).view(np.uint32), dequantize(four, jobs=4).view(np.uint32))


def test_half_precision_is_widened_exactly(instruction_set):
    """All 65,536 patterns of FP16, each in a block of its own kind."""
    patterns = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 32).view(np.float16)
    rules = numerics("e5m2", source=FP16)
    expected = quantize(patterns.astype(np.float32), numerics("e5m2"))
    found = quantize(patterns, rules)
    assert np.array_equal(found.codes, expected.codes) and np.array_equal(found.scales, expected.scales)


def test_results_say_what_made_them(instruction_set):
    x = np.ones(32, np.float32)
    assert quantize(x, "e4m3").made_by == native.instruction_set
    assert quantize(x, "e4m3", "gorodecky_sousa").made_by == "numpy"


@pytest.mark.parametrize("dtype", [np.float16, np.uint16])
def test_a_narrow_array_under_rules_for_fp32(dtype):
    """FP16 and BF16 arrays are accepted if the source is FP32."""
    patterns = np.random.default_rng(4).integers(0, 1 << 16, (64, 32), dtype=np.uint16)
    rules = numerics("e4m3", input_subnormals="flush")
    expected = np.empty(64, np.uint8), np.empty((64, 32), np.uint8)
    found = np.empty(64, np.uint8), np.empty((64, 32), np.uint8)
    _quantize_part(patterns.view(dtype), rules, *expected, None)
    quantize_blocks(patterns.view(dtype), rules, *found)
    assert np.array_equal(found[0], expected[0]) and np.array_equal(found[1], expected[1])


def test_a_module_of_another_version_is_not_used(monkeypatch):
    """A checkout that was updated still has the module that was compiled before."""
    monkeypatch.setattr(native, "import_module", lambda *names: SimpleNamespace(choose=lambda wanted: "avx2"))
    monkeypatch.delenv(native.VARIABLE, raising=False)
    with pytest.warns(UserWarning, match="^the compiled module is of another version of mxcast, so it is not used"):
        assert native._loaded() == (None, None)
