"""Speed of `mxcast quantize` for a file and for a model in a folder, next to `cp`: whole processes, warm, in turn.

Every process begins small: the memory of a process counts as memory of its children too. So the input is written by a
process of its own.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from multiprocessing import Process
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from mxcast.tensors.containers.containers import written

from .timing import process

START = "import mxcast.tensors.convert.files; from mxcast.cli import main; main(['list', 'rules', '-q'])"
"""A verb that uses no file, with the imports of a verb that does."""
SHAPES = {"gate_up_proj": (32, 5760, 2880), "down_proj": (32, 2880, 2880)}
"""Experts of a layer of gpt-oss-20b."""


def files(rounds: int, tensors: int) -> dict:
    """A file of so many tensors of 0.9 MB: best times in seconds, the ratio, and the largest memory of a conversion;
    ``start`` is the time of a verb that does nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.safetensors")
        writer = Process(target=_write_file, args=(source, tensors))
        writer.start()
        writer.join()
        commands = {
            "cp": ["cp", source, Path(folder, "copy.safetensors")],
            "mxcast": [*_quantize(source, Path(folder, "out.safetensors")), "-f", "e4m3"],
            "start": [sys.executable, "-c", START],
            "numpy": [sys.executable, "-c", "import numpy"],
        }
        turns = [{name: process(*command) for name, command in commands.items()} for _ in range(rounds + 1)][1:]
        best = {name: min(turn[name][0] for turn in turns) for name in commands}
        return {
            "MB": round(source.stat().st_size / 1e6),
            "format": "e4m3",
            **{name: round(seconds, 3) for name, seconds in best.items()},
            "ratio": round(best["mxcast"] / best["cp"], 1),
            "MiB of memory": max(turn["mxcast"][1] for turn in turns),
        }


def _write_file(path: Path, tensors: int) -> None:
    rng = np.random.default_rng(0)
    save_file({f"t{i}": rng.standard_normal((600, 384), dtype=np.float32) for i in range(tensors)}, path)


def _quantize(source: Path, made: Path) -> list[object]:
    return [sys.executable, "-m", "mxcast.cli", "quantize", source, made]


def checkpoint(rounds: int, gigabytes: float) -> dict:
    """A model in BF16 of about this size, a layer a shard. Its files need two and a half times as much."""
    with tempfile.TemporaryDirectory() as folder:
        model, made = Path(folder, "model"), Path(folder, "made")
        size = _write_model(model, gigabytes)
        commands = {
            "cp": ["cp", "-r", model, made],
            "mxcast": [*_quantize(model, made), "-f", "e2m1", "--layout", "gpt_oss", "-j", 2],
        }
        turns: dict[str, list[tuple[float, int]]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                turns[name].append(process(*command))
                shutil.rmtree(made)
    seconds = {name: float(np.median([taken for taken, _ in each])) for name, each in turns.items()}
    return {
        "GB": round(size / 1e9, 1),
        "layout": "gpt_oss",
        "jobs": 2,
        "rounds": rounds,
        **{name: round(taken, 1) for name, taken in seconds.items()},
        "ratio": round(seconds["mxcast"] / seconds["cp"], 1),
        "MiB of memory": max(memory for _, memory in turns["mxcast"]),
    }


def _write_model(folder: Path, gigabytes: float) -> int:
    """Write the model, of normal numbers. Returns its bytes."""
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
