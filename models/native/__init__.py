"""The inner loops of `models/fast` in C, if they were compiled. They change the speed and no bit.

`pip install` compiles them where it finds a compiler. ``MXCAST_NATIVE=0`` turns them off; the name of an instruction
set, such as ``avx2``, selects it.
"""

from __future__ import annotations

import os
import warnings
from importlib import import_module
from typing import Any

INTERFACE = 1
"""The functions of the module and their arguments, as numbered in kernels.c."""

VARIABLE = "MXCAST_NATIVE"
"""The environment variable that turns the module off, or names an instruction set."""


def _loaded() -> tuple[Any, str | None]:
    """The module and its instruction set, or None and None. Raises ValueError for an unknown value of `VARIABLE`."""
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "0":
        return None, None
    try:
        module = import_module(".kernels", __name__)
    except ImportError:
        if wanted:
            raise ValueError(f"{VARIABLE} is {wanted!r}, but the compiled module is not installed") from None
        return None, None
    if getattr(module, "INTERFACE", None) != INTERFACE:
        sentence = "the compiled module is of another version of mxcast, so it is not used: install mxcast again"
        warnings.warn(sentence, stacklevel=2)
        return None, None
    try:
        return module, module.choose(wanted or None)
    except ValueError as error:
        raise ValueError(f"{VARIABLE} must be 0 or an instruction set of this processor: {error}") from None


kernels, instruction_set = _loaded()
"""The compiled module, None without it, and the instruction set that it uses."""


def made_by_module(is_compiled: bool) -> str:
    """``made_by`` of a result: the instruction set if the module computes it, otherwise ``numpy``."""
    return instruction_set if is_compiled and instruction_set else "numpy"


AT_ONCE = 64
"""Chunks in a call of the compiled module, which has no scratch buffers."""
