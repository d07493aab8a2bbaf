from __future__ import annotations

import pytest

from .harness.header import Header
from .harness.model import Answered, Model, answers


@pytest.fixture(scope="session")
def header(tmp_path_factory: pytest.TempPathFactory) -> Header:
    """The header, compiled once."""
    return Header(tmp_path_factory.mktemp("header"))


@pytest.fixture(scope="session")
def survey() -> Answered:
    """The answers of the golden model."""
    return list(answers(Model()))
