"""Profiles of casting."""

from __future__ import annotations

from ..formats.number import SOURCES
from ..operations.cast import SCALARS
from .profile import Profile, by_name, each

FLOATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")
"""Floating-point elements of OCP MX v1.0."""

CASTS = by_name(
    Profile(
        name="ocp",
        source="OCP OFP8 v1.0, saturating mode, and MX v1.0, section 5.3; IEEE 754-2019 for the way back",
        date="2023-09",
        rules=(),
        by_destination=each(
            ([name for name in SCALARS if name != "e8m0"], {}),
            (["e8m0"], {"rounding": "rtz"}),
            (SOURCES, {"overflow": "inf", "nan": "canonical"}),
        ),
        remark="OCP defines no cast to E8M0: this one gives the largest power of two that is not above the number, "
        "as in section 6.3; casts to UE4M3, UE5M3, E4M3FNUZ and E5M2FNUZ, which are not in OCP, follow OFP8",
    ),
    Profile(
        name="ptx",
        source="NVIDIA PTX ISA, cvt; CUDA headers, cuda_fp8.hpp, cuda_fp6.hpp, cuda_fp4.hpp",
        date="2025-08",
        checked="PTX ISA 9.0, CUDA 13.5.37",
        rules=(),
        by_destination=each(([*FLOATS, "ue5m3"], {}), (["e8m0"], {"rounding": "rp"}), (SOURCES, {"overflow": "inf"})),
        remark="the name of an instruction can replace the format: cvt.rp.satfinite.ue8m0x2.f32",
    ),
    Profile(
        name="ml_dtypes",
        source="ml_dtypes, astype of arrays",
        date="2026-08",
        library="ml_dtypes",
        checked="0.6.0",
        rules=(("nan", "signed"), ("nan_substitute", "zero")),
        by_destination=each(
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
        by_destination=each(
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
        by_destination=each(
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
        by_destination=each((FLOATS, {}), (["e8m0"], {"rounding": "rne", "negative": "nan", "underflow": "nan"})),
        remark="the library raises an error for NaN to FP6 and FP4, and saturates -Inf to E8M0",
    ),
    Profile(
        name="riscv",
        source="RISC-V Zvfofp8min, vfncvt.f.f.q, vfncvtbf16.f.f.w and vfwcvtbf16.f.f.v",
        date="2026-01",
        checked="version 0.2.1, commit b38069a of 2026-01-28",
        rules=(("overflow", "ieee"),),
        by_destination=each((["e5m2", "e4m3"], {}), (["bf16"], {"nan": "canonical"})),
        remark="the register frm decides the rounding; rne, rtz and rna (RMM) are supported; the forms .sat have "
        "overflow=saturate",
    ),
)
"""Profiles of `Cast` by name."""
