"""gguf-py: `quants.quantize` and `quants.dequantize` of MXFP4, with the bytes of the layout ggml."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import numpy as np

from ...models.arrays.packing import stored_blocks, unpack
from ...spec import BlockOperation, Encode, Operation
from ...spec.layouts.catalogue import layout_named


def stored(rules: Operation) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """The library's encoder, with its blocks of 17 bytes as the tensor ``weight`` of the layout ggml."""
    quants = import_module("gguf.quants")
    kind = import_module("gguf").GGMLQuantizationType.MXFP4
    return lambda x: {"weight": quants.quantize(x, kind)}


def function(rules: Operation) -> Callable:
    """The library's function on arrays. `models.arrays.packing` converts its blocks of 17 bytes."""
    quants = import_module("gguf.quants")
    kind = import_module("gguf").GGMLQuantizationType.MXFP4
    assert isinstance(rules, BlockOperation)
    block, convert = rules.block, stored(rules)

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = unpack(convert(x), "ggml", block)
        return found.scales, found.codes

    def decode(scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        stored = stored_blocks(codes, scales, layout_named("ggml", block))
        return quants.dequantize(stored.reshape(len(codes), -1), kind)

    return encode if isinstance(rules, Encode) else decode
