"""The questions whose answers make the proof of a decoder.

Elements do not depend on each other: where the netlist shows that (`lanes.check_lanes`), it is enough to ask about
blocks whose elements are all the same, for every code, byte and random bits. The solver then sees the same circuit in
every lane. Otherwise the whole block is asked about.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..hdl import DecoderConfig
from ..sim.transactions import Transactions, word
from ..spec import Decode, Role
from .decode_specification import DecodeSpecification
from .design import Cut, Design
from .lanes import check_lanes
from .question import Question, constant, text, vector

__all__ = ["blocks", "composed", "monolithic"]


def composed(config: DecoderConfig, design: Design, specify: Callable[[Decode], DecodeSpecification]) -> list[Question]:
    """One question about blocks of equal elements, of the specification that ``specify`` gives. Raises
    `StructureError` where lanes depend on each other.
    """
    check_lanes(design, config.numerics)
    return _questions(config, design, specify(config.numerics), equal=True)


def monolithic(config: DecoderConfig, design: Design, nan_codes_free: bool = False) -> list[Question]:
    """One question about the whole block."""
    return _questions(config, design, DecodeSpecification(config.numerics), equal=False)


def _questions(config: DecoderConfig, design: Design, s: DecodeSpecification, equal: bool) -> list[Question]:
    (whole,) = design.parts(Cut(design.top))
    rules = config.numerics
    ports, lanes = s.ports, range(rules.block_size)
    values, names = [], []

    def name(role: Role, lane: int) -> str:
        port, several = ports[role], ports[role].lanes > 1
        bits = vector(whole.wire(port.name, "s"), port.width)
        given = f"{port.name}{lane}" if several else port.name
        if given not in names:
            names.append(given)
            low = port.bits * lane if several else 0
            part = f"((_ extract {low + port.bits - 1} {low}) {bits})"
            values.append(constant(given, port.bits, part))
        return given

    goals, same = [], []
    for lane in lanes:
        random = name(Role.RANDOM, lane) if rules.random_bits else None
        code, byte, number = (name(role, lane) for role in (Role.CODES, Role.SCALE, Role.NUMBERS))
        goals.append(s.lane(code, byte, random, number))
        if equal and lane:
            same += [f"(= {name(role, lane)} {name(role, 0)})" for role in (Role.CODES, Role.RANDOM) if role in ports]
    about = "blocks of equal elements" if equal else f"every block of {rules.block_size} elements"
    description = f"{about} have their numbers" if equal else f"{about} has its numbers"
    return [
        *_sanity(s),
        Question(
            name="elements" if equal else "block",
            description=description,
            expected="unsat",
            has_block=True,
            names=tuple(names),
            text=text(
                description,
                s.definitions,
                whole.text,
                whole.state("s"),
                *values,
                *(f"(assert {one})\n" for one in same),
                f"(assert (not (and true {' '.join(goals)})))\n",
            ),
        ),
    ]


def _sanity(s: DecodeSpecification) -> list[Question]:
    """The specification itself: it allows one result, and one for every input."""
    sizes = {"p": Role.CODES, "b": Role.SCALE, "y": Role.NUMBERS, "y2": Role.NUMBERS}
    free = "".join(f"(declare-const {name} (_ BitVec {s.ports[role].bits}))\n" for name, role in sizes.items())
    random = None
    if Role.RANDOM in s.ports:
        free, random = free + f"(declare-const r (_ BitVec {s.ports[Role.RANDOM].bits}))\n", "r"
    one, other = s.lane("p", "b", random, "y"), s.lane("p", "b", random, "y2")
    description = "the specification allows one number only"
    return [
        Question(
            name="one-number",
            description=description,
            expected="unsat",
            names=("p", "b", "y", "y2"),
            text=text(description, s.definitions, free, f"(assert (and {one} {other} (distinct y y2)))\n"),
        )
    ]


def blocks(rules: Decode, values: dict[str, int]) -> Transactions:
    """The block that a solver found."""
    return Transactions(
        {
            port.role: np.array(
                [[values[f"{port.name}{lane}" if port.lanes > 1 else port.name] for lane in range(port.lanes)]],
                word(port),
            )
            for port in rules.ports
            if port.direction == "input"
        }
    )
