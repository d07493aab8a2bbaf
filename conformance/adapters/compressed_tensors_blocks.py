"""compressed-tensors: scales of `calculate_qparams`, and the compressors of its formats, for weights in FP32."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ...models.arrays.packing import unpack
from ...spec import BlockOperation, Operation, is_nvfp4

SCHEMES = {
    "e2m1": ("MXFP4", "mxfp4-pack-quantized"),
    "e2m3": ("MXFP6A8", "mxfp6-pack-quantized"),
    "e4m3": ("MXFP8", "mxfp8-quantized"),
    "nvfp4": ("NVFP4", "nvfp4-pack-quantized"),
}
"""By element or format the scheme of the library and its compressor, by their names there."""


def function(rules: Operation) -> Callable:
    """Scale and compress as the library does with weights, for NVFP4 under the scale of the tensor."""
    assert isinstance(rules, BlockOperation)
    block, convert = rules.block, stored(rules)

    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = unpack(convert(x), "compressed_tensors", block)
        return found.scales, found.codes

    return encode


def stored(rules: Operation) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """The library's encoder, with the tensors of its layout."""
    torch = import_module("torch")
    helpers = import_module("compressed_tensors.quantization.utils.helpers")
    schemes = import_module("compressed_tensors.quantization.quant_scheme")
    base = import_module("compressed_tensors.compressors.base").BaseCompressor
    assert isinstance(rules, BlockOperation)
    nvfp4 = is_nvfp4(rules)
    name, format = SCHEMES["nvfp4" if nvfp4 else rules.block.element.name]
    scheme = schemes.preset_name_to_scheme(name, ["Linear"])
    compressor = base.get_value_from_registry(format)

    def compress(x: np.ndarray) -> dict[str, np.ndarray]:
        weight = torch.from_numpy(x)
        g = helpers.generate_gparam(weight.min(), weight.max()) if nvfp4 else None
        low, high = torch.aminmax(weight, dim=-1, keepdim=True)
        scales, zeros = helpers.calculate_qparams(low, high, scheme.weights, global_scale=g)
        given = {"weight": weight, "weight_scale": scales, "weight_zero_point": zeros}
        given |= {} if g is None else {"weight_global_scale": g}
        return {key: _plain(torch, value) for key, value in compressor.compress(given, scheme).items()}

    return compress


def _plain(torch: ModuleType, tensor: Any) -> np.ndarray:
    """A NumPy array; types of one byte as their patterns."""
    one = tensor.detach()
    return (one.view(torch.uint8) if one.element_size() == 1 else one).numpy()
