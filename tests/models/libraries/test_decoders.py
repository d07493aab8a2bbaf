"""Decoders of public libraries against ours, on every pair of a scale byte and a code, bit for bit."""

import json
from itertools import product

import numpy as np
import pytest
from parts.libraries import decoders
from parts.libraries.library_decoders import LIBRARIES, version_of
from parts.speed import decoding as decoding_speed

from mxcast.compare.decode import compare_decoders, decoded_pairs
from mxcast.models.arrays.codes import code_values
from mxcast.spec import DECODERS, block_format, decoding

KEPT = json.loads(decoders.KEPT.read_text())
CASES = [
    (name, format, destination)
    for name, library in LIBRARIES.items()
    for format, destination in product(library.formats, library.destinations)
]
NAN_BITS = {
    ("ml_dtypes", "fp32"),
    ("ml_dtypes", "bf16"),
    ("ml_dtypes", "fp16"),
    ("torchao", "fp32"),
    ("torchao", "bf16"),
}
"""Where nothing but bits of NaN may differ from the profile."""


def test_every_case_is_on_record():
    assert [(one["library"], one["format"], one["destination"]) for one in KEPT["libraries"]] == CASES


@pytest.mark.parametrize("name, format, destination", CASES)
def test_a_library_and_its_profile(name, format, destination):
    library = LIBRARIES[name]
    try:
        versions = version_of(library)
    except ImportError as missing:
        pytest.skip(f"{missing}: {name} is optional")
    found = decoders.row(library, format, destination)
    assert found["pairs"] == 256 << block_format(format).element.bits
    causes = set(found["against"][library.profile])
    if (name, destination) == ("torchao", "fp16"):
        assert causes <= {"nan_bits", "nan", "inf", "zero"}
    elif (name, destination) == ("idma", "fp16"):
        rules = decoding(format, "idma", destination="fp16", subnormals="exact", overflow="inf")
        np.testing.assert_array_equal(decoders.all_pairs(library, format, destination), decoded_pairs(rules))
    else:
        assert causes <= ({"nan_bits"} if (name, destination) in NAN_BITS else set())
    kept = next(
        one
        for one in KEPT["libraries"]
        if (one["library"], one["format"], one["destination"]) == (name, format, destination)
    )
    if kept["versions"] == versions:
        assert found == kept


@pytest.mark.parametrize("format", LIBRARIES["torchao"].formats)
def test_torchao_multiplies_in_fp16(format):
    """The numbers to FP16 are products of elements and scales that are both rounded to FP16."""
    pytest.importorskip("torchao", reason="torchao is optional: pip install torch torchao")
    block = block_format(format)
    theirs = decoders.all_pairs(LIBRARIES["torchao"], format, "fp16")
    with np.errstate(over="ignore", invalid="ignore"):
        elements, factors = (code_values(one).astype(np.float16) for one in (block.element, block.scale))
        products = factors[:, None] * elements
    is_nan = np.isnan(products)
    np.testing.assert_array_equal(np.isnan(theirs.view(np.float16)), is_nan)
    np.testing.assert_array_equal(theirs[~is_nan], products.view(np.uint16)[~is_nan])


def test_what_is_timed_gives_the_same_bits():
    """`measure` compares every decoder with ours before it times it."""
    found = decoding_speed.measure(mib=1, rounds=1)["formats"]
    assert len(found) == 6 and all({"numpy", "numpy_take"} <= set(row["parts"]["baselines"]) for row in found.values())


def test_the_profiles_on_record_are_those_of_today():
    assert KEPT["profiles"] == json.loads(json.dumps(decoders.profile_rows()))
    assert {one["profile"] for one in KEPT["profiles"]} == set(DECODERS) - {"ocp"}


# -- differences counted by hand --------------------------------------------------------------------------------------


def test_te_and_ocp_differ_under_the_bytes_0_and_255_and_in_nan():
    """E2M1 has no NaN. Under byte 0 the 14 codes that are not 0 become zero; under byte 255 they become Inf where
    `ocp` has NaN, and the 2 zeros are NaN of other bits."""
    found = compare_decoders(decoding("e2m1", "te"), decoding("e2m1"))
    counts = {cause: finding.differing for cause, finding in found.causes.items()}
    assert counts == {"nan_bits": 2, "nan": 14, "zero": 14} and found.compared == 4096 and found.differing == 30
    first = found.causes["zero"].first
    assert (first.byte, first.code, first.a, first.b) == (0, 1, 0, 0x00200000)


def test_ggml_and_ocp_differ_in_minus_zero_and_under_byte_255():
    found = compare_decoders(decoding("e2m1", "ggml"), decoding("e2m1"))
    assert {cause: finding.differing for cause, finding in found.causes.items()} == {"nan": 16, "zero_sign": 255}


def test_saturation_and_flushing_have_their_causes():
    """INT8 to FP16 under byte 254: every code but 0 is beyond the largest number, for `saturate` and for `inf`."""
    a, b = decoding("int8", overflow="saturate", destination="fp16"), decoding("int8", destination="fp16")
    found = compare_decoders(a, b).causes
    assert set(found) == {"inf"} and (found["inf"].first.a & 0x7FFF, found["inf"].first.b & 0x7FFF) == (0x7BFF, 0x7C00)
    flushed = compare_decoders(decoding("e2m1", subnormals="flush"), decoding("e2m1")).causes
    # 0.5 and 1 times 2^-127, 0.5 times 2^-126, 1.5 times 2^-127, of both signs; 2 times 2^-127 is normal
    assert set(flushed) == {"zero"} and flushed["zero"].differing == 8


def test_rounding_is_a_value():
    found = compare_decoders(decoding("int8", destination="fp16", rounding="rtz"), decoding("int8", destination="fp16"))
    assert set(found.causes) <= {"value", "zero", "inf"} and found.causes["value"].differing


@pytest.mark.parametrize("format", ["int16", "e5m10"])
def test_wide_elements_are_compared_on_all_pairs(format):
    pairs = decoded_pairs(decoding(format, destination="bf16"))
    assert pairs.shape == (256, 1 << 16)


@pytest.mark.parametrize(
    "a, b, sentence",
    [
        ({}, {"block_size": 16}, "both sides must have the same block format"),
        ({}, {"destination": "bf16"}, "both sides must have the same destination, not fp32 and bf16"),
        ({}, {"rounding": "sr"}, "stochastic rounding"),
    ],
)
def test_what_is_refused(a, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_decoders(decoding("e2m1", **a), decoding("e2m1", **b))
