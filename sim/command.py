"""How the command line means a configuration: what reports print so that anybody can repeat them."""

from __future__ import annotations

from ..spec import ConverterConfig, converter_config

__all__ = ["command_line"]


def command_line(config: ConverterConfig) -> str:
    """The arguments by which the command line means this configuration.

    >>> from mxcast.spec import converter_config
    >>> command_line(converter_config("e4m3,e5m2", rounding="rtz")).split(" --set ")[:4]
    ['mxfp8_e4m3,mxfp8_e5m2', 'block_size=32', 'source=fp32', 'scale_rule=floor']
    """
    plain = f"{config.formats} --profile {config.profile}"
    if config.profile and config == converter_config(config.formats, config.profile):
        return plain
    fields = {**config.numerics.to_dict(), **config.microarchitecture.to_dict()}
    fields = {key: value for key, value in fields.items() if key not in ("block", "element")}
    if config.latency:
        fields["registered_after"] = ",".join(config.microarchitecture.registered_after)
    fields["scale_rule"] = ",".join(dict.fromkeys(str(mode.scale_rule) for mode in config.modes))
    return " ".join([config.formats, *(f"--set {key}={value}" for key, value in fields.items())])
