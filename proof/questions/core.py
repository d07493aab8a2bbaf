"""The proof of a module that changes the handshake of a core: its own part for any core, and the core alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

import numpy as np

from ...hdl import HardwareConfig
from ...sim.transactions import Transactions
from ...spec import Operation, Role
from ..netlist.beats.core import AroundCore
from ..netlist.design import Design
from ..netlist.handshake import without_registers
from ..netlist.stored import with_ports
from ..specification.beats.around_core import around_questions
from ..specification.mutants.mutant import Mutant
from .lanes import InParts
from .provable import AnyProvable, Provable
from .question import Question


class ProvableAround(InParts, Provable[Operation, object]):
    """The proof of a module around a core that is proved by ``of_core``."""

    handshake: ClassVar[str] = "the core is any one with valid and ready, and it is proved alone"

    def __init__(self, of_core: AnyProvable) -> None:
        self.of_core = of_core

    def mutants_of(self, config: HardwareConfig[Operation]) -> dict[str, Mutant[Operation, object]]:
        assert config.core is not None
        return self.of_core.mutants_of(config.core)

    def specification(self, rules: Operation) -> object:
        return self.of_core.specification(rules)

    def composed(
        self, config: HardwareConfig[Operation], design: Design, specify: Callable[[Operation], object]
    ) -> Iterator[Question]:
        around = AroundCore(design, config)
        yield from around_questions(around)
        core, inner = around.core, around.inner
        if core.is_plain:
            inner = with_ports(without_registers(inner, core, core.latency), core)
        yield from self.of_core.composed(core, inner, specify)

    def blocks(self, rules: Operation, values: dict[str, int]) -> Transactions:
        return self.of_core.blocks(rules, values)

    def knows_addresses(self, config: HardwareConfig[Operation], written: list[str]) -> bool:
        return config.core is not None and self.of_core.knows_addresses(config.core, written)

    def domain(self, rules: Operation, words: Mapping[Role, str]) -> str:
        return self.of_core.domain(rules, words)

    def joined(
        self, arrays: Mapping[Role, np.ndarray], rules: Operation, count: int, rng: np.random.Generator
    ) -> dict[Role, np.ndarray]:
        return self.of_core.joined(arrays, rules, count, rng)
