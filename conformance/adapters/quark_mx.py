"""AMD Quark: `fake_quantize_mx`, which quantizes and returns numbers. Its first use compiles a kernel."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

import numpy as np

from ...spec import BlockOperation, Operation

NAMES = {"e5m2": "fp8_e5m2", "e4m3": "fp8_e4m3", "e3m2": "fp6_e3m2", "e2m3": "fp6_e2m3", "e2m1": "fp4", "int8": "int8"}


def _made(mode: str, rules: Operation) -> Callable:
    torch = import_module("torch")
    with contextlib.redirect_stdout(sys.stderr):  # where it tells of its kernel
        library = import_module("quark.torch.kernel.hw_emulation.hw_emulation_interface")
    assert isinstance(rules, BlockOperation)
    element, size = NAMES[rules.block.element.name], rules.block_size

    def encode(x: np.ndarray) -> np.ndarray:
        with contextlib.redirect_stdout(sys.stderr):
            made = library.fake_quantize_mx(torch.from_numpy(x), -1, size, mode, mx_element_dtype=element)
        return made.contiguous().numpy()

    return encode


even, floor, ceil = (partial(_made, mode) for mode in ("even", "floor", "ceil"))
