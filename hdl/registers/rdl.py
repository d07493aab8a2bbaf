"""The registers of an encoder in SystemRDL 2.0 (Accellera), from which other tools make headers and documents."""

from __future__ import annotations

from ..lanes.keys import EncoderConfig
from .table import WIDTH, Field, Register, registers_of


def rdl(config: EncoderConfig, name: str, origin: str) -> str:
    """The text of ``<name>.rdl``, one address map ``<name>``. ``origin`` says what made it."""
    registers = registers_of(config)
    lines = [
        f"// {name}: registers behind AXI4-Lite, configuration {config.config_id}",
        "// SPDX-License-Identifier: Apache-2.0",
        "//",
        f"// {origin}",
        "",
        f"addrmap {name} {{",
        f'    name = "{name}";',
        f'    desc = "Registers of a {config.title}, configuration {config.config_id}";',
        f"    default regwidth = {WIDTH};",
        f"    default accesswidth = {WIDTH};",
        *(line for register in registers for line in _register(register)),
        "};",
    ]
    return "\n".join(lines) + "\n"


def _register(register: Register) -> list[str]:
    enumerations = [
        line
        for field in register.fields
        if field.choices
        for line in (
            f"    enum {register.name}_e {{",
            *(f"        {choice} = {number};" for number, choice in enumerate(field.choices)),
            "    };",
        )
    ]
    fields = [line for field in register.fields for line in _field(register, field)]
    return ["", *enumerations, "    reg {", *fields, f"    }} {register.name} @ 0x{register.address:02X};"]


def _field(register: Register, field: Field) -> list[str]:
    encode = f" encode = {register.name}_e;" if field.choices else ""
    return [
        "        field {",
        f'            desc = "{field.words}";',
        f"            {field.access.value};{encode}",
        f"        }} {field.name}[{field.low + field.width - 1}:{field.low}] = {field.width}'h{field.value:x};",
    ]
