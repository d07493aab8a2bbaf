"""The examples run, and the documents show the tables of the kept results."""

import importlib.util
import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from mxcast import quantize
from mxcast.sim.check.families import FAMILIES

ROOT = Path(__file__).parents[2]


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


def test_amaranth_dma(monkeypatch, capsys):
    """The simulated design has the codes and scales of the model, and other rules give other ones."""
    dma = loaded(ROOT / "examples" / "amaranth_dma.py")
    assert dma.main() == 0 and "24 blocks in 275 cycles" in capsys.readouterr().out
    monkeypatch.setattr(dma, "quantize", lambda x, rules: quantize(x, "e4m3", "ocp"))
    assert dma.main() == 1 and "DIFFER" in capsys.readouterr().out


@pytest.mark.slow
def test_litex_soc(monkeypatch, tmp_path, capsys):
    """The memory that the simulated SoC has written has the bytes of the model, and other rules give other ones."""
    example, kept = loaded(ROOT / "examples" / "litex_soc.py"), []
    written = example.written
    monkeypatch.setattr(example, "written", lambda *given: kept.append(written(*given)) or kept[-1])
    assert example.main(tmp_path) == 0 and "64 blocks in 5221 cycles" in capsys.readouterr().out
    monkeypatch.setattr(example, "written", lambda *given: kept[-1])
    monkeypatch.setattr(example, "quantize", lambda x, rules: quantize(x, "e4m3", "ocp"))
    assert example.main(tmp_path) == 1 and "DIFFER" in capsys.readouterr().out


def test_sharded_nvfp4():
    """Two processes make the bytes of the whole tensor."""
    done = subprocess.run([sys.executable, ROOT / "examples" / "sharded_nvfp4.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "two processes made the 32768 codes of the whole tensor" in done.stdout


def test_demo(tmp_path, capsys):
    """The demo on the shipped sample, with one format on the cheapest target."""
    demo = loaded(ROOT / "examples" / "demo.py")
    assert demo.main(ROOT / "data" / "minilm_sample.safetensors", tmp_path, ["mxfp4_e2m1"], "lut4") == 0
    printed = capsys.readouterr().out
    assert "7704 of 7704 blocks" in printed and "SQNR" in printed
    assert (tmp_path / "minilm_sample.e4m3.safetensors").is_file() and list(tmp_path.glob("mxfp4_e2m1_ocp/rtl/*.v"))


SAMPLE = ROOT / "data" / "minilm_sample.safetensors"


def test_demo_stream(tmp_path, capsys):
    """Every tensor in three layouts, at the full rate."""
    assert loaded(ROOT / "examples" / "demo_stream.py").main(SAMPLE, tmp_path) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if "│ equal │" in line]
    assert len(rows) == 18 and all("│                     1.00 │" in row for row in rows)


def test_demo_stream_finds_a_flipped_bit(tmp_path, capsys):
    """A constant of the scale unit has another low bit."""
    demo = loaded(ROOT / "examples" / "demo_stream.py")
    one = {"quark_pack": demo.LAYOUTS["quark_pack"]}

    def flipped(text: str) -> str:
        assert text.count("rounded[7:0] - 2'h2") == 1
        return text.replace("rounded[7:0] - 2'h2", "rounded[7:0] - 2'h3")

    assert demo.main(SAMPLE, tmp_path, one, flipped) == 1
    assert capsys.readouterr().out.count("DIFFER") == 6


def test_tables_are_those_of_the_kept_results():
    """After `make results` or `python bench/completeness.py` the pages are written again; nobody types a figure."""
    results = loaded(ROOT / "bench" / "speed.py")
    kept = json.loads(results.KEPT.read_text())
    for page in results.PAGES:
        text = page.read_text()
        assert results.rendered(text, kept) == text, (
            f"{page.name} does not show the kept results: bench/speed.py --render"
        )
        assert "<!-- results: synth -->\n<!-- end -->" not in text
    completeness = loaded(ROOT / "bench" / "completeness.py")
    text = completeness.PAGE.read_text()
    assert completeness.rendered(text, json.loads(completeness.KEPT.read_text())) == text


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "bench").glob("*.py")))
def test_benchmarks_explain_themselves(script, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "bench" / script), run_name="__main__")
    assert not ended.value.code and "usage:" in capsys.readouterr().out


def test_completeness_is_on_record_for_every_product():
    """The page gives the number of combinations on record, and how many exist today."""
    records = {r["product"]: r for r in json.loads(loaded(ROOT / "bench" / "completeness.py").KEPT.read_text())}
    assert list(records) == list(FAMILIES)
    for name, families in FAMILIES.items():
        assert 0 < records[name]["numerics"] <= sum(map(len, families()))
        assert records[name]["mismatched_blocks"] == 0 and records[name]["numerics"] <= records[name]["rtl_blocks"]
