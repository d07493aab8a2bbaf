"""Functions with known rules, right and wrong ones: the rules are named, and each fault has its block."""

from __future__ import annotations

import sys
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.conformance.identify.separation import SEPARATIONS
from mxcast.conformance.subject.subject import CALLED_WITH, CALLS
from mxcast.models import BlockArray
from mxcast.testing import assert_follows


def encoder(format: str = "e4m3", profile: str = "ocp", **rules) -> Callable:
    def encode(x):
        q = mxcast.quantize(x, format, profile=profile, **rules)
        return q.scales, q.codes

    return encode


def changed(change: Callable, *, of: Callable | None = None, before: Callable = lambda x: x) -> Callable:
    """An encoder whose input and results are changed."""
    own = of or encoder()
    return lambda x: change(*own(before(x)))


def identified(function, format="e4m3", **given):
    return mxcast.identify(function, format, blocks=2000, **given)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "format, profile, names",
    [
        ("e4m3", "ocp", "ocp"),
        ("e4m3", "nvidia", "nvidia"),
        pytest.param("e4m3", "te", "te", marks=pytest.mark.slow),
        ("int8", "gorodecky_sousa", "gorodecky_sousa"),
        pytest.param("e2m1", "torchao_even", "torchao_even", marks=pytest.mark.slow),
        ("nvfp4", "nvfp4_te", "nvfp4_te"),
        pytest.param("nvfp4", "nvfp4_paper", "nvfp4_paper", marks=pytest.mark.slow),
        ("nvfp4", "nvfp4_ao", "nvfp4_ao"),
        pytest.param("nvfp4", "nvfp4_modelopt", "nvfp4_modelopt", marks=pytest.mark.slow),
        pytest.param("nvfp4", "nvfp4_compressed_tensors", "nvfp4_compressed_tensors", marks=pytest.mark.slow),
    ],
)
def test_profiles_are_named(format, profile, names):
    found = identified(encoder(format, profile), format)
    assert (
        found.verdict == "follows" and names in found.names and found.sentence.split(" follows ")[1].startswith(names)
    )


@pytest.mark.parametrize("source", ["bf16", "fp16"])
def test_other_sources(source):
    def encode(x):
        assert x.dtype == (np.float16 if source == "fp16" else np.float32)
        return encoder("e2m1", "nvidia")(x)

    found = identified(encode, "e2m1", source=source)
    assert "nvidia" in found.names


@pytest.mark.parametrize(
    "profile", ["te", *(pytest.param(name, marks=pytest.mark.slow) for name in ("ocp", "gpt_oss"))]
)
def test_decoders(profile):
    block = mxcast.formats["mxfp8_e4m3"]

    def decode(scales, codes):
        return mxcast.dequantize(
            BlockArray(scales=scales[:, None], codes=codes, block=block), profile, destination="fp32"
        )

    found = identified(decode, op="decode")
    assert profile in found.names


def test_casts():
    assert "ml_dtypes" in identified(lambda x: x.astype(ml_dtypes.float8_e5m2), "e5m2", op="cast").names
    found = identified(lambda x: x.astype(ml_dtypes.float8_e8m0fnu), "e8m0", op="cast")
    assert found.verdict == "differs" and found.nearest[0].names == ("ml_dtypes",)
    assert "0x00400001, expected 0x00, got 0x01" in found.witness  # as the remark of the profile has it


def test_the_forms_of_results():
    """Codes in a byte, packed, signed, as values and as formats of one byte; numbers instead of codes."""
    scales, codes = mxcast.models.arrays.codes.code_values, ml_dtypes.float8_e4m3fn
    forms = {
        "e2m1": [
            lambda s, c: (s[:, 0], c.astype(np.int64)),
            lambda s, c: (s, c[:, ::2] | c[:, 1::2] << 4),
            lambda s, c: (
                scales(mxcast.formats["mxfp4_e2m1"].scale)[s],
                scales(mxcast.formats["mxfp4_e2m1"].element)[c],
            ),
        ],
        "e4m3": [
            lambda s, c: (s.view(ml_dtypes.float8_e8m0fnu), c.view(codes)),
            lambda s, c: (s, c.view(np.int8), 1.0),
        ],
    }
    for format, changes in forms.items():
        for change in changes:
            assert "nvidia" in identified(changed(change, of=encoder(format, "nvidia")), format).names
    numbers = identified(lambda x: mxcast.dequantize(mxcast.quantize(x, "e2m1", "nvidia")), "e2m1")
    assert "nvidia" in numbers.names


def fp32_log2(x):
    """The floor of a logarithm in FP32, which is a whole number for numbers just below a power of two."""
    q = mxcast.quantize(x, "e4m3")
    largest = np.abs(x).max(axis=1)
    is_number = np.isfinite(largest) & (largest > 0)
    floor = np.floor(np.log2(np.where(is_number, largest, 1).astype(np.float32)))
    scales = np.where(is_number, np.clip(floor - 8 + 127, 0, 254), q.scales[:, 0]).astype(np.uint8)
    return scales, np.where((scales == q.scales[:, 0])[:, None], q.codes, 0)


def products_exchanged(x):
    """(b / 6) * S_enc where the order te has b * (S_enc / 6)."""
    return encoder("nvfp4", "nvfp4_paper")(x)


def small_as_zero(x):
    return np.where(np.abs(x) < 2.0**-126, np.copysign(np.float32(0), x), x)


PLANTED = {
    "ties away": (encoder(rounding="rna"), "e4m3", "follows ocp with rounding=rna"),
    "floor for ceil": (encoder(), "e4m3", "follows ocp"),
    "subnormal elements flushed": (encoder(element_subnormals="flush"), "e4m3", "follows ocp with element_subnormals="),
    "subnormal inputs flushed": (
        lambda x: encoder()(small_as_zero(x)),
        "e4m3",
        "follows ocp with input_subnormals=flush",
    ),
    "-0 lost": (changed(lambda s, c: (s, np.where(c == 128, 0, c))), "e4m3", "only zeros differ: -0 became +0"),
    "FP32 logarithm": (fp32_log2, "e4m3", "is a logarithm computed in FP32?"),
    "byte off by one": (changed(lambda s, c: (s + 1, c)), "e4m3", "every scale byte is 1 too large"),
    "NaN ignored": (
        lambda x: encoder()(np.where(np.isnan(x), np.float32(0), x)),
        "e4m3",
        "only blocks with NaN or Inf differ",
    ),
    "nibbles swapped": (
        changed(lambda s, c: (s, c[:, 1::2] | c[:, ::2] << 4), of=encoder("e2m1")),
        "e2m1",
        "exchanged: are the halves",
    ),
    "order of two products": (products_exchanged, "nvfp4", "follows nvfp4_paper"),
}
"""Departures from a profile by name: the function, its format, and words of the outcome."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("fault", PLANTED)
def test_planted_departures_are_named_with_their_block(fault):
    function, format, said = PLANTED[fault]
    profile = "nvidia" if fault == "floor for ceil" else "nvfp4_te" if format == "nvfp4" else "ocp"
    with pytest.raises(AssertionError) as error:
        assert_follows(function, profile, format=format, blocks=2000)
    assert said in str(error.value) and "to explain: mxcast explain" in str(error.value)


def test_ties_that_are_rounded_otherwise():
    """Ties of subnormal elements go away from zero: no known rules fit, and the cause is named."""

    def encode(x):
        scales, codes = encoder("e4m3")(x)
        with np.errstate(all="ignore"):
            y = np.abs(np.ldexp(x.astype(np.float64), 127 - scales.reshape(-1, 1).astype(int))) * 512
        is_tie = (y < 8) & (np.floor(y) + 0.5 == y) & (scales.reshape(-1, 1) < 255)
        return scales, np.where(is_tie, codes & 0x80 | (np.where(is_tie, y, 0) + 0.5).astype(np.uint8), codes)

    found = identified(encode)
    assert found.verdict == "differs" and "ocp" in found.nearest[0].names
    assert any("ties are rounded otherwise" in text for text in found.remarks), found.remarks
    found = identified(encoder(rounding="rtz"), profile="ocp")
    assert not any("ties" in text for text in found.remarks)


def test_a_witness_is_small():
    found = identified(changed(lambda s, c: (s, np.where(c == 0x7E, 0x7D, c))), profile="ocp")
    block = next(iter(found.witness_block.arrays.values()))
    assert found.verdict == "differs" and np.count_nonzero(block) == 1


VACUOUS = {
    "returns zeros": lambda x: (np.zeros(len(x), np.uint8), np.zeros(x.shape, np.uint8)),
    "returns its input": lambda x: x,
    "returns NaN": lambda x: np.full_like(x, np.nan),
    "returns a constant": lambda x: (np.full(len(x), 127, np.uint8), np.full(x.shape, 3, np.uint8)),
    "returns the same block": lambda x: (
        np.full(len(x), 127, np.uint8),
        np.tile(np.arange(32, dtype=np.uint8), (len(x), 1)),
    ),
    "depends on the batch": lambda x: encoder()(x / np.float32(np.nanmax(np.abs(x)))),
}


@pytest.mark.parametrize("said", VACUOUS)
def test_what_is_no_converter_is_called_that(said):
    found = identified(VACUOUS[said])
    assert found.verdict == "differs" and said in found.sentence and not found.names
    with pytest.raises(AssertionError, match=said):
        assert_follows(VACUOUS[said], "ocp", format="e4m3", blocks=100)


def test_zeros_fail_every_operation():
    for op, format, function in (
        ("decode", "e2m1", lambda s, c: np.zeros(c.shape, np.float32)),
        ("cast", "e4m3", lambda x: np.zeros(x.shape, np.uint8)),
        ("encode", "nvfp4", VACUOUS["returns zeros"]),
    ):
        assert "returns zeros" in identified(function, format, op=op).sentence


def test_a_random_function_is_not_judged():
    rng = np.random.default_rng(0)
    found = identified(lambda x: encoder()(x + rng.standard_normal(x.shape).astype(np.float32)))
    assert found.verdict == "unknown" and "is random" in found.sentence


def test_what_only_one_pattern_tells_apart(monkeypatch):
    """Both rules fit the tried blocks; a certificate gives the block that separates them."""
    from mxcast.conformance.identify.trial import Trial

    for kind in ("hard", "normal"):
        monkeypatch.setattr(Trial, kind, property(lambda trial: trial._called(_one_block(trial.rules))))
    found = identified(encoder("e2m1", "te"), "e2m1", source="bf16")
    assert found.names == ("te",)


def _one_block(rules):
    from mxcast.sim.transactions import Transactions
    from mxcast.spec import Role

    numbers = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    return Transactions({Role.NUMBERS: (numbers.view(np.uint32) >> 16).astype(np.uint16)})


@pytest.mark.parametrize(
    "function, sentence",
    [
        (lambda x: 1 // 0, "raised ZeroDivisionError when it was called with float32"),
        (lambda x: sys.exit(0), "raised SystemExit when it was called with float32"),
        (lambda x: (x[:3, 0], x), "returned what cannot be read"),
        (lambda x: (np.zeros(5, np.uint8), np.zeros(x.shape, np.uint8)), "scales are expected of"),
        (lambda x: "text", "returned what cannot be read"),
        (lambda x: (np.zeros(len(x), np.uint8), np.full(x.shape, 0.3, np.float32)), "e4m3 has no number 0.3"),
    ],
)
def test_what_cannot_be_called_or_read_is_one_sentence(function, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        identified(function)
    assert "\n" not in str(error.value)


def test_tables_have_the_same_operations():
    assert set(CALLS) == set(CALLED_WITH) == set(SEPARATIONS)


def numbers_encoder(change: Callable = lambda y, x: y, before: Callable = lambda x: x) -> Callable:
    """An encoder that returns numbers, quantized and back."""

    def encode(x):
        return change(mxcast.dequantize(mxcast.quantize(before(x), "e2m1")), x)

    return encode


def flushed(y, x):
    """Numbers with subnormal elements, which are below 1 under their scale, as zeros."""
    blocks = np.abs(x).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scale = np.exp2(np.floor(np.log2(blocks)) - 2)
    return np.where(np.abs(y) < scale, np.copysign(np.float32(0), y), y)


NUMBERS = {
    "-0 lost": (numbers_encoder(change=lambda y, x: y + np.float32(0)), "only zeros differ: -0 became +0"),
    "subnormals flushed": (numbers_encoder(change=flushed), "subnormal elements became zeros"),
    "NaN ignored": (
        numbers_encoder(before=lambda x: np.where(np.isnan(x), np.float32(0), x)),
        "only blocks with NaN or Inf differ",
    ),
    "twice too large": (numbers_encoder(change=lambda y, x: y * 2), "every number is 2 times the right one"),
    "pairs exchanged": (
        numbers_encoder(change=lambda y, x: y.reshape(-1, 16, 2)[:, :, ::-1].reshape(y.shape)),
        "with the two of each pair exchanged",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", NUMBERS)
def test_departures_of_numbers_have_causes(fault):
    function, said = NUMBERS[fault]
    found = identified(function, "e2m1", profile="ocp")
    assert not found.follows(found.rules) and sum(found.causes.values()) > 0
    assert any(said in remark for remark in found.remarks), (found.sentence, found.remarks)
    if fault == "NaN ignored":
        assert set(found.causes) == {"blocks with NaN or Inf: numbers that no element has under the right scale"}
    if fault == "-0 lost":
        assert not any("no element" in text for text in found.causes)


def returned(format="e4m3", profile="nvidia"):
    """An encoder that returns numbers."""
    return lambda x: mxcast.dequantize(mxcast.quantize(x, format, profile=profile))


@pytest.mark.slow  # the certificate of the two takes ten seconds
def test_numbers_tell_rules_apart_whose_largest_number_is_alike():
    """2^-127 * 448 is the same number under the bytes 0 and 1; smaller numbers differ."""
    found = identified(returned())
    assert (found.verdict, found.names) == ("follows", ("nvidia",)), found.sentence
    assert_follows(returned(), "nvidia", format="e4m3")


def test_what_fits_others_does_not_follow_what_it_is_to_follow():
    """Also if no block separates the other rules."""

    def refuses(x):
        if not np.isfinite(x).all():
            raise ValueError("finite numbers only")
        return returned("e2m1")(x)

    found = identified(refuses, "e2m1", source="bf16")  # of which te and nvidia take finite ones alike
    assert found.verdict == "unknown" and len(found.pair) == 2, found.sentence
    found = identified(refuses, "e2m1", profile="ocp", source="bf16")
    assert found.verdict == "differs" and "not ocp" in found.sentence and found.witness
    with pytest.raises(AssertionError, match="not ocp"):
        assert_follows(refuses, "ocp", format="e2m1", source="bf16")


def test_what_a_function_does_beside_its_work():
    def writes(x):
        made = encoder()(x)
        x[:] = 0
        return made

    found = identified(writes)
    assert found.verdict == "follows" and found.remarks == ("it writes to the arrays that it is called with",)
    assert not identified(encoder()).remarks


def test_exchanged_codes_are_compared_with_the_rules_that_they_follow():
    """All rules are far from them: the nearest by chance would explain nothing."""
    swapped = changed(
        lambda scales, codes: (scales, codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)),
        of=encoder("e2m1", "torchao_even"),
    )
    found = identified(swapped, "e2m1")
    assert found.verdict == "differs" and any("exchanged" in remark for remark in found.remarks)
    assert "torchao_even" in found.sentence
