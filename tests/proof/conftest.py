"""Fixtures of the tests of proofs."""

from __future__ import annotations

import pytest

from mxcast.proof.foreign.check_rtl import Check, check_rtl

from .foreign_designs import CONFIG, DESIGNS


@pytest.fixture(autouse=True)
def fewer_blocks(monkeypatch):
    """A fifth of the blocks of N(0,1) shows the faults of these designs."""
    monkeypatch.setattr("mxcast.proof.foreign.check_rtl.NORMAL", 20_000)


@pytest.fixture(autouse=True)
def short_second_leg(monkeypatch):
    """Fewer blocks for texts that only one reader reads."""
    monkeypatch.setattr("mxcast.proof.solve.second_leg.BLOCKS", 300)
    monkeypatch.setattr("mxcast.proof.solve.second_leg.AT_ONCE", 100)


@pytest.fixture
def check(tmp_path):
    def run(top: str, asked: dict, *define: str, config=CONFIG, **options) -> Check:
        return check_rtl(
            sorted(DESIGNS.glob("*.sv")),
            top,
            config,
            asked,
            include=[DESIGNS],
            define=define,
            out=tmp_path,
            blocks=20_000,
            **options,
        )

    return run
