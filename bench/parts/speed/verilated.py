"""Speed of the Verilated converters, one transaction at a time and many, next to the golden model, on one core."""

from __future__ import annotations

from functools import partial

import numpy as np

from mxcast.models import quantize
from mxcast.sim import verilate
from mxcast.sim.run.verilator.driver import WORTH
from mxcast.spec import BLOCKS

from .timing import in_turn, one_core, rates, versions


def measure(blocks: int, rounds: int) -> dict:
    x, rows = np.random.default_rng(0).standard_normal((blocks, 32), dtype=np.float32), {}
    with one_core():
        for name in BLOCKS:
            one, many, model = verilate(name), verilate(name), partial(quantize, x, name)
            many.driver.prepare(WORTH)
            for rtl in (one, many):
                assert (rtl(x).codes == model().codes).all(), f"{name}: the design differs from the model"
            times = in_turn({"verilated": partial(many, x), "one by one": partial(one, x), "model": model}, rounds)
            rows[name] = rates(times, blocks, digits=2)
    return {
        "unit": "million blocks of 32 a second, one core",
        "blocks": blocks,
        "rounds": rounds,
        "seed": 0,
        **versions("verilator"),
        "formats": rows,
    }
