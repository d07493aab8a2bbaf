"""How the command line means a configuration: what reports print so that anybody can repeat them."""

from __future__ import annotations

from ..hdl import ConverterConfig, fields_of
from ..spec import PROFILES, Encode, numerics

__all__ = ["command_line"]


def command_line(config: ConverterConfig | Encode) -> str:
    """The arguments by which the command line means this configuration: the profile from which it departs least, and
    its departures. For rules alone nothing is said of the hardware.

    >>> from mxcast.hdl import converter_config
    >>> command_line(converter_config("e4m3,e5m2", rounding="rtz"))
    'mxfp8_e4m3,mxfp8_e5m2 --profile ocp --set rounding=rtz'
    """
    rules_only = isinstance(config, Encode)
    config = ConverterConfig(numerics=config) if isinstance(config, Encode) else config
    first = config.numerics
    wanted = first.by_name()

    def departures(profile: str) -> dict[str, object]:
        usual = numerics(first.block, profile).by_name() | {"block_size": 32}
        return {key: value for key, value in wanted.items() if key != "block" and value != usual.get(key)}

    profile = min([config.profile or "ocp", *PROFILES], key=lambda name: len(departures(name)))
    fields = departures(profile)
    if len(rules := list(dict.fromkeys(str(mode.scale_rule) for mode in config.modes))) > 1:
        fields["scale_rule"] = ",".join(rules)
    if not rules_only:
        fields |= fields_of(config.microarchitecture, config.modes)
    return " ".join(
        [f"{config.formats} --profile {profile}", *(f"--set {key}={value}" for key, value in fields.items())]
    )
