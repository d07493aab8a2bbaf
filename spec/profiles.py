"""Profiles: named, dated and sourced numerics. One row each."""

from __future__ import annotations

from dataclasses import dataclass

from .catalogue import unknown_name
from .formats import BlockFormat, block_format
from .numerics import Numerics

__all__ = ["Profile", "PROFILES", "numerics", "profile_of"]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The rules of one public definition, to be applied to any block format."""

    name: str
    rules: tuple[tuple[str, str], ...]
    source: str
    date: str
    remark: str = ""


PROFILES: dict[str, Profile] = {p.name: p for p in (
    Profile(name="ocp", source="OCP Microscaling Formats (MX) v1.0, section 6.3", date="2023-09",
            rules=(("scale_rule", "floor"), ("rounding", "rne"), ("specials", "nan_block"))),
    Profile(name="nvidia", source="Recipes for Pre-training LLMs with MXFP8, Algorithm 1 with appendix A.1", date="2025-06",
            rules=(("scale_rule", "ceil"), ("rounding", "rne"), ("specials", "nan_block")),
            remark="exact arithmetic; FP32 arithmetic differs for one largest magnitude per floating-point format"),
    Profile(name="gorodecky_sousa", source="Gorodecky and Sousa, Hardware for converting floating-point to the MX format",
            date="2024-11",
            rules=(("scale_rule", "bias_floor"), ("rounding", "guard_half_up"), ("specials", "drop"),
                   ("element_subnormals", "flush")),
            remark="the paper's intention without its typing errors; for int8, whose published rules are unusable, "
                   "the same rules applied to the OCP element"),
)}


def numerics(block: str | BlockFormat, profile: str | None = None, **overrides: object) -> Numerics:
    """The `Numerics` of a block format under a profile (``ocp`` unless given), with any field replaced.

    >>> numerics("e2m1", "nvidia").scale_rule.value
    'ceil'
    """
    profile = "ocp" if profile is None else profile
    if profile not in PROFILES:
        raise ValueError(unknown_name("profile", profile, list(PROFILES)))
    return Numerics(block=block_format(block), **dict(PROFILES[profile].rules)).replace(**overrides)


def profile_of(rules: Numerics, preferred: str | None = None) -> str | None:
    """The profile that has exactly these rules, the preferred one if it has; None if there is none.

    >>> profile_of(numerics("e4m3", "ocp", scale_rule="ceil"))
    'nvidia'
    """
    candidates = [preferred, *PROFILES] if preferred in PROFILES else list(PROFILES)
    return next((name for name in candidates if numerics(rules.block, name) == rules), None)
