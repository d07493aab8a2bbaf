"""A waveform of one block that `verify` compares, and of its neighbours."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from ...hdl import HardwareConfig
from ...host.cache import scratch
from ..check.window import Window
from ..transactions import word
from .regression import Regression, test

BLOCKS = "blocks.npz"
"""The blocks of the waveform, as `test` takes them."""


def trace(
    window: Window,
    config: HardwareConfig,
    *,
    simulator: str = "verilator",
    out: Path | str = "build",
    name: str | None = None,
) -> Regression:
    """Simulate the blocks that a window has found, with waves, which go to ``<out>/<name>/sim/waves/``."""
    blocks = window.found()
    ports = [port for port in config.numerics.ports if port.direction == "input"]
    arrays = {port.name: blocks[port.role].astype(word(port)) for port in ports}
    with scratch() as work:
        np.savez(work / BLOCKS, mode=window.mode, **arrays)  # type: ignore[arg-type]  # mypy takes it for allow_pickle
        result = test(
            config,
            simulator=simulator,
            out=out,
            name=name,
            waves=True,
            vectors=work / BLOCKS,
            window=(window.first, window.stimulus or ""),
            show=window.number,
        )
        shutil.copyfile(work / BLOCKS, result.log.parent / BLOCKS)
    return result
