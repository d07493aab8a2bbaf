"""Proofs, mutants and exhaustive runs of the documents are on record, passed, and belong to today's Verilog."""

import pytest
import verification
from parts.evidence import checks
from parts.evidence.subjects import subjects, wanted

PARTS = 11
"""The quick run has one, with every operation and format."""

LABELS = [
    (r["check"], *(r[name] for name in verification.LABELS))
    for kept in verification.FILES
    for r in verification.records(kept)
]


def asked(check, subject):
    return check, *subject.label.values()


def test_pages_show_what_is_kept():
    for page in verification.PAGES:
        text = page.read_text()
        assert verification.rendered(text) == text, (
            f"{page.name} does not show the kept results: bench/verification.py --render"
        )


def test_what_is_on_record_is_asked_for_and_passed():
    every, known = {asked(*one) for one in wanted()}, set(LABELS)
    assert known <= every and len(known) == len(LABELS)
    assert {label for label in every - known if label[1:3] == ("encode", "generic")} == set()
    for r in verification.records("proofs"):
        assert r["status"] == "PASS", r
    for r in verification.records("mutants"):
        assert r["killed"] == r["faults"] > 0 and r["survived"] == r["undecided"] == 0, r
    for r in [*verification.records("mutants"), *verification.records("mistakes")]:
        assert r["refuted"] == r["mistakes"] > 0, r
    for r in verification.records("exhaustive"):
        assert r["blocks"] > 0 == r["mismatched_blocks"], r


@pytest.mark.sampled(PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_records_are_of_the_verilog_of_today(part):
    """A change of the hardware, or of what the regression drives, asks for new runs before the pages may claim them."""
    chosen = subjects()[part::PARTS]
    for check, subject in wanted():
        if subject in chosen and asked(check, subject) in LABELS:
            assert verification.on_record(check, subject) is not None, f"{check}: {subject}"


def test_another_verilog_or_regression_is_not_on_record(monkeypatch):
    subject = subjects()[0]
    assert verification.on_record("mutants", subject)
    monkeypatch.setattr(checks, "SEED", 1)
    assert verification.on_record("mutants", subject) is None
    monkeypatch.setitem(vars(subject), "verilog", "0" * 64)
    assert verification.on_record("all inputs", subject) is None
