"""How fast the golden model is on one core, beside an ml_dtypes cast measured in the same run.

    python bench/quantize.py [--mib 64] [--rounds 5] [--profile ocp] [--json]

The peer is what one would write with ml_dtypes: the shared exponent by integer operations on the bits, an exact
multiplication by a power of two, a clamp and the library's cast, in chunks of the same size. Its results are compared
with ours before anything is timed. ml_dtypes has no INT8 element of this kind, so there the peer is NumPy's ``rint``.
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version

import ml_dtypes
import numpy as np

from mxcast.models import quantize
from mxcast.models.block import CHUNK
from mxcast.spec import BLOCKS, FixedFormat, numerics

CASTS = {"e5m2": ml_dtypes.float8_e5m2, "e4m3": ml_dtypes.float8_e4m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
         "e2m3": ml_dtypes.float6_e2m3fn, "e2m1": ml_dtypes.float4_e2m1fn}


def peer(x: np.ndarray, element, codes: np.ndarray, scales: np.ndarray) -> None:
    """OCP floor by ml_dtypes: (n, 32) float32 of finite numbers -> codes and scales."""
    limit = np.float32(element.max_value)
    for start in range(0, len(x), CHUNK // 32):
        part = x[start:start + CHUNK // 32]
        amax = np.abs(part).max(axis=1)
        byte = np.maximum((amax.view(np.uint32) >> 23).astype(np.int32) - element.emax, 0)
        scaled = part * np.ldexp(np.float32(1), 127 - byte)[:, None]
        np.clip(scaled, -limit, limit, out=scaled)
        scales[start:start + CHUNK // 32] = byte
        if isinstance(element, FixedFormat):
            codes[start:start + CHUNK // 32] = np.rint(scaled * np.float32(1 << element.frac_bits)).astype(np.int8).view(np.uint8)
        else:
            codes[start:start + CHUNK // 32] = scaled.astype(CASTS[element.name]).view(np.uint8)


def seconds(function, *arguments) -> float:
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def measure(mib: int, rounds: int, profile: str) -> dict:
    """Million elements a second of both, medians over rounds taken in turn, and the median of the ratios."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    x = np.random.default_rng(0).standard_normal((mib << 20 >> 7, 32), dtype=np.float32)
    rows = {}
    for block in BLOCKS.values():
        element, rules = block.element, numerics(block, profile)
        codes, scales = np.empty(x.shape, np.uint8), np.empty(len(x), np.uint8)
        peer(x, element, codes, scales)
        if profile == "ocp":
            ours = quantize(x, rules)
            assert (ours.codes == codes).all() and (ours.scales[:, 0] == scales).all(), f"{block.name}: the peer differs"
        pairs = [(seconds(quantize, x, rules), seconds(peer, x, element, codes, scales)) for _ in range(rounds)]
        mega = x.size / 1e6
        rows[block.name] = {"mxcast": round(mega / float(np.median([a for a, _ in pairs])), 1),
                            "peer": round(mega / float(np.median([b for _, b in pairs])), 1),
                            "ratio": round(float(np.median([b / a for a, b in pairs])), 2)}
    return {"unit": "million elements a second, one core", "mib": mib, "rounds": rounds, "profile": profile, "seed": 0,
            "machine": platform.processor() or platform.machine(), "python": platform.python_version(),
            "numpy": version("numpy"), "ml_dtypes": version("ml_dtypes"), "mxcast": version("mxcast"), "formats": rows}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", default="ocp")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    result = measure(asked.mib, asked.rounds, asked.profile)
    if asked.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['unit']}; {asked.mib} MiB of N(0, 1), profile {asked.profile}, medians of {asked.rounds}")
        print(f"NumPy {result['numpy']}, ml_dtypes {result['ml_dtypes']}, Python {result['python']}")
        print(f"{'format':12} {'mxcast':>8} {'peer':>8} {'ratio':>7}")
        for name, row in result["formats"].items():
            print(f"{name:12} {row['mxcast']:8.1f} {row['peer']:8.1f} {row['ratio']:6.2f}x")
