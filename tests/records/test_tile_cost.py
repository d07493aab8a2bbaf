"""Tile encoders on record are smaller than two encoders and a store. `test_qor.py` compares the table."""

import json

import pytest
from parts.cost import tile_cost

from mxcast.hdl import verilog
from mxcast.hdl.emission.modules import fingerprint
from mxcast.spec import is_nvfp4

ROWS = json.loads(tile_cost.KEPT.read_text())["figures"]


def test_a_tile_encoder_is_smaller_than_two_encoders_and_a_store():
    """To NVFP4 it consists of them, and is as large."""
    assert [(row["format"], row["source"], row["subnormals"]) for row in ROWS] == tile_cost.JOBS
    of_mx, of_nvfp4 = ([row for row in ROWS if is_nvfp4(row["format"]) == kind] for kind in (False, True))
    assert all(tile_cost.share(row) < 1 and row["in_place"] < row["transposed"] for row in of_mx)
    assert all(tile_cost.share(row) < 1.02 for row in of_nvfp4)


@pytest.mark.parametrize("format", ["e2m1", "nvfp4"])
def test_the_record_is_of_the_verilog_of_today(format):
    (row,) = (row for row in ROWS if (row["format"], row["source"]) == (format, "bf16"))
    assert fingerprint(verilog(tile_cost.tile(row))) == row["verilog"]
