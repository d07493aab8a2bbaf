"""Interface of an operation that can be proved: its specification, and the questions whose answers make its proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from ...hdl import HardwareConfig
from ...sim.transactions import Transactions, word
from ...spec import Operation, Role
from ..netlist.design import Design
from ..netlist.handshake import PROVED
from ..netlist.structure import StructureError
from ..specification.mutants.mutant import Mutant
from .question import Question

Op = TypeVar("Op", bound=Operation)


Stated = TypeVar("Stated")
"""The specification of an operation, as statements of SMT-LIB."""


class Provable(ABC, Generic[Op, Stated]):
    """The proof of one operation."""

    mutants: ClassVar[Mapping[str, Mutant[Any, Any]]]
    """Mutants of the specification by name."""
    is_asked_whole: ClassVar[bool] = True
    """Whether a solver answers one question about a whole design."""
    handshake: ClassVar[str] = PROVED
    """The result of the checks of registers, in words."""

    @abstractmethod
    def specification(self, rules: Op) -> Stated:
        """The statements for an operation."""

    @abstractmethod
    def composed(
        self, config: HardwareConfig[Op], design: Design, specify: Callable[[Op], Stated]
    ) -> Iterable[Question]:
        """Questions about parts of a design, whose answers together prove the whole.

        ``specify`` returns the specification of a mode. Raises `StructureError` if the parts are not wired as the
        composition needs it.
        """

    def mutants_of(self, config: HardwareConfig[Op]) -> dict[str, Mutant[Op, Stated]]:
        """The mutants of the specification that are wrong for a configuration, in all of its modes."""
        return {name: one for name, one in self.mutants.items() if all(map(one.applies, config.modes))}

    def unchanged(self, config: HardwareConfig[Op], right: Design, wrong: Design) -> Question | None:
        """The question whether a part of a mutant is what it was, if there is one about less than a module. It replaces
        all lemmas whose names begin with its name. Raises `StructureError` as `composed` does.
        """
        return None

    def of_beats(self, config: HardwareConfig[Op], design: Design) -> Iterable[Question]:
        """The questions of `composed` about a design with lanes, which may lack a part of ours."""
        try:
            yield from self.composed(config, design, self.specification)
        except KeyError as missing:
            raise StructureError(f"{design.top} has no part with the name {missing}, which the proof needs") from None

    @abstractmethod
    def monolithic(self, config: HardwareConfig[Op], design: Design, nan_codes_free: bool = False) -> list[Question]:
        """One question for each mode about a whole design; with ``nan_codes_free`` codes under a scale of NaN may be
        anything.

        Raises `StructureError` unless `is_asked_whole`.
        """

    def blocks(self, rules: Op, values: dict[str, int]) -> Transactions:
        """Blocks that contain the values that a solver found: by default, the block with a value for each lane."""
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

    def knows_addresses(self, config: HardwareConfig[Op], written: list[str]) -> bool:
        """Does `composed` check that all addresses at which a text writes are known after a reset?"""
        return False

    def domain(self, rules: Op, words: Mapping[Role, str]) -> str:
        """The statement that an input is in the domain of the specification, from a term for each port by its role."""
        return "true"

    def joined(
        self, arrays: Mapping[Role, np.ndarray], rules: Op, count: int, rng: np.random.Generator
    ) -> dict[Role, np.ndarray]:
        """``count`` variants of each block in which one element changes the results of others; empty if elements are
        independent.
        """
        return {}


AnyProvable: TypeAlias = Provable[Any, Any]
"""The proof of any operation."""
