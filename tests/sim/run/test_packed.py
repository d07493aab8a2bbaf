"""Hardware with AXI4-Stream and blocks of a layout, or whole blocks in a beat, against the golden model."""

import pytest

from mxcast.hdl import (
    converter_config,
    decoder_config,
    default_name,
    describe,
    nvfp4_config,
    nvfp4_decoder_config,
    verilog,
)
from mxcast.sim import verify
from mxcast.sim.run.verilator.verilated import driver_of

from ...hdl.planted import planted

NAME = "narrow"
CONFIGS = [
    ("e5m2", "idma", {"scale_place": "before", "target": "xcu"}),
    ("e2m1", "ocp", {"layout": "ggml"}),
    ("e3m2", "ocp", {"layout": "quark_pack", "lanes": 8}),
    ("e2m1", "ocp", {"layout": "seed004", "destination": "bf16", "registered_after": "read"}),
    ("int8", "ocp", {"block_size": 4}),
    ("e4m3", "ocp", {"block_size": 4, "lanes": 1, "scale_place": "before"}),
]


ENCODERS = [
    converter_config("e4m3", "nvidia", lanes=16, interface="axis", scale_place="before", target="xcu"),
    converter_config("e2m1", lanes=8, interface="axis", layout="quark_pack"),
    converter_config("e2m3", lanes=4, interface="axis", layout="quark_pack"),
    converter_config("e3m2", lanes=4, interface="axis", layout="torchao"),
    converter_config("e2m1", lanes=2, interface="axis", layout="seed004", rounding="sr"),
    nvfp4_config("nvfp4", lanes=8, interface="axis", layout="comfy", source="bf16"),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("config", ENCODERS, ids=default_name)
def test_encoders_pack_the_codes_of_the_model(config):
    result = verify(config, blocks=2000)
    assert result.passed and result.blocks > 2000, result.report


OTHER_DECODERS = [
    decoder_config("e4m3", lanes=8, interface="axis", scale_place="before", destination="bf16", rounding="sr"),
    nvfp4_decoder_config("nvfp4", lanes=4, interface="axis", scale_place="before", destination="bf16"),
    nvfp4_decoder_config("nvfp4", "nvfp4_ao", interface="axis", scale_place="after"),
    nvfp4_decoder_config("nvfp4", lanes=2, interface="axis", layout="comfy"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("config", OTHER_DECODERS, ids=default_name)
def test_beats_have_the_tuser_of_their_word(config):
    """The random bits of each beat, or the scale of the tensor of its block, which is another one in each block."""
    result = verify(config, blocks=2000)
    assert result.passed and result.blocks > 2000, result.report


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("element", "profile", "fields"), CONFIGS)
def test_packed_blocks_have_the_numbers_of_the_model(element, profile, fields, record_property):
    result = verify(decoder_config(element, profile, interface="axis", **fields), blocks=2000)
    record_property("blocks", result.blocks)
    assert result.passed and result.blocks > 2000, result.report


@pytest.mark.parametrize(
    ("element", "fields", "size"),
    [
        ("e5m2", {"scale_place": "before"}, 32),
        ("e2m1", {"layout": "ggml"}, 16),
        ("e2m3", {"layout": "quark_pack"}, 24),
        ("e4m3", {"scale_place": "before", "lanes": 8}, 8),
    ],
)
def test_a_word_has_the_codes_of_a_beat(element, fields, size):
    about = describe(decoder_config(element, interface="axis", **fields))
    assert {port["name"]: port["width"] for port in about["ports"]}["s_axis_tdata"] == 8 * size
    assert about["streams"] == {"input": ["s_axis"], "output": ["m_axis"]}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"scale_place": "before"}, "the scale is before the codes in a stream only: give interface=axis"),
        (
            {"scale_place": "before", "layout": "ggml", "interface": "axis"},
            "the layout ggml says where the scale is: leave out scale_place",
        ),
        (
            {"layout": "ggml", "interface": "axis", "lanes": 8},
            "a byte has codes of both halves of a block: leave out lanes",
        ),
        (
            {"scale_place": "after", "interface": "axis", "lanes": 8},
            "the scale is behind the codes of its block: leave out lanes",
        ),
        (
            {"scale_place": "before", "interface": "axis", "lanes": 1},
            "1 codes of 4 bits are not whole bytes: give more lanes",
        ),
    ],
)
def test_impossible_streams_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        decoder_config("e2m1", **fields)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"layout": "ggml"}, "a byte has codes of both halves of a block: leave out lanes"),
        ({"scale_place": "after", "layout": "quark_pack"}, "the layout quark_pack says where the scale is"),
        ({"scale_place": "after", "lanes": 1}, "1 codes of 4 bits are not whole bytes: give more lanes"),
        ({"scale_place": "after", "interface": "skid"}, "the scale is after the codes in a stream only"),
    ],
)
def test_impossible_streams_of_encoders_are_refused(fields, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        converter_config("e2m1", **{"lanes": 8, "interface": "axis", **fields})


BUGS = {
    "the window does not move": (r"\.offset\(offset\)", ".offset(2'h0)"),
    "a word is lost": (r"(narrow_block_aligner block_aligner \([^;]*\.enable\()\w+\)", r"\g<1>takes_word & is_filled)"),
    "codes are a byte late": (r"\.window\(window\)", ".window({window[31:0], window[39:32]})"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_found(bug):
    config = decoder_config("e4m3", block_size=4, interface="axis", scale_place="before")
    text = planted(verilog(config, NAME), *BUGS[bug])
    result = verify(config, blocks=1000, design=driver_of(text, NAME, config, lint=False))
    assert not result.passed and result.report
