"""Stage boundaries for a required latency or clock frequency."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from ..hdl import HardwareConfig, TiledConfig
from ..spec.catalogue import excerpt
from .pipeline import pipelined

Config = TypeVar("Config", bound=HardwareConfig)


def constrained(config: Config, constraints: Mapping[str, Any]) -> Config:
    """The configuration with the stage boundaries that meet the constraints (`hdl.ConstraintFields`). Only the
    boundaries are recorded. Raises ValueError and TypeError for constraints that cannot be met.
    """
    if not constraints:
        return config
    if constraints.keys() == {"delays_of"}:
        raise ValueError("delays_of says whose delays count: give latency or frequency_mhz too")
    if isinstance(config, TiledConfig):
        raise ValueError(
            "latency and frequency_mhz are for blocks: in a tile encoder, name the registers by registered_after"
        )
    if config.pause or config.interval > 1:
        form = config.microarchitecture.to_dict()["form"]
        raise ValueError(
            f"the form {form} has its own registers: leave out latency and frequency_mhz, or give registered_after"
        )
    if {*config.microarchitecture.registered_after} - config.always_registered:
        raise ValueError(f"registered_after names the stage boundaries: leave out {' and '.join(constraints)}")
    latency, frequency = constraints.get("latency"), constraints.get("frequency_mhz")
    if latency is not None and not isinstance(latency, int):
        raise TypeError(f"latency must be a number of cycles, not {excerpt(latency)}")
    if frequency is not None:
        try:
            given, frequency = frequency, float(frequency)
        except (ValueError, OverflowError):
            raise TypeError(f"frequency_mhz must be a number, not {excerpt(frequency)}") from None
        if not math.isfinite(frequency):
            raise ValueError(f"frequency_mhz must be a finite number, not {excerpt(given)}")
    return pipelined(config, latency=latency, frequency_mhz=frequency, target=str(constraints.get("delays_of", "ecp5")))
