"""Converters with registers, at every stage boundary and at one: they agree with the model under random gaps on both
sides, and are proved.
"""

import pytest

from mxcast.hdl import converter_config
from mxcast.proof import prove
from mxcast.proof.solve.argument import Status
from mxcast.sim import verify

from .test_stalls import MODES, WIDE, everywhere


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "block, profile, rules",
    [
        ("e4m3", "ocp", {}),
        pytest.param("int8", "ocp", {"block_size": 4, "specials": "inf_scale"}, marks=pytest.mark.slow),
        pytest.param("e2m1", "nvidia", {"block_size": 4}, marks=pytest.mark.slow),
        WIDE,
        MODES,
        pytest.param(
            "e5m2",
            "ocp",
            {"rounding": "sr", "random_bits": 8, "block_size": 2, "amax_key": "magnitude"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "e4m3", "ocp", {"quantizer": "table", "input_subnormals": "flush", "block_size": 4}, marks=pytest.mark.slow
        ),
        pytest.param("int8", "te", {"quantizer": "table", "block_size": 4}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_all_places_under_stalls(block, profile, rules):
    config = everywhere(block, profile, **rules)
    assert config.latency == 8 + config.numerics.block_size.bit_length() - 2 + (rules.get("source") == "fp16")
    result = verify(config, blocks=20_000, seed=3)
    assert result.passed and result.blocks > 20_000, result.report


@pytest.mark.sampled(6)
@pytest.mark.parametrize("place", converter_config(WIDE[0], WIDE[1], **WIDE[2]).stages)
def test_every_place_alone_under_stalls(place):
    config = converter_config("e4m3", "te", source="fp16", block_size=2, registered_after=place)
    assert config.latency == 1
    assert (result := verify(config, blocks=5000)).passed, result.report


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "block, profile, rules",
    [
        ("e4m3", "ocp", {}),
        pytest.param("int8", "ocp", {"specials": "inf_scale"}, marks=pytest.mark.slow),
        ("e2m1", "nvidia", {"source": "fp16"}),
        pytest.param("e2m1", "te", {"scale_rule": "floor,ceil"}, marks=pytest.mark.slow),
        pytest.param("e3m2", "te", {"quantizer": "table"}, marks=pytest.mark.slow),
        pytest.param("e4m3", "ocp", {"quantizer": "table", "input_subnormals": "flush"}, marks=pytest.mark.slow),
        pytest.param("int8", "ocp", {"quantizer": "table"}, marks=pytest.mark.slow),
        pytest.param(
            "e2m1", "ocp", {"rounding": "sr", "random_bits": 4, "amax_key": "magnitude"}, marks=pytest.mark.slow
        ),
    ],
    ids=str,
)
def test_all_places_are_proved(block, profile, rules, tmp_path):
    proof = prove(everywhere(block, profile, block_size=2, **rules), out=tmp_path)
    assert proof.status is Status.PASS and proof.handshake, proof.remark
