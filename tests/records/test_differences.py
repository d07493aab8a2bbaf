"""docs/differences.md is what records/differences.json says, and that is what the models do today."""

import importlib.util
import json
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("differences", ROOT / "bench" / "differences.py")
matrix = importlib.util.module_from_spec(spec)
spec.loader.exec_module(matrix)

RESULTS = json.loads(matrix.KEPT.read_text())

# numerics.md, B.3
SINGLE_COUNTEREXAMPLE = {
    "e5m2": "0x07E00001",
    "e4m3": "0x04600001",
    "e3m2": "0x02600001",
    "e2m3": "0x01700001",
    "e2m1": "0x01400001",
}


def test_the_page_is_the_rendering_of_the_results():
    assert matrix.PAGE.read_text() == matrix.rendered(RESULTS, json.loads(matrix.decoders.KEPT.read_text()))


def test_every_pair_in_every_format_is_there():
    groups = {format: matrix.groups(format) for format in matrix.FORMATS}
    assert {format: [names[0] for names in groups[format]] for format in groups} == {
        format: list(rules) for format, rules in RESULTS["rules"].items()
    }
    assert RESULTS["same"] == {
        format: {names[0]: names[1:] for names in groups[format] if names[1:]} for format in groups
    }
    pairs = [(format, [a, b]) for format in matrix.FORMATS for a, b in combinations(RESULTS["rules"][format], 2)]
    assert [(record["format"], record["profiles"]) for record in RESULTS["records"]] == pairs


def test_the_rules_on_record_are_those_of_today():
    assert RESULTS["rules"] == {format: matrix.rules_of(format) for format in matrix.FORMATS}


def test_the_single_counterexamples_are_found():
    page = matrix.PAGE.read_text()
    for format, pattern in SINGLE_COUNTEREXAMPLE.items():
        found = matrix.finding(RESULTS, format, "nvidia", "torchao_rceil", "scale")
        assert (found["compared"], found["differing"]) == (2**31 - 2**23, 1)
        assert found["first"] == found["last"] and found["first"]["a"]["values"] == pattern in page
    int8 = matrix.finding(RESULTS, "int8", "nvidia", "torchao_rceil", "scale")
    assert int8["differing"] == 254
    assert (int8["first"]["a"]["values"], int8["last"]["a"]["values"]) == ("0x007F0001", "0x7EFE0001")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("format", matrix.FORMATS)
def test_what_is_compared_on_bf16_comes_out_again(format):
    kept = [record for record in RESULTS["records"] if record["format"] == format and record["numbers"] == "bf16"]
    assert len(kept) == len(RESULTS["rules"][format]) - 1
    sides = {}
    for record in kept:
        assert json.loads(json.dumps(matrix.record(format, *record["profiles"], sides))) == record
