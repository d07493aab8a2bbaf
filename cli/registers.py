"""Registers by a target: ``latency`` and ``frequency_mhz`` in place of the names in ``registered_after``."""

from __future__ import annotations

import math

from ..hdl import ConverterConfig
from ..spec.catalogue import excerpt

__all__ = ["WISHES", "registers_wished"]

WISHES = ("latency", "frequency_mhz", "delays_of")
"""Keys beside the fields of a configuration: cycles, a clock in MHz, and the target whose delays decide (ecp5)."""


def registers_wished(config: ConverterConfig, wishes: dict[str, object]) -> ConverterConfig:
    """The configuration with the places that the wishes mean, which are what is recorded. Raises ValueError and
    TypeError.
    """
    if not wishes:
        return config
    if config.latency:
        raise ValueError(f"registered_after names the places for registers: leave out {' and '.join(wishes)}")
    latency, frequency = wishes.get("latency"), wishes.get("frequency_mhz")
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

    return pipelined(config, latency=latency, frequency_mhz=frequency, target=str(wishes.get("delays_of", "ecp5")))
