"""Profiles of encoding."""

from __future__ import annotations

from .profile import TE_CHECKED, TORCHAO_CHECKED, Profile, Rules, by_name, each

TORCHAO = "torchao, prototype/mx_formats, ScaleCalculationMode"


def _rules(scale_rule: str, specials: str = "nan_block", rounding: str = "rne", **others: str) -> Rules:
    return tuple({"scale_rule": scale_rule, "rounding": rounding, "specials": specials, **others}.items())


PROFILES = by_name(
    Profile(
        name="ocp", source="OCP Microscaling Formats (MX) v1.0, section 6.3", date="2023-09", rules=_rules("floor")
    ),
    Profile(
        name="nvidia",
        source="Recipes for Pre-training LLMs with MXFP8, Algorithm 1 with appendix A.1",
        date="2025-06",
        rules=_rules("ceil"),
        remark="exact arithmetic; FP32 arithmetic differs for one largest magnitude per floating-point format",
    ),
    Profile(
        name="te",
        source="Transformer Engine, MXFP8 quantization",
        date="2026-08",
        checked=TE_CHECKED,
        rules=_rules("rceil", "te"),
        remark="FP32 arithmetic; NaN does not reach the scale",
    ),
    Profile(
        name="torchao_floor",
        source=f"{TORCHAO}.FLOOR",
        date="2026-08",
        library="torchao",
        checked=TORCHAO_CHECKED,
        rules=_rules("floor"),
        remark="release 0.18.0 halves the elements of blocks with byte 0",
    ),
    Profile(
        name="torchao_rceil",
        source=f"{TORCHAO}.RCEIL",
        date="2026-08",
        library="torchao",
        checked=TORCHAO_CHECKED,
        rules=_rules("rceil"),
        remark="release 0.18.0 computes an FP32 log2, which is wrong for thousands of maxima, and zeroes blocks with "
        "byte 0",
    ),
    Profile(
        name="torchao_ceil",
        source=f"{TORCHAO}.CEIL",
        date="2026-08",
        library="torchao",
        checked=TORCHAO_CHECKED,
        rules=_rules("pow2_ceil"),
        remark="release 0.18.0 halves the elements of blocks with byte 0",
    ),
    Profile(
        name="torchao_even",
        source=f"{TORCHAO}.EVEN",
        date="2026-08",
        library="torchao",
        checked=TORCHAO_CHECKED,
        rules=_rules("even"),
        remark="this profile computes the byte of maxima that round up to 2**128 like all others; the library gives "
        "0xFF",
    ),
    Profile(
        name="microxcaling",
        source="microsoft/microxcaling, shared_exp_method max, round even",
        date="2024-05",
        checked="commit 7bc4195 of 2024-08-19",
        rules=_rules("floor"),
        remark="the library's FP32 log2 gives a byte that is one too large for 7404 maxima just below powers of two",
    ),
    Profile(
        name="samson",
        source="MX-for-FPGA (Samson and others), FP6, FP4 and INT8 modules",
        date="2024-07",
        checked="commit afb8f78 of 2024-08-25",
        rules=_rules("floor", source="bf16"),
    ),
    Profile(
        name="gorodecky_sousa",
        source="Gorodecky and Sousa, Hardware for converting floating-point to the MX format",
        date="2024-11",
        rules=_rules("bias_floor", "drop", "guard_half_up", element_subnormals="flush"),
        remark="the intention of the paper, without its typing errors; its rules for int8 are unusable, so int8 "
        "follows the rules of the other elements",
    ),
    Profile(
        name="compressed_tensors",
        source="compressed-tensors, calculate_qparams and the compressors of its files",
        date="2026-10",
        library="compressed-tensors",
        checked="0.20.0",
        rules=_rules("even", zero="taken_positive"),
        by_element=each((["e2m1"], {}), (["e2m3"], {"zero": "signed"}), (["e4m3"], {"scale_rule": "even1"})),
        remark="in the library blocks with NaN, Inf or a maximum that rounds up to 2**128 have byte 127; numbers below "
        "2**-150 times the scale are +0, and so is -0 of E4M3 if the module has its zero point of 0",
    ),
    Profile(
        name="mlx",
        source="MLX on a CPU, quantize in the modes mxfp4 and mxfp8; since 0.32.2",
        date="2026-10",
        library="mlx",
        checked="0.32.4",
        rules=_rules("rceil"),
        by_element=each((["e2m1"], {"rounding": "rnz", "zero": "positive"}), (["e4m3"], {})),
        remark="in the library a block of zeros has byte 127, and a block with NaN or Inf has byte 128; bytes below 0, "
        "for maxima up to 2**-128 times the largest element, wrap",
    ),
    Profile(
        name="mlx_round",
        source="MLX on a CPU, quantize in the modes mxfp4 and mxfp8",
        date="2026-08",
        library="mlx",
        until="0.32.1",
        rules=_rules("round_log2"),
        by_element=each((["e2m1"], {"rounding": "rnz", "zero": "positive"}), (["e4m3"], {})),
        remark="the library computes an FP32 log2, which is wrong by one in either direction for thousands of maxima; "
        "blocks of zeros, bytes below 0, NaN and Inf as under mlx",
    ),
    Profile(
        name="modelopt",
        source="NVIDIA ModelOpt, MXFP4QTensor.quantize and MXFP8QTensor.quantize",
        date="2026-09",
        library="nvidia-modelopt",
        checked="0.47.0",
        rules=_rules("ceil"),
        by_element=each((["e2m1"], {"rounding": "rnz", "zero": "taken_negative"}), (["e4m3"], {"specials": "te"})),
        remark="the library computes an FP32 log2, which is one too small for thousands of maxima; NaN in a block "
        "gives byte 0 there, in MXFP4 also Inf; in MXFP4 numbers below 2**-150 times the scale are -0",
    ),
    Profile(
        name="ggml",
        source="gguf-py, MXFP4.quantize_blocks; ggml, quantize_row_mxfp4_ref",
        date="2026-08",
        library="gguf",
        checked="0.19.0, ggml's commit d99724f2 of 2026-08-21",
        rules=_rules("floor", rounding="rnz", zero="positive"),
        by_element=each((["e2m1"], {})),
        remark="the library's FP32 log2 gives a byte that is one too large for thousands of maxima just below powers "
        "of two, and bytes below 0 wrap; in gguf-py a block with NaN or Inf is a block of zeros with byte 0",
    ),
    Profile(
        name="quark",
        source="AMD Quark, even_round and fake_quantize_mx on a CPU",
        date="2026-09",
        library="amd-quark",
        checked="0.13",
        rules=_rules("even", zero="positive"),
        by_element=each((["e3m2", "e2m3", "e2m1"], {}), (["e5m2", "e4m3"], {"zero": "signed"})),
        remark="in the library maxima that round up to 2**128, and Inf, have byte 254; blocks with NaN are NaN",
    ),
)
"""Profiles of `Encode` by name."""
