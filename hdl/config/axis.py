"""The pins of an encoder with AXI4-Stream."""

from __future__ import annotations

from ...spec import Encode, Port, Role

BYTE = 8

AXIS_STREAMS = ("s_axis", "m_axis", "m_axis_scale")
"""The streams, by the beginnings of their pins."""


def axis_pins(rules: Encode, lanes: int, mode_bits: int) -> tuple[Port, ...]:
    """A slave stream of numbers, a master stream of codes, and a master stream of scales, one for each block.

    ``s_axis_tuser`` has the mode in its low bits, and the random bits above; it is missing if there are neither. Codes
    are packed, the first in the low bits, and the last byte is completed with zeros.
    """
    element, scale = rules.block.element, rules.block.scale
    user = mode_bits + rules.random_bits * lanes
    numbers = Port.of_format("s_axis_tdata", Role.NUMBERS, "input", rules.source, lanes)
    code_bytes = -(-element.bits * lanes // BYTE)
    return (
        Port(name="aclk", role=Role.CLOCK, direction="input"),
        Port(name="aresetn", role=Role.RESET, direction="input"),
        numbers,
        Port(name="s_axis_tkeep", role=Role.KEEP, direction="input", lanes=numbers.width // BYTE),
        Port(name="s_axis_tlast", role=Role.LAST, direction="input"),
        *([Port(name="s_axis_tuser", role=Role.USER, direction="input", bits=user)] if user else []),
        Port(name="s_axis_tvalid", role=Role.VALID, direction="input"),
        Port(name="s_axis_tready", role=Role.READY, direction="output"),
        Port(name="m_axis_tdata", role=Role.CODES, direction="output", bits=code_bytes * BYTE),
        Port(name="m_axis_tkeep", role=Role.KEEP, direction="output", lanes=code_bytes),
        Port(name="m_axis_tlast", role=Role.LAST, direction="output"),
        Port(name="m_axis_tuser", role=Role.USER, direction="output"),
        Port(name="m_axis_tvalid", role=Role.VALID, direction="output"),
        Port(name="m_axis_tready", role=Role.READY, direction="input"),
        Port.of_format("m_axis_scale_tdata", Role.SCALE, "output", scale),
        Port(name="m_axis_scale_tlast", role=Role.LAST, direction="output"),
        Port(name="m_axis_scale_tvalid", role=Role.VALID, direction="output"),
        Port(name="m_axis_scale_tready", role=Role.READY, direction="input"),
    )


def axis_words(rules: Encode, lanes: int, beats: int) -> dict[str, str]:
    """A description of each of these pins by its name."""
    element = rules.block.element
    kept = rules.source.bits // BYTE
    return {
        "aclk": "all registers change at its rising edge",
        "aresetn": "synchronous, active low: drops all beats that are inside",
        "s_axis_tdata": f"{lanes} {rules.source.name} numbers, the first in the low bits; {beats} beats are a block",
        "s_axis_tkeep": f"{kept} bits a number, which is 0 without its last byte; a beat without bytes is dropped",
        "s_axis_tlast": "ends a packet; zeros complete its last block",
        "s_axis_tuser": "mode in the low bits, the same for all beats of a block; random bits above",
        "s_axis_tvalid": "s_axis holds a beat",
        "s_axis_tready": "the beat is taken at the edge that sees s_axis_tvalid too; depends on registers only",
        "m_axis_tdata": f"{lanes} {element.name} codes of {element.bits} bits, the first in the low bits",
        "m_axis_tkeep": "all ones: blocks leave whole",
        "m_axis_tlast": "the last beat of the last block of a packet",
        "m_axis_tuser": "zeros completed this block",
        "m_axis_tvalid": "m_axis holds a beat, and does not change before it is taken",
        "m_axis_tready": "the beat is taken at the edge that sees m_axis_tvalid too",
        "m_axis_scale_tdata": "the shared scale of a block, one for each block, not later than its first beat",
        "m_axis_scale_tlast": "the scale of the last block of a packet",
        "m_axis_scale_tvalid": "m_axis_scale holds a scale, and does not change before it is taken",
        "m_axis_scale_tready": "the scale is taken at the edge that sees m_axis_scale_tvalid too",
    }
