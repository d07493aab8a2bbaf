"""Records of the libraries of layouts, and of a model in every layout: all are equal, every layout has a row or a
reason, and the page shows them.
"""

import json

import layouts
import pytest
from parts.libraries.layout_libraries import LIBRARIES, WITHOUT

from mxcast.spec import LAYOUTS

RECORD = json.loads(layouts.KEPT.read_text())
EVERY = {layout.name for dialect in LAYOUTS.values() for layout in dialect.values()}


def test_the_page_has_the_tables():
    page = layouts.PAGE.read_text()
    assert layouts.rendered(page, RECORD) == page
    assert all(f"| `{name}` |" in page for name in EVERY)


def test_every_layout_is_there_or_why_not():
    assert RECORD["layouts"].keys() == {f"{dialect}:{block}" for dialect, block in LIBRARIES}
    alone = {layout.name for dialect in WITHOUT for layout in LAYOUTS[dialect].values()}
    assert RECORD["layouts"].keys() | alone == EVERY and not RECORD["layouts"].keys() & alone


def test_all_that_was_compared_is_equal():
    for name, row in RECORD["layouts"].items():
        assert layouts.is_equal(row) and row["read"] >= 2**13, name
        dialect, block = name.split(":")
        assert ("written" in row) is (LIBRARIES[dialect, block].write is not None), name


@pytest.mark.parametrize("field", ["read_differing", "written_differing", "arrays_differing", "same_bytes"])
def test_what_differs_is_told(field):
    """In the record and on the page."""
    row = RECORD["layouts"]["mlx:nvfp4"]
    other = row | {field: {"arrays_differing": ["up.weight"], "same_bytes": False}.get(field, 3)}
    assert layouts.is_equal(row) and not layouts.is_equal(other)
    page = layouts.rendered(layouts.PAGE.read_text(), {"layouts": {**RECORD["layouts"], "mlx:nvfp4": other}})
    line = next(line for line in page.splitlines() if line.startswith("| `mlx:nvfp4`"))
    assert "differ" in line or "other bytes" in line


def test_a_model_in_every_layout():
    rows = RECORD["model"]["layouts"]
    assert rows.keys() == EVERY
    for name, row in rows.items():
        assert row["same_bytes"] and not row["differing"] and row["numbers"] > 10**7, name
    assert [name for name, row in rows.items() if row["onward"] == name] == [
        layout.name
        for dialect in LAYOUTS.values()
        for layout in dialect.values()
        if layouts.partner_of(layout) is layout
    ]
