"""A signal while slang is imported ends the command as at any other time."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from mxcast.host import signals
from mxcast.proof.verilog.text import plain

signals.install()
calls = 0

def hook(frame, event, _):
    global calls
    if event == "call" and frame.f_code.co_name == "__setitem__" and frame.f_code.co_filename.endswith("enum.py"):
        while frame and "pyslang" not in frame.f_code.co_filename:
            frame = frame.f_back
        calls += frame is not None
        if calls == {number}:
            sys.setprofile(None)
            os.kill(os.getpid(), signal.SIGTERM)

sys.setprofile(hook)
try:
    plain("module m; endmodule")
except signals.Interrupted as signal:
    print("interrupted by", signal.number, len([name for name in sys.modules if name.startswith("pyslang")]) > 1)
"""


@pytest.mark.parametrize("number", [5, 50])
def test_a_signal_while_slang_is_imported(number):
    program = [sys.executable, "-c", PROGRAM.replace("{number}", str(number))]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "interrupted by 15 True\n"), done.stderr
