"""Quantize an array, look at what was lost, and ask the hardware for the same bits."""

import numpy as np

from mxcast.models import dequantize, error_statistics, quantize
from mxcast.sim import verilate

x = np.random.default_rng(0).standard_normal((4, 64), dtype=np.float32)

for profile in ("ocp", "nvidia"):
    q = quantize(x, "e4m3", profile=profile)
    lost = error_statistics(x, q)
    print(f"{profile}: scales {q.scales[0]}, SQNR {lost.sqnr_db:.2f} dB, saturated {lost.saturated}")
    assert dequantize(q).shape == x.shape

rtl = verilate("e4m3", profile="nvidia")
assert (rtl(x).codes == quantize(x, "e4m3", profile="nvidia").codes).all()
print("the Verilated Verilog gives the same codes")
