"""torchao: `to_mx`, `to_dtype` and `nvfp4_quantize`, in eager mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

import numpy as np

from ...spec import BlockOperation, Decode, Operation


def _element(rules: Operation) -> object:
    torch = import_module("torch")
    assert isinstance(rules, BlockOperation)
    names = {"e5m2": "float8_e5m2", "e4m3": "float8_e4m3fn", "e2m1": "float4_e2m1fn_x2"}
    return getattr(torch, names[rules.block.element.name])


def _to_mx(mode: str, rules: Operation) -> Callable:
    torch = import_module("torch")
    to_mx = import_module("torchao.prototype.mx_formats.mx_tensor").to_mx
    modes = import_module("torchao.prototype.mx_formats.config").ScaleCalculationMode
    element, chosen = _element(rules), getattr(modes, mode)
    assert isinstance(rules, BlockOperation)
    size = rules.block.block_size

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scales, codes = to_mx(torch.from_numpy(x), element, size, chosen)
        return scales.view(torch.uint8).numpy(), codes.view(torch.uint8).numpy()

    return encode


floor, rceil, ceil, even = (partial(_to_mx, mode) for mode in ("FLOOR", "RCEIL", "CEIL", "EVEN"))


def function(rules: Operation) -> Callable:
    """The decoder, or NVFP4 under the scale of a tensor."""
    return _decoder(rules) if isinstance(rules, Decode) else _nvfp4()


def _decoder(rules: Decode) -> Callable:
    torch = import_module("torch")
    to_dtype = import_module("torchao.prototype.mx_formats.mx_tensor").to_dtype
    element = _element(rules)
    to = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[rules.destination.name]

    def decode(scales: np.ndarray, codes: np.ndarray) -> object:
        if rules.block.element.bits == 4:
            codes = codes[:, ::2] | codes[:, 1::2] << 4
        given = torch.from_numpy(codes).view(element) if rules.block.element.bits == 8 else torch.from_numpy(codes)
        factors = torch.from_numpy(scales).view(torch.float8_e8m0fnu)[:, None]
        return to_dtype(given, factors, element, rules.block.block_size, to)

    return decode


def _nvfp4() -> Callable:
    torch = import_module("torch")
    library = import_module("torchao.prototype.mx_formats.nvfp4_tensor")
    quantize, scale_of = library.nvfp4_quantize, library.per_tensor_amax_to_scale

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tensor = torch.from_numpy(x)
        scales, codes = quantize(tensor, x.shape[1], scale_of(tensor.abs().max()))
        return scales.view(torch.uint8).numpy(), codes.view(torch.uint8).numpy()

    return encode
