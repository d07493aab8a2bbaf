"""Two commands that write in one folder run one after the other."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from mxcast.cli.errors import ExitCode
from mxcast.hdl import converter_config, default_name, verilog
from mxcast.host.files import claimed

from ..test_interrupts import COMMAND, SMALL, heed_signals

CONFIG = converter_config("e2m1", block_size=2)
EMITTED = default_name(CONFIG)

CASES = {
    "emit": (["emit", "e2m1", *SMALL], EMITTED),
    "test": (["test", "e2m1", *SMALL], f"{EMITTED}/sim/verilator"),
    "prove": (["prove", "e2m1", *SMALL], f"{EMITTED}/proof/{default_name(CONFIG)}"),
    "check-rtl": (["check-rtl", "rtl.v", "--top", "rtl", "--format", "e2m1", *SMALL], f"rtl-{CONFIG.config_id}/check"),
    "mutate": (["mutate", "e2m1", *SMALL, "--mutants", "1"], f"{EMITTED}/mutants/specification"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow) if case == "test" else case for case in CASES]
)
def test_a_command_waits_for_another_one_in_its_folder(case, tmp_path):
    """The second command says that it waits, and a signal ends it while it waits."""
    arguments, folder = CASES[case]
    (tmp_path / "rtl.v").write_text(verilog(CONFIG, "rtl"))
    with (
        claimed(tmp_path / "build" / folder),
        subprocess.Popen(
            [*COMMAND, *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals
        ) as running,
    ):
        said = running.stderr.readline()
        assert said == f"mxcast: another command works in build/{folder}: waiting until it has ended\n"
        running.send_signal(signal.SIGTERM)
        assert running.communicate()[1] == "mxcast: interrupted\n" and running.returncode == ExitCode.TERMINATED


@pytest.mark.slow
def test_both_checks_of_one_folder_have_their_own_outcome(tmp_path):
    """Checks of a right design and of a wrong one."""
    right = verilog(CONFIG, "rtl")
    wrong = right.replace("module rtl(", "module right(")
    wrong += "module rtl(input [63:0] x, output [7:0] scale, p);\n  wire [7:0] q;\n"
    wrong += "  right inner(.x(x), .scale(scale), .p(q));\n  assign p = q ^ (x == 64'hCAFEBABE_DEADBEEF);\nendmodule\n"
    running = []
    for name, text in (("right", right), ("wrong", wrong)):
        (tmp_path / f"{name}.v").write_text(text)
        command = [*COMMAND, "check-rtl", f"{name}.v", "--top", "rtl", "--format", "e2m1", *SMALL, "--blocks", "1000"]
        running.append(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, env=dict(os.environ)))
    assert [one.wait() for one in running] == [ExitCode.PASSED, ExitCode.FAILED]
