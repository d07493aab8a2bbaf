"""The pins of hardware with AXI4-Stream."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ...spec import Cast, Decode, Encode, NumberFormat, Nvfp4Decode, Nvfp4Encode, Port, Role

BYTE = 8

CONTROL_WORDS = {
    "aclk": "all registers change at its rising edge",
    "aresetn": "synchronous, active low: drops all beats that are inside",
    "s_axis_tvalid": "s_axis holds a beat",
    "s_axis_tready": "the beat is taken at the edge that sees s_axis_tvalid too; depends on registers only",
    "m_axis_tvalid": "m_axis holds a beat, and does not change before it is taken",
    "m_axis_tready": "the beat is taken at the edge that sees m_axis_tvalid too",
}
"""Descriptions of the pins that are the same for each operation."""

CLOCK = (
    Port(name="aclk", role=Role.CLOCK, direction="input"),
    Port(name="aresetn", role=Role.RESET, direction="input"),
)


def stream(data: Port, user: int = 0, keep: int = 0) -> tuple[Port, ...]:
    """The pins of the stream with these data, with tlast; ``user`` bits of tuser, and ``keep`` of tkeep."""
    before, to = data.name.removesuffix("tdata"), data.direction
    back = {"input": "output", "output": "input"}[to]
    return (
        data,
        *([Port(name=f"{before}tkeep", role=Role.KEEP, direction=to, lanes=keep)] if keep else []),
        Port(name=f"{before}tlast", role=Role.LAST, direction=to),
        *([Port(name=f"{before}tuser", role=Role.USER, direction=to, bits=user)] if user else []),
        Port(name=f"{before}tvalid", role=Role.VALID, direction=to),
        Port(name=f"{before}tready", role=Role.READY, direction=back),
    )


def numbers_pin(name: str, direction: str, number: NumberFormat, lanes: int) -> Port:
    return Port.of_format(name, Role.NUMBERS, direction, number, lanes)


def codes_pin(name: str, direction: str, size: int) -> Port:
    """The bytes of codes."""
    return Port(name=name, role=Role.CODES, direction=direction, bits=size * BYTE)


def bytes_of(number: NumberFormat, lanes: int) -> int:
    """Bytes of the packed numbers or codes of a beat."""
    return -(-number.bits * lanes // BYTE)


def encoder_pins(
    rules: Encode | Nvfp4Encode,
    lanes: int,
    of_block: Sequence[Port],
    word_bytes: int | None = None,
    has_scales: bool = True,
) -> tuple[Port, ...]:
    """A slave stream of numbers, a master stream of codes, and a master stream of scales, one for each block.

    ``word_bytes`` are the bytes of a beat of codes in a layout. Without ``has_scales`` the scales are among them.
    ``s_axis_tuser`` has the inputs of a block in its low bits, and the random bits above; it is missing if there are
    neither.
    """
    user = sum(port.width for port in of_block) + rules.random_bits * lanes
    element, source = rules.block.element, rules.source
    numbers = numbers_pin("s_axis_tdata", "input", source, lanes)
    scales = stream(Port.of_format("m_axis_scale_tdata", Role.SCALE, "output", rules.block.scale))
    size = bytes_of(element, lanes) if word_bytes is None else word_bytes
    return (
        *CLOCK,
        *stream(numbers, user, bytes_of(source, lanes)),
        *stream(codes_pin("m_axis_tdata", "output", size), 1, size),
        *(scales if has_scales else ()),
    )


def decoder_pins(
    rules: Decode | Nvfp4Decode,
    lanes: int,
    with_codes: Sequence[Port],
    word_bytes: int | None = None,
    has_scales: bool = True,
) -> tuple[Port, ...]:
    """A slave stream of codes, a slave stream of scales, one for each block, and a master stream of numbers.

    ``word_bytes`` are the bytes of a beat of codes in a layout. Without ``has_scales`` the scales are among them. The
    low bit of ``s_axis_tuser`` leaves as ``m_axis_tuser``. The inputs ``with_codes`` are above it.
    """
    element, to = rules.block.element, rules.destination
    size = bytes_of(element, lanes) if word_bytes is None else word_bytes
    codes = codes_pin("s_axis_tdata", "input", size)
    scales = stream(Port.of_format("s_axis_scale_tdata", Role.SCALE, "input", rules.block.scale))
    return (
        *CLOCK,
        *stream(codes, 1 + sum(port.width for port in with_codes), size),
        *(scales if has_scales else ()),
        *stream(numbers_pin("m_axis_tdata", "output", to, lanes), 1, bytes_of(to, lanes)),
    )


def cast_pins(rules: Cast) -> tuple[Port, ...]:
    """A slave stream of numbers or codes, and a master stream of their results, packed, the first in the low bits.

    The low bit of ``s_axis_tuser`` leaves as ``m_axis_tuser``. The random bits are above it.
    """
    entering, *_, leaving = rules.ports
    pins = [
        Port(name=f"{side}_axis_tdata", role=port.role, direction=port.direction, bits=-(-port.width // BYTE) * BYTE)
        for side, port in (("s", entering), ("m", leaving))
    ]
    user = 1 + rules.random_bits * rules.lanes, 1
    return *CLOCK, *(pin for data, bits in zip(pins, user) for pin in stream(data, bits, data.width // BYTE))


def cast_words(rules: Cast) -> dict[str, str]:
    """A description of each of `cast_pins` by its name."""
    entering, *_, leaving = rules.ports
    names = [f"{rules.lanes} {port.format.name} {port.role}" for port in (entering, leaving) if port.format]
    return CONTROL_WORDS | {
        "s_axis_tdata": f"{names[0]} of {entering.bits} bits, the first in the low bits",
        "s_axis_tkeep": "bytes of words; a beat without bytes is dropped, or leaves without bytes if it ends a packet",
        "s_axis_tlast": "ends a packet",
        "s_axis_tuser": "the low bit leaves as m_axis_tuser" + ("; random bits above" if rules.random_bits else ""),
        "m_axis_tdata": f"{names[1]} of {leaving.bits} bits, the first in the low bits",
        "m_axis_tkeep": "ones for the bytes of results whose inputs have all their bytes",
        "m_axis_tlast": "the last beat of a packet",
        "m_axis_tuser": "the low bit of s_axis_tuser with this beat",
    }


OF_RESULTS = {
    "y": "m_axis_",
    "p": "m_axis_",
    "scale": "m_axis_scale_",
    "column_p": "m_axis_column_",
    "column_scale": "m_axis_column_scale_",
}
"""The beginning of the pins of the stream of a result, by its port."""


def pins_around(ports: Sequence[Port]) -> tuple[Port, ...]:
    """A slave stream of numbers, and a master stream for each result among the ports of a core.

    ``s_axis_tuser`` has the other inputs, if there are any. Streams of codes and of numbers have tkeep
    and a bit of tuser.
    """
    entering = [port for port in ports if port.direction == "input"]
    (numbers,) = (port for port in entering if port.role is Role.NUMBERS)
    user = sum(port.width for port in entering if port is not numbers)
    pins = [*CLOCK, *stream(dataclasses.replace(numbers, name="s_axis_tdata"), user, numbers.width // BYTE)]
    leaving = {port.name: port for port in ports if port.direction == "output"}
    for port in (leaving[name] for name in OF_RESULTS if name in leaving):
        size, has_marks = -(-port.width // BYTE), not port.name.endswith("scale")
        data = Port(name=f"{OF_RESULTS[port.name]}tdata", role=port.role, direction="output", bits=size * BYTE)
        pins += stream(data, int(has_marks), size * has_marks)
    return tuple(pins)


def words_around(ports: Sequence[Port], port_words: Mapping[str, str], block: str) -> dict[str, str]:
    """A description of each of `pins_around` by its name; ``block`` is what enters before its first result leaves."""
    words: dict[str, str] = {}
    for port in ports:
        if port.direction == "output":
            name = OF_RESULTS[port.name]
            words |= {
                f"{name}tdata": port_words[port.name],
                f"{name}tkeep": f"all ones: a {block} leaves whole",
                f"{name}tlast": f"the last beat of the last {block} of a packet",
                f"{name}tuser": f"zeros completed this {block}",
                f"{name}tvalid": f"{name.removesuffix('_')} holds a beat, and does not change before it is taken",
                f"{name}tready": f"the beat is taken at the edge that sees {name}tvalid too",
            }
    user = [port.name for port in ports if port.direction == "input" and port.role is not Role.NUMBERS]
    return {
        **CONTROL_WORDS,
        **words,
        "s_axis_tdata": port_words["x"],
        "s_axis_tkeep": "bytes of numbers; a number without its last byte is 0; a beat without bytes is dropped",
        "s_axis_tlast": f"ends a packet; zeros complete its last {block}",
        "s_axis_tuser": f"{' and '.join(user)}, the first in the low bits",
    }


def encoder_words(rules: Encode | Nvfp4Encode, lanes: int, beats: int, of_block: Sequence[Port]) -> dict[str, str]:
    """A description of each of `encoder_pins` by its name."""
    element = rules.block.element
    kept = rules.source.bits // BYTE
    return CONTROL_WORDS | {
        "s_axis_tdata": f"{lanes} {rules.source.name} numbers, the first in the low bits; {beats} beats are a block",
        "s_axis_tkeep": f"{kept} bits a number, which is 0 without its last byte; a beat without bytes is dropped",
        "s_axis_tlast": "ends a packet; zeros complete its last block",
        "s_axis_tuser": _user_words(rules, of_block),
        "m_axis_tdata": f"{lanes} {element.name} codes of {element.bits} bits, the first in the low bits",
        "m_axis_tkeep": "all ones: blocks leave whole",
        "m_axis_tlast": "the last beat of the last block of a packet",
        "m_axis_tuser": "zeros completed this block",
        "m_axis_scale_tdata": "the shared scale of a block, one for each block, not later than its first beat",
        "m_axis_scale_tlast": "the scale of the last block of a packet",
        "m_axis_scale_tvalid": "m_axis_scale holds a scale, and does not change before it is taken",
        "m_axis_scale_tready": "the scale is taken at the edge that sees m_axis_scale_tvalid too",
    }


def _user_words(rules: Encode | Nvfp4Encode, of_block: Sequence[Port]) -> str:
    if isinstance(rules, Encode):
        return "mode in the low bits, the same for all beats of a block; random bits above"
    above = "; random bits above" if rules.random_bits else ""
    return f"{' and '.join(port.name for port in of_block)}, the first in the low bits, the same for a block{above}"


def decoder_words(rules: Decode | Nvfp4Decode, lanes: int, beats: int) -> dict[str, str]:
    """A description of each of `decoder_pins` by its name."""
    element = rules.block.element
    reading = rules.scale_reading if isinstance(rules, Decode) else rules.block.scale.name
    above = "; random bits above" if rules.random_bits else ""
    if any(port.role is Role.TENSOR_SCALE for port in rules.ports):
        above = "; g above, of the first beat of a block"
    return CONTROL_WORDS | {
        "s_axis_tdata": f"{lanes} {element.name} codes of {element.bits} bits, the first in the low bits; "
        f"{beats} beats are a block",
        "s_axis_tkeep": "bytes of codes; a beat without bytes is dropped, or leaves without bytes if it ends a packet",
        "s_axis_tlast": "ends a packet; the next beat is the first of a block",
        "s_axis_tuser": f"the low bit leaves as m_axis_tuser{above}",
        "s_axis_scale_tdata": f"shared scale, one for each block: {reading}",
        "s_axis_scale_tlast": "is not used",
        "s_axis_scale_tvalid": "s_axis_scale holds a scale",
        "s_axis_scale_tready": "the scale is taken at the edge that sees s_axis_scale_tvalid too; depends on registers "
        "only",
        "m_axis_tdata": f"{lanes} {rules.destination.name} numbers, the first in the low bits",
        "m_axis_tkeep": "ones for the bytes of numbers whose codes have all their bytes",
        "m_axis_tlast": "the last beat of a packet",
        "m_axis_tuser": "the low bit of s_axis_tuser with this beat",
    }
