"""Files of an exploration. The points failed, or have made-up figures."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from mxcast.explore.engine import Exploration
from mxcast.explore.points import Explored, described
from mxcast.explore.report.output import method, write
from mxcast.explore.sweep import SWEEPS, LeftOut
from mxcast.explore.tensors import Tensor, given

OWN = given({"x": np.zeros(32, np.float32)})
DRAWN = Tensor(name="normal", values=np.zeros(32, np.float32), source="a distribution", counts=False)


def found(rows: list[Explored], **other: object) -> Exploration:
    return Exploration(
        **{"sweep": SWEEPS["point"], "rows": rows, "left_out": [], "missing": 0, "tensors": OWN, "tools": {}} | other
    )


@pytest.fixture(scope="module")
def failed() -> Explored:
    ((point,), _) = SWEEPS["point"].points()
    return Explored(**described(point), status="failed", error="out of luck")


@pytest.fixture(scope="module")
def done(failed) -> Explored:
    return replace(failed, status="done", error=None, luts=900, levels=20, sqnr_db=30.0)


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_plot(tmp_path, failed, count: int) -> None:
    """Everything failed, or nothing is on record: the tables and the report are written all the same."""
    files = write(found([failed] * count, missing=3), tmp_path)
    assert files.keys() == {"html", "csv", "json"} and {path.name for path in tmp_path.iterdir()} == {
        path.name for path in files.values()
    }
    with open(files["csv"]) as file:
        assert len(list(csv.DictReader(file))) == count
    assert json.loads(files["json"].read_text())["missing"] == 3


def test_a_drawing_where_there_is_something(tmp_path, failed, done) -> None:
    files = write(found([done, failed]), tmp_path)
    assert files.keys() == {"html", "csv", "json", "svg"} and "900" in files["svg"].read_text()


def test_the_drawing_of_an_earlier_sweep_does_not_stay(tmp_path, failed) -> None:
    (tmp_path / "explore.svg").write_text("old")
    (tmp_path / "mine.png").write_text("mine")
    files = write(found([failed]), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.png", *(path.name for path in files.values())}


def test_a_point_that_loses_nothing(tmp_path, done) -> None:
    """JSON has no infinity, CSV and the report have."""
    exact = replace(done, sqnr_db=math.inf, max_relative_error=0.0, accuracy={"x": {"sqnr_db": math.inf}})
    files = write(found([exact, done]), tmp_path)
    first, _ = json.loads(files["json"].read_text())["points"]
    assert first["sqnr_db"] is None and first["accuracy"]["x"]["sqnr_db"] is None and first["max_relative_error"] == 0
    with open(files["csv"]) as file:
        assert [float(line["sqnr_db"]) for line in csv.DictReader(file)] == [math.inf, 30.0]
    assert "loses nothing" in files["html"].read_text()


def test_modes_have_no_accuracy_of_their_own(done) -> None:
    assert "several modes" in remarks(found([done])) and "several modes" not in remarks(
        found([replace(done, accuracy={"x": {}})])
    )


def test_the_report_says_what_is_not_there(tmp_path, failed) -> None:
    left_out = [LeftOut(fields={}, reason=reason) for reason in ("no table", "no bits", "no table")]
    page = write(found([failed], missing=3, left_out=left_out), tmp_path)["html"].read_text()
    assert "3 of 4 points are not on record. 3 combinations cannot be built" in page
    assert "<li>2 combinations: no table</li><li>1 combination: no bits</li>" in page


def remarks(exploration: Exploration) -> str:
    return " ".join(method(exploration)["remarks"])


def test_distributions_are_mentioned_where_they_are_used(failed) -> None:
    assert method(found([failed]))["seeds"] == [] and "distributions" not in remarks(found([failed]))
    drawn = found([failed], tensors=[*OWN, DRAWN])
    assert method(drawn)["seeds"] == ["distributions: 1"] and "without the distributions" in remarks(drawn)


def test_place_and_route_is_mentioned_where_it_was_done(done) -> None:
    assert "Nothing was placed and routed" in remarks(found([done])) and "Fmax" not in remarks(found([done]))
    placed = found([replace(done, target="ecp5", pnr_seeds=3, fmax_mhz=100.0)])
    assert "Nothing was placed" not in remarks(placed) and "scatters by seed" in remarks(placed)
    assert method(placed)["seeds"] == ["place and route: 1 to 3"] and method(placed)["device"]


def test_what_accuracy_is_against_where_sources_differ(done) -> None:
    assert "Sources differ" not in remarks(found([done]))
    assert "against the numbers given (FP32)" in remarks(found([done, replace(done, source="bf16")]))


def test_targets_that_are_mapped_for_speed_are_named(done) -> None:
    assert "On xcu Yosys maps for a short path" in remarks(found([replace(done, target="xcu")]))
    both = remarks(
        found([replace(done, target="ecp5"), replace(done, target="lut6"), replace(done, target="ecp5-relaxed")])
    )
    assert "On ecp5 Yosys" in both and "compare on ecp5-relaxed." in both
    assert "short path" not in remarks(found([replace(done, target="ecp5-relaxed")]))


def test_what_the_digest_of_the_verilog_is_of(failed) -> None:
    assert "with the top module renamed to converter" in remarks(found([failed]))
