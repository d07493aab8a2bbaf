"""What is on record of public libraries: the page has it, and every adapter has rows or says why not."""

import json

import conformance
from mxcast.conformance.adapters import ADAPTERS

RECORD = json.loads(conformance.KEPT.read_text())


def test_the_document_has_the_table():
    page = conformance.PAGE.read_text()
    assert conformance.rendered(page, RECORD) == page


def test_every_format_of_every_adapter_is_there():
    rows = {(one["adapter"], one["operation"], one["format"]) for one in RECORD}
    assert rows == {
        (adapter.name, operation, format)
        for adapter in ADAPTERS.values()
        for operation, formats in adapter.operations.items()
        for format in formats
    }


def test_what_differs_has_a_witness():
    assert all(one["witness"] for one in RECORD if one["verdict"] == "differs" and one["differing"])


def test_a_row_is_made_again():
    """The quickest library that is installed wherever tests are."""
    made = conformance.row(ADAPTERS["ml_dtypes"], "cast", "e5m2")
    kept = next(one for one in RECORD if (one["adapter"], one["format"]) == ("ml_dtypes", "e5m2"))
    assert {**made, "version": None} == {**kept, "version": None}
