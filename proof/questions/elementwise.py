"""Questions about operations whose elements are independent: decoders and casts.

If the netlist shows that each result depends on its own element only (`lanes.check_lanes`), it is enough to ask about
blocks of equal elements, for every input of one element: the solver sees the same circuit in every lane. Otherwise the
whole block is asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ...hdl import HardwareConfig
from ...spec import Cast, Decode, Operation, Role
from ..netlist.design import Cut, Design
from ..netlist.lanes import check_lanes
from ..specification.cast import CastSpecification
from ..specification.decode import DecodeSpecification
from ..specification.mutants.cast import CAST_MUTANTS
from ..specification.mutants.decode import DECODE_MUTANTS
from .provable import Op, Provable
from .question import Question, constant, declared, question, vector


class ElementSpecification(Protocol):
    """Functions of SMT-LIB that define the result of one element."""

    definitions: str

    def element(self, words: Mapping[Role, str]) -> str:
        """The statement that an element has its result, from a term for each port of the operation by its role."""


class Elementwise(Provable[Op, ElementSpecification]):
    """The proof of an operation whose elements are independent."""

    def composed(
        self, config: HardwareConfig[Op], design: Design, specify: Callable[[Op], ElementSpecification]
    ) -> Iterable[Question]:
        """A question about blocks of equal elements."""
        check_lanes(design, config.numerics)
        return elements(config.numerics, design, specify(config.numerics), equal=True)

    def monolithic(self, config: HardwareConfig[Op], design: Design, nan_codes_free: bool = False) -> list[Question]:
        return elements(config.numerics, design, self.specification(config.numerics), equal=False)


class ProvableDecode(Elementwise[Decode]):
    """The proof of a decoder."""

    mutants = DECODE_MUTANTS

    def specification(self, rules: Decode) -> DecodeSpecification:
        return DecodeSpecification(rules)


class ProvableCast(Elementwise[Cast]):
    """The proof of a cast."""

    mutants = CAST_MUTANTS

    def specification(self, rules: Cast) -> CastSpecification:
        return CastSpecification(rules)


def elements(
    rules: Operation, design: Design, s: ElementSpecification, equal: bool, given: Mapping[str, str] | None = None
) -> list[Question]:
    """The question about blocks of ``equal`` elements, or about every block, and that its answer is one.

    The inner wires of ``given`` can be anything; the specification calls them by the names there.
    """
    freed = given or {}
    (whole,) = design.parts(Cut(design.top, freed=tuple(freed)))
    values: dict[str, str] = {}

    def named(lane: int) -> dict[Role, str]:
        """Constants for the words of a lane; ports of one lane belong to all of them."""
        words = {}
        for port in rules.ports:
            at, name = (lane, f"{port.name}{lane}") if port.lanes > 1 else (0, port.name)
            wire = vector(whole.wire(port.name, "s"), port.width)
            part = f"((_ extract {port.bits * at + port.bits - 1} {port.bits * at}) {wire})"
            values[name] = constant(name, port.bits, part)
            words[port.role] = name
        return words

    lanes = [named(lane) for lane in range(rules.block_size)]
    entering = [port.role for port in rules.ports if port.direction == "input"]
    same = [f"(= {words[role]} {lanes[0][role]})" for words in lanes[1:] for role in entering] if equal else []
    if rules.block_size == 1:
        description = "every input has its results"
    elif equal:
        description = "blocks of equal elements have their results"
    else:
        description = f"every block of {rules.block_size} has its results"
    return [
        _one_result(rules, s),
        question(
            "elements" if equal else "block",
            description,
            tuple(values),
            s.definitions,
            whole.text,
            whole.state("s"),
            *values.values(),
            *(f"(assert (= {name} {whole.wire(wire, 's')}))\n" for wire, name in freed.items()),
            *(f"(assert {one})\n" for one in same),
            f"(assert (not (and true {' '.join(s.element(words) for words in lanes)})))\n",
            has_block=True,
        ),
    ]


def _one_result(rules: Operation, s: ElementSpecification) -> Question:
    (result,) = (port for port in rules.ports if port.direction == "output")
    words, other = {port.role: port.name for port in rules.ports}, f"{result.name}2"
    both = f"{s.element(words)} {s.element({**words, result.role: other})}"
    return question(
        "one-result",
        "the specification allows one result only",
        (*words.values(), other),
        s.definitions,
        declared({port.name: port.bits for port in rules.ports} | {other: result.bits}),
        f"(assert (and {both} (distinct {result.name} {other})))\n",
    )
