"""Cost of NVFP4 hardware: a row of the record fits today's Verilog. `test_qor.py` compares the table."""

import json

from parts.cost import nvfp4_cost

from mxcast.hdl import nvfp4_config
from mxcast.synth.synthesis import TOP, cost_of, modules_of
from mxcast.synth.targets import TARGETS

RECORD = json.loads(nvfp4_cost.KEPT.read_text())


def test_a_lane_is_measured_again():
    (kept,) = (
        row
        for row in RECORD["rows"]
        if [row[key] for key in ("numbers", "form", "part")] == ["bf16", "thresholds", "lane"]
    )
    text = modules_of(nvfp4_config("nvfp4", "nvfp4_te", source="bf16"))
    found = cost_of(text, f"{TOP}_lane", TARGETS[nvfp4_cost.TARGET])
    assert (found.luts, found.levels) == (kept["luts"], kept["levels"])
