"""Transformer Engine's PyTorch reference of NVFP4, from one file of its source: the package itself needs CUDA."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ...spec import Operation

VARIABLE = "MXCAST_TE_REFERENCE"
"""The environment variable that names the file."""
PACKAGE = "transformer_engine.pytorch"
ABSENT: dict[str, dict[str, object]] = {
    "transformer_engine": {},
    PACKAGE: {},
    f"{PACKAGE}.tensor": {},
    f"{PACKAGE}.tensor.utils": {"is_custom": None},
    f"{PACKAGE}.quantized_tensor": {"QuantizedTensorStorage": object, "Quantizer": object},
}
"""Members of its package that the file imports, apart from its folder. Quantizing does not use them."""


def quantizer(file: Path) -> Any:
    """The class ``NVFP4QuantizerRef`` of ``reference_nvfp4.py``, a file in
    ``transformer_engine/pytorch/custom_recipes`` of a checkout.

    Raises ImportError without torch, or for another file.
    """
    recipes = f"{PACKAGE}.custom_recipes"
    for name, members in (ABSENT | {recipes: {"__path__": [str(file.parent)]}}).items():
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            vars(sys.modules[name]).update(members)
    try:
        return importlib.import_module(f"{recipes}.{file.stem}").NVFP4QuantizerRef
    except AttributeError:
        raise ImportError(f"{file} has no NVFP4QuantizerRef") from None


def function(rules: Operation) -> Callable:
    """The method that quantizes blocks, given the largest magnitude of the tensor."""
    torch = importlib.import_module("torch")
    if VARIABLE not in os.environ:
        raise ImportError(f"{VARIABLE} does not name the file reference_nvfp4.py of a checkout")
    reference = quantizer(Path(os.environ[VARIABLE]).resolve())

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tensor = torch.from_numpy(x)
        amax = tensor.abs().max().reshape(1)
        codes, scales = reference._quantize_blockwise_reference(
            tensor, amax, x.shape[1], 1, pow_2_scales=False, eps=0.0
        )
        return scales.view(torch.uint8).numpy(), codes.view(torch.uint8).numpy()

    return encode
