"""One signal ends any command at any moment, with all its children and temporary files."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

COMMAND = [sys.executable, "-c", "from mxcast.cli import main; import sys; sys.exit(main())"]
SMALL = ["--set", "block_size=2"]

CASES = {
    "emit": ["emit", "e4m3"],
    "synth": ["synth", "e4m3,e5m2"],
    "place": ["synth", "e2m1", *SMALL, "--pnr"],
    "verify": ["verify", "e2m1", *SMALL],
    "exhaustive": ["verify", "e2m1", *SMALL, "--exhaustive"],
    "test": ["test", "e2m1", *SMALL],
    "icarus": ["test", "e2m1", *SMALL, "--sim", "icarus"],
    "prove": ["prove", "e4m3"],
    "mutate": ["mutate", "e2m1", *SMALL],
    "check-rtl": ["check-rtl", "{rtl}", "--top", "rtl", "--format", "e2m1", *SMALL],
    "compare": ["compare", "ocp", "nvidia", "--format", "e4m3"],
    "quantize": ["quantize", "{tensor}", "{out}/q.safetensors", "--format", "e4m3"],
    "explore": ["explore", "point", "--format", "e2m1"],
}


def descendants() -> set[int]:
    """Child processes, each of which has its own session."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes()
        except OSError:
            continue
        if MARK.encode() in environment and int(path.name) != os.getpid():
            found.add(int(path.name))
    return found


MARK = f"MXCAST_TEST_OF_INTERRUPTS={os.getpid()}"


def is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def left_running() -> list[bytes]:
    """Commands of processes that still run after the system had time to end killed ones."""
    until = time.monotonic() + 20
    while left := [pid for pid in descendants() if not is_zombie(pid)]:
        if time.monotonic() > until:
            return [command(pid) for pid in left]
        time.sleep(0.05)
    return []


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def takes_care(running: subprocess.Popen) -> bool:
    """Has the command come so far that it has its own answer to signals? A moment before, they end it as they end any
    process.
    """
    caught = next(
        (line for line in Path(f"/proc/{running.pid}/status").read_text().splitlines() if line.startswith("SigCgt")),
        "0 0",
    )
    return running.poll() is not None or bool(
        int(caught.split()[1], 16) >> signal.SIGHUP - 1 & 1
    )  # the last one of `signals.SIGNALS`


def heed_signals() -> None:
    """Under ``nohup``, or in the background of a shell, a child would ignore them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def temporary(folder: Path) -> list[str]:
    return [
        str(path)
        for path in folder.rglob("*")
        if "mxcast-part" in path.name
        or path.name.startswith(("yosys-abc", "yowasp"))
        or re.fullmatch(r"cc\w{6}(\.\w+)?", path.name)  # of gcc
    ]


SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.sampled(8)  # not a multiple of the signals
@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("case", CASES)
def test_a_signal_ends_everything(case, number, tmp_path, new_cache):
    if case == "icarus" and shutil.which("iverilog") is None:
        pytest.skip("Icarus is optional: apt-get install iverilog")
    generator = random.Random(f"{case} {number}")
    for name in ("cache", "out", "tmp"):
        (tmp_path / name).mkdir()
    if case != "emit":  # whose signal finds it where the tool compiles itself, as it has done little else
        new_cache(tmp_path / "cache")
    text = Path(__file__).parents[1] / "proof" / "designs" / "e2m1.sv"
    if case == "check-rtl":
        from mxcast.hdl import converter_config, verilog

        text = tmp_path / "rtl.v"
        text.write_text(verilog(converter_config("e2m1", block_size=2), "rtl"))
    if case == "quantize":
        np.save(tmp_path / "x.npy", np.ones((1 << 14, 1 << 11), np.float32))
    arguments = [word.format(rtl=text, tensor=tmp_path / "x.npy", out=tmp_path / "out") for word in CASES[case]]
    key, _, value = MARK.partition("=")
    environment = {**os.environ, "MXCAST_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp"), key: value}
    with subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=tmp_path / "out",
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    ) as running:
        wait_for(lambda: takes_care(running))
        time.sleep(generator.uniform(0.25, 4))
        running.send_signal(number)
        sent = time.monotonic()
        said = running.stderr.read()
        status = running.wait(60)
    assert time.monotonic() - sent < 30  # of which a machine without other work needs one
    assert "Traceback" not in said, said
    assert status in (128 + number, 0, -number), (
        said
    )  # it may have been done before, and have left signals to the system
    assert said.count("mxcast: interrupted") == (status == 128 + number)
    assert left_running() == []
    assert temporary(tmp_path) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT])
@pytest.mark.parametrize("case", ["synth", "explore"])
def test_what_cannot_be_caught_ends_the_children_too(case, number, tmp_path, new_cache):
    key, _, value = MARK.partition("=")
    environment = {**os.environ, "MXCAST_CACHE": str(new_cache(tmp_path / "cache")), key: value}
    with subprocess.Popen(
        [*COMMAND, *CASES[case]], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, preexec_fn=heed_signals
    ) as running:
        wait_for(lambda: any(b"pyosys" in command(pid) for pid in descendants()))
        running.send_signal(number)
        assert running.wait(60) == -number
    assert left_running() == []


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


@pytest.mark.parametrize("delay", [0.03, 0.06, 0.09, 0.12, 0.15, 0.2])
def test_an_interrupt_while_the_command_starts(delay, tmp_path):
    """The interpreter needs some hundredths of a second before the command handles signals."""
    with subprocess.Popen(
        [*COMMAND, "emit", "e4m3"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    ) as running:
        time.sleep(delay)
        ours = takes_care(running)
        running.send_signal(signal.SIGINT)
        said, status = running.stderr.read(), running.wait(60)
    assert not ours or (status in (130, 0, -signal.SIGINT) and "Traceback" not in said), said


ONCE = """
import os, signal, sys
from mxcast.cli import main
def arrives(*_):
    os.kill(os.getpid(), signal.SIG{signal})
{before}
sys.exit(main())
"""


HALF_MADE = """
import warnings
class Half:
    def __del__(self):
        warnings.warn("half made")
def half_made(*_):
    half = Half()
    arrives()
from mxcast.cli.output import output; output.Output.table = half_made
"""


@pytest.mark.parametrize(
    "arguments, before",
    [
        (["list"], "from mxcast.cli.output import output; output.Output.table = arrives"),  # in a verb
        (["--version"], "from mxcast.cli import version; version.print_version = arrives"),  # before it begins
        (["emit", "e4m3"], "from mxcast import hdl; hdl.emit = lambda *_, **__: arrives() or {}[0]"),  # what fails then
        (["list"], "from mxcast.host import signals; signals.install = arrives"),  # before signals are taken care of
        (
            ["list"],
            "import atexit; atexit.register(arrives)\n"
            "from mxcast.cli.output import output; output.Output.table = arrives",
        ),
        (["list"], HALF_MADE),
    ],
    ids=["verb", "options", "failure", "start", "twice", "half made"],
)
def test_a_signal_has_its_sentence_and_code(arguments, before, tmp_path):
    number = signal.SIGINT if "install" in before else signal.SIGTERM  # any other ends the process as it ends any
    done = subprocess.run(
        [sys.executable, "-c", ONCE.format(signal=number.name.removeprefix("SIG"), before=before), *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", "mxcast: interrupted\n")


def test_a_killed_command_leaves_nothing_after_the_next(tmp_path):
    """SIGKILL cannot be handled."""
    (tmp_path / "cache").mkdir()
    np.save(tmp_path / "x.npy", np.ones((1 << 14, 1 << 11), np.float32))
    arguments = ["quantize", "x.npy", "q.safetensors", "--format", "e4m3"]
    environment = {**os.environ, "MXCAST_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen([*COMMAND, *arguments], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as running:
        until = time.monotonic() + 20
        while not temporary(tmp_path) and time.monotonic() < until and running.poll() is None:
            time.sleep(0.01)
        running.kill()
    assert running.wait() == -signal.SIGKILL and temporary(tmp_path)
    assert (
        subprocess.run([*COMMAND, *arguments], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL).returncode == 0
    )
    assert temporary(tmp_path) == [] and (tmp_path / "q.safetensors").is_file()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("closed", [[1], [2], [0, 1, 2]])
def test_closed_streams(closed, tmp_path):
    redirect = " ".join(f"{number}{'<' if number == 0 else '>'}&-" for number in closed)
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", *COMMAND, "emit", "e2m1", *SMALL],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr and list(tmp_path.glob("build/*/rtl/*.v"))
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirect}', "sh", *COMMAND, "emit", "e2m2m2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_an_encoding_lacks_is_an_escape(encoding, tmp_path):
    np.save(tmp_path / "gr\u00f6\u00dfe\u2603.npy", np.ones((2, 32), np.float32))
    done = subprocess.run(
        [*COMMAND, "quantize", "gr\u00f6\u00dfe\u2603.npy", "q.safetensors", "--format", "e4m3"],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode(encoding)
    assert ("\\u2603" in shown) is (encoding != "utf-8") and "wrote q.safetensors" in shown
