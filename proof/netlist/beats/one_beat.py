"""A beat of a decoder with lanes at once: its module without registers, as a decoder of blocks of that size."""

from __future__ import annotations

import dataclasses
from typing import cast

from ....hdl import DecoderConfig
from ....hdl.config.architecture import Interface
from ....spec import ScalePlace
from ..design import Design
from ..structure import StructureError
from .parts import MARKS, NUMBERS, Beats

PASSED = {"o_first": "is_first", "o_last": "is_last", "o_marks": "marks"}
"""Outputs of the module that are inputs some beats before."""


def of_a_beat(config: DecoderConfig) -> DecoderConfig:
    """The configuration of a beat at once: blocks of as many elements as lanes, without registers.

    >>> from mxcast.hdl import decoder_config
    >>> of_a_beat(decoder_config("e4m3", lanes=8)).numerics.block.block_size
    8
    """
    rules = dataclasses.replace(config.numerics, block=config.numerics.block.resized(config.lanes))
    micro = dataclasses.replace(
        config.microarchitecture,
        lanes=0,
        interface=Interface.STREAM,
        layout="",
        scale_place=ScalePlace.APART,
        registered_after=(),
    )
    return dataclasses.replace(config, numerics=rules, microarchitecture=micro)


def one_beat(beats: Beats) -> Design:
    """The design of a beat, with the ports of `of_a_beat`. Raises `StructureError` if the place of a beat does not pass
    as it has to."""
    modules = beats.without_registers()
    top = modules.pop(beats.modules[NUMBERS])
    ports = top["ports"]
    for result, given in PASSED.items():
        if (result in ports or result in MARKS) and ports[result]["bits"] != ports[given]["bits"]:
            raise StructureError(f"{result} is not {given}, some beats before")
    names = [port.name for port in of_a_beat(cast("DecoderConfig", beats.config)).ports]
    design = beats.design
    return design.of_netlist({design.top: {**top, "ports": {name: ports[name] for name in names}}, **modules})
