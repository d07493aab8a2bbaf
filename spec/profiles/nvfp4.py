"""Profiles of NVFP4 and its relatives: encoding, decoding and the Hadamard transform before it."""

from __future__ import annotations

from .profile import TE_CHECKED, Profile, by_name

NVFP4_ENCODERS = by_name(
    Profile(
        name="nvfp4_te",
        source="Transformer Engine, NVFP4 quantization, without fast math",
        date="2026-08",
        checked=TE_CHECKED,
        rules=(("order", "te"),),
        remark="since 2.15; the PyTorch reference gives -0 the code of +0 and lets NaN reach the scale",
    ),
    Profile(
        name="nvfp4_paper",
        source="Pretraining Large Language Models with NVFP4, appendix C; Transformer Engine",
        date="2025-09",
        until="2.14",
        rules=(("order", "paper"),),
    ),
    Profile(
        name="nvfp4_te_4over6",
        source="Transformer Engine, nvfp4_4over6 with the mean absolute error, without fast math",
        date="2026-08",
        checked=TE_CHECKED,
        rules=(("order", "paper"), ("four_over_six", "mae")),
        remark="four_over_six=mse and scale_max=256 are options of the recipe",
    ),
    Profile(
        name="nvfp4_ao",
        source="torchao, prototype/mx_formats, nvfp4_quantize with per_tensor_scale",
        date="2026-08",
        library="torchao",
        checked="0.18.0",
        rules=(("order", "ao"),),
        remark="bit for bit on x86; an invalid operation gives NaN with the sign of x86",
    ),
    Profile(
        name="nvfp4_ao_single",
        source="torchao, prototype/mx_formats, nvfp4_quantize without per_tensor_scale",
        date="2026-08",
        library="torchao",
        checked="0.18.0",
        rules=(("order", "ao_single"),),
        remark="without a scale of the tensor",
    ),
    Profile(
        name="nvfp4_modelopt",
        source="NVIDIA ModelOpt, NVFP4QTensor.quantize",
        date="2026-11",
        library="nvidia-modelopt",
        checked="0.47.0",
        rules=(("order", "modelopt"),),
        remark="in the library a NaN scale has either sign",
    ),
    Profile(
        name="nvfp4_compressed_tensors",
        source="compressed-tensors, nvfp4-pack-quantized: generate_gparam, calculate_qparams, quantize",
        date="2026-11",
        library="compressed-tensors",
        checked="0.20.0",
        rules=(("order", "compressed_tensors"),),
        remark="for weights in FP32; in BF16 the library rounds b / 6 to BF16; NaN scales have either sign there",
    ),
)
"""Profiles of `Nvfp4Encode` by name."""

NVFP4_DECODERS = by_name(
    Profile(
        name="nvfp4_te",
        source="Transformer Engine, common/cast/nvfp4/dequantize_nvfp4.cuh",
        date="2026-08",
        checked=TE_CHECKED,
        rules=(("convention", "amax"), ("nan", "all_ones")),
        remark="s * a is Inf if a is above 7.6e35 and the scale is large",
    ),
    Profile(
        name="nvfp4_ao",
        source="torchao, prototype/mx_formats, NVFP4Tensor.dequantize with per_tensor_scale",
        date="2026-08",
        library="torchao",
        checked="0.18.0",
        rules=(("convention", "multiplier"), ("nan", "payload")),
        remark="bit for bit on a CPU, except for NaN of BF16 and NaN of 0 * Inf, which is negative on x86",
    ),
    Profile(
        name="nvfp4_ao_single",
        source="torchao, prototype/mx_formats, NVFP4Tensor.dequantize without per_tensor_scale",
        date="2026-08",
        library="torchao",
        checked="0.18.0",
        rules=(("convention", "none"), ("nan", "payload")),
    ),
    Profile(
        name="nvfp4_modelopt",
        source="NVIDIA ModelOpt, NVFP4QTensor.dequantize",
        date="2026-11",
        library="nvidia-modelopt",
        checked="0.47.0",
        rules=(("convention", "multiplier"), ("nan", "payload")),
        remark="the rules of nvfp4_ao",
    ),
    Profile(
        name="nvfp4_compressed_tensors",
        source="compressed-tensors, quantization/lifecycle, dequantize in FP32",
        date="2026-11",
        library="compressed-tensors",
        checked="0.20.0",
        rules=(("convention", "divisor"), ("nan", "payload")),
    ),
)
"""Profiles of `Nvfp4Decode` by name."""

HADAMARDS = by_name(
    Profile(
        name="te",
        source="Transformer Engine, get_wgrad_sign_vector",
        date="2026-08",
        checked=TE_CHECKED,
        rules=(),
        remark="the exact sum; a kernel that adds in binary32 can differ in principle",
    )
)
"""Profiles of `Hadamard` by name."""
