"""How long `mxcast quantize` takes for a file, beside `cp` of the same file: whole processes, warm, in turn.

    python bench/file.py [FILE.safetensors] [--rounds 7] [--format e4m3]

Without a file, 90 MB of normal numbers in 100 tensors are written to a temporary folder first.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file


def seconds(*command: object) -> float:
    start = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(source: Path, folder: Path, rounds: int, format: str) -> dict:
    """Medians in seconds, the median of the ratios, and the largest memory of a conversion."""
    convert = [sys.executable, "-m", "mxcast.cli", "quantize", source, folder / "out.safetensors", "-f", format]
    python = [sys.executable, "-c", "import numpy"]
    times = [(seconds("cp", source, folder / "copy.safetensors"), seconds(*convert), seconds(*python)) for _ in range(rounds + 1)][1:]
    copy, ours, start = (float(np.median(column)) for column in zip(*times))
    return {"bytes": source.stat().st_size, "format": format, "cp": round(copy, 3), "mxcast": round(ours, 3),
            "python_and_numpy": round(start, 3), "ratio": round(float(np.median([b / a for a, b, _ in times])), 1),
            "peak_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--format", default="e4m3")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        file = asked.file or folder / "in.safetensors"
        if asked.file is None:
            rng = np.random.default_rng(0)
            save_file({f"t{i}": rng.standard_normal((600, 384), dtype=np.float32) for i in range(100)}, file)
        print(json.dumps(measure(file, folder, asked.rounds, asked.format), indent=2))
    finally:
        shutil.rmtree(folder)
