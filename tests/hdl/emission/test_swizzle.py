"""The hardware that finds scales in tiles: compared with the golden model, and when it is emitted."""

import random

import numpy as np
import pytest

from mxcast.hdl import converter_config, emit, nvfp4_decoder_config
from mxcast.hdl.emission.swizzle import SwizzleOffset, SwizzlePlace
from mxcast.models import swizzled
from tests.hdl.lint import lint
from tests.hdl.simulation import outputs


@pytest.mark.parametrize("rows, columns", [(1, 1), (128, 4), (129, 5), (300, 9), (5, 130)])
def test_every_place_of_a_shape(rows, columns):
    """Every scale has a different value, and the hardware finds it where the model puts it."""
    numbers = np.arange(1, rows * columns + 1).reshape(rows, columns)
    stored = swizzled(numbers).reshape(-1)
    shape = {"rows": rows, "columns": columns}
    places = [(row, column) for row in range(rows) for column in range(columns)]
    given = [{**shape, "row": row, "column": column} for row, column in places]
    for place, (offset, is_padding) in zip(places, outputs(SwizzleOffset(), given, ["offset", "is_padding"])):
        assert stored[offset] == numbers[place] and not is_padding
    back = outputs(
        SwizzlePlace(), [{**shape, "offset": at} for at in range(len(stored))], ["row", "column", "is_padding"]
    )
    for number, (row, column, is_padding) in zip(stored, back):
        assert is_padding == (number == 0) and (is_padding or numbers[row, column] == number)


def test_large_shapes():
    """There and back, up to 2**16 rows and blocks, by the formula."""
    rng, given = random.Random(1), []
    for rows, columns in [
        (1 << 16, 1 << 16),
        (65535, 65533),
        *((rng.randint(1, 1 << 16), rng.randint(1, 1 << 16)) for _ in range(60)),
    ]:
        for row, column in [(rows - 1, columns - 1), (rng.randrange(rows), rng.randrange(columns))]:
            given.append({"rows": rows, "columns": columns, "row": row, "column": column})
    found = outputs(SwizzleOffset(), given, ["offset", "is_padding"])
    for one, (offset, is_padding) in zip(given, found):
        tile = one["row"] // 128 * -(-one["columns"] // 4) + one["column"] // 4
        within = one["row"] % 32 * 16 + one["row"] % 128 // 32 * 4 + one["column"] % 4
        assert (offset, is_padding) == (tile * 512 + within, 0)
    back = [{"rows": one["rows"], "columns": one["columns"], "offset": at} for one, (at, _) in zip(given, found)]
    for one, place in zip(given, outputs(SwizzlePlace(), back, ["row", "column", "is_padding"])):
        assert place == (one["row"], one["column"], 0)


@pytest.mark.parametrize(
    "config", [nvfp4_decoder_config("nvfp4", layout="comfy"), converter_config("e2m1", layout="torchao_swizzled")]
)
def test_they_are_emitted_for_layouts_with_tiles(config, tmp_path):
    files = emit(config, tmp_path, "dut")
    assert files["filelist"].read_text().split() == ["dut.v", "dut_scale_offset.v", "dut_scale_place.v"]
    for kind in ("scale_offset", "scale_place"):
        text = files[kind].read_text()
        assert f"module dut_{kind}(" in text
        lint(files[kind])


def test_they_are_not_emitted_for_other_layouts(tmp_path):
    assert "scale_offset" not in emit(converter_config("e2m1", layout="ggml"), tmp_path)
