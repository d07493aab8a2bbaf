"""The kept digests of the sets of vectors are those that the command makes, and the page shows them."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from mxcast.cli import main

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"


@pytest.fixture(scope="module")
def vectors():
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location("bench_vectors", BENCH / "vectors.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


def test_the_table_is_of_the_record(vectors):
    page, rows = vectors.PAGE.read_text(), json.loads(vectors.KEPT.read_text())["sets"]
    assert vectors.rendered(page, rows) == page, "python bench/vectors.py --render"


def test_every_profile_has_a_set(vectors):
    rows = json.loads(vectors.KEPT.read_text())["sets"]
    assert [row["command"] for row in rows] == [f"mxcast vectors {command}" for command in vectors.commands()]
    without = [row["profile"] for row in rows if not row["confirmed"]]
    assert set(without) <= {"nvfp4_modelopt", "nvfp4_compressed_tensors"}  # orders that hardware does not have


@pytest.mark.parametrize(
    "command",
    [
        "e4m3 --op cast --profile ocp",
        pytest.param("e4m3 --op encode --profile nvidia", marks=pytest.mark.slow),
        pytest.param("e2m1 --op decode --profile ggml", marks=pytest.mark.slow),
        pytest.param("nvfp4 --op encode --profile nvfp4_te", marks=pytest.mark.slow),
    ],
)
def test_a_set_is_made_again(vectors, command, tmp_path):
    row = next(one for one in json.loads(vectors.KEPT.read_text())["sets"] if one["command"].endswith(command))
    assert main(["vectors", *command.split(), "-o", str(tmp_path), "-q"]) == 0
    manifest = json.loads(next(tmp_path.glob("*/manifest.json")).read_text())
    assert manifest["sha256"]["vectors.csv"] == row["csv_sha256"] and manifest["categories"] == row["categories"]
