"""Time of `mxcast quantize` for a file, next to `cp` of the file. Whole processes run warm, in turn.

    python bench/file.py [FILE.safetensors] [--rounds 7] [--format e4m3] [--tensors 100]

Without a file, tensors of 0.9 MB of normal numbers are written to a temporary folder first.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing import Process
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

START = "import mxcast.tensors.convert.files; from mxcast.cli import main; main(['list', 'rules', '-q'])"
"""A verb that does nothing with files, and what one that does imports."""


def write(path: Path, tensors: int) -> None:
    rng = np.random.default_rng(0)
    save_file({f"t{i}": rng.standard_normal((600, 384), dtype=np.float32) for i in range(tensors)}, path)


def run(*command: object) -> tuple[float, int]:
    """Seconds of a process, and its largest memory in MiB."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return taken, usage.ru_maxrss >> 10


def measure(source: Path, folder: Path, rounds: int, format: str) -> dict:
    """Medians in seconds, the median of the ratios, and the largest memory of a conversion; ``start`` is the time of a
    verb that does nothing.
    """
    commands = {
        "cp": ["cp", source, folder / "copy.safetensors"],
        "mxcast": [sys.executable, "-m", "mxcast.cli", "quantize", source, folder / "out.safetensors", "-f", format],
        "start": [sys.executable, "-c", START],
        "numpy": [sys.executable, "-c", "import numpy"],
    }
    turns = [{name: run(*command) for name, command in commands.items()} for _ in range(rounds + 1)][1:]
    return {
        "MB": round(source.stat().st_size / 1e6),
        "format": format,
        **{name: round(float(np.median([turn[name][0] for turn in turns])), 3) for name in commands},
        "ratio": round(float(np.median([turn["mxcast"][0] / turn["cp"][0] for turn in turns])), 1),
        "MiB of memory": max(turn["mxcast"][1] for turn in turns),
    }


def measure_made(tensors: int, rounds: int, format: str) -> dict:
    """`measure` of a file of so many tensors of 0.9 MB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.safetensors")
        writer = Process(target=write, args=(path, tensors))  # a child would inherit its memory in the count
        writer.start()
        writer.join()
        return measure(path, Path(folder), rounds, format)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--format", default="e4m3")
    parser.add_argument("--tensors", type=int, default=100)
    asked = parser.parse_args()
    if asked.file is None:
        result = measure_made(asked.tensors, asked.rounds, asked.format)
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(asked.file, Path(folder), asked.rounds, asked.format)
    print(json.dumps(result, indent=2))
