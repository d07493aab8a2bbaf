"""The questions whose answers make the proof of an operation that makes each result of its own element.

Elements do not depend on each other: where the netlist shows that (`lanes.check_lanes`), it is enough to ask about
blocks whose elements are all the same, for every input of one. The solver then sees the same circuit in every lane.
Otherwise the whole block is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from ...hdl import HardwareConfig
from ...sim.transactions import Transactions, word
from ...spec import Operation, Role
from ..netlist.design import Cut, Design
from ..netlist.lanes import check_lanes
from .question import Question, constant, text, vector


class ElementSpecification(Protocol):
    """What is right, as functions of SMT-LIB."""

    definitions: str

    def element(self, words: Mapping[Role, str]) -> str:
        """Is this the result of an element? Of a term for each port of the operation, by its role."""


Specify = Callable[[Any], ElementSpecification]
"""The specification of an operation."""


def composed(config: HardwareConfig, design: Design, specify: Specify) -> list[Question]:
    """One question about blocks of equal elements. Raises `StructureError` where lanes depend on each other."""
    check_lanes(design, config.numerics)
    return _questions(config, design, specify(config.numerics), equal=True)


def monolithic(
    specify: Specify, config: HardwareConfig, design: Design, nan_codes_free: bool = False
) -> list[Question]:
    """One question about the whole block."""
    return _questions(config, design, specify(config.numerics), equal=False)


def _questions(config: HardwareConfig, design: Design, s: ElementSpecification, equal: bool) -> list[Question]:
    (whole,) = design.parts(Cut(design.top))
    operation = config.numerics
    values: dict[str, str] = {}

    def named(lane: int) -> dict[Role, str]:
        """Constants for the words of a lane; what has one lane is there for all of them."""
        words = {}
        for port in operation.ports:
            at, name = (lane, f"{port.name}{lane}") if port.lanes > 1 else (0, port.name)
            wire = vector(whole.wire(port.name, "s"), port.width)
            part = f"((_ extract {port.bits * at + port.bits - 1} {port.bits * at}) {wire})"
            values[name] = constant(name, port.bits, part)
            words[port.role] = name
        return words

    lanes = [named(lane) for lane in range(operation.block_size)]
    entering = [port.role for port in operation.ports if port.direction == "input"]
    same = [f"(= {words[role]} {lanes[0][role]})" for words in lanes[1:] for role in entering] if equal else []
    size = operation.block_size
    about = (
        "blocks of equal elements" if equal and size > 1 else f"every block of {size}" if size > 1 else "every input"
    )
    description = f"{about} {'have their' if equal and size > 1 else 'has its'} results"
    goals = " ".join(s.element(words) for words in lanes)
    return [
        _sanity(operation, s),
        Question(
            name="elements" if equal else "block",
            description=description,
            expected="unsat",
            has_block=True,
            names=tuple(values),
            text=text(
                description,
                s.definitions,
                whole.text,
                whole.state("s"),
                *values.values(),
                *(f"(assert {one})\n" for one in same),
                f"(assert (not (and true {goals})))\n",
            ),
        ),
    ]


def _sanity(operation: Operation, s: ElementSpecification) -> Question:
    """The specification itself: it allows one result."""
    (result,) = (port for port in operation.ports if port.direction == "output")
    words, other = {port.role: port.name for port in operation.ports}, f"{result.name}2"
    free = "".join(f"(declare-const {port.name} (_ BitVec {port.bits}))\n" for port in operation.ports)
    free += f"(declare-const {other} (_ BitVec {result.bits}))\n"
    both = f"{s.element(words)} {s.element({**words, result.role: other})}"
    description = "the specification allows one result only"
    return Question(
        name="one-result",
        description=description,
        expected="unsat",
        names=(*words.values(), other),
        text=text(description, s.definitions, free, f"(assert (and {both} (distinct {result.name} {other})))\n"),
    )


def blocks(operation: Operation, values: dict[str, int]) -> Transactions:
    """The block that a solver found."""
    return Transactions(
        {
            port.role: np.array(
                [[values[f"{port.name}{lane}" if port.lanes > 1 else port.name] for lane in range(port.lanes)]],
                word(port),
            )
            for port in operation.ports
            if port.direction == "input"
        }
    )
