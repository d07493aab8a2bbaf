"""NVIDIA ModelOpt: `MXFP8QTensor`, `MXFP4QTensor` and `NVFP4QTensor` of its PyTorch part."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ...spec import BlockOperation, Decode, Operation

FOLDER = "modelopt.torch.quantization.qtensor"
SIZE = 32


def function(rules: Operation) -> Callable:
    """`quantize`, or `dequantize` to the destination."""
    torch = import_module("torch")
    if rules.name.startswith("two_level"):
        return _nvfp4(torch, import_module(f"{FOLDER}.nvfp4_tensor").NVFP4QTensor)
    assert isinstance(rules, BlockOperation)
    element = rules.block.element.name
    kind = "MXFP8QTensor" if element == "e4m3" else "MXFP4QTensor"
    library = getattr(import_module(f"{FOLDER}.{kind[:5].lower()}_tensor"), kind)
    if isinstance(rules, Decode):
        return _decoder(torch, library, rules)

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tensor = torch.from_numpy(x)
        made, scales = library.quantize(tensor) if element == "e4m3" else library.quantize(tensor, SIZE)
        return scales.numpy(), made._quantized_data.view(torch.uint8).numpy()

    return encode


def _decoder(torch: ModuleType, library: Callable, rules: Decode) -> Callable:
    to = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[rules.destination.name]
    is_packed = rules.block.element.bits == 4

    def decode(scales: np.ndarray, codes: np.ndarray) -> object:
        given = torch.from_numpy(codes[:, ::2] | codes[:, 1::2] << 4 if is_packed else codes)
        data = given if is_packed else given.view(torch.float8_e4m3fn)
        made = library(torch.Size(codes.shape), to, data)
        return made.dequantize(to, scale=torch.from_numpy(scales)[:, None], block_sizes={-1: SIZE})

    return decode


def _nvfp4(torch: ModuleType, library: Any) -> Callable:
    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        made, scales, _ = library.quantize(torch.from_numpy(x), x.shape[1])
        return scales.view(torch.uint8).numpy(), made._quantized_data.numpy()

    return encode
