"""All adapters."""

from __future__ import annotations

import os

from .adapter import Adapter, lazily, on_path
from .te_reference import VARIABLE

FLOATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
FNUZ = ("e4m3fnuz", "e5m2fnuz")
TORCHAO = ("e5m2", "e4m3", "e2m1")
MODES = ("floor", "rceil", "ceil", "even")

ADAPTERS: dict[str, Adapter] = {
    one.name: one
    for one in (
        Adapter(
            name="gfloat",
            distribution="gfloat",
            calls="compute_scale_amax, round_ndarray and encode_ndarray; of decoders decode_ndarray",
            operations={"encode": (*FLOATS, "int8"), "decode": (*FLOATS, "int8"), "cast": (*FLOATS, "e8m0")},
            make=lazily("gfloats", "function"),
            tested="0.5.2",
        ),
        Adapter(
            name="ml_dtypes",
            distribution="ml_dtypes",
            calls="astype; of decoders the product of scales and elements in float32",
            operations={"cast": (*FLOATS, "e8m0", *FNUZ), "decode": FLOATS},
            make=lazily("ml_dtypes_casts", "function"),
            tested="0.6.0",
        ),
        *(
            Adapter(
                name=f"torchao_{mode}",
                distribution="torchao",
                calls=f"prototype.mx_formats.mx_tensor.to_mx, ScaleCalculationMode.{mode.upper()}",
                operations={"encode": TORCHAO},
                make=lazily("torchao_mx", f"{mode}"),
                tested="0.18.0",
            )
            for mode in MODES
        ),
        Adapter(
            name="torchao",
            distribution="torchao",
            calls="prototype.mx_formats: nvfp4_quantize with per_tensor_amax_to_scale; of decoders to_dtype",
            operations={"two_level_encode": ("nvfp4",), "decode": TORCHAO},
            make=lazily("torchao_mx", "function"),
            tested="0.18.0",
        ),
        Adapter(
            name="gguf",
            distribution="gguf",
            calls="quants.quantize and quants.dequantize, GGMLQuantizationType.MXFP4",
            operations={"encode": ("e2m1",), "decode": ("e2m1",)},
            make=lazily("gguf_blocks", "function"),
            tested="0.19.0",
        ),
        Adapter(
            name="compressed_tensors",
            distribution="compressed-tensors",
            calls="calculate_qparams, of NVFP4 generate_gparam, and the compressor of the format",
            operations={"encode": ("e4m3", "e2m3", "e2m1"), "two_level_encode": ("nvfp4",)},
            make=lazily("compressed_tensors_blocks", "function"),
            tested="0.20.0",
        ),
        Adapter(
            name="mlx",
            distribution="mlx",
            calls="core.quantize and core.dequantize, modes mxfp4, mxfp8 and nvfp4, this with global_scale",
            operations={"encode": ("e4m3", "e2m1"), "two_level_encode": ("nvfp4",), "decode": ("e4m3", "e2m1")},
            make=lazily("mlx_arrays", "function"),
            tested="0.32.4",
        ),
        Adapter(
            name="mlx_single",
            distribution="mlx",
            calls="core.quantize, mode nvfp4, without global_scale",
            operations={"two_level_encode": ("nvfp4",)},
            make=lazily("mlx_arrays", "single"),
            tested="0.32.4",
        ),
        Adapter(
            name="modelopt",
            distribution="nvidia-modelopt",
            calls="torch.quantization.qtensor: quantize and dequantize of MXFP8QTensor, MXFP4QTensor and NVFP4QTensor",
            operations={"encode": ("e4m3", "e2m1"), "two_level_encode": ("nvfp4",), "decode": ("e4m3", "e2m1")},
            make=lazily("modelopt_tensors", "function"),
            tested="0.47.0",
        ),
        *(
            Adapter(
                name=f"quark_{mode}",
                distribution="amd-quark",
                calls=f"torch.kernel.hw_emulation: fake_quantize_mx, scale_calculation_mode {mode}; numbers",
                operations={"encode": (*FLOATS, "int8")},
                make=lazily("quark_mx", mode),
                tested="0.13",
            )
            for mode in ("even", "floor", "ceil")
        ),
        Adapter(
            name="microxcaling",
            distribution="microxcaling",
            calls="mx.mx_ops._quantize_mx, shared exponent max, round even; numbers",
            operations={"encode": (*FLOATS, "int8")},
            make=lazily("microxcaling_numbers", "function"),
            tested="of 2024-08",
            checkout="put a checkout of github.com/microsoft/microxcaling on PYTHONPATH",
            is_there=on_path("mx"),
        ),
        Adapter(
            name="te_reference",
            distribution="Transformer Engine",
            calls="pytorch/custom_recipes/reference_nvfp4.py, NVFP4QuantizerRef, without a GPU",
            operations={"two_level_encode": ("nvfp4",)},
            make=lazily("te_reference", "function"),
            tested="2.20.0.dev0",
            checkout=f"{VARIABLE} names reference_nvfp4.py of a checkout of github.com/NVIDIA/TransformerEngine",
            is_there=lambda: VARIABLE in os.environ,
        ),
        Adapter(
            name="onnx",
            distribution="onnx",
            calls="reference.ReferenceEvaluator of Cast, and of DequantizeLinear with blocks of 32",
            operations={"cast": (*FLOATS, "e8m0", *FNUZ), "decode": FLOATS},
            make=lazily("onnx_reference", "function"),
            tested="1.23.2",
        ),
        Adapter(
            name="torch",
            distribution="torch",
            calls="Tensor.to, on the CPU, without a block scale",
            operations={"cast": ("e5m2", "e4m3", "e8m0", *FNUZ)},
            make=lazily("torch_casts", "function"),
            tested="2.13.0",
        ),
    )
}
"""By name."""
