"""All adapters."""

from __future__ import annotations

from .adapter import Adapter, lazily

__all__ = ["ADAPTERS"]

FLOATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
TORCHAO = ("e5m2", "e4m3", "e2m1")
MODES = ("floor", "rceil", "ceil", "even")

ADAPTERS: dict[str, Adapter] = {
    one.name: one
    for one in (
        Adapter(
            name="gfloat",
            distribution="gfloat",
            calls="compute_scale_amax with round_ndarray and encode_ndarray; of decoders decode_ndarray",
            operations={"encode": (*FLOATS, "int8"), "decode": (*FLOATS, "int8")},
            make=lazily("gfloats", "function"),
        ),
        Adapter(
            name="ml_dtypes",
            distribution="ml_dtypes",
            calls="astype, without a block scale",
            operations={"cast": (*FLOATS, "e8m0")},
            make=lazily("ml_dtypes_casts", "function"),
        ),
        *(
            Adapter(
                name=f"torchao_{mode}",
                distribution="torchao",
                calls=f"prototype.mx_formats.mx_tensor.to_mx, ScaleCalculationMode.{mode.upper()}",
                operations={"encode": TORCHAO},
                make=lazily("torchao_mx", f"{mode}"),
            )
            for mode in MODES
        ),
        Adapter(
            name="torchao",
            distribution="torchao",
            calls="prototype.mx_formats: nvfp4_quantize with per_tensor_amax_to_scale; of decoders to_dtype",
            operations={"two_level_encode": ("nvfp4",), "decode": TORCHAO},
            make=lazily("torchao_mx", "function"),
        ),
        Adapter(
            name="gguf",
            distribution="gguf",
            calls="quants.quantize and quants.dequantize, GGMLQuantizationType.MXFP4",
            operations={"encode": ("e2m1",), "decode": ("e2m1",)},
            make=lazily("gguf_blocks", "function"),
        ),
    )
}
"""By name."""
