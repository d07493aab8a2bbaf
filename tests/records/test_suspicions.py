"""Records of suspicions: right files have no suspicion, every layout has a row, and the document has the tables."""

import json

import suspicions

from mxcast.spec import LAYOUTS
from mxcast.tensors.inspect.judging import Kind

RECORD = json.loads(suspicions.KEPT.read_text())


def test_right_files_have_none():
    assert not [row for row in RECORD["right"] if row["suspicions"]]
    names = {layout.name for layouts in LAYOUTS.values() for layout in layouts.values()}
    assert {row["layout"] for row in RECORD["right"]} == names


def test_every_mistake_is_suspected():
    """In at least half of the tensors: the scales and channels of others are all alike."""
    assert {row["mistake"] for row in RECORD["mistakes"]} == {*suspicions.MISTAKES, suspicions.GATE_AND_UP}
    assert all(2 * row["told"] >= row["tensors"] for row in RECORD["mistakes"])


def test_the_document_has_the_tables():
    page = suspicions.PAGE.read_text()
    assert suspicions.rendered(page, RECORD) == page
    assert all(f"| `{kind}` |" in page for kind in Kind)
