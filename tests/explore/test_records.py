"""Records in records/sweeps: their sweeps exist, today's tools reproduce them, and targets agree with them."""

import dataclasses
import json
import math
from pathlib import Path

import exploration as exploration_script
import pytest
from parts.cost import goals

from mxcast.explore import Explored, chosen_sweep, exploration, jobs
from mxcast.explore.tensors import standard
from mxcast.hdl import BEST, BEST_DECODERS, DecoderArchitecture, Goal, Microarchitecture

ROOT = Path(__file__).resolve().parents[2]
KEPT = sorted((ROOT / "records" / "sweeps").glob("*.json"))
QUICK = ("rules-xcu",)
"""Files of which a point is made again in the quick run: those that docs/guide.md draws."""


def points(path: Path) -> list[Explored]:
    return [Explored(**point) for point in json.loads(path.read_text())["points"]]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.slow) if path.stem == "placed_nvfp4" else path for path in KEPT],
    ids=lambda path: path.stem,
)
def test_the_points_are_those_of_the_sweep(path):
    """All done, in its order, judged on the tensors that ship; with the front that they have."""
    sweep = dict(exploration_script.sweeps())[path.stem]
    order = [point.id for point in sweep.points()[0]]
    found = points(path)
    ids = [row.id for row in found]
    assert ids == [id for id in order if id in set(ids)] and {row.status for row in found} == {"done"}
    document = json.loads(path.read_text())
    assert document["tensors"] == [tensor.to_dict() for tensor in standard()] and document["missing"] == len(
        order
    ) - len(ids)


def measured(value: object) -> object:
    """A figure as in a file, which leaves out infinite figures."""
    if isinstance(value, dict):
        return {key: measured(one) for key, one in value.items() if measured(one) is not None}
    return None if value == math.inf else value


def expected(value: object) -> object:
    """A figure of a file; of sums the digits that do not depend on their order, which is another on other processors:
    NumPy adds as many float32 at once as their vectors hold.
    """
    if isinstance(value, dict):
        return {key: expected(one) for key, one in value.items() if one is not None}
    return pytest.approx(value, rel=2e-6, abs=0) if isinstance(value, float) else value


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.stem in QUICK else pytest.mark.slow)
        for path in KEPT
        if not path.stem.startswith("placed")
    ],
    ids=lambda path: path.stem,
)
def test_a_point_is_made_again_identically(path, cache, monkeypatch):
    """The smallest of each file, with the pinned tools."""
    kept = min(points(path), key=lambda row: row.luts)
    sweep = dict(exploration_script.sweeps())[path.stem]
    point = next(point for point in sweep.points()[0] if point.id == kept.id)
    monkeypatch.setattr(type(sweep), "points", lambda self: ([point], []))
    (again,) = exploration(sweep).rows
    same = [name for name in kept.to_dict() if name not in ("pareto", "emit", "proof")]
    assert {name: measured(getattr(again, name)) for name in same} == {
        name: expected(getattr(kept, name)) for name in same
    }
    assert jobs.kept(point)


def test_the_goals_are_those_that_were_measured():
    """Also with a figure changed, another choice is the best."""
    found = [row for name in goals.FILES for row in points(ROOT / "records" / "sweeps" / f"{name}.json")]
    usual = Microarchitecture()

    def chosen(target: str, goal: Goal) -> tuple[str, ...]:
        return tuple(str(BEST[target][goal].get(name, getattr(usual, name))) for name in goals.FIELDS)

    measured = goals.best(found)
    assert measured == {target: {goal: chosen(target, goal) for goal in measured[target]} for target in BEST}
    smaller = [dataclasses.replace(row, luts=row.luts // 2) if row.amax == "radix4" else row for row in found]
    assert goals.best(smaller)["xcu"][Goal.AREA][0] == "radix4"


def test_the_forms_of_decoders_are_those_that_were_measured():
    """By the fraction bits of the element, on every target."""
    found = points(ROOT / "records" / "sweeps" / "decoders.json")
    usual = DecoderArchitecture()

    def chosen(choices) -> tuple[str, ...]:
        return tuple(str(choices.get(name, getattr(usual, name))) for name in goals.DECODER_FIELDS)

    measured = goals.best_decoders(found)
    assert measured == {
        target: {goal: list(map(chosen, best)) for goal, best in of_goals.items()}
        for target, of_goals in BEST_DECODERS.items()
        if of_goals
    }


def test_pipelined_decoders_reach_200_mhz():
    """The median over the seeds, of every format that is on record."""
    found = points(ROOT / "records" / "sweeps" / "placed_decoders.json")
    assert found and all(row.fmax_mhz >= 200 and row.pnr_seeds == 3 for row in found)


def test_the_pages_show_what_is_on_record():
    for page in exploration_script.PAGES:
        text = page.read_text()
        assert exploration_script.rendered(text) == text, f"{page.name}: bench/exploration.py --render"


def test_the_plot_is_of_what_is_on_record():
    for name, shown in exploration_script.plots().items():
        drawn = exploration_script.PLOTS / f"{name}.svg"
        assert shown and drawn.read_text().endswith(exploration_script.digest(shown))


def test_a_name_of_a_sweep_means_its_file():
    assert {name for name, _ in exploration_script.sweeps()} >= {path.stem for path in KEPT}
    assert chosen_sweep(ROOT / "records" / "sweeps" / "rules.toml").name == "rules"
