"""Every example in a docstring of the installed package is run, and gives what it says."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import mxcast

PACKAGES = [
    "mxcast.host",
    "mxcast.spec",
    "mxcast.models",
    "mxcast.hdl",
    "mxcast.sim",
    "mxcast.synth",
    "mxcast.proof",
    "mxcast.tensors",
    "mxcast.conformance",
    "mxcast.explain",
    "mxcast.compare",
    "mxcast.explore",
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
def test_examples(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, because some examples write files."""
    monkeypatch.chdir(tmp_path)
    expected = sum(len(test.examples) for test in examples(module))
    failed, attempted = doctest.testmod(importlib.import_module(module), verbose=False)
    assert (failed, attempted) == (0, expected), f"python -m doctest of {module}: {failed} of {attempted} failed"


def used(source: str, name: str) -> bool:
    """Whether a statement uses a public name: imported from mxcast, or as an attribute of it."""
    return any(
        (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Attribute) and node.attr == name and ast.unparse(node.value) == "mxcast")
        for node in ast.walk(ast.parse(source))
    )


@pytest.mark.parametrize("name", mxcast.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    """In what `help` prints for it; a value without a docstring is shown in the package's."""
    module, defined = mxcast.PUBLIC.get(name, ("", name))  # in place of getattr: `mxcast.synth` may be the package
    value = getattr(importlib.import_module(f"mxcast{module}"), defined)
    module, documented = ("mxcast", mxcast) if isinstance(value, dict | str) else (value.__module__, value)
    assert module in modules(), "its examples are not run"
    found = doctest.DocTestParser().get_examples(inspect.getdoc(documented) or "")
    assert any(used(example.source, name) for example in found), f"help(mxcast.{name}) shows no example"


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
