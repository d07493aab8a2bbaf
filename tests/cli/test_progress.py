"""Progress bars on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

PROGRAM = """
import time, mxcast.cli.output.output as output
output.PATIENCE = 0.2
with output.Output(quiet={quiet}).progress("baking a cake") as progress:
    time.sleep({seconds})
    progress and progress(3, 10)
    time.sleep({seconds})
"""


def on_a_terminal(program: str) -> str:
    """The output of a program on stderr, which is a terminal."""
    ours, its = pty.openpty()
    running = subprocess.Popen([sys.executable, "-c", program], stderr=its, stdin=subprocess.DEVNULL)
    os.close(its)
    printed = b""
    try:
        while part := os.read(ours, 4096):
            printed += part
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    assert running.wait() == 0, printed
    return printed.decode()


def test_work_that_takes_long_is_shown():
    """The bar also appears before the first report of progress."""
    printed = on_a_terminal(PROGRAM.format(quiet=False, seconds=0.8))
    assert "baking a cake" in printed and "30%" in printed


@pytest.mark.parametrize("quiet, seconds", [(False, 0), (True, 0.8)])
def test_otherwise_there_is_nothing(quiet, seconds):
    assert on_a_terminal(PROGRAM.format(quiet=quiet, seconds=seconds)) == ""
