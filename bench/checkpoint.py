"""Time of `mxcast quantize` for a model in a folder, next to `cp` of the folder, and the largest memory of one of its
processes. Whole processes run warm, in turn.

    python bench/checkpoint.py [--gb 10] [--rounds 1] [--jobs 2] [--layout gpt_oss] [--folder FOLDER]

The model is made first, of normal numbers in BF16 with the shapes of the experts of gpt-oss-20b, a layer a shard.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from file import run

from mxcast.tensors.containers.containers import written

SHAPES = {"gate_up_proj": (32, 5760, 2880), "down_proj": (32, 2880, 2880)}
"""Of one layer."""


def write(folder: Path, gigabytes: float) -> int:
    """Write a model of about this size. Returns its bytes."""
    folder.mkdir()
    rng, placed, size = np.random.default_rng(0), dict[str, str](), 0
    experts = {name: rng.standard_normal(shape[1:], dtype=np.float32) for name, shape in SHAPES.items()}
    while size < gigabytes * 1e9:
        layer, shard = len(placed) // len(SHAPES), f"model-{len(placed) // len(SHAPES):05}.safetensors"
        names = {f"model.layers.{layer}.mlp.experts.{name}": name for name in SHAPES}
        header = {name: ("BF16", SHAPES[of], 2 * int(np.prod(SHAPES[of]))) for name, of in names.items()}
        with written(folder / shard, header, {"format": "pt"}) as put:
            for name, of in names.items():
                patterns = (experts[of].view(np.uint32) >> 16).astype(np.uint16)
                for number in range(SHAPES[of][0]):
                    put(name, number * patterns.size, np.roll(patterns, number + layer))
        placed |= dict.fromkeys(names, shard)
        size += sum(count for _, _, count in header.values())
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    return size


def measure(folder: Path, gigabytes: float, rounds: int, jobs: int, layout: str) -> dict:
    model, made = folder / "model", folder / "made"
    size = write(model, gigabytes)
    options = ["-f", "e2m1", "--layout", layout, "-j", jobs]
    commands = {
        "cp": ["cp", "-r", model, made],
        "mxcast": [sys.executable, "-m", "mxcast.cli", "quantize", model, made, *options],
    }
    found: dict[str, list] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(run(*command))
            shutil.rmtree(made)
    seconds = {name: float(np.median([taken for taken, _ in turns])) for name, turns in found.items()}
    return {
        "GB": round(size / 1e9, 1),
        "layout": layout,
        "jobs": jobs,
        "rounds": rounds,
        **{name: round(taken) for name, taken in seconds.items()},
        "ratio": round(seconds["mxcast"] / seconds["cp"], 1),
        "MiB of memory": max(memory for _, memory in found["mxcast"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--gb", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--layout", default="gpt_oss")
    parser.add_argument("--folder", type=Path, help="for the files, which take 25 GB (a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(Path(folder), options.gb, options.rounds, options.jobs, options.layout)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
