"""Tile encoders on record are smaller than two encoders and a store. `test_qor.py` compares the table."""

import json

from parts.cost import tile_cost

from mxcast.hdl import verilog
from mxcast.hdl.emission.modules import fingerprint

ROWS = json.loads(tile_cost.KEPT.read_text())["figures"]


def test_a_tile_encoder_is_smaller_than_two_encoders_and_a_store():
    assert [(row["format"], row["source"], row["subnormals"]) for row in ROWS] == tile_cost.JOBS
    assert all(tile_cost.share(row) < 1 and row["in_place"] < row["transposed"] for row in ROWS)


def test_the_record_is_of_the_verilog_of_today():
    (row,) = (row for row in ROWS if (row["format"], row["source"]) == ("e2m1", "bf16"))
    assert fingerprint(verilog(tile_cost.tile(row))) == row["verilog"]
