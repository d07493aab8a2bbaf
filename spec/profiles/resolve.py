"""Profiles: named, dated and sourced numerics. One row each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, Unpack

from ..catalogue import known_name
from ..formats.block import BlockFormat
from ..formats.names import block_format, scalar_format
from ..formats.number import SOURCES, FloatFormat, NumberFormat
from ..operations.block_operation import BlockOperation
from ..operations.cast import CAST_SOURCES, SCALARS, Cast, CastFields, check_fields
from ..operations.decode import Decode, DecodeFields
from ..operations.encode import Encode, EncodeFields
from ..operations.hadamard import Hadamard
from ..operations.nvfp4 import is_nvfp4
from ..operations.nvfp4_decode import Nvfp4Decode, Nvfp4DecodeFields
from ..operations.nvfp4_encode import Nvfp4Encode, Nvfp4Fields
from ..operations.operation import Operation
from ..operations.ptx import INSTRUCTIONS, is_instruction

Made = TypeVar("Made", bound=BlockOperation)

Rules: TypeAlias = tuple[tuple[str, str], ...]
"""Fields and their values by name."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The rules of one public definition, to be applied to any block format, or to those that it has."""

    name: str
    rules: Rules
    source: str
    date: str
    library: str = ""
    """The distribution of Python that has these rules, if there is one."""
    checked: str = ""
    """The release or commit of a library up to which it has these rules, as far as it was read or run."""
    until: str = ""
    """In place of ``checked``: the last release or commit that has them, as a later one has others."""
    remark: str = ""
    by_element: tuple[tuple[str, Rules], ...] = ()
    """Of encoders: the elements that the definition has, by name, and the rules that are for one of them only; none
    where it is for all."""
    by_destination: tuple[tuple[str, Rules], ...] = ()
    """Of casts: the destinations that the definition has, by name, and the rules that are for one of them only."""

    @property
    def up_to(self) -> str:
        """Up to which version a library has these rules, in words; empty for a standard or a paper.

        >>> PROFILES["mlx"].up_to, DECODERS["te"].up_to
        ('mlx 0.32.4', 'commit bf4b2b9f8 of 2026-08-05, the last with these rules')
        """
        version = f"{self.until}, the last with these rules" if self.until else self.checked
        return f"{self.library} {version}".strip()


def _rules(
    scale_rule: str, specials: str = "nan_block", rounding: str = "rne", **others: str
) -> tuple[tuple[str, str], ...]:
    return tuple({"scale_rule": scale_rule, "rounding": rounding, "specials": specials, **others}.items())


def _each(*rules: tuple[Iterable[str], dict[str, str]]) -> tuple[tuple[str, Rules], ...]:
    """Formats, and the rules that are for them only."""
    return tuple((name, tuple(own.items())) for names, own in rules for name in names)


TORCHAO = "torchao, prototype/mx_formats, ScaleCalculationMode"
TORCHAO_CHECKED = "0.18.0, commit 36027d82d of 2026-08-21 (0.19.0)"
TE_CHECKED = "commit d0067d0da of 2026-08-22 (2.20.0.dev0)"

PROFILES: dict[str, Profile] = {
    p.name: p
    for p in (
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
            remark="release 0.18.0 takes an FP32 log2, wrong for thousands of maxima, and zeroes blocks with byte 0",
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
            remark="the library gives byte 0xFF for maxima that round up to 2**128; this is the natural byte",
        ),
        Profile(
            name="microxcaling",
            source="microsoft/microxcaling, shared_exp_method max, round even",
            date="2024-05",
            checked="commit 7bc4195 of 2024-08-19",
            rules=_rules("floor"),
            remark="the library's FP32 log2 gives one byte too many for 7404 maxima just below powers of two",
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
            remark="the paper's intention without its typing errors; for int8, whose published rules are unusable, "
            "the same rules applied to the OCP element",
        ),
        Profile(
            name="compressed_tensors",
            source="compressed-tensors, calculate_qparams and the compressors of its files",
            date="2026-10",
            library="compressed-tensors",
            checked="0.20.0",
            rules=_rules("even", zero="taken_positive"),
            by_element=_each((["e2m1"], {}), (["e2m3"], {"zero": "signed"}), (["e4m3"], {"scale_rule": "even1"})),
            remark="blocks with NaN, Inf or a maximum that rounds up to 2**128 have byte 127 there; numbers below "
            "2**-150 times the scale are +0, and so is -0 of E4M3, as long as the module has its zero point of 0",
        ),
        Profile(
            name="mlx",
            source="MLX on a CPU, quantize in the modes mxfp4 and mxfp8; since 0.32.2",
            date="2026-10",
            library="mlx",
            checked="0.32.4",
            rules=_rules("rceil"),
            by_element=_each((["e2m1"], {"rounding": "rnz", "zero": "positive"}), (["e4m3"], {})),
            remark="a block of zeros has byte 127 there, and one with NaN or Inf 128; bytes below 0 wrap, which are "
            "those of maxima up to 2**-128 times the largest element",
        ),
        Profile(
            name="mlx_round",
            source="MLX on a CPU, quantize in the modes mxfp4 and mxfp8",
            date="2026-08",
            library="mlx",
            until="0.32.1",
            rules=_rules("round_log2"),
            by_element=_each((["e2m1"], {"rounding": "rnz", "zero": "positive"}), (["e4m3"], {})),
            remark="the library takes an FP32 log2, wrong for thousands of maxima by one either way; blocks of zeros, "
            "bytes below 0, NaN and Inf as under mlx",
        ),
        Profile(
            name="modelopt",
            source="NVIDIA ModelOpt, MXFP4QTensor.quantize and MXFP8QTensor.quantize",
            date="2026-09",
            library="nvidia-modelopt",
            checked="0.47.0",
            rules=_rules("ceil"),
            by_element=_each((["e2m1"], {"rounding": "rnz", "zero": "taken_negative"}), (["e4m3"], {"specials": "te"})),
            remark="the library takes an FP32 log2, one too small for thousands of maxima; NaN in a block gives byte 0 "
            "there, in MXFP4 Inf too; in MXFP4 numbers below 2**-150 times the scale are -0",
        ),
        Profile(
            name="ggml",
            source="gguf-py, MXFP4.quantize_blocks; ggml, quantize_row_mxfp4_ref",
            date="2026-08",
            library="gguf",
            checked="0.19.0, ggml's commit d99724f2 of 2026-08-21",
            rules=_rules("floor", rounding="rnz", zero="positive"),
            by_element=_each((["e2m1"], {})),
            remark="the library's FP32 log2 gives one byte too many for thousands of maxima just below powers of two, "
            "and bytes below 0 wrap; a block with NaN or Inf is one of zeros with byte 0 in gguf-py",
        ),
        Profile(
            name="quark",
            source="AMD Quark, even_round and fake_quantize_mx on a CPU",
            date="2026-09",
            library="amd-quark",
            checked="0.13",
            rules=_rules("even", zero="positive"),
            by_element=_each((["e3m2", "e2m3", "e2m1"], {}), (["e5m2", "e4m3"], {"zero": "signed"})),
            remark="maxima that round up to 2**128, and Inf, have byte 254 there; blocks with NaN are NaN",
        ),
    )
}

"""Profiles of encoding by name."""

DECODERS: dict[str, Profile] = {
    p.name: p
    for p in (
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
            remark="all numbers of FP32 and BF16, and NaN of FP32 but under byte 255; for FP16 the library first "
            "rounds the scale to FP16, which is 0 up to 2**-25 and Inf from 2**16 on",
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
            remark="bit for bit with torch.ldexp of torch 2.13.0, which takes byte 255 for 2**128",
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
            remark="E5M2 to FP32; to FP16 with subnormals=exact and overflow=inf; later sources (commit 0f472e92) have "
            "E4M3 too and the rules of ocp",
        ),
    )
}
"""Profiles of decoding by name."""

FLOATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
"""The formats of single numbers with a sign of OCP MX v1.0."""

CASTS: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile(
            name="ocp",
            source="OCP OFP8 v1.0, saturating mode, and MX v1.0, section 5.3; IEEE 754-2019 for the way back",
            date="2023-09",
            rules=(),
            by_destination=_each(
                ([name for name in SCALARS if name != "e8m0"], {}),
                (["e8m0"], {"rounding": "rtz"}),
                (SOURCES, {"overflow": "inf", "nan": "canonical"}),
            ),
            remark="no cast to E8M0 is defined: this is the largest power of two not above, as of section 6.3; casts "
            "to UE4M3, UE5M3, E4M3FNUZ and E5M2FNUZ, which OCP has not, are those of OFP8",
        ),
        Profile(
            name="ptx",
            source="NVIDIA PTX ISA, cvt; CUDA headers, cuda_fp8.hpp, cuda_fp6.hpp, cuda_fp4.hpp",
            date="2025-08",
            checked="PTX ISA 9.0, CUDA 13.5.37",
            rules=(),
            by_destination=_each(
                ([*FLOATS, "ue5m3"], {}), (["e8m0"], {"rounding": "rp"}), (SOURCES, {"overflow": "inf"})
            ),
            remark="an instruction is a format by its name: cvt.rp.satfinite.ue8m0x2.f32",
        ),
        Profile(
            name="ml_dtypes",
            source="ml_dtypes, astype of arrays",
            date="2026-08",
            library="ml_dtypes",
            checked="0.6.0",
            rules=(("nan", "signed"), ("nan_substitute", "zero")),
            by_destination=_each(
                (["e5m2", "e4m3", "e4m3fnuz", "e5m2fnuz", *SOURCES], {"overflow": "inf"}),
                (["e3m2", "e2m3", "e2m1"], {}),
                (["e8m0"], {"rounding": "rna", "overflow": "inf", "negative": "nan", "underflow": "nan_zero"}),
            ),
            remark="to E8M0 the library rounds numbers between 2**-127 and 1.5 * 2**-127 up",
        ),
        Profile(
            name="torch",
            source="torch on a CPU, Tensor.to",
            date="2026-08",
            library="torch",
            checked="2.13.0",
            rules=(("nan", "signed_all_ones"),),
            by_destination=_each(
                (["e4m3"], {}),
                (["e5m2", "e4m3fnuz", "e5m2fnuz"], {"overflow": "inf"}),
                (["e8m0"], {"rounding": "rna", "overflow": "inf"}),
                (["fp32", "fp16"], {"overflow": "inf", "nan": "payload"}),
                (["bf16"], {"overflow": "inf", "nan": "canonical"}),
            ),
            remark="to E8M0 the library rounds numbers between 2**-127 and 1.5 * 2**-127 up; the NaN of E8M0, E4M3FNUZ "
            "and E5M2FNUZ becomes 0x7F800001 in FP32",
        ),
        Profile(
            name="onnx",
            source="ONNX operator Cast, version 25, saturate = 1, round_mode = up",
            date="2026-08",
            library="onnx",
            checked="1.23.2",
            rules=(("nan", "signed"),),
            by_destination=_each(
                (["e5m2", "e4m3", "e2m1", "e4m3fnuz", "e5m2fnuz"], {}),
                (["e8m0"], {"rounding": "rp"}),
                (SOURCES, {"overflow": "inf"}),
            ),
            remark="the text of the operator; its reference implementation differs for E8M0 and for NaN to E2M1",
        ),
        Profile(
            name="gfloat",
            source="gfloat, encode_float of round_float, saturating",
            date="2026-08",
            library="gfloat",
            checked="0.5.2",
            rules=(("nan", "negative"),),
            by_destination=_each((FLOATS, {}), (["e8m0"], {"rounding": "rne", "negative": "nan", "underflow": "nan"})),
            remark="the library raises an error for NaN to FP6 and FP4, and saturates -Inf to E8M0",
        ),
        Profile(
            name="riscv",
            source="RISC-V Zvfofp8min, vfncvt.f.f.q, vfncvtbf16.f.f.w and vfwcvtbf16.f.f.v",
            date="2026-01",
            checked="version 0.2.1, commit b38069a of 2026-01-28",
            rules=(("overflow", "ieee"),),
            by_destination=_each((["e5m2", "e4m3"], {}), (["bf16"], {"nan": "canonical"})),
            remark="the rounding is that of the register frm, of which rne, rtz and rna (RMM) are here; the forms .sat "
            "have overflow=saturate",
        ),
    )
}
"""Profiles of casting by name."""

NVFP4_ENCODERS: dict[str, Profile] = {
    p.name: p
    for p in (
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
            remark="bit for bit on x86; the sign of a NaN that an invalid operation makes is that of x86",
        ),
        Profile(
            name="nvfp4_ao_single",
            source="torchao, prototype/mx_formats, nvfp4_quantize without per_tensor_scale",
            date="2026-08",
            library="torchao",
            checked="0.18.0",
            rules=(("order", "ao_single"),),
            remark="no scale of the tensor",
        ),
        Profile(
            name="nvfp4_modelopt",
            source="NVIDIA ModelOpt, NVFP4QTensor.quantize",
            date="2026-11",
            library="nvidia-modelopt",
            checked="0.47.0",
            rules=(("order", "modelopt"),),
            remark="a scale that is NaN has either sign there",
        ),
        Profile(
            name="nvfp4_compressed_tensors",
            source="compressed-tensors, nvfp4-pack-quantized: generate_gparam, calculate_qparams, quantize",
            date="2026-11",
            library="compressed-tensors",
            checked="0.20.0",
            rules=(("order", "compressed_tensors"),),
            remark="of weights in FP32; in BF16 the library rounds b / 6 to BF16; NaN scales have either sign there",
        ),
    )
}
"""Profiles of encoding by two levels of scales, by name."""

NVFP4_DECODERS: dict[str, Profile] = {
    p.name: p
    for p in (
        Profile(
            name="nvfp4_te",
            source="Transformer Engine, common/cast/nvfp4/dequantize_nvfp4.cuh",
            date="2026-08",
            checked=TE_CHECKED,
            rules=(("convention", "amax"), ("nan", "all_ones")),
            remark="s * a is Inf where a is above 7.6e35 and the scale is large",
        ),
        Profile(
            name="nvfp4_ao",
            source="torchao, prototype/mx_formats, NVFP4Tensor.dequantize with per_tensor_scale",
            date="2026-08",
            library="torchao",
            checked="0.18.0",
            rules=(("convention", "multiplier"), ("nan", "payload")),
            remark="bit for bit on a CPU, but for NaN of BF16, and NaN of 0 * Inf, which is negative on x86",
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
}
"""Profiles of decoding by two levels of scales, by name."""

HADAMARDS: dict[str, Profile] = {
    "te": Profile(
        name="te",
        source="Transformer Engine, get_wgrad_sign_vector",
        date="2026-08",
        checked=TE_CHECKED,
        rules=(),
        remark="the exact sum; a kernel that adds in binary32 can differ in principle",
    )
}
"""Profiles of Hadamard transforms, by name."""

PROFILES_OF = {
    Encode.name: PROFILES,
    Decode.name: DECODERS,
    Cast.name: CASTS,
    Nvfp4Encode.name: NVFP4_ENCODERS,
    Nvfp4Decode.name: NVFP4_DECODERS,
    Hadamard.name: HADAMARDS,
}
"""By the name of the operation. The first profile is the one that is taken unless another is given."""

OF_LAYOUTS: dict[str, tuple[str, ...]] = {
    "ggml": ("ggml",),
    "compressed_tensors": ("compressed_tensors", "nvfp4_compressed_tensors"),
    "modelopt": ("modelopt", "nvfp4_modelopt"),
    "quark": ("quark",),
    "quark_pack": ("quark",),
    "torchao": ("torchao_floor", "nvfp4_ao"),  # FLOOR is the default of MXTensor.to_mx
    "torchao_swizzled": ("torchao_floor", "nvfp4_ao"),
    "mlx": ("mlx",),
    "te": ("te", "nvfp4_te"),
    "te_columnwise": ("te", "nvfp4_te"),
}
"""By dialect of `layouts.LAYOUTS`: the profiles by which its library encodes."""


def library_profile(dialect: str, block: BlockFormat) -> str | None:
    """The profile by which the library of a layout encodes a block format; None if it has no profile here.

    >>> library_profile("modelopt", block_format("nvfp4")), library_profile("gpt_oss", block_format("e2m1"))
    ('nvfp4_modelopt', None)
    """
    known = NVFP4_ENCODERS if is_nvfp4(block) else PROFILES
    elements = {name: dict(known[name].by_element) for name in OF_LAYOUTS.get(dialect, ()) if name in known}
    return next((name for name, own in elements.items() if not own or block.element.name in own), None)


def casting(format: str | FloatFormat | Cast, profile: str | None = None, **fields: Unpack[CastFields]) -> Cast:
    """The operation `Cast` to a scalar format, from FP32 unless ``source`` is given; with ``destination``, from it back
    to numbers. The rules are those of a profile (``ocp`` unless given), with any field replaced.

    An instruction of PTX may stand in place of the format (`ptx.INSTRUCTIONS`); its profile is ``ptx``. A `Cast` may
    stand there too, without a profile. Raises ValueError for an unknown format, profile, field or rule, for a
    destination that the profile's definition has not, and for an instruction under another profile, TypeError for a
    profile beside a `Cast`.

    >>> casting("cvt.rz.ue8m0x2.bf16x2").by_name()["overflow"], casting("e4m3", destination="bf16").subject
    ('inf', 'e4m3_to_bf16')
    """
    if isinstance(format, Cast):
        if profile is not None:
            raise TypeError("an operation says all its rules: a profile cannot be given beside it")
        return format.replace(**fields)
    given: dict[str, Any] = {**fields}
    scalar: str | FloatFormat = format
    if is_instruction(format):
        if profile not in (None, "ptx"):
            raise ValueError(f"an instruction is one of the profile ptx, not of {profile}")
        given = INSTRUCTIONS[known_name("instruction", format, INSTRUCTIONS)] | given
        scalar, profile = given.pop("format"), "ptx"
    if "source" in given and "destination" in given:
        raise ValueError("a cast has one format of numbers: give source, or destination for the way back")
    given["source" if "destination" in given else "destination"] = scalar_format(scalar, "format", SCALARS)
    to = scalar_format(given["destination"], "destination", CAST_SOURCES | SCALARS).name
    profile = profile_named(Cast.name, "ocp" if profile is None else profile)
    rules = dict(CASTS[profile].by_destination)
    if to not in rules:
        raise ValueError(f"{profile} has no cast to {to}: it has {', '.join(rules)}")
    check_fields(given)
    return Cast(**{**dict(CASTS[profile].rules), **dict(rules[to]), **given})


def decoding(
    block: str | BlockFormat | NumberFormat | Decode, profile: str | None = None, **fields: Unpack[DecodeFields]
) -> Decode:
    """The operation `Decode` of a block format under a profile (``ocp`` unless given), with any field replaced.

    A `Decode` may stand in place of the format, without a profile. Raises ValueError for an unknown format, profile,
    field or rule, TypeError for a profile beside a `Decode`.

    >>> decoding("e2m1", "gpt_oss").destination.name
    'bf16'
    """
    return under(Decode, block, profile, fields)


def numerics(
    block: str | BlockFormat | NumberFormat | Encode, profile: str | None = None, **fields: Unpack[EncodeFields]
) -> Encode:
    """The operation `Encode` of a block format under a profile (``ocp`` unless given), with any field replaced.

    An `Encode` may stand in place of the format, without a profile. Raises ValueError for an unknown format, profile,
    field or rule, and for an element that the profile's definition has not, TypeError for a profile beside an `Encode`.

    >>> numerics("e2m1", "nvidia").scale_rule.value
    'ceil'
    """
    return under(Encode, block, profile, fields)


def nvfp4_encoding(
    block: str | BlockFormat | NumberFormat | Nvfp4Encode, profile: str | None = None, **fields: Unpack[Nvfp4Fields]
) -> Nvfp4Encode:
    """The operation `Nvfp4Encode` of a block format under a profile (``nvfp4_te`` unless given), with any field
    replaced.

    A `Nvfp4Encode` may stand in place of the format, without a profile. Raises ValueError for an unknown format,
    profile, field or rule, TypeError for a profile beside a `Nvfp4Encode`.

    >>> nvfp4_encoding("nvfp4", "nvfp4_ao").order.value
    'ao'
    """
    return under(Nvfp4Encode, block, profile, fields)


def nvfp4_decoding(
    block: str | BlockFormat | NumberFormat | Nvfp4Decode,
    profile: str | None = None,
    **fields: Unpack[Nvfp4DecodeFields],
) -> Nvfp4Decode:
    """The operation `Nvfp4Decode` of a block format under a profile (``nvfp4_te`` unless given), with any field
    replaced. Errors are those of `nvfp4_encoding`.

    >>> nvfp4_decoding("nvfp4", "nvfp4_ao").convention.value
    'multiplier'
    """
    return under(Nvfp4Decode, block, profile, fields)


def encoding(block: Any, profile: str | None = None, **fields: Any) -> Encode | Nvfp4Encode:
    """The operation that encodes to a block format, under a profile of its own: `numerics` or `nvfp4_encoding`.

    >>> encoding("nvfp4").name, encoding("e4m3").name
    ('two_level_encode', 'encode')
    """
    if is_nvfp4(block):
        return nvfp4_encoding(block, profile, **fields)
    return numerics(block, profile, **fields)


class OperationFields(EncodeFields, DecodeFields, CastFields, Nvfp4Fields, total=False):
    """Fields of any operation but its format."""


def operation_of(
    op: str, format: Any, profile: str | None = None, **fields: Unpack[OperationFields]
) -> Encode | Nvfp4Encode | Decode | Nvfp4Decode | Cast:
    """The operation ``encode``, ``decode`` or ``cast`` of a format, which says whether there are two levels of scales,
    under a profile of its own.

    >>> operation_of("decode", "nvfp4").name, operation_of("cast", "e8m0").name
    ('two_level_decode', 'cast')
    """
    op = known_name("operation", op, ("encode", "decode", "cast"))
    given: dict[str, Any] = {**fields}  # of any operation: checked by the one that is made
    if op == "encode":
        return encoding(format, profile, **given)
    if op == "cast":
        return casting(format, profile, **given)
    if is_nvfp4(format):
        return nvfp4_decoding(format, profile, **given)
    return decoding(format, profile, **given)


def under(operation: type[Made], block: Any, profile: str | None, fields: Mapping[str, Any]) -> Made:
    """The operation of a block format under a profile, with these fields replaced. Raises ValueError for an element
    that the profile's definition has not.
    """
    if isinstance(block, operation):
        if profile is not None:
            raise TypeError("an operation says all its rules: a profile cannot be given beside it")
        return block.replaced(**fields) if fields else block
    try:
        return resolved(operation, block, profile, **fields)
    except TypeError:  # an argument has no hash, or the error is raised again
        return resolved.__wrapped__(operation, block, profile, **fields)


@lru_cache(maxsize=256, typed=True)
def resolved(operation: Any, block: Any, profile: str | None, **fields: Any) -> Any:
    known = PROFILES_OF[operation.name]
    profile = profile_named(operation.name, next(iter(known)) if profile is None else profile)
    chosen, blocks = known[profile], block_format(block)
    rules: dict[str, Any] = dict(chosen.rules)
    if chosen.by_element:
        own = dict(chosen.by_element)
        if blocks.element.name not in own:
            raise ValueError(f"{profile} has no blocks of {blocks.element.name}: it has {', '.join(own)}")
        rules |= own[blocks.element.name]
    return operation.of_block(blocks).replaced(**rules).replaced(**fields)


def profile_named(operation: str, name: str) -> str:
    """The name of a profile of an operation, in capitals or not. Raises ValueError where there is none, and says which
    operations have it.
    """
    known = PROFILES_OF[operation]
    others = [other for other, profiles in PROFILES_OF.items() if name in list(profiles)]
    if others and name not in list(known):
        raise ValueError(f"unknown profile {name!r}: known are {', '.join(known)}; {name} is of {', '.join(others)}")
    return known_name("profile", name, known)


def formats_of(operation: str, profile: str, formats: Iterable[str]) -> list[str]:
    """Those of these formats that a profile's definition has: elements of blocks, or destinations of casts.

    >>> formats_of("encode", "ggml", ["e4m3", "e2m1"]), formats_of("cast", "ocp", ["e4m3"])
    (['e2m1'], ['e4m3'])
    """
    chosen = PROFILES_OF[operation][profile_named(operation, profile)]
    known = dict(chosen.by_element + chosen.by_destination)
    return [name for name in formats if not known or name in known]


def profile_of(rules: Operation, preferred: str | None = None) -> str | None:
    """The profile that has exactly these rules, the preferred one if it has; None if there is none.

    >>> profile_of(numerics("e4m3", "ocp", scale_rule="ceil"))
    'nvidia'
    """
    known = PROFILES_OF[rules.name]
    candidates = [*([] if preferred is None else [profile_named(rules.name, preferred)]), *known]
    return next((name for name in candidates if like(rules, name) == rules), None)


def like(rules: Operation, profile: str) -> Operation | None:
    """The operation of the same formats under a profile; None where its definition has no such cast or blocks."""
    if isinstance(rules, Hadamard):
        return Hadamard(size=rules.size)
    if isinstance(rules, BlockOperation):
        try:
            return under(type(rules), rules.block, profile, {})
        except ValueError:  # it has no such element; 4 over 6 is of blocks of 16
            return None
    if not isinstance(rules, Cast) or rules.destination.name not in dict(CASTS[profile].by_destination):
        return None
    numbers: CastFields = {"destination": rules.destination} if rules.is_back else {"source": rules.source}
    return casting(rules.scalar, profile, **numbers).replace(lanes=rules.lanes)
