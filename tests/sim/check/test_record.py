"""Exhaustive verification that is interrupted goes on, and what is finished is on record; on small sources, in small
chunks.
"""

import json
import os
import signal
import subprocess
import sys

import pytest

from mxcast.cli import main
from mxcast.hdl import ConverterConfig, converter_config, verilog
from mxcast.host import cache
from mxcast.sim import verify
from mxcast.sim.check import record, verification
from mxcast.sim.check.record import Record
from mxcast.sim.check.scoreboard import Scoreboard
from mxcast.sim.run.verilator.verilated import driver_of
from mxcast.sim.stimuli import exhaustive_total, sweep

CONFIG = converter_config("e4m3", source="bf16", block_size=4)

WRONG_IN_BLOCK_1 = """
module planted(x, scale, p);
  input [63:0] x;
  output [7:0] scale;
  output [31:0] p;
  wire [7:0] right;
  dut dut (.x(x), .scale(right), .p(p));
  assign scale = right ^ (x[31:0] == 32'h00050004);  // the second block of all patterns
endmodule
"""


@pytest.fixture(autouse=True)
def own_records(monkeypatch, tmp_path, new_cache):
    """Records of its own, with the kept designs of the machine. Arrays and chunks of stimuli are small, and do
    not divide the stimuli evenly.
    """
    monkeypatch.setenv("MXCAST_CACHE", str(new_cache(tmp_path, "verilated")))
    monkeypatch.setattr(verification, "CHUNK", 700)
    monkeypatch.setattr(sweep, "STRATUM", 2000)


def planted(config=CONFIG, wrong: str = WRONG_IN_BLOCK_1):
    """The design with a difference in one of its first blocks only."""
    return driver_of(verilog(config, "dut") + wrong, "planted", config)


def stop_after(chunks: int):
    """A progress function that interrupts after some chunks."""

    def progress(done: int, total: int) -> None:
        nonlocal chunks
        chunks -= 1
        if not chunks:
            raise KeyboardInterrupt

    return progress


def until_done(*args, chunks: int, **options):
    """Run again and again, interrupted after some chunks each; the outcome and how often it was."""
    for times in range(10_000):
        try:
            return verify(*args, stimuli="exhaustive", progress=stop_after(chunks), **options), times
        except KeyboardInterrupt as stopped:
            assert "the same command goes on from there" in str(stopped)


def outcome(result) -> dict:
    return {key: value for key, value in result.to_dict().items() if key not in ("kept_blocks", "seconds")}


def no_comparison(*_, **__):
    raise AssertionError("something was compared")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "formats, rules, chunks",
    [
        ("e4m3", {}, 1),
        ("e4m3", {}, 7),
        ("e2m1", {"rounding": "sr", "random_bits": 3}, 4),  # the random bits are the same as in one run
        ("e2m1,int4", {"scale_rule": "floor,ceil"}, 30),  # interrupted within and between modes
    ],
    ids=str,
)
@pytest.mark.parametrize("bug", [False, True], ids=["sound", "planted"])
def test_an_interrupted_run_ends_like_one_in_a_piece(formats, rules, chunks, bug):
    """The planted bug is spread over all blocks: counts and the report are the same as of one run."""
    config = converter_config(formats, source="bf16", block_size=4, **rules)
    text = verilog(config, "dut")
    design = driver_of(text.replace(" + up", "") if bug else text, "dut", config)
    whole = verify(config, stimuli="exhaustive", design=design)
    assert whole.passed is not bug and whole.kept_blocks == 0 and (whole.mismatched_blocks > 100) is bug
    assert whole.blocks == sum(map(exhaustive_total, config.modes))
    whole.record.unlink()
    pieces, times = until_done(config, design=design, chunks=chunks)
    assert times > 2 and 0 < pieces.kept_blocks <= pieces.blocks
    assert outcome(pieces) == outcome(whole)


def test_a_mismatch_before_the_interruption_is_reported_after_it():
    result, times = until_done(CONFIG, design=planted(), chunks=10)
    assert times > 1 and not result.passed and result.mismatched_blocks == 1
    assert "exhaustive block 1: scale expected 0x00, got 0x01" in result.report
    assert "--exhaustive --seed 0 --force" in result.report, "without --force the record would be repeated"
    again = verify(CONFIG, stimuli="exhaustive", design=planted())
    assert again.kept_blocks == again.blocks and outcome(again) == outcome(result), "and on record"


def test_an_interruption_within_a_comparison_counts_nothing(monkeypatch):
    """A block that is counted but not yet compared must be compared again: here the one with the bug in it."""

    def compare(self, stimulus, operation, entering, *rest):
        self.counts[stimulus] += len(entering)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Scoreboard, "compare", compare)
        with pytest.raises(KeyboardInterrupt, match="interrupted after 0 of"):
            verify(CONFIG, stimuli="exhaustive", design=planted())
    result = verify(CONFIG, stimuli="exhaustive", design=planted())
    assert result.mismatched_blocks == 1 and result.kept_blocks == 0


def test_the_name_of_the_rules_is_not_their_identity():
    by_profile, by_rules = (
        Record(config, "", seed=0, total=1).path for config in (CONFIG, ConverterConfig.from_dict(CONFIG.to_dict()))
    )
    assert by_profile == by_rules


def test_a_killed_run_goes_on():
    """After SIGKILL only the regular savings are left."""
    script = """
import os, signal, sys
from mxcast.hdl import ConverterConfig
from mxcast.sim import verify
from mxcast.sim.check import record, verification
from mxcast.sim.stimuli import sweep
import json
record.INTERVAL = 0
verification.CHUNK, sweep.STRATUM = 700, 2000
verify(ConverterConfig.from_dict(json.loads(sys.argv[1])), stimuli="exhaustive",
       progress=lambda done, total: done > 5000 and os.kill(os.getpid(), signal.SIGKILL))
"""
    done = subprocess.run([sys.executable, "-c", script, json.dumps(CONFIG.to_dict())], env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    result = verify(CONFIG, stimuli="exhaustive")
    assert result.passed and result.kept_blocks > 5000 and result.blocks == exhaustive_total(CONFIG.numerics)


def test_a_finished_run_is_on_record(monkeypatch):
    first = verify(CONFIG, stimuli="exhaustive")
    kept = json.loads(first.record.read_text())["content"]
    assert (
        kept["finished"]
        and kept["blocks"] == first.blocks
        and kept["mismatched_blocks"] == 0
        and kept["seconds"] == first.seconds
    )
    assert {"config_id", "numerics", "verilog", "sources", "seed", "versions", "saved"} <= set(kept)
    assert set(kept["versions"]) == {"mxcast", "numpy", "verilator", "compiler"}
    with monkeypatch.context() as patched:
        patched.setattr(verification, "_compare", no_comparison)
        again = verify(CONFIG, stimuli="exhaustive")
        assert again.passed and again.kept_blocks == again.blocks and outcome(again) == outcome(first)
        with pytest.raises(AssertionError, match="something was compared"):
            verify(CONFIG, stimuli="exhaustive", force=True)
    assert verify(CONFIG, stimuli="exhaustive", force=True).kept_blocks == 0


def test_force_that_is_interrupted_has_started_anew():
    whole = verify(CONFIG, stimuli="exhaustive")
    with pytest.raises(KeyboardInterrupt, match="the same command without --force goes on"):
        verify(CONFIG, stimuli="exhaustive", force=True, progress=stop_after(5))
    result = verify(CONFIG, stimuli="exhaustive")
    assert result.kept_blocks < result.blocks and outcome(result) == outcome(whole)


def test_a_record_of_another_verilog_is_not_used():
    sound = verify(CONFIG, stimuli="exhaustive")
    wrong = verify(CONFIG, stimuli="exhaustive", design=planted())
    assert sound.passed and not wrong.passed and wrong.kept_blocks == 0 and wrong.record != sound.record
    wrong.record.write_text(sound.record.read_text())  # not even under its name
    assert verify(CONFIG, stimuli="exhaustive", design=planted()).mismatched_blocks == 1
    text = verilog(CONFIG, "dut").replace("// SPDX", "// another header\n// SPDX")
    elsewhere = driver_of(text, "dut", CONFIG)
    assert verify(CONFIG, stimuli="exhaustive", design=elsewhere).kept_blocks == sound.blocks, "a header changes no bit"


@pytest.mark.parametrize(
    "change",
    [
        lambda patch: patch.setattr(record, "sources", lambda *packages: "another model or other stimuli"),
        lambda patch: patch.setattr(record.tools, "compiler_version", lambda: "1.2.3"),
        lambda patch: patch.setattr(record, "version", lambda name: "1.2.3"),
    ],
    ids=["sources", "compiler", "versions"],
)
def test_a_record_of_another_model_or_tool_is_not_used(monkeypatch, change):
    design = planted()
    verify(CONFIG, stimuli="exhaustive", design=design)
    change(monkeypatch)
    assert verify(CONFIG, stimuli="exhaustive", design=design).kept_blocks == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:200],
        lambda text: "[]",
        lambda text: "[" * 100_000,
        lambda text: "3",
        lambda text: text.replace('"mismatched_blocks": 0', '"mismatched_blocks": "0"'),
        lambda text: text.replace("counts", "c"),
        lambda text: text.replace('"seed": 0', '"seed": 1'),
    ],
)
def test_a_damaged_record_is_not_used(damage):
    first = verify(CONFIG, stimuli="exhaustive")
    first.record.write_text(damage(first.record.read_text()))
    assert verify(CONFIG, stimuli="exhaustive").kept_blocks == 0


def test_the_sources_are_read(monkeypatch):
    """One byte of the model changes their digest."""
    packages = "spec", "models", "sim"
    assert len(cache.sources(*packages)) == 64 and cache.sources(*packages) == cache.sources.__wrapped__(*packages)
    read = cache.sha256
    monkeypatch.setattr(
        cache, "sha256", lambda *parts: read(*(part + b" " if part[:3] == b'"""' else part for part in parts))
    )
    assert cache.sources.__wrapped__(*packages) != cache.sources(*packages)


def test_the_command(capsys, monkeypatch):
    command = ["verify", "e4m3", "--set", "source=bf16", "--set", "block_size=4", "--exhaustive"]
    compare, calls = verification._compare, []

    def impatient(*args):
        calls.append(args)
        if len(calls) == 20:
            raise KeyboardInterrupt
        compare(*args)

    monkeypatch.setattr(verification, "_compare", impatient)
    assert main(command) == 130
    out, err = capsys.readouterr()
    assert (
        out == ""
        and err.startswith("mxcast: interrupted after ")
        and err.endswith(": the same command goes on from there\n")
    )
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "blocks compared before an interruption, " in out and "passed" in out and "ON RECORD" not in out
    calls[:] = [()] * 20
    monkeypatch.setattr(verification, "_compare", no_comparison)
    assert main([*command[:-1], "--stimuli", "exhaustive"]) == 0, "the same under its other name"
    assert "ON RECORD, nothing was compared now; --force compares again" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kept_blocks"] == document["blocks"] == exhaustive_total(CONFIG.numerics)
    monkeypatch.setattr(verification, "_compare", compare)
    assert main([*command, "--force"]) == 0
    assert "compared now" in capsys.readouterr().out
