"""Modules that a command imports when it starts."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import json, sys
from mxcast.cli import main
code = main()
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def imported(*arguments: str) -> set[str]:
    """The modules that a command has imported when it ends, and their packages."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return {".".join(parts[: n + 1]) for parts in (name.split(".") for name in modules) for n in range(len(parts))}


def test_the_version_needs_no_library() -> None:
    found = imported("--version")
    assert not found & {"typer", "rich", "numpy", "amaranth", "mxcast.spec", "mxcast.hdl"}


@pytest.mark.parametrize("section", ["formats", "profiles", "layouts"])
def test_catalogues_need_no_hardware(section: str) -> None:
    assert not imported("list", section, "-q") & {"numpy", "amaranth", "mxcast.hdl", "mxcast.models", "mxcast.synth"}


@pytest.mark.parametrize("section", ["rules", "decoder-rules", "cast-rules", "two-level-rules", "targets", "sweeps"])
def test_lists_of_hardware_need_no_amaranth(section: str) -> None:
    assert not imported("list", section, "-q") & {"numpy", "amaranth", "mxcast.models", "mxcast.sim"}


def test_quantize_needs_no_hardware(tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 32), np.float32))
    found = imported("quantize", str(tmp_path / "x.npy"), str(tmp_path / "q.npz"), "--format", "e4m3", "-q")
    assert not found & {"amaranth", "mxcast.sim", "mxcast.proof", "mxcast.synth", "mxcast.conformance"}


def test_a_verb_is_imported_when_it_is_called() -> None:
    found = imported("list", "formats", "-q")
    assert {name for name in found if name.startswith("mxcast.cli.verbs.")} == {"mxcast.cli.verbs.listing"}


def test_emit_imports_what_writes_verilog(tmp_path) -> None:
    small = "--set", "block_size=2"
    found = imported("emit", "e2m1", *small, "-q", "-o", str(tmp_path))
    assert "amaranth" in found
    assert not {f"mxcast.{room}" for room in ("proof", "synth", "tensors", "conformance", "explore")} & found


@pytest.mark.parametrize("word, meant", [("emitt", "emit"), ("chek-rtl", "check-rtl"), ("lst", "list")])
def test_a_misspelt_verb_is_suggested(word: str, meant: str, fails) -> None:
    assert fails(2, word).startswith(f"No such command '{word}'. Did you mean '{meant}'")
