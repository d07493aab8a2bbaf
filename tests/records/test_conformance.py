"""Records of public libraries: the page shows them, and every adapter has rows or says why not."""

import json
from dataclasses import replace

import pytest
from parts.libraries.facts import FACTS, checked

import conformance
from mxcast.conformance.adapters import ADAPTERS

RECORD = json.loads(conformance.KEPT.read_text())
KEPT_FACTS = json.loads(conformance.KEPT_FACTS.read_text())


def test_the_document_has_the_table():
    page = conformance.PAGE.read_text()
    assert conformance.rendered(page, RECORD, KEPT_FACTS) == page


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


def test_every_fact_was_compared():
    kept = {conformance._key(one) for one in KEPT_FACTS}
    assert kept == {(one.adapter, one.format, one.op, one.section, one.text) for one in FACTS} and len(kept) == len(
        FACTS
    )
    assert all(one["holds"] == (one["got"] == one["expected"]) for one in KEPT_FACTS)


@pytest.mark.parametrize("fact", FACTS, ids=lambda one: f"{one.adapter} {one.op} {one.format} {one.text}")
def test_a_fact_is_compared_again(fact):
    if ADAPTERS[fact.adapter].version is None:
        pytest.skip(f"{fact.adapter} is not installed: pip install 'mxcast[oracles]', or a checkout")
    found = checked(fact)
    kept = next(one for one in KEPT_FACTS if conformance._key(one) == conformance._key(found))
    assert found["got"] == kept["got"], "a run of another version gives another result"


def test_a_wrong_fact_is_marked():
    """Said of gfloat: -128 would become -127."""
    fact = next(one for one in FACTS if one.text == "-128 is used")
    found = checked(replace(fact, codes=[0x81]))
    assert not found["holds"] and found["got"].endswith("80")
    page = conformance.PAGE.read_text()
    assert "0 of 1 hold; the others are marked" in conformance.rendered(page, RECORD, [found])


def test_witnesses_are_short_enough_for_a_cell():
    assert all(len(conformance.shown(one["witness"])) <= conformance.LONGEST for one in RECORD)
