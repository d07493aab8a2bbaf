"""Casting: the golden model against the exact definition and against other libraries, whose differences are counted."""

import random
import re
import warnings
from bisect import bisect_right
from fractions import Fraction
from pathlib import Path

import gfloat
import ml_dtypes
import numpy as np
import pytest
from gfloat import formats

import mxcast
from mxcast.models.exact.cast import cast_number
from mxcast.models.fast.cast import cast_patterns
from mxcast.spec import CAST_RULES, CAST_SOURCES, CASTS, INSTRUCTIONS, SCALARS, SOURCES, Cast, casting, operation_of

from ...configurations import in_turn

PATTERN = {"fp64": np.uint64, "fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16}
OUTSIDE = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
    "e8m0": ml_dtypes.float8_e8m0fnu,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
NUMBERS = {"fp64": np.float64, "fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}
FRACTIONS = [
    *(1 << place for place in range(23)),
    *((1 << place) - 1 for place in range(24)),
    *((1 << place) + 1 for place in range(1, 23)),
    *((eighths << 20) + step for eighths in range(1, 8) for step in (-1, 0, 1)),
    *((odd << 19) + step for odd in range(1, 16, 2) for step in (-1, 0, 1)),
]


def patterns_of(source: str, seed: int = 0) -> np.ndarray:
    """Patterns of a source: all of 16 bits, and a selection of FP32 and FP64.

    FP32 has every sign and exponent, with fractions around all binary places and 60 random ones. FP64 has the exponents
    of all codes, 0 and Inf, with ties and their neighbours.
    """
    if source == "fp64":
        fields = np.array([0, *range(1023 - 152, 1023 + 130), 2047])
        steps = np.arange(32)[:, None] << 47
        fractions = np.unique(np.clip([steps + step for step in (-(1 << 20), -1, 0, 1, 1 << 20)], 0, (1 << 52) - 1))
        magnitudes = (fields[:, None] << 52 | fractions).astype(np.uint64).reshape(-1)
        return np.concatenate([magnitudes, magnitudes | np.uint64(1 << 63)])
    if source != "fp32":
        return np.arange(1 << 16, dtype=np.uint16)
    drawn = np.random.default_rng(seed).integers(0, 1 << 23, 60)
    fractions = np.unique([*FRACTIONS, *drawn])
    return (np.arange(512)[:, None] << 23 | fractions).astype(np.uint32).reshape(-1)


def cast_all(rules: Cast, patterns: np.ndarray, drawn: np.ndarray | None = None) -> np.ndarray:
    results = np.empty(patterns.shape, f"u{-(-rules.destination.bits // 8)}")
    cast_patterns(patterns, rules, results, drawn)
    return results


def rules_of(rng: random.Random) -> Cast:
    """A cast of random formats and rules that go together."""
    while True:
        rules = {name: rng.choice(list(rule)) for name, rule in CAST_RULES.items()}
        bits = {"random_bits": rng.randrange(1, 17)} if rules["rounding"] == "sr" else {}
        ends = [rng.choice(list(CAST_SOURCES)), rng.choice(list(SCALARS))]
        if rng.random() < 0.3:
            ends.reverse()
        try:
            return Cast(source=ends[0], destination=ends[1], **rules, **bits)
        except ValueError:  # they do not go together
            continue


@pytest.mark.parametrize("seed", range(4))
def test_the_model_is_the_exact_definition(seed, record_property):
    rng, compared = random.Random(seed), 0
    for number in range(40):
        rules, drawn = rules_of(rng), np.random.default_rng(100 * seed + number)
        if rules.is_back:
            patterns = np.arange(1 << rules.source.bits, dtype=np.uint8)
        else:
            patterns = drawn.choice(patterns_of(rules.source.name, number), 800)
        bits = drawn.integers(0, 1 << rules.random_bits, patterns.shape, np.uint16) if rules.random_bits else None
        got = cast_all(rules, patterns, bits).tolist()
        for place, pattern in enumerate(patterns.tolist()):
            exact = cast_number(pattern, rules, 0 if bits is None else int(bits[place]))
            assert got[place] == exact, (rules.by_name(), hex(pattern))
        compared += len(patterns)
    record_property("comparisons", compared)
    assert compared > 20_000


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, source", in_turn(list(SCALARS), ["bf16", "fp16"], 2))
def test_all_patterns_of_16_bits_are_the_exact_definition(name, source):
    rules = casting(name, source=source)
    exact = [cast_number(pattern, rules) for pattern in range(1 << 16)]
    assert cast_all(rules, patterns_of(source)).tolist() == exact


def different(rules: Cast, patterns: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return patterns[cast_all(rules, patterns) != theirs]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", OUTSIDE)
def test_ml_dtypes(name, source):
    """The library rounds an FP32 or BF16 subnormal to E8M0 up where it is above 2**-127, and not above 1.5 * 2**-127 as
    it does elsewhere; FP16 has no such numbers. Everything else is the same.
    """
    patterns = patterns_of(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        theirs = patterns.view(NUMBERS[source]).astype(OUTSIDE[name]).view(np.uint8)
    found = different(casting(name, "ml_dtypes", source=source), patterns, theirs)
    if name != "e8m0" or source == "fp16":
        assert len(found) == 0
        return
    first, last = {"fp32": (0x00400001, 0x005FFFFF), "bf16": (0x0041, 0x005F)}[source]
    assert found.tolist() == [p for p in patterns.tolist() if first <= p <= last]
    assert cast_number(first, casting(name, "ml_dtypes", source=source)) == 0 and theirs[patterns == first] == 1


def test_the_differences_of_ml_dtypes_to_e8m0_are_all_patterns_of_a_range():
    """All 2**24 FP32 patterns of exponent field 0 and 1: 2,097,151 differ."""
    patterns = np.arange(1 << 24, dtype=np.uint32)
    theirs = patterns.view(np.float32).astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
    found = different(casting("e8m0", "ml_dtypes"), patterns, theirs)
    assert (len(found), found[0], found[-1]) == (2_097_151, 0x00400001, 0x005FFFFF)


PUBLISHED = {"ue4m3": (3, 7, 0x7E), "ue5m3": (3, 15, 0xFE), "e4m3fnuz": (3, 8, 0x7F), "e5m2fnuz": (2, 16, 0x7F)}
"""Fraction bits, bias and code of the largest number."""
TIES = {"rne": lambda below: below + below % 2, "rna": lambda below: below + 1, "rnz": lambda below: below}


def numbers_of(name: str) -> list[Fraction]:
    """The numbers >= 0 of a format, by its published fields."""
    man_bits, bias, largest = PUBLISHED[name]
    fields = [divmod(code, 1 << man_bits) for code in range(largest + 1)]
    return [
        (fraction + (field > 0) * 2**man_bits) * Fraction(2) ** (max(field, 1) - bias - man_bits)
        for field, fraction in fields
    ]


@pytest.mark.parametrize("rounding", TIES)
@pytest.mark.parametrize("name, source", in_turn(list(PUBLISHED), ["fp64", "bf16"]))
def test_the_nearest_of_all_numbers(name, source, rounding):
    """By a search among the numbers of the destination, for what is not beyond the largest one."""
    numbers, patterns = numbers_of(name), patterns_of(source)
    x = patterns.view(NUMBERS[source]).astype(np.float64)
    inside = np.abs(x) <= float(numbers[-1])  # which NaN is not
    patterns, x = patterns[inside][::7], x[inside][::7]
    got = cast_all(casting(name, source=source, rounding=rounding), patterns)
    sign = 0 if name.startswith("u") else 0x80
    for code, number in zip(got.tolist(), x.tolist()):
        value = abs(Fraction(number))
        below = bisect_right(numbers, value) - 1
        step = numbers[min(below + 1, len(numbers) - 1)] - numbers[below]
        part = (value - numbers[below]) / step if step else 0
        wanted = below + (part > Fraction(1, 2)) if part != Fraction(1, 2) else TIES[rounding](below)
        assert code == (wanted | sign if number < 0 and wanted else wanted), number


@pytest.mark.parametrize("name", ["e4m3", "e2m1", "e5m2fnuz", "ue4m3"])
def test_the_sign_of_zero(name):
    """The results differ from `signed` only for zeros: numbers that are zero, or that become zero."""
    patterns = patterns_of("bf16")
    x = patterns.view(ml_dtypes.bfloat16).astype(np.float32)
    signed = cast_all(casting(name, source="bf16"), patterns).astype(int)
    minus = 0x80 if name != "e2m1" else 0x8
    has_two = name in ("e4m3", "e2m1")
    became_zero = np.isin(signed, [0, minus] if has_two else [0]) & ~np.isnan(x)
    assert (signed[(x < 0) & became_zero] == (minus if has_two else 0)).all() and (became_zero & (x != 0)).any()
    for zero, changed, to in (
        ("positive", became_zero, 0),
        ("taken_positive", x == 0, 0),
        ("taken_negative", x == 0, minus if has_two else 0),
    ):
        got = cast_all(casting(name, source="bf16", zero=zero), patterns)
        assert np.array_equal(got, np.where(changed, to, signed)), zero
    assert casting("e4m3", zero="positive").id != casting("e4m3").id == casting("e4m3", zero="signed").id


def test_ml_dtypes_rounds_float64_twice():
    """By way of float32: 2**-10, a tie in E4M3, and the next number of FP64 become 0 there."""
    x = np.array([0x3F50000000000000, 0x3F50000000000001], np.uint64).view(np.float64)
    assert mxcast.cast(x, "e4m3", source="fp64").tolist() == [0, 1]
    assert x.astype(ml_dtypes.float8_e4m3fn).view(np.uint8).tolist() == [0, 0]


@pytest.mark.parametrize("destination", SOURCES)
@pytest.mark.parametrize("name", OUTSIDE)
def test_ml_dtypes_back(name, destination):
    codes = np.arange(1 << SCALARS[name].bits, dtype=np.uint8)
    with np.errstate(over="ignore"):
        theirs = codes.view(OUTSIDE[name]).astype(NUMBERS[destination]).view(PATTERN[destination])
    assert len(different(casting(name, "ml_dtypes", destination=destination), codes, theirs)) == 0


OF_GFLOAT = [name for name, _ in CASTS["gfloat"].by_destination]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, source", [*in_turn(OF_GFLOAT, ["bf16", "fp16"]), ("e5m2", "fp64"), ("e2m1", "fp64")])
def test_gfloat(name, source):
    """The library saturates -Inf to E8M0, where other negative numbers are NaN, and raises for NaN to FP6 and FP4."""
    info, patterns = getattr(formats, f"format_info_ocp_{name}"), patterns_of(source)
    if source == "fp64":  # around the numbers of the format, as the library takes one number at a time
        fields = patterns >> np.uint64(52) & np.uint64(2047)
        patterns = patterns[(fields > 1023 - 18) & (fields < 1023 + 17)][::3]
    with np.errstate(invalid="ignore"):
        x = patterns.view(NUMBERS[source]).astype(np.float64)
    if not SCALARS[name].nan_code:
        with pytest.raises(ValueError, match="cannot encode NaN|No NaN"):
            gfloat.encode_float(info, np.nan)
        patterns, x = patterns[~np.isnan(x)], x[~np.isnan(x)]
    theirs = np.array([gfloat.encode_float(info, gfloat.round_float(info, number, sat=True)) for number in x.tolist()])
    found = different(casting(name, "gfloat", source=source), patterns, theirs)
    assert found.tolist() == ([{"bf16": 0xFF80, "fp16": 0xFC00}[source]] if name == "e8m0" else [])


OF_TORCH = ["e5m2", "e4m3", "e8m0", "e4m3fnuz", "e5m2fnuz"]


def torch_dtype(name):
    return getattr(pytest.importorskip("torch", "2.13"), np.dtype(OUTSIDE[name]).name)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", OF_TORCH)
def test_torch(name, source):
    """To E8M0 as ml_dtypes, but a number has the same result as its negative: 4,194,302 FP32 patterns, 62 of BF16."""
    torch = pytest.importorskip("torch", "2.13")
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[source]
    to, patterns = torch_dtype(name), patterns_of(source)
    signed = torch.from_numpy(patterns.view(f"i{patterns.itemsize}").copy())
    theirs = signed.view(kind).to(to).view(torch.uint8).numpy()
    found = different(casting(name, "torch", source=source), patterns, theirs)
    top, first, last = {"fp32": (31, 0x00400001, 0x005FFFFF), "bf16": (15, 0x41, 0x5F), "fp16": (15, 1, 0)}[source]
    magnitudes = patterns & patterns.dtype.type((1 << top) - 1)
    expected = patterns[(magnitudes >= first) & (magnitudes <= last)] if name == "e8m0" else []
    assert found.tolist() == list(expected)


@pytest.mark.parametrize("destination", SOURCES)
@pytest.mark.parametrize("name", OF_TORCH)
def test_torch_back(name, destination):
    """The NaN of E8M0 and of the formats without -0 becomes a signalling one in FP32, 0x7F800001."""
    torch = pytest.importorskip("torch", "2.13")
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[destination]
    given, codes = torch_dtype(name), np.arange(256, dtype=np.uint8)
    bits = torch.int32 if destination == "fp32" else torch.int16
    theirs = torch.from_numpy(codes).view(given).to(kind).view(bits).numpy().view(PATTERN[destination])
    found = different(casting(name, "torch", destination=destination), codes, theirs)
    if destination == "fp32" and name not in ("e5m2", "e4m3"):
        nan = SCALARS[name].nan_code
        assert found.tolist() == [nan] and theirs[nan] == 0x7F800001
    else:
        assert len(found) == 0


def test_the_reference_implementation_of_onnx():
    """It differs from the text of the operator. To E8M0: FP32 and BF16 subnormals up to 2**-127 become 1 instead of 0,
    and Inf NaN although it is to saturate. NaN to E2M1: a zero of the other sign instead of 6.
    """
    onnx = pytest.importorskip("onnx", "1.23")
    from onnx.numpy_helper import to_float8e8m0
    from onnx.reference.ops.op_cast import cast_to

    kinds = {"e5m2": onnx.TensorProto.FLOAT8E5M2, "e4m3": onnx.TensorProto.FLOAT8E4M3FN}
    kinds |= {"e2m1": onnx.TensorProto.FLOAT4E2M1, "e4m3fnuz": onnx.TensorProto.FLOAT8E4M3FNUZ}
    kinds["e5m2fnuz"] = onnx.TensorProto.FLOAT8E5M2FNUZ
    patterns = patterns_of("bf16")
    x = patterns.view(ml_dtypes.bfloat16)
    nan = patterns[np.isnan(x.astype(np.float32))].tolist()
    for name, kind in kinds.items():
        theirs = cast_to(x, kind, True).view(np.uint8)
        found = different(casting(name, "onnx", source="bf16"), patterns, theirs)
        assert found.tolist() == (nan if name == "e2m1" else [])
    found = different(casting("e8m0", "onnx", source="bf16"), patterns, to_float8e8m0(x, True, "up").view(np.uint8))
    magnitudes = sorted({int(pattern) & 0x7FFF for pattern in found})
    assert magnitudes == [*range(0x01, 0x41), 0x7F80] and len(found) == 2 * len(magnitudes)


INF, NAN = 0x7F800000, 0x7FC00000
SOURCES_SAY = {
    # PTX, cvt to ue8m0x2: Inf and what is above 2**127 saturate, or are NaN; the sign is ignored; 0 is the smallest
    ("e8m0", "ptx", "rp", "satfinite"): {
        0: 0,
        0xBF800000: 127,
        1: 0,
        0x00400000: 0,
        0x00400001: 1,
        0x3F800001: 128,
        0x7F000001: 254,
        INF: 254,
        NAN: 255,
    },
    ("e8m0", "ptx", "rp", "inf"): {0x7F000000: 254, 0x7F000001: 255, INF: 255, 0xFF800000: 255, NAN: 255},
    ("e8m0", "ptx", "rz", "satfinite"): {0x40400000: 128, 0x7F7FFFFF: 254, INF: 254, 0x007FFFFF: 0},
    ("e8m0", "ptx", "rn", "satfinite"): {0x3FC00000: 128, 0x3FBFFFFF: 127, 0x40400000: 129, 0x7F7FFFFF: 254},
    ("e4m3", "ptx", "rn", "satfinite"): {0x43E80000: 0x7E, 0xC3F00000: 0xFE, INF: 0x7E, 0xFFC00000: 0x7F},
    ("e2m1", "ptx", "rn", "satfinite"): {0x40A00000: 0x6, 0x41000000: 0x7, NAN: 0x7, 0x80000000: 0x8},
    # OFP8, table of conversions: saturating, and non-saturating with Inf and NaN
    ("e5m2", "ocp", "rne", "saturate"): {INF: 0x7B, 0xFF800000: 0xFB, 0x47700000: 0x7B, NAN: 0x7F},
    ("e5m2", "ocp", "rne", "inf"): {INF: 0x7C, 0x47700000: 0x7C, 0x476FFFFF: 0x7B, 0xC7800000: 0xFC},
    ("e4m3", "ocp", "rne", "inf"): {INF: 0x7F, 0x43E80000: 0x7E, 0x43E80001: 0x7F},
    ("e8m0", "ocp", "rtz", "saturate"): {0: 0, 0x3FFFFFFF: 127},
    # ml_dtypes, torch and gfloat: as they ran
    ("e8m0", "ml_dtypes", "rna", "inf"): {0: 255, 0xBF800000: 255, 1: 0, 0x7F400000: 255},
    ("e3m2", "ml_dtypes", "rne", "saturate"): {NAN: 0x20, 0xFFC00000: 0x00, INF: 0x1F},
    ("e8m0", "torch", "rna", "inf"): {0: 0, 0xBF800000: 127, 0x7F400000: 255, INF: 255},
    ("e8m0", "gfloat", "rne", "saturate"): {0: 255, 1: 255, 0x40400000: 128, INF: 254},
    # Zvfofp8min: only infinite results are NaN or Inf, and no number rounds to Inf toward zero; with its NaN, 0x7F
    ("e4m3", "riscv", "rtz", "ieee"): {0x5BF80000: 0x7E, 0x43FFFFFF: 0x7E, INF: 0x7F, 0xFF800000: 0x7F, NAN: 0x7F},
    ("e5m2", "riscv", "rtz", "ieee"): {
        0x47700000: 0x7B,
        0x47800000: 0x7B,
        0xFF7FFFFF: 0xFB,
        INF: 0x7C,
        0xFF800000: 0xFC,
    },
    ("e4m3", "riscv", "rne", "ieee"): {0x43E80000: 0x7E, 0x43E80001: 0x7F, 0xC4000000: 0x7F, INF: 0x7F},
    ("e5m2", "riscv", "rna", "ieee"): {0x476FFFFF: 0x7B, 0x47700000: 0x7C, 0xC7700000: 0xFC},
    # CUDA 13.5.37, cuda_fp8.hpp, compiled: the sign is dropped, and toward zero only Inf is NaN without .satfinite
    ("ue5m3", "ptx", "rne", "saturate"): {0xBF800000: 0x78, 0x47E80000: 0xFE, 0x47E80001: 0xFE, INF: 0xFE, NAN: 0xFF},
    ("ue5m3", "ptx", "rne", "ieee"): {0x47E80000: 0xFE, 0x47E80001: 0xFF, INF: 0xFF, 0x36800000: 0, 0x36800001: 1},
    ("ue5m3", "ptx", "rtz", "ieee"): {0x47E80001: 0xFE, 0x7F7FFFFF: 0xFE, INF: 0xFF, 0x37000000: 1, 0x36FFFFFF: 0},
    ("ue5m3", "ptx", "rp", "ieee"): {0x47E00000: 0xFE, 0x47E00001: 0xFF, 1: 1, 0x80000000: 0},
    # ONNX, table of the operator: saturate and up
    ("e8m0", "onnx", "rp", "saturate"): {0: 0, INF: 254, 0x7F7FFFFF: 254, 1: 0, NAN: 255},
    ("e2m1", "onnx", "rne", "saturate"): {NAN: 0x7, INF: 0x7, 0xFF800000: 0xF},
}
"""For a format, a profile, a rounding and an overflow: FP32 patterns and the code that the profile's source says."""


@pytest.mark.parametrize("name, profile, rounding, overflow", SOURCES_SAY)
def test_what_the_sources_of_profiles_say(name, profile, rounding, overflow):
    said = SOURCES_SAY[name, profile, rounding, overflow]
    rules = casting(name, profile, rounding=rounding, overflow=overflow)
    assert {pattern: cast_number(pattern, rules) for pattern in said} == said
    x = np.array(list(said), np.uint32).view(np.float32)
    got = mxcast.cast(x, name, profile, rounding=rounding, overflow=overflow)
    assert got.tolist() == list(said.values()) and got.dtype == np.uint8


def test_the_numbers_of_the_document():
    """The table of one number in E8M0 under every profile, in docs/numerics.md."""
    text = (Path(__file__).parents[3] / "docs" / "numerics.md").read_text()
    head, _, *rows = text.partition("The same number in E8M0")[2].partition("\n\n")[2].partition("\n\n")[0].split("\n")
    profiles = re.findall("`(.*?)`", head)
    for row in rows:
        number, *codes = (cell.strip() for cell in row.strip("|").split("|"))
        x = np.array([float(2**-149 if number == "2^-149" else number)], np.float32)
        assert [int(mxcast.cast(x, "e8m0", profile)[0]) for profile in profiles] == list(map(int, codes)), number
    assert profiles == [name for name, one in CASTS.items() if "e8m0" in dict(one.by_destination)] and len(rows) == 7


def test_onnx_without_saturation_is_a_choice_of_rules():
    rules = casting("e8m0", "onnx", rounding="rna", overflow="inf", underflow="nan")
    assert [cast_number(pattern, rules) for pattern in (0, 1, 0x7F7FFFFF, INF, NAN)] == [255] * 5


def test_every_profile_and_every_destination_is_tried():
    assert {profile for _, profile, *_ in SOURCES_SAY} == set(CASTS)
    for name, profile in CASTS.items():
        assert [to for to, _ in profile.by_destination if to not in {**SCALARS, **SOURCES}] == [], name


def test_a_number_and_back():
    """Every finite code comes back as itself through all numbers that have all of its values."""
    for name, scalar in SCALARS.items():
        codes = np.arange(scalar.max_code + 1, dtype=np.uint8)
        for destination in ["fp32", "bf16"] + ["fp16"] * (scalar.exp_bits <= 5 and name != "ue5m3"):
            y = mxcast.uncast(codes, name, destination=destination)
            np.testing.assert_array_equal(mxcast.cast(y, name, source=destination), codes)
            assert [cast_number(int(code), casting(name, destination=destination)) for code in codes] == (
                y.view(PATTERN[destination]).tolist()
            )


def test_an_instruction_is_its_cast():
    made = casting("cvt.rp.satfinite.ue8m0x2.f32")
    assert made == casting("e8m0", "ptx", lanes=2) and made.lanes == 2
    assert casting("cvt.rn.bf16x2.ue8m0x2") == casting("e8m0", "ptx", destination="bf16", lanes=2)
    assert casting("cvt.rs.satfinite.e2m1x4.f32").random_bits == 8 and len(INSTRUCTIONS) == 26
    x = np.array([1.25, -3], np.float32)
    assert mxcast.cast(x, "cvt.rz.satfinite.ue8m0x2.f32").tolist() == [127, 128]
    assert mxcast.uncast(np.array([127, 128], np.uint8), "cvt.rn.bf16x2.ue8m0x2").tolist() == [0x3F80, 0x4000]


def test_shapes_dtypes_and_random_bits():
    x = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
    codes = mxcast.cast(x, "e4m3")
    assert codes.shape == x.shape and mxcast.uncast(codes, "e4m3").shape == x.shape
    assert mxcast.cast(x.astype(np.float16), "e4m3").shape == x.shape
    np.testing.assert_array_equal(mxcast.cast(x.tolist(), "e4m3", dtype="float32"), codes)
    np.testing.assert_array_equal(mxcast.cast(x.T, "e4m3"), codes.T)
    np.testing.assert_array_equal(
        mxcast.cast(np.tile(x, (1, 1, 50_000)), "e4m3", jobs=2), np.tile(codes, (1, 1, 50_000))
    )
    assert mxcast.cast(np.float32(2), "e8m0") == 128
    assert mxcast.cast(x[:0], "e4m3").shape == (0, 3, 4)
    up = mxcast.cast(x, "e2m1", rounding="sr", random=np.full(x.shape, 255))
    down = mxcast.cast(x, "e2m1", rounding="sr", random=np.zeros(x.shape, np.uint8))
    np.testing.assert_array_equal(down, mxcast.cast(x, "e2m1", rounding="rtz"))
    assert (up != down).any()


@pytest.mark.parametrize(
    "name, fields, sentence",
    [
        ("e4m4", {}, "unknown format 'e4m4'"),
        ("int8", {}, "unknown format 'int8'"),
        ("e4m3", {"rounding": "rp"}, "the rounding rp is for formats without a sign, not for e4m3"),
        ("e2m1", {"overflow": "inf"}, "e2m1 has neither Inf nor NaN, so overflow must be saturate"),
        ("e4m3", {"overflow": "wrap"}, "unknown overflow 'wrap'"),
        ("e4m3", {"source": "e5m2"}, "a cast is from fp32, bf16, fp16, fp64 to e5m2"),
        ("e4m3", {"lanes": 3}, "lanes must be 1, 2 or 4, not 3"),
        ("e4m3", {"random_bits": 3}, "random_bits are for the rounding sr, not for rne"),
        ("e4m3", {"roundin": "rne"}, "unknown field of Cast 'roundin': did you mean 'rounding'"),
        ("e3m2", {"profile": "torch"}, "torch has no cast to e3m2: it has e4m3, e5m2, e4m3fnuz, e5m2fnuz, e8m0"),
        ("e4m3", {"profile": "nvidia"}, "unknown profile 'nvidia'"),
        ("e4m3", {"destination": "fp32"}, "cast makes codes: take uncast from e4m3 to fp32"),
        ("e4m3", {"destination": "fp32", "source": "fp32"}, "a cast has one format of numbers"),
        ("cvt.rp.e4m3x2.f32", {}, "unknown instruction 'cvt.rp.e4m3x2.f32'"),
    ],
)
def test_what_is_refused(name, fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        mxcast.cast(np.ones(4, np.float32), name, **fields)


def test_what_uncast_refuses():
    with pytest.raises(ValueError, match=r"^codes of e2m1 must be 0 to 15, not 16$"):
        mxcast.uncast(np.array([16], np.uint8), "e2m1")
    with pytest.raises(TypeError, match=r"^codes must be a NumPy array of whole numbers, not list$"):
        mxcast.uncast([1], "e2m1")
    with pytest.raises(ValueError, match=r"^gfloat has no cast to fp32"):
        mxcast.uncast(np.array([1], np.uint8), "e2m1", "gfloat")
    with pytest.raises(
        TypeError, match=r"^x must be float32, .* not float64: source='fp64' casts it, or dtype='float32'"
    ):
        mxcast.cast([1.5], "e2m1")
    for x in (np.array([1.5]), np.array([1.5], ">f8"), np.float32([1.5]), np.array([1.5], ml_dtypes.bfloat16)):
        assert mxcast.cast(x, "e2m1", source="fp64").tolist() == [3]
    with pytest.raises(TypeError, match=r"^x must be float64, float32, float16 or bfloat16, not int64$"):
        mxcast.cast([1], "e2m1", source="fp64")


def test_an_operation_is_written_and_read():
    rng = random.Random(5)
    for _ in range(50):
        rules = rules_of(rng)
        assert operation_of(rules.to_dict()) == rules and rules.replace() == rules
    assert casting("e4m3").id != casting("e4m3", "ptx", overflow="inf").id
    with pytest.raises(ValueError, match="^the destination format must be e4m3 as its name defines it, not e5m2$"):
        operation_of(casting("e4m3").to_dict() | {"formats": casting("e5m2").to_dict()["formats"]})
