"""How the command line means a configuration: what reports print so that anybody can repeat them."""

from __future__ import annotations

from ..hdl import ConverterConfig, Microarchitecture
from ..spec import PROFILES, numerics

__all__ = ["command_line"]


def command_line(config: ConverterConfig) -> str:
    """The arguments by which the command line means this configuration: the profile from which it departs least, and
    its departures.

    >>> from mxcast.hdl import converter_config
    >>> command_line(converter_config("e4m3,e5m2", rounding="rtz"))
    'mxfp8_e4m3,mxfp8_e5m2 --profile ocp --set rounding=rtz'
    """
    first = config.numerics
    wanted = first.by_name()

    def departures(profile: str) -> dict[str, object]:
        usual = numerics(first.block, profile).by_name() | {"block_size": 32}
        return {key: value for key, value in wanted.items() if key != "block" and value != usual.get(key)}

    profile = min([config.profile or "ocp", *PROFILES], key=lambda name: len(departures(name)))
    fields = departures(profile)
    if len(rules := list(dict.fromkeys(str(mode.scale_rule) for mode in config.modes))) > 1:
        fields["scale_rule"] = ",".join(rules)
    usual = Microarchitecture().to_dict()
    fields |= {key: value for key, value in config.microarchitecture.to_dict().items() if value != usual.get(key)}
    if config.latency:
        fields["registered_after"] = ",".join(config.microarchitecture.registered_after)
    return " ".join(
        [f"{config.formats} --profile {profile}", *(f"--set {key}={value}" for key, value in fields.items())]
    )
