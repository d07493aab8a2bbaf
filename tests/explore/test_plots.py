"""Plots of an exploration: files that are the same each time, with a panel for each format and target. The figures are
made up.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys

import pytest

from mxcast.explore.report.plots import plots
from mxcast.host.errors import ToolError
from mxcast.synth import TARGETS

from .made_up import failure, point, sweep


@pytest.fixture(autouse=True)
def matplotlib():
    return pytest.importorskip("matplotlib", reason="matplotlib is missing: pip install -e '.[explore]'")


def marks(svg: str) -> int:
    """Marks of all panels: matplotlib has one group of uses for each kind of mark."""
    return sum(
        len(re.findall("<use ", group))
        for group in re.findall(r'<g id="PathCollection_\d+">(.*?)</g>\s*</g>', svg, re.DOTALL)
    )


def test_png_and_svg(tmp_path) -> None:
    rows = [*sweep(), failure(1)]
    paths = plots(rows, tmp_path / "new", "sweep")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["new/sweep.png", "new/sweep.svg"]
    assert paths[0].read_bytes().startswith(b"\x89PNG\r\n") and paths[0].stat().st_size > 20_000
    assert marks(paths[1].read_text()) == len(rows) - 1  # all but the one that failed


def test_the_same_rows_give_the_same_bytes(tmp_path) -> None:
    """In other processes with other hash seeds too."""
    program = (
        "import sys; from pathlib import Path; from mxcast.explore.report.plots import plots; import json;"
        "plots(json.load(sys.stdin), Path(sys.argv[1]), 'a')"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / seed],
            input=json.dumps(sweep(("xcu",))),
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "HOME": str(tmp_path)},
        )
    for name in ("a.png", "a.svg"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()
    assert "dc:date" not in (tmp_path / "1" / "a.svg").read_text()


@pytest.mark.parametrize(
    "rows, panels",
    [
        (sweep(("xcu",), ("mxfp8_e4m3",)), 1),
        (sweep(("xcu",)), 2),
        (sweep(), 4),
        (sweep(("xcu",)) + sweep(("ecp5",), ("mxfp4_e2m1",)), 3),  # one format on one target only
        ([point(1)], 1),  # nothing varies: no legend
        ([point(1), point(2, sqnr_db=math.inf)], 1),  # nothing was lost: no place on the axis
    ],
)
def test_panels(tmp_path, rows: list[dict], panels: int) -> None:
    svg = plots(rows, tmp_path, "a")[1].read_text()
    assert len(re.findall(r'<g id="axes_\d+">', svg)) == panels


def texts(svg: str) -> list[str]:
    """matplotlib draws text as outlines, with the text beside them as a comment."""
    return re.findall("<!-- (.*?) -->", svg)


@pytest.mark.parametrize(
    "targets", [pytest.param(("xcu", "ice40"), marks=pytest.mark.slow), ("xcu", "ecp5", "lut6", "ice40")]
)
def test_targets_of_a_format_share_their_axes(tmp_path, targets: tuple[str, ...]) -> None:
    """Points at one place in two panels are then equal, wherever the panels stand. Those of the ice40 are apart from
    the others.
    """
    rows = [row | {"sqnr_db": row["sqnr_db"] + 9 * (row["target"] == "ice40")} for row in sweep(targets)]
    svg = plots(rows, tmp_path, "a")[1].read_text()
    ticks = {}
    for panel in re.split(r'<g id="axes_\d+">', svg)[1:]:
        *numbers, title = texts(panel)[: [", " in text for text in texts(panel)].index(True) + 1]
        ticks.setdefault(title.split(", ")[0], []).append(numbers)
    assert len(ticks) == 2 and all(
        len(found) == len(targets) and len(set(map(tuple, found))) == 1 for found in ticks.values()
    )


def test_legends_have_headings(tmp_path) -> None:
    found = texts(plots(sweep(("xcu",)), tmp_path, "a")[1].read_text())
    assert {"Scale rule", "Rounding", f"LUTs on {TARGETS['xcu'].description}", "SQNR, dB"} <= set(found)
    assert "mxfp8_e4m3" in found, "a target of all panels is in no title"
    assert {"LUTs", "mxfp8_e4m3, xcu"} <= set(texts(plots(sweep(), tmp_path, "b")[1].read_text()))


def test_points_that_coincide_stand_side_by_side(tmp_path) -> None:
    rows = [point(i, rule=rule, luts=100, sqnr_db=30.0) for i, rule in enumerate(("ceil", "pow2_ceil"))]
    svg = plots([*rows, point(2, luts=200, sqnr_db=20.0)], tmp_path, "a")[1].read_text()
    places = [re.findall(r'<use xlink:href="#\w+" x="([\d.]+)" y="([\d.]+)"', part) for part in collections(svg)]
    first, second, _ = sorted((float(x), float(y)) for part in places for x, y in part)
    assert second[0] - first[0] == pytest.approx(4.5, abs=1e-3) and first[1] == second[1]


def test_the_axes_reach_to_points_behind_the_front(tmp_path) -> None:
    rows = [point(1, luts=1000, sqnr_db=30.0), point(2, luts=4000, sqnr_db=20.0)]
    assert {"4,000", "20", "30"} <= set(texts(plots(rows, tmp_path, "a")[1].read_text()))


def collections(svg: str) -> list[str]:
    """The marks of points, without those of legends."""
    return re.findall(r'<g id="PathCollection_\d+">(.*?)\n   </g>', svg, re.DOTALL)


def test_a_dark_screen_has_its_own_colours(tmp_path) -> None:
    svg = plots(sweep(("xcu",)), tmp_path, "a")[1].read_text()
    style = re.search(r"@media \(prefers-color-scheme: dark\) \{(.*)\}\s*</style>", svg)[1]
    used = set(re.findall(r"(?<!')\b(fill|stroke): (#[0-9a-f]{6})", svg.replace(style, "")))
    assert {colour for _, colour in used} - {"#ffffff", "#000000", "#59616e"}, "no colour was found"
    assert all(f"[style*='{name}: {colour}']" in style for name, colour in used)


def test_levels_where_sqnr_is_the_same(tmp_path) -> None:
    rows = [point(1, amax="radix4", sqnr_db=math.inf, levels=20), point(2, sqnr_db=math.inf, levels=30)]
    assert marks(plots(rows, tmp_path, "a")[1].read_text()) == 2


def test_no_points(tmp_path) -> None:
    with pytest.raises(ValueError, match="a plot needs a point with LUTs and SQNR"):
        plots([failure(1)], tmp_path, "a")


def test_without_matplotlib(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ToolError, match=r"pip install '.\[explore\]' in a checkout"):
        plots([point(1)], tmp_path, "a")
    assert not list(tmp_path.iterdir())


def test_matplotlib_is_imported_for_plots_only() -> None:
    program = (
        "import sys, mxcast.explore.report.plots, mxcast.explore.report.report; sys.exit('matplotlib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
