"""Operations on NVFP4: contents, names and refusals."""

from __future__ import annotations

import dataclasses
import json

import pytest

from mxcast.spec import (
    BF16,
    BLOCKS,
    E4M3,
    NVFP4_DECODERS,
    NVFP4_ENCODERS,
    OTHER_BLOCKS,
    TENSOR_SCALES,
    TF32,
    UE4M3,
    Convention,
    Encode,
    Hadamard,
    Nvfp4Decode,
    Nvfp4Encode,
    Order,
    Role,
    TensorScale,
    encoding,
    is_nvfp4,
    nvfp4_decoding,
    nvfp4_encoding,
    operation_of,
    profile_of,
)

FORMATS = ["nvfp4", "nvfp4_32", "nvfp4_2d", "fp4_ue5m3"]


def test_defaults():
    written = Nvfp4Encode(block="nvfp4").to_dict()
    assert {role: one["name"] for role, one in written.pop("formats").items()} == {
        "source": "fp32",
        "element": "e2m1",
        "scale": "e4m3",
        "tensor_scale": "fp32",
    }
    assert written == {
        "operation": "two_level_encode",
        "block": "nvfp4",
        "block_size": 16,
        "source": "fp32",
        "order": "te",
        "rounding": "rne",
        "four_over_six": "off",
        "scale_max": 448,
    }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("order", Order)
def test_an_operation_is_written_and_read(format, order):
    rules = nvfp4_encoding(format, order=order, source="fp32")
    assert operation_of(json.loads(json.dumps(rules.to_dict()))) == rules and rules.replace() == rules
    assert rules.block.convention is TENSOR_SCALES[order] and rules.random_bits == 0
    assert rules.scale_max == (114688 if format == "fp4_ue5m3" else 448)


def test_ids_are_of_the_rules():
    kinds = [nvfp4_encoding(format, order=order) for format in FORMATS for order in Order]
    kinds += [nvfp4_encoding("nvfp4", "nvfp4_te_4over6"), nvfp4_encoding("nvfp4", rounding="sr")]
    kinds += [nvfp4_encoding("nvfp4", source=source) for source in ("bf16", "fp16")]
    kinds += [nvfp4_decoding("nvfp4", profile) for profile in ("nvfp4_te", "nvfp4_ao", "nvfp4_compressed_tensors")]
    assert len({rules.id for rules in kinds}) == len(kinds)


def test_ports():
    lanes = {
        port.name: (port.role, port.direction, port.width) for port in nvfp4_encoding("nvfp4", source="bf16").ports
    }
    assert lanes == {
        "x": (Role.NUMBERS, "input", 256),
        "k": (Role.SCALE_CONSTANT, "input", 32),
        "d": (Role.ELEMENT_CONSTANT, "input", 32),
        "scale": (Role.SCALE, "output", 8),
        "p": (Role.CODES, "output", 64),
    }
    names = {profile: [port.name for port in nvfp4_encoding("nvfp4", profile).ports] for profile in NVFP4_ENCODERS}
    assert names["nvfp4_ao_single"] == ["x", "scale", "p"]
    assert names["nvfp4_te_4over6"] == ["x", "k", "d", "a", "scale", "p"]
    assert [port.name for port in nvfp4_encoding("nvfp4", rounding="sr").ports] == [
        "x",
        "k",
        "d",
        "random",
        "scale",
        "p",
    ]
    assert [port.name for port in nvfp4_decoding("nvfp4", "nvfp4_ao_single").ports] == ["p", "scale", "y"]
    for rules in (nvfp4_encoding("nvfp4"), nvfp4_decoding("nvfp4"), Hadamard()):
        assert len({port.role for port in rules.ports}) == len(rules.ports)


def test_profiles():
    assert [profile_of(nvfp4_encoding("nvfp4", name)) for name in NVFP4_ENCODERS] == list(NVFP4_ENCODERS)
    assert (
        profile_of(nvfp4_encoding("nvfp4_32", "nvfp4_modelopt")) == "nvfp4_modelopt"
    )  # though 4 over 6 has no such blocks
    assert profile_of(nvfp4_decoding("nvfp4", "nvfp4_modelopt"), "nvfp4_modelopt") == "nvfp4_modelopt"
    for profile in (*NVFP4_ENCODERS.values(), *NVFP4_DECODERS.values()):
        assert profile.name.startswith("nvfp4_") and profile.source and profile.date.startswith("202")


def test_what_encodes_to_a_format():
    assert [name for name in (*BLOCKS, *OTHER_BLOCKS) if is_nvfp4(name)] == FORMATS[:3] + FORMATS[3:]
    assert isinstance(encoding("NVFP4", "nvfp4_ao"), Nvfp4Encode) and isinstance(encoding("e2m1", "te"), Encode)
    assert is_nvfp4(nvfp4_encoding("nvfp4")) and is_nvfp4(nvfp4_decoding("nvfp4")) and not is_nvfp4(E4M3)


def test_a_name_that_is_nearly_one():
    with pytest.raises(ValueError, match="^unknown format 'nvpf4': did you mean 'nvfp4'?"):
        encoding("nvpf4")


def test_the_usual_scale_of_another_format():
    mae = nvfp4_encoding("nvfp4", "nvfp4_te_4over6", scale_max=256)
    assert mae.replace(source="bf16").scale_max == 256 and mae.replace(four_over_six="mse").scale_max == 256
    assert nvfp4_encoding("nvfp4").replace(block="fp4_ue5m3").scale_max == 114688


@pytest.mark.parametrize(
    "fields, sentence",
    [
        ({"order": "model"}, "unknown order 'model': did you mean 'modelopt'?"),
        ({"four_over_six": "max"}, "unknown four_over_six 'max': did you mean 'mae'?"),
        ({"ordr": "te"}, "unknown field of Nvfp4Encode 'ordr': did you mean 'order'?"),
        ({"source": TF32}, "source must be fp32, bf16 or fp16, not tf32"),
        ({"rounding": "rtz"}, "elements are rounded by rne or sr, not by rtz"),
        ({"rounding": "sr", "order": "ao"}, "the rounding sr is of the orders te and paper, not of ao"),
        ({"rounding": "sr", "random_bits": 17}, "random_bits must be 1 to 16, not 17"),
        ({"random_bits": 8}, "random_bits are for the rounding sr, not for rne"),
        ({"four_over_six": "mae"}, "four_over_six is computed in the order paper (Transformer Engine), not in te"),
        ({"four_over_six": "mae", "order": "paper", "rounding": "sr"}, "four_over_six rounds to nearest, not by sr"),
        ({"scale_max": 256}, "scale_max 256 is for four_over_six"),
        ({"scale_max": 300}, "scale_max must be 448 or 256, not 300"),
        ({"block_size": 64}, "block_size must be 16 or 32, or 16 x 16, not 64"),
        (
            {"order": "compressed_tensors", "source": BF16},
            "compressed_tensors divides in the format of its weights: only fp32 is supported, not bf16",
        ),
    ],
)
def test_what_is_refused(fields, sentence):
    with pytest.raises(ValueError) as refused:
        nvfp4_encoding("nvfp4").replaced(**fields)
    assert str(refused.value) == sentence


NVFP4 = OTHER_BLOCKS["nvfp4"]


@pytest.mark.parametrize(
    "block, sentence",
    [
        ("e2m1", "mxfp4_e2m1 has elements e2m1 under scales e8m0: two_level_encode takes e2m1 under e4m3 or ue5m3"),
        (
            dataclasses.replace(NVFP4, element=E4M3),
            "nvfp4 has elements e4m3 under scales e4m3: two_level_encode takes e2m1",
        ),
        (
            dataclasses.replace(NVFP4, scale=UE4M3),
            "nvfp4 has elements e2m1 under scales ue4m3: two_level_encode takes e2m1",
        ),
        (dataclasses.replace(NVFP4, shape=(8, 16)), "block_size must be 16 or 32, or 16 x 16, not (8, 16)"),
    ],
)
def test_blocks_that_are_refused(block, sentence):
    with pytest.raises(ValueError) as refused:
        Nvfp4Encode(block=block)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize("kind", [Nvfp4Encode, Nvfp4Decode])
def test_what_no_operation_wrote(kind):
    written = kind(block="nvfp4").to_dict()
    other = {"operation": "encode"}
    element = written["formats"] | {"element": written["formats"]["scale"]}
    for changed, sentence in (
        (other, f"the operation must be {kind.name}, not 'encode'"),
        ({"formats": element}, "the element format must be e2m1 as its name defines it, not e4m3"),
        ({"block_size": 48}, "block_size must be"),
    ):
        if changed == {"block_size": 48} and kind is Nvfp4Decode:
            continue  # which decodes such blocks
        with pytest.raises(ValueError, match=f"^{sentence}"):
            kind.from_dict(written | changed)
    with pytest.raises(ValueError, match="^numerics must have a block$"):
        kind.from_dict({})
    with pytest.raises(TypeError, match="^formats must be fields by role, not 3$"):
        kind.from_dict(written | {"formats": 3})


def test_no_tensor_scale_is_of_no_convention():
    assert NVFP4.scaled_by(Convention.NONE).tensor_scale is None
    with pytest.raises(ValueError, match="^a tensor scale has the convention multiplier, divisor or amax, not none$"):
        TensorScale(format=NVFP4.tensor_scale.format, convention="none")


def test_a_transform_is_refused():
    with pytest.raises(ValueError, match="^signs must be a number of 16 bits, not -1$"):
        Hadamard(signs=-1)
    with pytest.raises(ValueError, match=r"^a Hadamard transform has signs and size, not \['sizes'\]$"):
        Hadamard.from_dict({"sizes": 16})
