"""A table becomes a list if a narrow terminal has no room for its columns."""

import fcntl
import os
import pty
import struct
import sys
import termios

import pytest

from mxcast.cli.output.output import Output
from mxcast.cli.output.tables import listed

ROWS = [
    {"tensor": "l.weight", "shape": "2 x 32", "rules": {"a": 1, "b": 2}, "NaN": 0, "dB": float("nan"), "remark": None},
    {"tensor": "m", "shape": "a text of several words", "rules": {}, "NaN": 3, "dB": 1.5, "remark": "x" * 30},
]


def test_sentences_are_folded_and_commands_are_not(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    Output().say("build ceil (960 LUTs, 26.8 dB), the best balance\n  mxcast emit e4m3 --profile nvidia --target xcu")
    assert capsys.readouterr().out == (
        "build ceil (960 LUTs, 26.8 dB), the best\n  balance\n  mxcast emit e4m3 --profile nvidia --target xcu\n"
    )
    assert listed(ROWS, "Pareto front of luts, levels, sqnr_db: 5 of 16 points", 40).startswith(
        "Pareto front of luts, levels, sqnr_db: 5\n  of 16 points\n\n"
    )


def test_a_list():
    """Empty cells are left out, lines are folded between words, and a word is never cut."""
    assert listed(ROWS, "two tensors", 20) == "\n".join(
        [
            "two tensors",
            "",
            "l.weight",
            "  shape: 2 x 32",
            "  rules: a=1",
            "    b=2",
            "  NaN: 0",
            "m",
            "  shape: a text of",
            "    several words",
            "  NaN: 3",
            "  dB: 1.5",
            "  remark:",
            f"    {'x' * 30}",
            "",
        ]
    )


def in_terminal(columns: int, *arguments: str) -> str:
    """The output of the command on a terminal with this number of columns."""
    script = "import sys; from mxcast.cli import main; sys.exit(main())"
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    pid, terminal = pty.fork()
    if not pid:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execve(sys.executable, [sys.executable, "-c", script, *arguments], environment)
    found = b""
    while True:
        try:
            found += (part := os.read(terminal, 1 << 16))
        except OSError:  # it has ended
            break
        if not part:
            break
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return found.decode().replace("\r\n", "\n")


def is_folded(text: str, columns: int) -> bool:
    return all(len(line) <= columns or len(line.split()) == 1 for line in text.splitlines())


def test_terminals():
    text = in_terminal(40, "list", "profiles")
    assert "\nocp\n  source: OCP Microscaling Formats (MX)\n    v1.0, section 6.3\n  date: 2023-09\n" in text
    assert is_folded(text, 40) and "\N{BOX DRAWINGS LIGHT HORIZONTAL}" not in text
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" in in_terminal(80, "list", "profiles")


@pytest.mark.parametrize("columns", [30, 40, 59])
@pytest.mark.parametrize("what", ["profiles", "layouts", "targets", "sweeps", "formats"])
def test_a_narrow_terminal_behind_a_pipe(what, columns, monkeypatch, passes):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert is_folded(passes("list", what), columns)


@pytest.mark.parametrize("columns", ["60", "80", "", "0", "x", "99999"])
def test_other_pipes(columns, monkeypatch, passes):
    """A table that fits stays a table, and no line is folded."""
    monkeypatch.delenv("COLUMNS", raising=False)
    usual = passes("list", "profiles")
    monkeypatch.setenv("COLUMNS", columns)
    assert passes("list", "profiles") == usual and not is_folded(usual, 80)


def test_a_table_that_fits(monkeypatch, passes, saved):
    import numpy as np

    monkeypatch.setenv("COLUMNS", "40")
    q = saved(np.ones((2, 32), np.float32)).with_name("q.safetensors")
    passes("quantize", q.with_name("x.npy"), q, "-f", "e2m1")
    text = passes("dequantize", q, q.with_name("y.npy"))
    assert "\N{BOX DRAWINGS LIGHT HORIZONTAL}" in text
