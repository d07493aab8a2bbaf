"""Packets of any length through an encoder with AXI4-Stream, and faults of streams that the driver finds."""

import re

import numpy as np
import pytest

from mxcast.hdl import converter_config, verilog
from mxcast.models import quantize
from mxcast.sim.run.verilator.handshake import HandshakeError
from mxcast.sim.run.verilator.packets import packet_driver

CONFIG = converter_config("e3m2", block_size=8, lanes=2, interface="axis", target="ecp5")
NAME = "narrow_axis"


def test_packets_of_any_length():
    """Codes of 2 x 6 bits in two bytes of a beat, with stalls of two seeds and without."""
    encoder, rng = packet_driver(verilog(CONFIG, NAME), NAME, CONFIG), np.random.default_rng(1)
    numbers = [rng.standard_normal(count).astype(np.float32) for count in rng.integers(1, 40, 200)]
    blocks = [
        quantize(np.append(x, np.zeros(-len(x) % 8, np.float32)).reshape(-1, 8), CONFIG.numerics) for x in numbers
    ]
    pairs = [q.codes.reshape(-1, 2).astype(np.uint16) for q in blocks]
    for seed in (0, 1, 2):
        streamed = encoder([x.tobytes() for x in numbers], seed)
        assert streamed.scales == [q.scales.tobytes() for q in blocks]
        assert streamed.codes == [(pair[:, 0] | pair[:, 1] << 6).astype("<u2").tobytes() for pair in pairs]
        assert (streamed.stalls > 1000) == bool(seed)


def test_other_pins_are_refused():
    with pytest.raises(ValueError, match="packets need interface=axis, one mode, and no random bits"):
        packet_driver("", NAME, converter_config("e3m2", lanes=2))


FAULTS = {
    "a beat changed while it was not taken": (r"assign back_enable = [^;]*;", "assign back_enable = 1'h1;"),
    "more came than was sent": (r"(assign m_axis_tlast = )o_marks\[0\]", r"\g<1>1'h1"),
    "packets do not come": (r"(assign m_axis_tlast = )o_marks\[0\]", r"\g<1>1'h0"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault):
    text, count = re.subn(*FAULTS[fault], verilog(CONFIG, NAME))
    assert count == 1
    packets = [np.full(8, number, np.float32).tobytes() for number in range(200)]
    with pytest.raises(HandshakeError, match=f"{fault}: after .* with the stalls of seed 1"):
        packet_driver(text, NAME, CONFIG)(packets, 1)
