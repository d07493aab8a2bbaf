"""Registers by a target: ``latency`` and ``frequency_mhz`` in place of the names in ``registered_after``."""

from __future__ import annotations

import math

from ..hdl import ConverterConfig
from ..spec.catalogue import excerpt

__all__ = ["CONSTRAINTS", "constrained"]

CONSTRAINTS = ("latency", "frequency_mhz", "delays_of")
"""Keys beside the fields of a configuration: cycles, a clock in MHz, and the target whose delays decide (ecp5)."""


def constrained(config: ConverterConfig, constraints: dict[str, object]) -> ConverterConfig:
    """The configuration with the places that the constraints mean, which are what is recorded. Raises ValueError and
    TypeError.
    """
    if not constraints:
        return config
    if config.latency:
        raise ValueError(f"registered_after names the places for registers: leave out {' and '.join(constraints)}")
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
    from ..synth.pipeline import pipelined

    return pipelined(config, latency=latency, frequency_mhz=frequency, target=str(constraints.get("delays_of", "ecp5")))
