"""A converter to build: the bits it must produce, and how the hardware is to produce them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field

from .catalogue import Rule, unknown_name
from .formats import BlockFormat
from .numerics import Numerics
from .profiles import numerics, profile_of

__all__ = ["AmaxKey", "Microarchitecture", "ConverterConfig", "converter_config"]


class AmaxKey(Rule):
    """What the comparator tree compares."""

    REDUCED = "reduced", "the exponent, and one flag bit where the scale rule or the specials need the fraction"
    MAGNITUDE = "magnitude", "the whole magnitude, as in the FPGA paper; reduced after the tree"


@dataclass(frozen=True, kw_only=True)
class Microarchitecture:
    """How the bits are made. Never changes a bit, and never reaches the models."""

    amax_key: AmaxKey = AmaxKey.REDUCED

    def __post_init__(self) -> None:
        object.__setattr__(self, "amax_key", AmaxKey.named("amax_key", self.amax_key))

    def to_dict(self) -> dict[str, str]:
        return {"amax_key": str(self.amax_key)}


@dataclass(frozen=True, kw_only=True)
class ConverterConfig:
    """What hdl, sim, synth and cli pass around."""

    numerics: Numerics
    microarchitecture: Microarchitecture = field(default_factory=Microarchitecture)
    profile: str | None = field(default=None, compare=False)
    """The profile whose rules these are, for names and reports; not part of the identity."""

    def to_dict(self) -> dict[str, dict[str, str | int]]:
        return {"numerics": self.numerics.to_dict(), "microarchitecture": self.microarchitecture.to_dict()}

    @property
    def config_id(self) -> str:
        """First eight hex digits of the SHA-256 of the canonical JSON of the configuration."""
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def converter_config(block: str | BlockFormat | Numerics | ConverterConfig, profile: str | None = None,
                     **overrides: object) -> ConverterConfig:
    """A configuration from a format, a profile (``ocp`` unless given) and any fields of `Numerics` or `Microarchitecture`.

    Complete `Numerics` may stand in place of the format. A `ConverterConfig` is returned as it is, and nothing may be
    given beside it.

    >>> converter_config("e4m3", "ocp", amax_key="magnitude").microarchitecture.amax_key.value
    'magnitude'
    """
    if isinstance(block, Numerics) and profile is not None:
        raise TypeError("Numerics are complete: a profile cannot be given beside them")
    if isinstance(block, ConverterConfig):
        if overrides or profile is not None:
            raise TypeError("a ConverterConfig is complete: profile and fields cannot be given beside it")
        return block
    micro_fields = {f.name for f in dataclasses.fields(Microarchitecture)}
    micro = {name: overrides.pop(name) for name in list(overrides) if name in micro_fields}
    known = [f.name for f in dataclasses.fields(Numerics)] + ["block_size"]
    for name in overrides:
        if name not in known:
            raise ValueError(unknown_name("field", name, known + sorted(micro_fields)))
    rules = block.replace(**overrides) if isinstance(block, Numerics) else numerics(block, profile, **overrides)
    return ConverterConfig(numerics=rules, microarchitecture=Microarchitecture(**micro), profile=profile_of(rules, profile))
