"""Adds decoded values to a waveform: numbers, scales, elements, and the number of their block.

The dump of a simulator stays as it is, and gets one more scope, ``decoded``. It has a real for each number, each
element and each element times its scale, and texts for a scale as a power of two. `JOURNAL` says which block is at
the inputs and outputs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import IO

from vcd.reader import TokenKind, tokenize

from ...hdl import HardwareConfig
from ...spec import Number, Port, Role
from ..transactions import fields

JOURNAL = "blocks.jsonl"
"""The file of the bench: for each change, side, block, mode, test and time."""
SIDES = {"in": "input", "out": "output"}
SIZES = {"real": 64, "integer": 32, "string": 1}
UNKNOWN = "nan"


@dataclass
class Variable:
    """A variable of the scope ``decoded``, with the text of its value."""

    kind: str
    name: str
    identifier: str
    text: str = ""


@dataclass
class Decoder:
    """Decodes the pins of a design as their bits change."""

    config: HardwareConfig
    free: Iterator[str]
    """Identifiers that the dump does not use."""
    bits: dict[str, str] = field(default_factory=dict)
    """The digits of each data pin."""
    mode: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    variables: dict[str, Variable] = field(default_factory=dict)
    numbers: dict[str, list[Number | None]] = field(default_factory=dict)
    """The numbers of each port, as of the last change."""
    seen: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Digits and mode of each port that they belong to."""
    known: dict[tuple[str, int], dict[int, Number]] = field(default_factory=dict)
    """The number of each code that was met, by port and mode."""

    def __post_init__(self) -> None:
        self.ports = [port for port in self.config.ports if port.role.is_data and port.format is not None]
        self.formats = [
            {(port.role, port.direction): port.format for port in rules.ports} for rules in self.config.modes
        ]
        for side in SIDES:
            self._add("integer", f"block_{side}")
        self._add("string", "test")
        for port in self.ports:
            for name in names(port, self.config):
                self._add("string" if name.endswith("_power") else "real", name)

    def _add(self, kind: str, name: str) -> None:
        self.variables[name] = Variable(kind, name, next(self.free))

    def numbers_of(self, port: Port) -> list[Number | None]:
        """The number of each lane of a port; None where bits are unknown."""
        mode = self.mode[port.direction.removesuffix("put")]
        known = self.known.setdefault((port.name, mode), {})
        form = self.formats[mode].get((port.role, port.direction)) or port.format
        digits = self.bits.get(port.name, "x")
        if form is None or digits.strip("01"):
            return [None] * port.lanes
        found: list[Number | None] = []
        for code in fields(int(digits, 2), port):
            if code not in known:
                known[code] = form.decode(code & ((1 << form.bits) - 1))
            found.append(known[code])
        return found

    def changed(self, block: dict[str, str]) -> Iterator[str]:
        """The lines of all variables that change; ``block`` has the texts of what the journal says."""
        found = dict(block)
        moved = {}
        for port in self.ports:
            state = self.bits.get(port.name, "x"), self.mode[port.direction.removesuffix("put")]
            if self.seen.get(port.name) != state:
                self.seen[port.name] = state
                moved[port.name] = self.numbers[port.name] = self.numbers_of(port)
        for port in self.ports:
            numbers = self.numbers[port.name]
            if port.name in moved:
                found |= {name: real(number) for name, number in zip(_lanes(port), numbers)}
                if port.role is Role.SCALE:
                    found[f"{port.name}_power"] = power(numbers[0])
            scale = scale_of(port, self.config) if port.role is Role.CODES else None
            if scale is not None and (port.name in moved or scale.name in moved):
                factor = self.numbers[scale.name][0]
                found |= {f"value_{lane}": real(product(number, factor)) for lane, number in enumerate(numbers)}
        for name, text in found.items():
            variable = self.variables[name]
            if variable.text != text:
                variable.text = text
                yield f"{text} {variable.identifier}\n"


def scale_of(port: Port, config: HardwareConfig) -> Port | None:
    """The port with the scale of a port with codes, or None."""
    return next((one for one in config.ports if (one.role, one.direction) == (Role.SCALE, port.direction)), None)


def names(port: Port, config: HardwareConfig) -> list[str]:
    """The decoded variables of a data port: values of its lanes, then a power of two, or elements times the scale."""
    if port.format is None:
        return []
    power_of = [f"{port.name}_power"] if port.role is Role.SCALE else []
    scaled = port.role is Role.CODES and scale_of(port, config) is not None
    return [*_lanes(port), *power_of, *(f"value_{lane}" for lane in range(port.lanes if scaled else 0))]


def _lanes(port: Port) -> list[str]:
    return [f"{port.name}_{lane}" for lane in range(port.lanes)] if port.lanes > 1 else [f"{port.name}_value"]


def product(number: Number | None, factor: Number | None) -> Number | None:
    """A number times a positive scale; None if either is unknown or NaN."""
    if number is None or factor is None or "nan" in (number.kind, factor.kind):
        return None
    kind = "inf" if "inf" in (number.kind, factor.kind) else "finite"
    return Number(number.negative != factor.negative, number.magnitude * factor.magnitude, kind)


def real(number: Number | None) -> str:
    """The value of a real variable: the shortest decimal number that is read as the same double."""
    if number is None or number.kind == "nan":
        return f"r{UNKNOWN}"
    magnitude = float("inf") if number.kind == "inf" else float(number.magnitude)
    return f"r{-magnitude if number.negative else magnitude!r}"


def power(scale: Number | None) -> str:
    """A scale as text: a power of two, or a fraction times one.

    >>> power(Number(False, Fraction(1, 128))), power(Number(False, Fraction(3, 2)))
    ('s2^-7', 's1.5*2^0')
    """
    if scale is None:
        return "sx"
    if scale.kind != "finite":
        return f"s{scale.kind}"
    if not scale.magnitude:
        return "s0"
    exponent = scale.magnitude.numerator.bit_length() - scale.magnitude.denominator.bit_length()
    exponent -= scale.magnitude < Fraction(2) ** exponent
    rest = scale.magnitude / Fraction(2) ** exponent
    sign = "-" if scale.negative else ""
    return f"s{sign}{'' if rest == 1 else f'{float(rest):g}*'}2^{exponent}"


@dataclass(frozen=True)
class Header:
    """The pins and scopes that a dump declares."""

    pins: dict[str, str]
    """The data pins by the identifier in the dump."""
    scope: str
    """The path of the top module, with points."""
    identifiers: set[str]


def declarations(source: IO[str]) -> list[str]:
    """The lines of a dump up to the end of its declarations. Verilator's scope ``$rootio`` is no legal name."""
    lines = []
    for line in source:
        lines.append(line.replace("$rootio", "rootio"))
        if line.lstrip().startswith("$enddefinitions"):
            break
    return lines


def header(lines: list[str], config: HardwareConfig, top: str) -> Header:
    """The header of these declarations. Raises ValueError if the pins of the module ``top`` are missing."""
    wanted = {port.name for port in config.ports if port.role.is_data}
    path: list[str] = []
    found: dict[tuple[str, ...], dict[str, str]] = {}
    identifiers: set[str] = set()
    for token in tokenize(BytesIO("".join(lines).encode("ascii"))):
        if token.kind is TokenKind.SCOPE:
            path.append(token.scope.ident)
        elif token.kind is TokenKind.UPSCOPE:
            path.pop()
        elif token.kind is TokenKind.VAR:
            identifiers.add(token.var.id_code)
            found.setdefault(tuple(path), {})[token.var.reference] = token.var.id_code
    for scope, variables in sorted(found.items(), key=lambda item: len(item[0])):
        if scope and scope[-1] == top and wanted <= variables.keys():
            pins = {variables[name]: name for name in wanted}
            return Header(pins, ".".join(scope), identifiers)
    raise ValueError(f"the dump has no module {top} with the ports {', '.join(sorted(wanted))}")


def journal(path: Path) -> list[dict]:
    """The rows of a journal in the order of their times."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(rows, key=lambda row: row["time"])


def add_decoded(dump: Path, rows: list[dict], config: HardwareConfig, top: str, to: Path) -> Header:
    """Write the dump of the module ``top`` with decoded values to another file. Returns its declarations.

    The ``rows`` come from `journal`. A dump has a change in each line, as Verilator and Icarus write it.
    """
    with open(dump, encoding="ascii") as source, open(to, "w", encoding="ascii") as file:
        lines = declarations(source)
        known = header(lines, config, top)
        decoder = Decoder(config, (name for n in count() if (name := f"mx{n}") not in known.identifiers))
        file.writelines([*lines[:-1], *_scope(decoder), lines[-1]])
        _changes(source, file, decoder, known, rows)
    return known


def _scope(decoder: Decoder) -> Iterator[str]:
    """The declarations of the scope ``decoded``."""
    yield "$scope module decoded $end\n"
    for one in decoder.variables.values():
        yield f"$var {one.kind} {SIZES[one.kind]} {one.identifier} {one.name} $end\n"
    yield "$upscope $end\n"


def _changes(source: IO[str], file: IO[str], decoder: Decoder, known: Header, rows: list[dict]) -> None:
    """Copy the changes, and add the decoded values at the end of each time."""
    said = {"block_in": "bx", "block_out": "bx", "test": "s-"}
    rest = iter([*rows, None])
    row, time = next(rest), 0

    def settle(until: int | None) -> Iterator[str]:
        """The lines at the current time, and at rows before ``until``."""
        nonlocal row
        at = time
        while True:
            while row is not None and row["time"] <= at:
                side, block = row["side"], row["block"]
                said[f"block_{side}"] = "bx" if block is None else f"b{block:b}"
                said["test"] = f"s{row['test'].replace(' ', '_')}"
                decoder.mode[side] = row["mode"]
                row = next(rest)
            yield from decoder.changed(said)
            if row is None or (until is not None and row["time"] >= until):
                return
            at = row["time"]
            yield f"#{at}\n"

    for line in source:
        if line[0] == "#":
            following = int(line[1:])
            if following > time:
                file.writelines(settle(following))
                time = following
        elif line[0] in "bB":
            digits, identifier = line[1:].split()
            if (pin := known.pins.get(identifier)) is not None:
                decoder.bits[pin] = digits
        elif line[0] in "01xXzZ" and (pin := known.pins.get(line[1:].strip())) is not None:
            decoder.bits[pin] = line[0]
        file.write(line)
    file.writelines(settle(None))
