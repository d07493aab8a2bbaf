"""All tests share the parts that tools compile of themselves. After a run, the summary counts compared blocks: a test
records its count as the property ``blocks``. `--outcome FILE` keeps the outcome of a run under its -m expression.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from mxcast.host import cache

TITLES = {
    "test_model_equals_the_exact_definition": "model = exact definition",
    "test_all_boundary_neighbours": "model = exact definition, all boundary neighbours",
    "test_rtl_equals_the_model": "Verilog = model",
    "test_a_64th_of_all_inputs": "Verilog = model, a 64th of all inputs",
    "test_every_combination_of_rules": "Verilog = model = exact definition, combinations of rules",
    "test_every_block_size": "Verilog = model = exact definition, block sizes",
    "test_every_element_format": "Verilog = model = exact definition, element formats",
    "test_every_sign_of_zero": "Verilog = model = exact definition, signs of zero",
    "test_every_number_of_random_bits": "Verilog = model = exact definition, random bits",
    "test_every_mode_is_its_own_configuration": "Verilog = model, run-time modes",
    "test_whole_magnitudes_give_the_same_bits": "Verilog = model, whole magnitudes compared",
    "test_regression_passes_on_verilator": "cocotb on Verilator",
    "test_other_ports_pass_on_verilator": "cocotb on Verilator, other sources, random bits and modes",
    "test_the_same_bench_passes_on_icarus": "cocotb on Icarus",
    "test_unknown_random_bits_stay_where_they_belong": "cocotb on Icarus, unknown random bits",
}

ORACLES = (
    "ml_dtypes",
    "gfloat",
    "torch",
    "torchao",
    "compressed-tensors",
    "gguf",
    "onnx",
    "safetensors",
    "mlx",
    "comfy-kitchen",
    "transformers",
    "nvidia-modelopt",
    "amd-quark",
    "gpt-oss",
    "mx",
)
"""Libraries that tests compare with, where they are installed."""

BEGUN = pytest.StashKey[float]()
WITHOUT_QUICK_CASE = pytest.StashKey[list[tuple[Path, str]]]()

OF_TOOLS = "wasmtime", "verilator-runtime", "verilator-shim"
"""Folders of a cache in which tools keep what they compile of themselves, which takes them seconds: nothing of a design
of ours.
"""


@pytest.fixture(scope="session")
def new_cache() -> Callable[[Path], Path]:
    """Make a folder a cache that has nothing but what tools compiled of themselves, and these kinds of results."""
    shared = cache.cache_folder()

    def made(folder: Path, *more: str, of_tools: tuple[str, ...] = OF_TOOLS) -> Path:
        for kind in (*of_tools, *more):
            (shared / kind).mkdir(exist_ok=True)
            folder.mkdir(exist_ok=True)
            (folder / kind).symlink_to(shared / kind)
        return folder

    return made


def pytest_addoption(parser):
    parser.addoption("--outcome", metavar="FILE", type=Path, help="JSON file that keeps the outcome of this run")
    parser.addoption("--outcome-of", metavar="NAME", help="name of the outcome, in place of the -m expression")


def pytest_sessionstart(session):
    session.config.stash[BEGUN] = time.monotonic()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config, items):
    """A test marked ``sampled(step, first=0)`` keeps the ``first`` of each ``step`` cases; the others become slow."""
    seen: Counter[tuple[Path, str]] = Counter()
    first: dict[tuple[Path, str], int] = {}
    for item in items:
        if (mark := item.get_closest_marker("sampled")) and not item.get_closest_marker("slow"):
            case = item.path, item.originalname
            if seen[case] % mark.args[0] != first.setdefault(case, mark.kwargs.get("first", 0)):
                item.add_marker(pytest.mark.slow)
            seen[case] += 1
    config.stash[WITHOUT_QUICK_CASE] = [case for case in seen if seen[case] <= first[case]]


@pytest.fixture
def without_quick_case(request) -> list[tuple[Path, str]]:
    """Files and names of sampled tests that `make test` would leave out."""
    return request.config.stash[WITHOUT_QUICK_CASE]


def pytest_collection_finish(session):
    gc.collect()
    gc.freeze()  # or each collection would visit all modules and tests, which live until the end


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def keep_outcome(path: Path, chosen: str, stats: dict[str, list], seconds: float) -> None:
    """Add the outcome of a run to the last outcomes of other -m expressions."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout
    kept[chosen or "all"] = {
        "commit": commit.strip(),
        "date": time.strftime("%Y-%m-%d"),
        **{outcome: len(stats.get(outcome, [])) for outcome in ("passed", "failed", "error", "skipped")},
        "minutes": round(seconds / 60, 1),
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "libraries": {name: installed for name in ORACLES if (installed := _version(name))},
    }
    path.write_text(json.dumps(kept, indent=1) + "\n")


def pytest_terminal_summary(terminalreporter):
    options = terminalreporter.config.option
    if options.outcome:
        seconds = time.monotonic() - terminalreporter.config.stash[BEGUN]
        keep_outcome(options.outcome, options.outcome_of or options.markexpr, terminalreporter.stats, seconds)
    counts = defaultdict(list)
    for report in terminalreporter.stats.get("passed", []):
        properties = dict(report.user_properties)
        if report.when == "call" and "blocks" in properties:
            counts[report.nodeid.split("::")[-1].split("[")[0]].append(properties["blocks"])
    for test, blocks in counts.items():
        terminalreporter.write_line(f"{TITLES.get(test, test)}: {sum(blocks):,} blocks equal in {len(blocks)} runs")
