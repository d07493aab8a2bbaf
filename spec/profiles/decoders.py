"""Profiles of decoding."""

from __future__ import annotations

from .profile import TE_CHECKED, TORCHAO_CHECKED, Profile, by_name

DECODERS = by_name(
    Profile(
        name="ocp",
        source="OCP Microscaling Formats (MX) v1.0, section 5; IEEE 754-2019 for the destination",
        date="2023-09",
        rules=(),
    ),
    Profile(
        name="torchao",
        source="torchao, prototype/mx_formats, to_dtype",
        date="2026-08",
        library="torchao",
        checked=TORCHAO_CHECKED,
        rules=(("nan", "payload"),),
        remark="equal for all numbers of FP32 and BF16, and for NaN of FP32 except under byte 255; for FP16 the "
        "library first rounds the scale to FP16, which is 0 up to 2**-25 and Inf from 2**16 on",
    ),
    Profile(
        name="te",
        source="Transformer Engine, common/cast/mxfp8/dequantize_mxfp8.cuh with ptx::exp2f",
        date="2026-08",
        until="commit bf4b2b9f8 of 2026-08-05",
        rules=(("scale_reading", "field"), ("nan", "all_ones")),
        remark="blocks with byte 0 become zeros, those with byte 255 Inf",
    ),
    Profile(
        name="te_e8m0",
        source="Transformer Engine, common/cast/mxfp8/dequantize_mxfp8.cuh with ptx::exp2f; since commit 4ff5fdfed "
        "(pull request 3262)",
        date="2026-08",
        checked=TE_CHECKED,
        rules=(("nan", "all_ones"),),
        remark="byte 0 is 2**-127, and blocks with byte 255 are NaN",
    ),
    Profile(
        name="gpt_oss",
        source="openai/gpt-oss, gpt_oss/torch/weights.py, torch.ldexp",
        date="2026-07",
        checked="commit 7b58334 of 2026-07-24",
        rules=(("scale_reading", "power"), ("destination", "bf16")),
        remark="bit for bit with torch.ldexp of torch 2.13.0, which reads byte 255 as 2**128",
    ),
    Profile(
        name="ggml",
        source="ggml, dequantize_row_mxfp4 with GGML_E8M0_TO_FP32_HALF",
        date="2026-08",
        library="gguf",
        checked="0.19.0, ggml's commit d99724f2 of 2026-08-21",
        rules=(("scale_reading", "power"), ("zero", "positive")),
        remark="bit for bit with gguf-py 0.19.0",
    ),
    Profile(
        name="idma",
        source="PULP iDMA, src/backend/idma_otf_mxdequant.sv",
        date="2026-08",
        until="0.7.0, commit 2e0b0fe of 2026-08-19",
        rules=(("scale_reading", "signed"), ("subnormals", "flush"), ("overflow", "saturate")),
        remark="E5M2 to FP32; to FP16 with subnormals=exact and overflow=inf; later sources (commit 0f472e92) also "
        "have E4M3, and the rules of ocp",
    ),
)
"""Profiles of `Decode` by name."""
