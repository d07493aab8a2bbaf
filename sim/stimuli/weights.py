"""Blocks of real weights for a converter, with the results of the golden model."""

from __future__ import annotations

from importlib.resources import files
from typing import TypeAlias

import numpy as np

from ...hdl import HardwareConfig
from ...models.arrays.source import DTYPES, narrow
from ..operations import drawn, golden, of, supplied
from ..simulation import EncoderSimulation
from ..stored import bits_on_pins
from ..transactions import Transactions

COUNT = 512
"""Blocks."""

Bits: TypeAlias = "dict[str, np.ndarray]"
"""The bits (n, width) of each port, by its name."""


def weights() -> np.ndarray:
    """The FP32 weights that ship with the package, one tensor after the other."""
    content = (files("mxcast.data") / "minilm_sample.safetensors").read_bytes()
    return np.frombuffer(content, "<f4", offset=8 + int.from_bytes(content[:8], "little"))


def weights_of(config: HardwareConfig) -> tuple[Bits, Bits]:
    """Blocks for the input pins of a converter in mode 0, and the right outputs: weights for an encoder, and otherwise
    the usual blocks of the operation.
    """
    given = supplied(config, drawn(config.numerics, _entering(config), 0))
    leaving, ports = golden(config.numerics, given), config.ports
    entering = given.in_mode(0) if config.alternatives else given
    return bits_on_pins(config, entering.bits(ports, "input")), bits_on_pins(config, leaving.bits(ports, "output"))


def _entering(config: HardwareConfig) -> Transactions:
    know, rules = of(config.numerics), config.numerics
    if not isinstance(know, EncoderSimulation):
        return know.usual(COUNT, 0)
    dtype, size = DTYPES[rules.source.name], rules.block_size
    blocks = weights()[: COUNT * size].view(np.uint32).reshape(COUNT, size)
    return know.of_tensor(narrow(blocks, rules.source).view(f"u{dtype.itemsize}"))
