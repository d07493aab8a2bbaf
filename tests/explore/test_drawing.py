"""The drawing of an exploration: one SVG with a panel for each format and target. The figures are made up."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from mxcast.explore.report.drawing import drawing
from mxcast.explore.report.scatter import DARK, LIGHT, STEP

from .made_up import failure, point, sweep

SVG = "{http://www.w3.org/2000/svg}"


def panels(rows: list[dict]) -> list[ElementTree.Element]:
    return [group for group in ElementTree.fromstring(drawing(rows)).iter(f"{SVG}g") if group.get("class") == "panel"]


def marks(panel: ElementTree.Element) -> list[tuple[float, float]]:
    """Places of the marks, by their title."""
    found = sorted((path[0].text, path.get("transform")) for path in panel.iter(f"{SVG}path") if path.get("data-i"))
    return [tuple(map(float, re.findall(r"[\d.]+", place))) for _, place in found]


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text for text in element.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    "rows, count",
    [
        (sweep(("xcu",), ("mxfp8_e4m3",)), 1),
        (sweep(("xcu",)), 2),
        (sweep(), 4),
        (sweep(("xcu",)) + sweep(("ecp5",), ("mxfp4_e2m1",)), 3),  # one format on one target only
        ([point(1)], 1),  # nothing varies: no legend
        ([point(1), point(2, sqnr_db=math.inf)], 1),  # nothing was lost: no place on the axis
    ],
)
def test_panels_and_marks(rows: list[dict], count: int) -> None:
    found = panels([*rows, failure(1)])
    assert len(found) == count
    assert sum(len(marks(panel)) for panel in found) == sum(row["sqnr_db"] < math.inf for row in rows)


def test_targets_of_a_format_share_their_axes() -> None:
    """Equal places in two panels are then equal points. The points of the ice40 are apart from the others."""
    rows = [row | {"sqnr_db": row["sqnr_db"] + 9 * (row["target"] == "ice40")} for row in sweep(("xcu", "ice40"))]
    axes: dict[str, list[list[str]]] = {}
    for panel in panels(rows):
        title, *numbers = texts(panel)
        axes.setdefault(title.split(", ")[0], []).append(numbers)
    assert len(axes) == 2 and all(len(found) == 2 and found[0] == found[1] for found in axes.values())


def test_legends_have_headings_and_fit() -> None:
    rows = sweep(("xcu",), ("mxfp8_e4m3",))
    svg = ElementTree.fromstring(drawing(rows))
    found = texts(svg)
    assert found[0] == "Scale rule:" and "Rounding:" in found and "bias_floor" in found
    width = float(svg.get("viewBox").split()[2])
    legend = [text for text in svg.iter(f"{SVG}text") if not text.get("text-anchor")]
    assert all(float(text.get("x", "0")) + 7 * len(text.text) < width for text in legend)


def test_points_that_coincide_are_drawn_side_by_side() -> None:
    rows = [point(i, rule=rule, luts=100, sqnr_db=30.0) for i, rule in enumerate(("ceil", "pow2_ceil"))]
    (panel,) = panels([*rows, point(2, luts=200, sqnr_db=20.0)])
    first, second = sorted(marks(panel))[:2]
    assert second[0] - first[0] == pytest.approx(STEP) and first[1] == second[1]


def test_levels_where_sqnr_is_the_same() -> None:
    (panel,) = panels([point(1, amax="radix4", sqnr_db=30.0, levels=20), point(2, sqnr_db=30.0, levels=30)])
    assert "Levels (less is better)" in texts(panel) and len(marks(panel)) == 2


def test_it_needs_no_page_around_it() -> None:
    """Each id would be one of several panels; each variable is defined, also for dark screens."""
    svg = drawing(sweep())
    assert " id=" not in svg
    used = set(re.findall(r"var\((--\w+)\)", svg))
    assert len(used) > 8 and all(f"{name}:" in palette for name in used for palette in (LIGHT, DARK))


def test_the_same_rows_give_the_same_bytes() -> None:
    """In processes with other hash seeds too."""
    program = (
        "from mxcast.explore.report.drawing import drawing\n"
        "from tests.explore.made_up import sweep\n"
        "print(drawing(sweep()))"
    )
    found = {
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1 and found != {b""}
