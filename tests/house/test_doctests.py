"""Every example in a docstring of the installed package is run, and gives what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = [
    "mxcast.host",
    "mxcast.spec",
    "mxcast.models",
    "mxcast.hdl",
    "mxcast.sim",
    "mxcast.synth",
    "mxcast.proof",
    "mxcast.cli",
]
EXCLUDED = {
    "mxcast.sim.cocotb.bench",  # runs inside a simulator only
    "mxcast.cli.__main__",  # runs the command when imported
}
EXAMPLES = 10
"""At least so many docstrings have an example; a loss of them all would otherwise go unseen."""


def modules() -> list[str]:
    found = []
    for package in map(importlib.import_module, PACKAGES):
        found += [
            package.__name__,
            *(info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
        ]
    return sorted(
        {"mxcast", *(f"mxcast.{name}" for name in ("arrays", "hardware", "identification", "testing")), *found}
        - EXCLUDED
    )


def examples(module: str) -> list[doctest.DocTest]:
    return [
        test
        for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
        if test.examples
    ]


@pytest.mark.parametrize("module", modules())
def test_examples(module: str) -> None:
    expected = sum(len(test.examples) for test in examples(module))
    failed, attempted = doctest.testmod(importlib.import_module(module), verbose=False)
    assert (failed, attempted) == (0, expected), f"python -m doctest of {module}: {failed} of {attempted} failed"


def test_there_are_examples() -> None:
    found = [test.name for module in modules() for test in examples(module)]
    assert len(found) >= EXAMPLES, found
    assert {name.split(".")[1] for name in found if "." in name} >= {
        "spec",
        "models",
    }  # the packages with a Python interface first


def test_the_excluded_modules_exist() -> None:
    for module in EXCLUDED:
        assert importlib.util.find_spec(module), f"{module} is excluded and does not exist"
