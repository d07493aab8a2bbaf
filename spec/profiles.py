"""Profiles: named, dated and sourced numerics. One row each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from .block_operation import BlockOperation
from .blocks import BlockFormat
from .catalogue import known_name
from .decode import Decode, DecodeFields
from .encode import Encode, EncodeFields
from .formats import NumberFormat
from .names import block_format

__all__ = ["DECODERS", "PROFILES", "PROFILES_OF", "Profile", "decoding", "numerics", "profile_of", "under"]


Made = TypeVar("Made", bound=BlockOperation)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The rules of one public definition, to be applied to any block format."""

    name: str
    rules: tuple[tuple[str, str], ...]
    source: str
    date: str
    remark: str = ""


def _rules(
    scale_rule: str, specials: str = "nan_block", rounding: str = "rne", **others: str
) -> tuple[tuple[str, str], ...]:
    return tuple({"scale_rule": scale_rule, "rounding": rounding, "specials": specials, **others}.items())


TORCHAO = "torchao, prototype/mx_formats, ScaleCalculationMode"

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
            source="Transformer Engine 2.20.0.dev0, MXFP8 quantization",
            date="2026-08",
            rules=_rules("rceil", "te"),
            remark="FP32 arithmetic; NaN does not reach the scale",
        ),
        Profile(
            name="torchao_floor",
            source=f"{TORCHAO}.FLOOR, 0.19.0 source tree",
            date="2026-08",
            rules=_rules("floor"),
            remark="release 0.18.0 halves the elements of blocks with byte 0",
        ),
        Profile(
            name="torchao_rceil",
            source=f"{TORCHAO}.RCEIL, 0.19.0 source tree",
            date="2026-08",
            rules=_rules("rceil"),
            remark="release 0.18.0 takes an FP32 log2, wrong for thousands of maxima, and zeroes blocks with byte 0",
        ),
        Profile(
            name="torchao_ceil",
            source=f"{TORCHAO}.CEIL, 0.19.0 source tree",
            date="2026-08",
            rules=_rules("pow2_ceil"),
            remark="release 0.18.0 halves the elements of blocks with byte 0",
        ),
        Profile(
            name="torchao_even",
            source=f"{TORCHAO}.EVEN, 0.19.0 source tree",
            date="2026-08",
            rules=_rules("even"),
            remark="the library gives byte 0xFF for maxima that round up to 2**128; this is the natural byte",
        ),
        Profile(
            name="microxcaling",
            source="microsoft/microxcaling, shared_exp_method max, round even",
            date="2024-05",
            rules=_rules("floor"),
            remark="the library's FP32 log2 gives one byte too many for 7404 maxima just below powers of two",
        ),
        Profile(
            name="samson",
            source="MX-for-FPGA (Samson and others), FP6, FP4 and INT8 modules",
            date="2024-07",
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
            source="torchao, prototype/mx_formats, to_dtype, 0.18.0 and the 0.19.0 source tree",
            date="2026-08",
            rules=(("nan", "payload"),),
            remark="all numbers of FP32 and BF16, and NaN of FP32 but under byte 255; for FP16 the library first "
            "rounds the scale to FP16, which is 0 up to 2**-25 and Inf from 2**16 on",
        ),
        Profile(
            name="te",
            source="Transformer Engine, common/cast/mxfp8/dequantize_mxfp8.cuh with ptx::exp2f",
            date="2026-08",
            rules=(("scale_reading", "field"), ("nan", "all_ones")),
            remark="blocks with byte 0 become zeros, those with byte 255 Inf",
        ),
        Profile(
            name="gpt_oss",
            source="openai/gpt-oss, gpt_oss/torch/weights.py, torch.ldexp",
            date="2026-07",
            rules=(("scale_reading", "power"), ("destination", "bf16")),
            remark="bit for bit with torch.ldexp of torch 2.13.0, which takes byte 255 for 2**128",
        ),
        Profile(
            name="ggml",
            source="ggml, dequantize_row_mxfp4 with GGML_E8M0_TO_FP32_HALF",
            date="2026-08",
            rules=(("scale_reading", "power"), ("zero", "positive")),
            remark="bit for bit with gguf-py 0.19.0",
        ),
        Profile(
            name="idma",
            source="PULP iDMA v0.7.0, src/backend/idma_otf_mxdequant.sv",
            date="2026-08",
            rules=(("scale_reading", "signed"), ("subnormals", "flush"), ("overflow", "saturate")),
            remark="E5M2 to FP32; to FP16 with subnormals=exact and overflow=inf; later sources (commit 0f472e92) have "
            "E4M3 too and the rules of ocp",
        ),
    )
}
"""Profiles of decoding by name."""

PROFILES_OF = {Encode.name: PROFILES, Decode.name: DECODERS}
"""By the name of the operation."""


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
    field or rule, TypeError for a profile beside an `Encode`.

    >>> numerics("e2m1", "nvidia").scale_rule.value
    'ceil'
    """
    return under(Encode, block, profile, fields)


def under(operation: type[Made], block: Any, profile: str | None, fields: Mapping[str, Any]) -> Made:
    """The operation of a block format under a profile, with these fields replaced."""
    if isinstance(block, operation):
        if profile is not None:
            raise TypeError("an operation says all its rules: a profile cannot be given beside it")
        return block.replaced(**fields)
    known = PROFILES_OF[operation.name]
    profile = known_name("profile", "ocp" if profile is None else profile, known)
    rules: dict[str, Any] = dict(known[profile].rules)
    return operation.of_block(block_format(block)).replaced(**rules).replaced(**fields)


def profile_of(rules: BlockOperation, preferred: str | None = None) -> str | None:
    """The profile that has exactly these rules, the preferred one if it has; None if there is none.

    >>> profile_of(numerics("e4m3", "ocp", scale_rule="ceil"))
    'nvidia'
    """
    known = PROFILES_OF[rules.name]
    candidates = [*([] if preferred is None else [known_name("profile", preferred, known)]), *known]
    return next((name for name in candidates if under(type(rules), rules.block, name, {}) == rules), None)
