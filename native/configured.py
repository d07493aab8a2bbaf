"""The header of a configuration: its rules as one constant, and thin functions around the ones of ``mxcast.h``.

A function takes the inputs and results of the operation as hardware has them at its ports. Another one takes words:
the lanes of all inputs, and of all results, one after another in the order of the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..hdl import HardwareConfig
from ..hdl.config.command import command_line
from ..hdl.emission.emit import GENERATOR
from ..spec import Cast, Decode, Encode, Nvfp4Decode, Nvfp4Encode, Operation, Port, Role
from .structs import check_supported, enumerator, initialiser, struct_name

NUMBERS = {64: "double", 32: "float", 16: "uint16_t"}
"""Types of numbers by their bits. BF16 and FP16 are patterns."""


def check_config(config: HardwareConfig) -> None:
    """Raise ValueError unless the model in C has the operation of a configuration."""
    check_supported(config.numerics)
    if config.alternatives:
        raise ValueError(
            f"the model in C is of one format and one scale rule, not of {len(config.modes)} modes: emit each by itself"
        )


def sides(operation: Operation) -> tuple[list[Port], list[Port]]:
    """The inputs and the results."""
    leaving = [port for port in operation.ports if port.is_result]
    return [port for port in operation.ports if port not in leaving], leaving


def word_counts(operation: Operation) -> tuple[int, int]:
    """The number of words of all inputs and of all results."""
    entering, leaving = sides(operation)
    return sum(port.lanes for port in entering), sum(port.lanes for port in leaving)


def configured_header(config: HardwareConfig, name: str) -> str:
    """The text of ``<name>.h``."""
    operation = config.numerics
    check_config(config)
    upper = name.upper()
    inputs, results = word_counts(operation)
    lines = [
        f"/* {name}.h: {config.title}",
        "   SPDX-License-Identifier: Apache-2.0",
        "",
        f"   Made by mxcast {GENERATOR}, configuration {config.config_id}: {command_line(config)}. */",
        "",
        f"#ifndef {upper}_H",
        f"#define {upper}_H",
        "",
        '#include "mxcast.h"',
        "",
        f"#define {upper}_BLOCK_SIZE {operation.block_size}",
        f"static const {struct_name(operation)} {upper}_RULES = {initialiser(operation)};",
        *_layout(config, upper),
        "",
        _typed(operation, name),
        "",
        f"/* The same with words: inputs {_listed(sides(operation)[0])}; results {_listed(sides(operation)[1])}. */",
        f"#define {upper}_INPUTS {inputs}",
        f"#define {upper}_RESULTS {results}",
        _by_words(operation, name),
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _layout(config: HardwareConfig, upper: str) -> list[str]:
    """The layout of the bytes of blocks, if the configuration has one."""
    layout = config.layout
    if layout is None:
        return []
    place = f"{enumerator(layout.packing)}, {enumerator(layout.place)}, {layout.together}"
    members = f"{layout.width}, {place}, {enumerator(layout.scale_byte)}"
    return [f"/* The bytes of {layout.dialect}. */", f"static const mxcast_layout {upper}_LAYOUT = {{{members}}};"]


def _listed(ports: Sequence[Port]) -> str:
    return ", ".join(f"{port.lanes} of {port.name}" for port in ports)


def _type(port: Port) -> str:
    """The type of a lane as a pattern or code."""
    if port.role is Role.SCALE:
        return "uint8_t"
    return "uint64_t" if port.bits > 32 else "uint32_t" if port.bits > 16 else "uint16_t"


CONSTANTS = {Role.SCALE_CONSTANT: "MXCAST_ONE", Role.ELEMENT_CONSTANT: "MXCAST_ONE", Role.TENSOR_AMAX: "0"}
"""Members of ``mxcast_constants``, and their values in an operation without the port."""


def _parameter(port: Port) -> str:
    """A parameter of the function for users, with numbers as such."""
    kind = NUMBERS[port.bits] if port.role in (Role.NUMBERS, Role.TENSOR_SCALE) else _type(port)
    if port.direction == "output":
        return f"{kind} *{port.name}"
    return f"const {kind} *{port.name}" if port.role in ARRAYS else f"{kind} {port.name}"


ARRAYS = (Role.NUMBERS, Role.CODES, Role.RANDOM)
"""Ports with a lane for each element."""


def _typed(operation: Operation, name: str) -> str:
    """The functions for users."""
    if isinstance(operation, Cast):
        return _typed_cast(operation, name)
    entering, leaving = sides(operation)
    parameters = [_parameter(port) for port in entering if port.role not in CONSTANTS]
    about, before = [f"Convert a block of {operation.block_size}: x and y are numbers, p are codes."], ""
    if isinstance(operation, Nvfp4Encode):
        about.append(f"The tensor has the constants of {name}_tensor.")
        parameters.insert(0, "mxcast_constants tensor")
        before = _tensor(name) + "\n\n"
    if operation.random_bits:
        about.append(f"random holds {operation.random_bits} random bits for each element.")
    body = CALLS[type(operation)](operation, f"{name.upper()}_RULES", _given)
    signature = f"static inline void {name}_block({', '.join([*parameters, *map(_parameter, leaving)])})"
    return f"{before}/* {' '.join(about)} */\n{signature} {{\n    {body}\n}}"


def _tensor(name: str) -> str:
    return (
        "/* The constants of a tensor whose largest magnitude is amax, as FP32 patterns. */\n"
        f"static inline mxcast_constants {name}_tensor(float amax) {{\n"
        f"    return mxcast_nvfp4_constants(&{name.upper()}_RULES, mxcast_pattern_of(amax));\n}}"
    )


def _given(port: Port) -> str:
    """A port with one lane in the function for users."""
    return f"mxcast_pattern_of({port.name})" if port.role is Role.TENSOR_SCALE else port.name


def _typed_cast(operation: Cast, name: str) -> str:
    source, to = (NUMBERS.get(one.bits, "uint16_t") for one in (operation.source, operation.destination))
    random = ", uint32_t random" if operation.random_bits else ""
    rules, drawn = f"{name.upper()}_RULES", "random" if operation.random_bits else "0"
    loaded = "x" if operation.source.bits < 16 else f"mxcast_load(&x, 0, &{rules}.source)"
    cast = f"mxcast_cast_number(&{rules}, {loaded}, {drawn})"
    kept = f"    {to} y;\n    mxcast_store(&y, 0, &{rules}.destination, {cast});\n    return y;"
    body = f"    return ({to}){cast};" if operation.destination.bits < 16 else kept
    return f"/* Convert a number. */\nstatic inline {to} {name}_number({source} x{random}) {{\n{body}\n}}"


def _by_words(operation: Operation, name: str) -> str:
    """The function over words, for a program that does not know the operation."""
    before, after, place = [], [], {"input": 0, "output": 0}
    for port in operation.ports:
        start = place[port.direction]
        place[port.direction] += port.lanes
        before.append(f"    {_type(port)} {port.name}[{port.lanes}];")
        loop = f"    for (int i = 0; i < {port.lanes}; i++)"
        if port.direction == "input":
            before.append(f"{loop} {port.name}[i] = ({_type(port)})in[{start} + i];")
        else:
            after.append(f"{loop} out[{start} + i] = {port.name}[i];")
    if isinstance(operation, Nvfp4Encode):
        members = (_port(operation, role, _first, missing) for role, missing in CONSTANTS.items())
        before.append(f"    const mxcast_constants tensor = {{{', '.join(members)}}};")
    call = CALLS[type(operation)](operation, f"{name.upper()}_RULES", _first)
    signature = f"static inline void {name}_words(const uint64_t *in, uint64_t *out) {{"
    return "\n".join([signature, *before, f"    {call}", *after, "}"])


Named = Callable[[Port], str]


def _first(port: Port) -> str:
    """The only lane of a port in the function over words."""
    return f"{port.name}[0]"


def _port(operation: Operation, role: Role, named: Named, missing: str) -> str:
    """The port of a role in C, or what is in its place."""
    return next((named(port) for port in operation.ports if port.role is role), missing)


def _random(operation: Operation) -> str:
    return "random" if operation.random_bits else "NULL"


def _encode_call(operation: Encode, rules: str, named: Named) -> str:
    return f"mxcast_encode_block(&{rules}, x, {_random(operation)}, scale, p);"


def _decode_call(operation: Decode, rules: str, named: Named) -> str:
    scale = _port(operation, Role.SCALE, named, "")
    return f"mxcast_decode_block(&{rules}, {scale}, p, {_random(operation)}, y);"


def _cast_call(operation: Cast, rules: str, named: Named) -> str:
    (given, *drawn), (made,) = sides(operation)
    random = "random[i]" if drawn else "0"
    loop = f"for (int i = 0; i < {operation.lanes}; i++)"
    return f"{loop} {made.name}[i] = ({_type(made)})mxcast_cast_number(&{rules}, {given.name}[i], {random});"


def _nvfp4_encode_call(operation: Nvfp4Encode, rules: str, named: Named) -> str:
    return f"mxcast_nvfp4_encode_block(&{rules}, tensor, x, {_random(operation)}, scale, p);"


def _nvfp4_decode_call(operation: Nvfp4Decode, rules: str, named: Named) -> str:
    g, scale = _port(operation, Role.TENSOR_SCALE, named, "0"), _port(operation, Role.SCALE, named, "")
    return f"mxcast_nvfp4_decode_block(&{rules}, {g}, {scale}, p, y);"


CALLS: dict[type[Operation], Callable[[Any, str, Named], str]] = {
    Encode: _encode_call,
    Decode: _decode_call,
    Cast: _cast_call,
    Nvfp4Encode: _nvfp4_encode_call,
    Nvfp4Decode: _nvfp4_decode_call,
}
"""The call of ``mxcast.h`` that converts a block, from the names of its ports in C."""
