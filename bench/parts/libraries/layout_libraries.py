"""The libraries to which stored layouts belong: each reads a file of one layout, by its own reader, and where it can it
writes one.

An entry is for one dialect and block format. A file has one tensor, whose name and shape the entry gives.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mxcast.models import quantize
from mxcast.models.arrays.codes import code_values

if TYPE_CHECKING:
    import torch

UP = "up.weight"


@dataclass(frozen=True, kw_only=True)
class Library:
    """Functions of a library for files of a layout."""

    distribution: str
    """The name of the package."""
    reads: str
    """Name of the function that reads a file."""
    read: Callable[[Path], np.ndarray]
    """The numbers of the tensor in a file."""
    writes: str = ""
    """Name of the function that writes a file, or the reason why the library lacks one."""
    write: Callable[[np.ndarray, Path], None] | None = None
    """Writes numbers into a file; None if the library cannot on a processor."""
    tensor: str = UP
    shape: tuple[int, ...] = (160, 512)
    is_exact: bool = False
    """Is the tensor scale to be a power of two, because the library rounds products otherwise, or not to float32?"""


def _torch(array: np.ndarray) -> torch.Tensor:
    import torch

    return torch.from_numpy(np.array(array, order="C"))  # ascontiguousarray gives a scalar an axis


def _float32(tensor: torch.Tensor) -> np.ndarray:
    return np.asarray(tensor.detach().float().numpy())


def _loaded(path: Path) -> dict[str, torch.Tensor]:
    """The arrays of a file by the last parts of their names."""
    from safetensors.torch import load_file

    return {name.removeprefix("up."): tensor for name, tensor in load_file(path).items()}


def _saved(path: Path, arrays: dict[str, torch.Tensor]) -> None:
    from safetensors.torch import save_file

    save_file({f"up.{name}": tensor.contiguous() for name, tensor in arrays.items()}, path)


def _of(scales: np.ndarray) -> np.ndarray:
    """Numbers of scale bytes."""
    return np.ldexp(np.float32(1), scales.astype(int) - 127).astype(np.float32)


EXPERTS = "model.layers.0.mlp.experts.down_proj"


def _gpt_oss(path: Path) -> np.ndarray:
    """As transformers loads a model of gpt-oss without a GPU: in BF16, and with the last two axes swapped."""
    import torch
    from transformers import AutoModelForCausalLM, Mxfp4Config

    experts, hidden, intermediate = GPT_OSS
    about = {
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "num_local_experts": experts,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_experts_per_tok": 1,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "vocab_size": 64,
        "quantization_config": {"quant_method": "mxfp4"},
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(about))
        (Path(folder) / "model.safetensors").symlink_to(path.resolve())
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.bfloat16, quantization_config=Mxfp4Config(dequantize=True)
        )
    return _float32(model.model.layers[0].mlp.experts.down_proj).swapaxes(1, 2)


GPT_OSS = (2, 64, 96)
"""Experts, and the rows and columns of each."""


def _gpt_oss_original(path: Path) -> np.ndarray:
    import torch
    from gpt_oss.torch.weights import Checkpoint

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.safetensors").symlink_to(path.resolve())
        return _float32(Checkpoint(folder, torch.device("cpu")).get("block.0.mlp.mlp2_weight"))


def _ggml(kind: str) -> Library:
    def read(path: Path) -> np.ndarray:
        from gguf import GGUFReader, quants

        tensors = {one.name: one for one in GGUFReader(path).tensors}
        one = tensors[UP]
        assert one.tensor_type.name == kind, one.tensor_type
        # a tensor of its own, which llama.cpp multiplies with
        scale = tensors["up.scale"].data if "up.scale" in tensors else np.float32(1)
        return np.asarray(quants.dequantize(one.data, one.tensor_type) * scale, np.float32)

    def write(x: np.ndarray, path: Path) -> None:
        from gguf import GGMLQuantizationType, GGUFWriter, quants

        writer, of = GGUFWriter(path, "made-up"), GGMLQuantizationType[kind]
        if kind == "MXFP4":
            data = quants.quantize(x, of)
        else:  # only the reader of this type is in Python: any bytes of finite numbers
            rng = np.random.default_rng(10)
            data = rng.integers(0, 256, (len(x), x.shape[1] // 64, 36), np.uint8)
            data[..., :4] = rng.integers(1, 0x7F, data[..., :4].shape)
            data = data.reshape(len(x), -1)
            writer.add_tensor("up.scale", np.array([0.25], np.float32))
        writer.add_tensor(UP, data, raw_dtype=of)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    writes = "quants.quantize, GGUFWriter" if kind == "MXFP4" else "GGUFWriter, of random bytes"
    return Library(
        distribution="gguf",
        reads="GGUFReader, quants.dequantize",
        read=read,
        writes=writes,
        write=write,
        is_exact=kind == "NVFP4",
    )


def _compressed_tensors(block: str, preset: str, format: str) -> Library:
    def how() -> tuple[type, object]:
        from compressed_tensors.compressors.base import BaseCompressor
        from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme

        return BaseCompressor.get_value_from_registry(format), preset_name_to_scheme(preset, ["Linear"])

    def read(path: Path) -> np.ndarray:
        compressor, scheme = how()
        return _float32(compressor.decompress(_loaded(path), scheme)["weight"])

    def write(x: np.ndarray, path: Path) -> None:
        import torch

        compressor, scheme = how()
        if block == "nvfp4":
            g = np.float32(2688) / np.abs(x).max()
            most = np.abs(x).reshape(len(x), -1, 16).max(axis=-1)
            scale = _torch((most / 6 * g).astype(np.float32)).to(torch.float8_e4m3fn).float()
            state = {"weight": _torch(x), "weight_scale": scale, "weight_global_scale": torch.tensor([g])}
        else:
            state = {"weight": _torch(x), "weight_scale": _torch(_of(quantize(x, block).scales))}
        _saved(path, compressor.compress(state, scheme))

    return Library(
        distribution="compressed-tensors",
        reads="safetensors.torch.load_file, compressor.decompress",
        read=read,
        writes="compressor.compress, safetensors.torch.save_file",
        write=write,
        is_exact=True,
    )


def _modelopt_nvfp4_read(path: Path) -> np.ndarray:
    import torch
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    arrays = _loaded(path)
    rows, half = arrays["weight"].shape
    tensor = NVFP4QTensor(torch.Size((rows, 2 * half)), torch.float32, arrays["weight"])
    scales = {"scale": arrays["weight_scale"], "double_scale": arrays["weight_scale_2"]}
    return _float32(tensor.dequantize(torch.float32, block_sizes={-1: 16}, **scales))


def _modelopt_nvfp4_write(x: np.ndarray, path: Path) -> None:
    from modelopt.torch.quantization.qtensor import NVFP4QTensor

    tensor, scale, second = NVFP4QTensor.quantize(_torch(x.copy()), 16)
    _saved(path, {"weight": tensor._quantized_data, "weight_scale": scale, "weight_scale_2": second.float()})


def _modelopt_mxfp8_read(path: Path) -> np.ndarray:
    import torch
    from modelopt.torch.quantization.qtensor import MXFP8QTensor

    arrays = _loaded(path)
    tensor = MXFP8QTensor(arrays["weight"].shape, torch.float32, arrays["weight"])
    return _float32(tensor.dequantize(torch.float32, scale=arrays["weight_scale"]))


def _modelopt_mxfp8_write(x: np.ndarray, path: Path) -> None:
    from modelopt.torch.quantization.qtensor import MXFP8QTensor

    tensor, scale = MXFP8QTensor.quantize(_torch(x))
    _saved(path, {"weight": tensor._quantized_data, "weight_scale": scale})


def _quark(block: str) -> Library:
    """The functions that pack elements; the exporter writes the scale bytes next to them."""

    def packer() -> object:
        from quark.torch.utils import pack

        if block == "mxfp4_e2m1":
            return pack.Pack_fp4(None, "fp4")
        return pack.Pack_fp6(None, "fp6", int(block[-3]), int(block[-1]))

    def read(path: Path) -> np.ndarray:
        arrays = _loaded(path)
        values = _float32(packer().unpack(arrays["weight"], False))
        scales = _of(arrays["weight_scale"].numpy())
        return (values.reshape(*scales.shape, 32) * scales[..., None]).reshape(len(values), -1)

    def write(x: np.ndarray, path: Path) -> None:
        q = quantize(x, block)
        packed = packer().pack(_torch(code_values(q.block.element)[q.codes]), False)
        _saved(path, {"weight": packed, "weight_scale": _torch(q.scales)})

    called = "Pack_fp4" if block == "mxfp4_e2m1" else "Pack_fp6"
    return Library(
        distribution="amd-quark",
        reads=f"safetensors.torch.load_file, {called}.unpack",
        read=read,
        writes=f"{called}.pack, safetensors.torch.save_file",
        write=write,
    )


def _quark_pack(block: str) -> Library:
    def packer() -> object:
        from quark.torch.utils import pack

        if block == "mxfp4_e2m1":
            return pack.Pack_mxfp4(None, "mxfp4")
        return pack.Pack_mxfp6(None, "mxfp6", int(block[-3]), int(block[-1]))

    def read(path: Path) -> np.ndarray:
        stored = _loaded(path)["weight"]
        parts = _float32(packer().unpack(stored, False))
        blocks = parts.reshape(len(stored), -1, 33)
        return (blocks[..., :1] * blocks[..., 1:]).reshape(len(stored), -1)

    def write(x: np.ndarray, path: Path) -> None:
        q = quantize(x, block)
        values = code_values(q.block.element)[q.codes].reshape(len(x), -1, 32)
        together = np.concatenate([_of(q.scales)[..., None], values], axis=-1).astype(np.float32)
        _saved(path, {"weight": packer().pack(_torch(together.reshape(len(x), -1)), False)})

    called = "Pack_mxfp4" if block == "mxfp4_e2m1" else "Pack_mxfp6"
    return Library(
        distribution="amd-quark",
        reads=f"safetensors.torch.load_file, {called}.unpack",
        read=read,
        writes=f"{called}.pack, safetensors.torch.save_file",
        write=write,
    )


def _torchao(block: str, is_swizzled: bool) -> Library:
    def element() -> torch.dtype | str:
        import torch

        return {
            "mxfp8_e4m3": torch.float8_e4m3fn,
            "mxfp8_e5m2": torch.float8_e5m2,
            "mxfp6_e3m2": "fp6_e3m2",
            "mxfp6_e2m3": "fp6_e2m3",
            "mxfp4_e2m1": torch.float4_e2m1fn_x2,
        }[block]

    def read(path: Path) -> np.ndarray:
        import torch
        from safetensors import safe_open
        from safetensors.torch import load_file
        from torchao.prototype.safetensors.safetensors_support import unflatten_tensor_state_dict

        with safe_open(path, framework="pt") as opened:
            metadata = opened.metadata()
        tensors, _ = unflatten_tensor_state_dict(load_file(path), metadata)
        return _float32(tensors[UP].dequantize(torch.float32))

    def write(x: np.ndarray, path: Path) -> None:
        from safetensors.torch import save_file
        from torchao.prototype.mx_formats.mx_tensor import MXTensor
        from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor
        from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

        if block == "nvfp4":
            g = _torch(np.array(np.abs(x).max() / np.float32(2688), np.float32))
            tensor = NVFP4Tensor.to_nvfp4(_torch(x), 16, per_tensor_scale=g, is_swizzled_scales=is_swizzled)
        else:
            tensor = MXTensor.to_mx(_torch(x), element(), 32, is_swizzled_scales=is_swizzled)
        arrays, metadata = flatten_tensor_state_dict({UP: tensor})
        save_file(arrays, path, metadata)

    made = "NVFP4Tensor.to_nvfp4" if block == "nvfp4" else "MXTensor.to_mx"
    return Library(
        distribution="torchao",
        reads="safetensors.torch.load_file, unflatten_tensor_state_dict, dequantize",
        read=read,
        writes=f"{made}, flatten_tensor_state_dict, safetensors.torch.save_file",
        write=write,
    )


def _comfy_nvfp4_read(path: Path) -> np.ndarray:
    import comfy_kitchen
    import torch

    arrays = _loaded(path)
    assert json.loads(bytes(arrays["comfy_quant"].numpy()))["format"] == "nvfp4"
    parts = arrays["weight"], arrays["weight_scale_2"], arrays["weight_scale"]
    return _float32(comfy_kitchen.dequantize_nvfp4(*parts, torch.float32))


def _comfy_nvfp4_write(x: np.ndarray, path: Path) -> None:
    import comfy_kitchen

    g = _torch(np.array(np.abs(x).max() / np.float32(2688), np.float32))
    codes, scale = comfy_kitchen.quantize_nvfp4(_torch(x), g, pad_16x=True)
    about = _torch(np.frombuffer(b'{"format": "nvfp4"}', np.uint8).copy())
    _saved(path, {"weight": codes, "weight_scale": scale, "weight_scale_2": g, "comfy_quant": about})


def _comfy_mxfp8_read(path: Path) -> np.ndarray:
    import comfy_kitchen
    import torch

    arrays = _loaded(path)
    return _float32(comfy_kitchen.dequantize_mxfp8(arrays["weight"], arrays["weight_scale"], torch.float32))


def _comfy_mxfp8_write(x: np.ndarray, path: Path) -> None:
    import comfy_kitchen

    codes, scale = comfy_kitchen.quantize_mxfp8(_torch(x), True)
    _saved(path, {"weight": codes, "weight_scale": scale})


def _mlx(mode: str, bits: int, size: int) -> Library:
    def read(path: Path) -> np.ndarray:
        import mlx.core as mx

        arrays = {name.removeprefix("up."): array for name, array in mx.load(str(path)).items()}
        more = {"global_scale": arrays["global_scale"]} if "global_scale" in arrays else {}
        how = {"group_size": size, "bits": bits, "mode": mode, "dtype": mx.float32}
        return np.array(mx.dequantize(arrays["weight"], arrays["scales"], **how, **more))

    def write(x: np.ndarray, path: Path) -> None:
        import mlx.core as mx

        more = {"global_scale": mx.array(np.abs(x).max())} if mode == "nvfp4" else {}
        words, scales = mx.quantize(mx.array(x), group_size=size, bits=bits, mode=mode, **more)
        arrays = {"weight": words, "scales": scales} | more
        mx.save_safetensors(str(path), {f"up.{name}": array for name, array in arrays.items()})

    return Library(
        distribution="mlx",
        reads="core.load, dequantize",
        read=read,
        writes="core.quantize, save_safetensors",
        write=write,
        is_exact=mode == "nvfp4",
    )


def _onnx(kind: str) -> Library:
    def read(path: Path) -> np.ndarray:
        import onnx

        found = {one.name: one for one in onnx.load(path).graph.initializer}
        assert found[UP].data_type == onnx.TensorProto.DataType.Value(kind)
        codes, scales = (onnx.numpy_helper.to_array(found[name]).astype(np.float32) for name in (UP, f"{UP}_scale"))
        return codes * scales.repeat(32, axis=-1)  # the definition of DequantizeLinear with blocks

    def write(x: np.ndarray, path: Path) -> None:
        import onnx

        code, of_scales = (onnx.TensorProto.DataType.Value(one) for one in (kind, "FLOAT8E8M0"))
        scales = np.random.default_rng(11).integers(100, 140, (len(x), x.shape[1] // 32)).astype(np.uint8)
        parts = [
            onnx.helper.make_tensor(UP, code, x.shape, x),
            onnx.numpy_helper.from_array(scales.view(onnx.helper.tensor_dtype_to_np_dtype(of_scales)), f"{UP}_scale"),
        ]
        onnx.save(onnx.helper.make_model(onnx.GraphProto(name="g", initializer=parts)), path)

    return Library(
        distribution="onnx",
        reads="load, numpy_helper.to_array",
        read=read,
        writes="helper.make_tensor, save",
        write=write,
    )


def _entries() -> Iterator[tuple[tuple[str, str], Library]]:
    yield (
        ("gpt_oss", "mxfp4_e2m1"),
        Library(
            distribution="transformers",
            reads="AutoModelForCausalLM.from_pretrained",
            read=_gpt_oss,
            writes="it quantizes on a GPU only",
            tensor=EXPERTS,
            shape=GPT_OSS,
        ),
    )
    yield (
        ("gpt_oss_original", "mxfp4_e2m1"),
        Library(
            distribution="gpt-oss",
            reads="torch.weights.Checkpoint.get",
            read=_gpt_oss_original,
            writes="it only reads",
            tensor="block.0.mlp.mlp2_weight",
            shape=GPT_OSS,
        ),
    )
    yield ("ggml", "mxfp4_e2m1"), _ggml("MXFP4")
    yield ("ggml", "nvfp4"), _ggml("NVFP4")
    for block, preset, format in (
        ("mxfp4_e2m1", "MXFP4A16", "mxfp4-pack-quantized"),
        ("mxfp6_e2m3", "MXFP6A16", "mxfp6-pack-quantized"),
        ("mxfp8_e4m3", "MXFP8A16", "mxfp8-quantized"),
        ("nvfp4", "NVFP4A16", "nvfp4-pack-quantized"),
    ):
        yield ("compressed_tensors", block), _compressed_tensors(block, preset, format)
    for block, name, read, write in (
        ("nvfp4", "NVFP4QTensor", _modelopt_nvfp4_read, _modelopt_nvfp4_write),
        ("mxfp8_e4m3", "MXFP8QTensor", _modelopt_mxfp8_read, _modelopt_mxfp8_write),
    ):
        yield (
            ("modelopt", block),
            Library(
                distribution="nvidia-modelopt",
                reads=f"safetensors.torch.load_file, {name}.dequantize",
                read=read,
                writes=f"{name}.quantize, safetensors.torch.save_file",
                write=write,
            ),
        )
    for block in ("mxfp4_e2m1", "mxfp6_e3m2", "mxfp6_e2m3"):
        yield ("quark", block), _quark(block)
        yield ("quark_pack", block), _quark_pack(block)
    for dialect in ("torchao", "torchao_swizzled"):
        for block in ("mxfp4_e2m1", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp8_e4m3", "mxfp8_e5m2", "nvfp4"):
            yield (dialect, block), _torchao(block, dialect != "torchao")
    for block, name, read, write in (
        ("nvfp4", "nvfp4", _comfy_nvfp4_read, _comfy_nvfp4_write),
        ("mxfp8_e4m3", "mxfp8", _comfy_mxfp8_read, _comfy_mxfp8_write),
    ):
        yield (
            ("comfy", block),
            Library(
                distribution="comfy-kitchen",
                reads=f"safetensors.torch.load_file, dequantize_{name}",
                read=read,
                writes=f"quantize_{name}, safetensors.torch.save_file",
                write=write,
            ),
        )
    for block, *given in (("mxfp4_e2m1", "mxfp4", 4, 32), ("mxfp8_e4m3", "mxfp8", 8, 32), ("nvfp4", "nvfp4", 4, 16)):
        yield ("mlx", block), _mlx(*given)
    for kind, block in (
        ("FLOAT4E2M1", "mxfp4_e2m1"),
        ("FLOAT6E3M2", "mxfp6_e3m2"),
        ("FLOAT6E2M3", "mxfp6_e2m3"),
        ("FLOAT8E4M3FN", "mxfp8_e4m3"),
        ("FLOAT8E5M2", "mxfp8_e5m2"),
    ):
        yield ("onnx", block), _onnx(kind)


LIBRARIES: dict[tuple[str, str], Library] = dict(_entries())
"""By dialect and block format."""

WITHOUT = {
    "te": "makes its tensors on a GPU",
    "te_columnwise": "makes its tensors on a GPU",
    "deepseek_v4": "no library is known that has it",
    "seed004": "no library is known that has it",
}
"""Dialects that no library is asked about, and why."""
