"""Effect of a signal on a process that has cleared up."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mxcast.host.signals import SIGNALS

from .interruption import heed_signals

PROGRAM = """
import os, signal, sys
from mxcast.host import signals

class Late:
    def __del__(self):  # when Python gives up the modules, and has given back the handlers
        for number in signals.SIGNALS:
            os.kill(os.getpid(), number)

late = Late()
signals.install()
try:
    os.kill(os.getpid(), int(sys.argv[1]))
except signals.Interrupted as end:
    signals.uninstall()
    sys.exit(128 + end.number)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_at_the_very_end_changes_nothing(number):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(int(number))], preexec_fn=heed_signals)
    assert done.returncode == 128 + number
