"""The examples run, and the tables in the documents are those of the kept results."""

import importlib.util
import json
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from mxcast.hdl import converter_config
from mxcast.sim.families import FAMILIES
from mxcast.spec import BLOCKS, PROFILES

from .configurations import share

ROOT = Path(__file__).parent.parent


def loaded(path: Path):
    """The module of a file that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_python_api():
    done = subprocess.run([sys.executable, ROOT / "examples" / "python_api.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "the Verilated Verilog gives the same codes" in done.stdout


def test_amaranth_design():
    done = subprocess.run([sys.executable, ROOT / "examples" / "amaranth_design.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "module top(" in done.stdout and "always @(posedge clk)" in done.stdout


def test_demo(tmp_path, capsys):
    """The demo on the shipped sample, with one format on the cheapest target."""
    demo = loaded(ROOT / "examples" / "demo.py")
    assert demo.main(ROOT / "data" / "minilm_sample.safetensors", tmp_path, ["mxfp4_e2m1"], "lut4") == 0
    printed = capsys.readouterr().out
    assert "7704 of 7704 blocks" in printed and "SQNR" in printed
    assert (tmp_path / "minilm_sample.e4m3.safetensors").is_file() and list(tmp_path.glob("mxfp4_e2m1_ocp/rtl/*.v"))


def test_tables_are_those_of_the_kept_results():
    """After `make results` or `python bench/exhaustive.py` the pages are written again; nobody types a figure."""
    results = loaded(ROOT / "bench" / "results.py")
    kept = json.loads(results.KEPT.read_text())
    for page in results.PAGES:
        text = page.read_text()
        assert results.rendered(text, kept) == text, (
            f"{page.name} does not show the kept results: bench/results.py --render"
        )
        assert "<!-- results: synth -->\n<!-- end -->" not in text
    for script in ("exhaustive.py", "completeness.py"):
        record = loaded(ROOT / "bench" / script)
        text = record.PAGE.read_text()
        assert record.rendered(text, json.loads(record.KEPT.read_text())) == text


PARTS = pytest.mark.parametrize("part", share(range(3), 3))
"""A third of the Verilog in the quick run, which has every format under other profiles than the next."""


@PARTS
def test_exhausted_verilog_is_the_verilog_of_today(part):
    """A change of the hardware asks for new exhaustive runs before the page may claim them."""
    exhaustive = loaded(ROOT / "bench" / "exhaustive.py")
    records = json.loads(exhaustive.KEPT.read_text())
    assert {(r["format"], r["profile"]) for r in records} == set(product(BLOCKS, exhaustive.PROFILES))
    assert not any(r["mismatched_blocks"] for r in records)
    for r in of_part(part, records):
        assert r["verilog"] == exhaustive.fingerprint(converter_config(r["format"], r["profile"])), (
            r["format"],
            r["profile"],
        )


def of_part(part: int, records: list[dict]) -> list[dict]:
    """Those of a third of all pairs of format and profile."""
    formats, profiles = list(BLOCKS), list(PROFILES)
    return [r for r in records if (formats.index(r["format"]) + profiles.index(r["profile"])) % 3 == part]


@PARTS
def test_proofs_and_mutants_are_of_the_verilog_of_today(part):
    """What the pages say is proved and mutated is today's Verilog, by today's regression; and it passed."""
    verification = loaded(ROOT / "bench" / "verification.py")
    for page in verification.PAGES:
        text = page.read_text()
        assert verification.rendered(text) == text, (
            f"{page.name} does not show the kept results: bench/verification.py --render"
        )
    proofs, mutants = (verification.records(kept) for kept in (verification.proofs.KEPT, verification.mutants.KEPT))
    assert {(r["format"], r["profile"]) for r in proofs if r["method"] == "composed"} >= set(
        product(BLOCKS, ("ocp", "nvidia", "te", "gorodecky_sousa"))
    )
    assert {(r["format"], r["profile"]) for r in mutants} == set(product(BLOCKS, verification.mutants.PROFILES))
    for r in of_part(part, [*proofs, *mutants]):
        assert r["verilog"] == verification.exhaustive.fingerprint(converter_config(r["format"], r["profile"])), (
            r["format"],
            r["profile"],
        )
    assert all(r["status"] == "PASS" for r in proofs)
    for r in of_part(part, mutants):
        assert r["suite"] == verification.mutants.suite(converter_config(r["format"], r["profile"]))
    for r in mutants:
        assert (
            r["killed"] == r["faults"] > 0
            and r["refuted"] == r["mistakes"] > 0
            and r["survived"] == r["undecided"] == 0
        )


@pytest.mark.parametrize(
    "script",
    [
        "quantize.py",
        "verilated.py",
        "results.py",
        "exhaustive.py",
        "completeness.py",
        "matrix.py",
        "file.py",
        "proofs.py",
        "verification.py",
        "qor.py",
    ],
)
def test_benchmarks_explain_themselves(script):
    done = subprocess.run([sys.executable, ROOT / "bench" / script, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "usage:" in done.stdout, done.stderr


def test_completeness_was_run_for_every_combination_of_today():
    """A new rule or format asks for a new run before the page may claim it."""
    records = {r["product"]: r for r in json.loads(loaded(ROOT / "bench" / "completeness.py").KEPT.read_text())}
    assert list(records) == list(FAMILIES)
    for name, families in FAMILIES.items():
        assert records[name]["numerics"] == sum(map(len, families())) and records[name]["mismatched_blocks"] == 0
