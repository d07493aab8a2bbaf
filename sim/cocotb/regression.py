"""The cocotb regression on Verilator or Icarus, as one function."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from ...hdl import HardwareConfig, default_name, emitted
from ...hdl.config.command import command_line
from ...host.cache import refreshed, scratch
from ...host.errors import DesignError, ToolError, ToolMissing
from ...host.files import claimed, regular, write_whole
from ...host.processes import run
from ..check.unknowns import tests_of
from ..operations import of
from ..run import tools
from ..run.preprocess import verilog_file
from ..run.verilator.runtime import cocotb_library, in_make, take_library
from ..run.view import write_view
from ..run.waves import JOURNAL, add_decoded, journal
from ..stored import behind_ports
from ..transactions import word

SIMULATORS = ("verilator", "icarus")

JOB, LOG, COMPARISONS, RESULTS = "job.json", "log.txt", "comparisons.jsonl", "results.xml"
"""Files that a run leaves in its folder."""
WAVES, VIEW = "waves.vcd", "waves.gtkw"
"""Files that a run with waves leaves too."""
AS_VCD = {"SIM_CMD_SUFFIX": "-vcd"}
"""The last word on the format of Icarus' dump, for which cocotb asks for FST."""
COCOTB = {"COCOTB_ANSI_OUTPUT": "0", "COCOTB_REWRITE_ASSERTION_FILES": ""}
"""A log without colours, and no rewriting by pytest, as the bench reports differences itself."""

PROCESS = Path(__file__).with_name("process.py")
"""The program that runs cocotb: started by its path, it imports nothing of this package."""
UNKNOWN_BLOCKS = 64
"""Random blocks with unknown inputs."""


@dataclass(frozen=True, kw_only=True)
class Regression:
    """The outcome of `test`."""

    config: HardwareConfig
    simulator: str
    passed: bool
    tests: dict[str, int]
    """Blocks compared by each test that ran."""
    failures: dict[str, str]
    """The reports of failed tests."""
    log: Path
    waveform: Path | None
    """The dump with decoded values; the save file for GTKWave is in the same folder."""
    seed: int

    @property
    def comparisons(self) -> int:
        """Blocks compared in all."""
        return sum(self.tests.values())

    @property
    def report(self) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.failures.items())

    def to_dict(self) -> dict:
        return {
            **self.config.to_dict(),
            "config_id": self.config.config_id,
            "simulator": self.simulator,
            "passed": self.passed,
            "tests": self.tests,
            "comparisons": self.comparisons,
            "failures": self.failures,
            "log": str(self.log),
            "waveform": str(self.waveform) if self.waveform else None,
            "seed": self.seed,
        }


def test(
    config: HardwareConfig,
    *,
    simulator: str = "verilator",
    out: Path | str = "build",
    name: str | None = None,
    seed: int = 0,
    random_blocks: int = 2000,
    waves: bool = False,
    verilog: Path | str | None = None,
    vectors: Path | str | None = None,
    window: tuple[int, str] | None = None,
    show: int = 0,
    force: bool = False,
) -> Regression:
    """Run the cocotb bench on the emitted converter (`hdl.emitted`); log and waveform go to ``<out>/<name>/sim/``.

    A run passes only if every test of the bench reports that it compared blocks and found no difference; the exit
    status of a simulator does not count. Icarus, which has four states, also gets unknown inputs (`unknowns`). A
    converter with registers gets gaps on both sides (`flow`), on Icarus with unknown inputs in them. ``verilog`` is a
    file to test in place of the emitted one. ``vectors`` is a `.npz` of more blocks: ``mode``, and for every data input
    an array of its name, (n, lanes) unsigned words (``x``, or ``p`` and ``scale``; ``random``). ``force`` compiles the
    bench again.

    ``waves`` keeps the dump with decoded values (`run.waves`), and a save file for GTKWave (`run.view`). ``window``,
    the number of the first block of ``vectors`` and the name of their stimulus, runs nothing but these blocks, in a
    folder of its own. GTKWave starts at the block ``show``.

    Raises `ToolMissing` without the simulator, ValueError for other files, and the errors of `hdl.emitted`.
    """
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if verilog is not None:
        regular(verilog_file(verilog))
    more = [] if vectors is None else [_test_of(Path(vectors), config)]
    environment = environment_for(simulator)
    with refreshed(force):
        library = cocotb_library(environment) if simulator == "verilator" and not waves else None
    name = default_name(config) if name is None else name
    source = emitted(config, out, name) if verilog is None else Path(verilog)
    # another folder than for the emitted file
    own = Path(out) / (name if verilog is None else f"{name}-{config.config_id}")
    folder = own / "sim" / (simulator if window is None else "waves")
    with claimed(folder):
        for path in folder.iterdir():  # files of an earlier run must not count
            if not path.is_dir():
                path.unlink()
        job = {
            **config.to_dict(),
            "seed": seed,
            "random_blocks": random_blocks,
            "unknown_blocks": UNKNOWN_BLOCKS,
            "simulator": simulator,
            "comparisons": COMPARISONS,
            "journal": JOURNAL if waves else None,
            "window": window,
            "vectors": str(Path(vectors).resolve()) if vectors else None,
            "repeat": f"mxcast test {command_line(config)} --sim {simulator} --seed {seed}",
        }
        write_whole(folder / JOB, json.dumps(job, indent=2))
        with scratch(plain=True) as work:  # make and Verilator interpret some characters in names of folders
            shutil.copyfile(folder / JOB, work / JOB)
            if config.layout is None and not config.has_axis:
                top, text = name, source.read_bytes()
            else:
                whole, top = behind_ports(config, source.read_text(), name)
                text = whole.encode()
            (work / f"{name}.v").write_bytes(text)
            if library:
                take_library(library, work, environment)
            asked = {
                "simulator": simulator,
                "source": f"{name}.v",
                "top": top,
                "results": RESULTS,
                "seed": seed,
                "waves": waves,
                "bench": f"{__package__}.bench",
            }
            with open(folder / LOG, "wb") as log:
                done = run(
                    [sys.executable, "-P", PROCESS],
                    cwd=work,
                    input=json.dumps(asked),
                    log=log,
                    environment={
                        **environment,
                        "MXCAST_BENCH": str(work / JOB),
                        **COCOTB,
                        **(AS_VCD if simulator == "icarus" else {}),
                    },
                )
            waveform = _waves(work, config, top, folder, show) if waves else None
            for file in (work / COMPARISONS, work / RESULTS):
                if file.is_file():
                    shutil.copyfile(file, folder / file.name)
        if not (folder / RESULTS).is_file():
            message = f"{simulator} stopped without results (exit status {done.status}): see {folder / LOG}"
            raise ToolError(message) if verilog is None else DesignError(message)
        return _judged(config, simulator, folder, waveform, seed, more, only=window is not None)


test.__test__ = False  # type: ignore[attr-defined]  # tells pytest that this is not a test


def _test_of(vectors: Path, config: HardwareConfig) -> str:
    """Check a file of blocks; returns the name of the test that drives it."""
    regular(vectors)
    entering = [port for port in config.numerics.ports if port.direction == "input"]
    try:
        with np.load(vectors) as file:
            mode = int(file["mode"])
            arrays = {name: file[name] for name in file if name != "mode"}
    except (
        ValueError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
        AttributeError,
        TypeError,
        EOFError,
        MemoryError,
        OverflowError,
        NotImplementedError,
        SyntaxError,
    ) as error:
        wanted = ", ".join(port.name for port in entering)
        raise ValueError(f"{vectors} must be an .npz file of blocks with the arrays {wanted} and mode") from error
    if not 0 <= mode < len(config.modes):
        raise ValueError(f"{vectors} is of mode {mode}, and the modes are 0 to {len(config.modes) - 1}")
    if sorted(arrays) != sorted(port.name for port in entering):
        raise ValueError(
            f"{vectors} must hold {' and '.join(port.name for port in entering)}, and it holds "
            f"{' and '.join(arrays) or 'nothing'}"
        )
    rows = len(arrays[entering[0].name]) if arrays[entering[0].name].ndim else 0
    for port in entering:
        array = arrays[port.name]
        if not rows or array.dtype != word(port) or array.shape != (rows, port.lanes):
            raise ValueError(
                f"{vectors} must hold {port.name} as {word(port)} of shape (n, {port.lanes}), the same n for all ports"
            )
    return f"vectors mode {mode}" if config.alternatives else "vectors"


def _judged(
    config: HardwareConfig, simulator: str, folder: Path, waveform: Path | None, seed: int, more: list[str], only: bool
) -> Regression:
    log, comparisons, results = folder / LOG, folder / COMPARISONS, folder / RESULTS
    expected = list(of(config.numerics).regression(1, seed))
    if config.alternatives:
        expected = [f"{name} mode {number}" for number in range(len(config.modes)) for name in expected]
    if config.latency:
        expected += ["full_rate", "interleaved"]
    elif simulator == "icarus":
        expected += tests_of(config)
    expected = more if only else [*expected, *more]
    lines = comparisons.read_text().splitlines() if comparisons.is_file() else []
    tests = {record["test"]: record["blocks"] for record in map(json.loads, lines)}
    failures = {record["test"]: record["report"] for record in map(json.loads, lines) if record["report"]}
    for missing in (t for t in expected if not tests.get(t)):
        failures.setdefault(missing, f"compared nothing: see {log}")
    cases = list(ElementTree.parse(results).iter("testcase")) if results.is_file() else []
    failed = [
        case.get("name", "?") for case in cases if case.find("failure") is not None or case.find("error") is not None
    ]
    if len(cases) != len(expected) or (failed and not failures):
        failures["bench"] = f"{len(cases)} of {len(expected)} tests ran, {len(failed)} failed: see {log}"
    return Regression(
        config=config,
        simulator=simulator,
        passed=not failures and not failed,
        tests=tests,
        failures=failures,
        log=log,
        waveform=waveform,
        seed=seed,
    )


def environment_for(simulator: str) -> dict[str, str]:
    """Environment of cocotb with this simulator. Raises `ToolMissing` if a tool is missing."""
    if find_spec("cocotb_tools") is None:
        raise ToolMissing(f"cocotb is missing: {tools.VERILATOR_ADVICE}")
    if simulator == "icarus":
        tools.icarus()
        return dict(os.environ)
    tools.make()
    environment = tools.simulator_environment()
    # the makefiles of Verilator ignore CXX
    command = in_make(tools.compiler())
    return environment | {"MAKEFLAGS": f"{environment['MAKEFLAGS']} CXX={command} LINK={command}"}


def _waves(work: Path, config: HardwareConfig, top: str, folder: Path, show: int) -> Path | None:
    """Write the dump with decoded values, and what GTKWave shows of it; None if there is no dump."""
    dump = next((path for pattern in ("**/dump.vcd", "**/*.fst") for path in work.glob(pattern)), None)
    if dump is None or not (work / JOURNAL).is_file():
        return None
    rows = journal(work / JOURNAL)
    known = add_decoded(dump, rows, config, top, folder / WAVES)
    start = next((row["time"] for row in rows if row["side"] == "in" and row["block"] == show), 0)
    write_view(folder / VIEW, WAVES, known, config, start)
    return folder / WAVES
