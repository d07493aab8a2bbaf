"""Limits of decoders hold on record. `test_qor.py` compares the table."""

import json

from parts.cost import decoder_cost


def test_the_limits_hold():
    figures = json.loads(decoder_cost.KEPT.read_text())["figures"]
    best = {(figure["job"], figure["format"]): figure["luts"] for figure in figures if figure["lane"] == "best"}
    limits = {key: decoder_cost.limit(*key) for key in best}
    assert sum(most is not None for most in limits.values()) == 11
    assert all(most is None or best[key] <= most for key, most in limits.items())
