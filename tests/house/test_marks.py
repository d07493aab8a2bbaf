"""The mark `sampled` of tests/conftest.py."""

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

@pytest.mark.sampled(3, first=1)
@pytest.mark.parametrize("number", range(7))
def test_one(number): pass

@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.slow), 1, 2, 3])
def test_other(number): pass
"""


@pytest.mark.parametrize(
    "marks, chosen",
    [
        ("not slow", ["test_one[1]", "test_one[4]", "test_other[1]", "test_other[3]"]),
        ("slow", [*(f"test_one[{number}]" for number in (0, 2, 3, 5, 6)), "test_other[0]", "test_other[2]"]),
    ],
)
def test_all_cases_but_some_are_slow(marks, chosen, tmp_path):
    (tmp_path / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", marks]
    done = subprocess.run([*command, "test_it.py"], cwd=tmp_path, capture_output=True, text=True)
    assert [line.split("::")[1] for line in done.stdout.splitlines() if "::test" in line] == chosen, done.stderr


def test_make_test_has_a_case_of_each_sampled_test(without_quick_case):
    """As far as this run collected them."""
    assert not without_quick_case
