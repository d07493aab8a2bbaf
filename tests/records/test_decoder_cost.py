"""Records of decoders: the limits hold, and the document has the table."""

import json
from pathlib import Path

import decoder_cost

ROOT = Path(__file__).parents[2]


def test_the_limits_hold():
    figures = json.loads(decoder_cost.KEPT.read_text())["figures"]
    best = {(figure["job"], figure["format"]): figure["luts"] for figure in figures if figure["lane"] == "best"}
    limits = {key: decoder_cost.limit(*key) for key in best}
    assert sum(most is not None for most in limits.values()) == 11
    assert all(most is None or best[key] <= most for key, most in limits.items())


def test_the_document_has_the_table():
    figures = json.loads(decoder_cost.KEPT.read_text())["figures"]
    assert decoder_cost.table(figures) in (ROOT / "docs" / "results.md").read_text()
