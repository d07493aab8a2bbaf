"""The record of Hadamard transforms fits the Verilog of today. `test_qor.py` compares the table."""

import json

from parts.cost import hadamard_cost

from mxcast.hdl import verilog
from mxcast.hdl.emission.modules import fingerprint

ROWS = json.loads(hadamard_cost.KEPT.read_text())["figures"]


def test_the_record_is_of_the_verilog_of_today():
    assert [(row["form"], row["target"]) for row in ROWS] == hadamard_cost.JOBS
    for row in ROWS:
        assert fingerprint(verilog(hadamard_cost.built(row["form"], row["target"]))) == row["verilog"], row


def test_limbs_are_smaller():
    by_form = {(row["form"], row["target"]): row["luts"] for row in ROWS}
    assert all(5 * by_form["limbs", target] < by_form["parallel", target] for target in ("xcu", "ecp5"))
