"""Writes the files in this folder with the libraries of these layouts (`pip install '.[oracles]' safetensors`):

    python tests/tensors/data/write.py

Each file has tensors of one block format as its library stores them and, under ``values``, the numbers that the
library reads from them. NumPy's generator makes the numbers. Versions: gguf 0.19.0, onnx 1.23.2, torch 2.13.0,
torchao 0.18.0, compressed-tensors 0.20.0, safetensors 0.8.0. No module of mxcast is used.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import onnx
import safetensors
import torch
from compressed_tensors.compressors.base import BaseCompressor
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme
from safetensors.torch import save_file
from torchao.prototype.mx_formats.mx_tensor import MXTensor
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

HERE = Path(__file__).parent
SHAPE = 8, 64


def numbers() -> np.ndarray:
    return np.random.default_rng(9).normal(size=SHAPE).astype(np.float32)


def for_gguf() -> None:
    """NVFP4 is only read by the package, so its bytes are random ones with finite values."""
    rng = np.random.default_rng(10)
    nvfp4 = rng.integers(0, 256, (8, 36), np.uint8)
    nvfp4[:, :4] = rng.integers(1, 0x7F, (8, 4))
    kinds = gguf.GGMLQuantizationType
    for kind, data in ((kinds.MXFP4, gguf.quantize(numbers(), kinds.MXFP4)), (kinds.NVFP4, nvfp4)):
        writer = gguf.GGUFWriter(HERE / "gguf" / f"{kind.name.lower()}.gguf", "made-up")
        writer.add_array("a.list", ["one", "two"])
        writer.add_tensor("up.weight", data, raw_dtype=kind)
        writer.add_tensor("values", gguf.dequantize(data, kind).astype(np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def for_onnx() -> None:
    scales = np.random.default_rng(11).integers(100, 140, (8, 2)).astype(np.uint8)
    for kind in ("FLOAT4E2M1", "FLOAT6E2M3", "FLOAT6E3M2", "FLOAT8E4M3FN", "FLOAT8E5M2"):
        code = getattr(onnx.TensorProto, kind)
        parts = [
            onnx.helper.make_tensor("up.weight", code, SHAPE, numbers()),
            onnx.numpy_helper.from_array(
                scales.view(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.FLOAT8E8M0)), "up.weight_scale"
            ),
        ]
        codes, bytes_of_scales = (onnx.numpy_helper.to_array(part).astype(np.float32) for part in parts)
        values = codes * bytes_of_scales.repeat(32, axis=1)
        graph = onnx.GraphProto(name="g", initializer=[*parts, onnx.numpy_helper.from_array(values, "values")])
        onnx.save(onnx.helper.make_model(graph), HERE / "onnx" / f"{kind.lower()}.onnx")


def for_compressed_tensors() -> None:
    """Scales are such that the library, which reads in bfloat16, rounds nothing."""
    rng = np.random.default_rng(12)
    for name, format in (
        ("MXFP4A16", "mxfp4-pack-quantized"),
        ("MXFP6A16", "mxfp6-pack-quantized"),
        ("MXFP8A16", "mxfp8-quantized"),
        ("NVFP4A16", "nvfp4-pack-quantized"),
    ):
        scheme = preset_name_to_scheme(name, ["Linear"])
        exponents = rng.integers(-4, 4, (8, 64 // scheme.weights.group_size))
        state = {"weight": torch.from_numpy(numbers()), "weight_scale": torch.from_numpy(2.0**exponents).float()}
        if name == "NVFP4A16":
            state |= {"weight_scale": state["weight_scale"] * 1.5, "weight_global_scale": torch.tensor([4.0])}
        compressor = BaseCompressor.get_value_from_registry(format)
        stored = compressor.compress(state, scheme)
        values = compressor.decompress(stored, scheme)["weight"].float().contiguous()
        tensors = {f"up.{key}": value.contiguous() for key, value in stored.items()} | {"values": values}
        save_file(tensors, HERE / "compressed_tensors" / f"{name.lower()}.safetensors")


def for_torchao() -> None:
    x = torch.from_numpy(numbers())
    for name, dtype in (("mxfp4", torch.float4_e2m1fn_x2), ("mxfp8", torch.float8_e4m3fn), ("nvfp4", None)):
        for is_swizzled in (False, True):
            if dtype is None:
                scale = x.abs().max() / 2688
                tensor = NVFP4Tensor.to_nvfp4(x, 16, per_tensor_scale=scale, is_swizzled_scales=is_swizzled)
            else:
                tensor = MXTensor.to_mx(x, dtype, 32, is_swizzled_scales=is_swizzled)
            arrays, metadata = flatten_tensor_state_dict({"up.weight": tensor})
            arrays["values"] = tensor.dequantize(torch.float32).contiguous()
            save_file(arrays, HERE / f"torchao{'_swizzled' if is_swizzled else ''}" / f"{name}.safetensors", metadata)


SIZES = {
    "bool": 1, "uint8": 1, "int8": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
    "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4, "float32": 4, "complex64": 8,
    "float64": 8, "int64": 8, "uint64": 8,
}  # fmt: skip
"""The dtypes that `serialize` takes, and the bytes of an element, or of two of them."""


def for_safetensors() -> None:
    """The bytes of each tensor count from its place in the file on."""
    data = [(np.arange(32) + place).astype(np.uint8) for place in range(len(SIZES))]
    specs = {
        dtype: safetensors.TensorSpec(
            dtype=dtype, shape=(32 // size,), data_ptr=array.ctypes.data, data_len=array.nbytes
        )
        for (dtype, size), array in zip(SIZES.items(), data)
    }
    (HERE / "safetensors.safetensors").write_bytes(safetensors.serialize(specs, {"format": "pt", "é": "ü\n"}))


if __name__ == "__main__":
    for write in (for_gguf, for_onnx, for_compressed_tensors, for_torchao, for_safetensors):
        write()
