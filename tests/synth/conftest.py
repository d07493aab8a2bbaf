"""A cache of its own for every test, with the tools but without results."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path, monkeypatch, new_cache) -> Path:
    folder = new_cache(tmp_path / "cache")
    monkeypatch.setenv("MXCAST_CACHE", str(folder))
    return folder
