"""Blocks of real weights for a converter, with the results of the golden model."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from ..hdl import HardwareConfig
from ..models.arrays.source import DTYPES, narrow
from ..synth.asic.timing import Blocks
from .operations import drawn, golden, of, supplied
from .simulation import EncoderSimulation

COUNT = 512
"""Blocks."""


def weights() -> np.ndarray:
    """The FP32 weights that ship with the package, one tensor after the other."""
    content = (files("mxcast.data") / "minilm_sample.safetensors").read_bytes()
    return np.frombuffer(content, "<f4", offset=8 + int.from_bytes(content[:8], "little"))
