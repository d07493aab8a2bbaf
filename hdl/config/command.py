"""The command line of a configuration, which reports print so that they can be repeated."""

from __future__ import annotations

from collections.abc import Sequence

from ...spec import OTHER_BLOCKS, Cast, Encode, Hadamard, Operation
from ...spec.profiles.resolve import PROFILES_OF, like, option_of
from .goals import BEST
from .hardware import HardwareConfig


def command_line(config: HardwareConfig | Operation, target: str | None = None) -> str:
    """The arguments of the command line for this configuration: the nearest profile, and the differences from it.

    For an operation the hardware is left out. With a ``target``, the arguments say how the hardware differs from the
    best one for this target.

    >>> from mxcast.hdl import cast_config, converter_config, decoder_config
    >>> command_line(converter_config("e4m3,e5m2", rounding="rtz"))
    'mxfp8_e4m3,mxfp8_e5m2 --profile ocp --set rounding=rtz'
    >>> command_line(decoder_config("e5m2", "idma", registered_after="scale"))
    'mxfp8_e5m2 --op decode --profile idma --set registered_after=scale'
    >>> command_line(cast_config("e4m3", destination="bf16"))
    'e4m3 --op cast --profile ocp --set destination=bf16'
    """
    if isinstance(config, Operation):
        return _command((config,), None, {})
    hardware = config.hardware_options(tuple(BEST) if target is None else (target,))
    fields = {name: value for name, value in hardware.items() if target is None or name != "target"}
    return _command(config.modes, config.profile, fields)


def _command(modes: Sequence[Operation], own: str | None, hardware: dict[str, str]) -> str:
    first, known = modes[0], PROFILES_OF[modes[0].name]
    wanted = first.by_name()

    def departures(profile: str) -> dict[str, object]:
        usual = _usual(first, profile)
        return {key: value for key, value in wanted.items() if key != "block" and value != usual.get(key)}

    profile = min([*filter(None, [own]), *known], key=lambda name: len(departures(name)))
    fields = departures(profile)
    if "scale_rule" in wanted and len(rules := list(dict.fromkeys(mode.by_name()["scale_rule"] for mode in modes))) > 1:
        fields["scale_rule"] = ",".join(map(str, rules))
    operation = "" if option_of(first) == Encode.name else f" --op {option_of(first)}"
    chosen = [f"--set {key}={value}" for key, value in {**fields, **hardware}.items()]
    format = first.scalar.name if isinstance(first, Cast) else ",".join(dict.fromkeys(mode.subject for mode in modes))
    return " ".join([f"{format}{operation} --profile {profile}", *chosen])


def _usual(operation: Operation, profile: str) -> dict[str, object]:
    """The fields that format and profile imply; empty if the profile has no such operation."""
    found = like(operation, profile)
    if found is None:
        return {}
    if isinstance(operation, Hadamard):
        return found.by_name()
    if not isinstance(operation, Cast):
        named = OTHER_BLOCKS.get(str(found.by_name()["block"]))
        return found.by_name() | {"block_size": 32 if named is None else named.block_size}
    return found.by_name() | {"lanes": 1} | ({"destination": None} if operation.is_back else {"source": "fp32"})
