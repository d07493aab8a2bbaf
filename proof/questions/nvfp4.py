"""The questions whose answers make the proof of a converter to NVFP4: lemmas about its modules and their wires.

docs/verification.md says how they make the proof of the whole, and which laws of arithmetic are taken for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from ...hdl import Nvfp4Config, Nvfp4Form
from ...sim.transactions import Transactions
from ...spec import FP32, FourOverSix, Nvfp4Encode, Order, Role
from ..netlist.design import Cut, Design, Part
from ..netlist.nvfp4_structure import nvfp4_wiring
from ..specification.encode import bits
from ..specification.nvfp4 import Nvfp4Specification
from ..specification.nvfp4_quotient import QuotientSpecification
from .arithmetic import elements, laws, random_rounding
from .lemma import lemma
from .nvfp4_element import ELEMENT_QUESTIONS
from .nvfp4_factor import COMPANION_QUESTIONS, COMPANIONS, FACTOR_QUESTIONS
from .nvfp4_scale import SCALE_QUESTIONS
from .nvfp4_threshold import thresholds
from .question import Question, constant

SPECIFICATIONS: dict[Order, type[Nvfp4Specification]] = {
    Order.TE: Nvfp4Specification,
    Order.PAPER: Nvfp4Specification,
    Order.AO: QuotientSpecification,
    Order.AO_SINGLE: QuotientSpecification,
}
"""By order; those without an entry have no hardware."""


def specification_of(rules: Nvfp4Encode) -> Nvfp4Specification:
    """The statements for an operation."""
    return SPECIFICATIONS[rules.order](rules)


def check_proved(config: Nvfp4Config) -> None:
    """Raise ValueError for a converter that is not proved yet."""
    rules = config.numerics
    if rules.four_over_six is not FourOverSix.OFF:
        raise ValueError(
            f"converters to {rules.block.name} that try both 4 and 6 are not proved yet: verify compares them with the "
            "model"
        )


def composed(
    config: Nvfp4Config, design: Design, specify: Callable[[Nvfp4Encode], Nvfp4Specification]
) -> Iterator[Question]:
    """All of them. Raises `StructureError` where the converter is not wired so that they make a proof."""
    return _Questions(config, design, specify(config.numerics)).every()


class _Questions:
    """The questions about one design."""

    def __init__(self, config: Nvfp4Config, design: Design, s: Nvfp4Specification) -> None:
        self.rules, self.design, self.s = config.numerics, design, s
        self.form = config.microarchitecture.form
        self.wires = nvfp4_wiring(design.modules, design.top, config)

    def part(self, module: str, *wires: str, without: tuple[str, ...] = (), freed: tuple[str, ...] = ()) -> Part:
        (found,) = self.design.parts(Cut(module, without, wires, freed=freed))
        return found

    def every(self) -> Iterator[Question]:
        order, unit = self.rules.order, partial(self.part, self.wires.factor_unit)
        yield self.maximum()
        yield from SCALE_QUESTIONS[order](partial(self.part, self.wires.scale_unit), self.s)
        if self.form is not Nvfp4Form.TABLE:
            yield from FACTOR_QUESTIONS[order](partial(self.part, self.wires.factor), self.s)
        if self.form is Nvfp4Form.THRESHOLDS:
            yield from COMPANION_QUESTIONS[order](partial(unit, without=("factor",)))
            yield from thresholds(partial(unit, without=("factor",)), *COMPANIONS[order])
        yield from ELEMENT_QUESTIONS[self.form](unit, self.lanes(), self.s)
        yield from [random_rounding(self.rules.random_bits)] if self.rules.random_bits else elements()
        yield from laws()

    def maximum(self) -> Question:
        part, width, texts = self.part(self.wires.maximum), self.rules.source.bits, []
        lanes = [f"x{lane}" for lane in range(self.rules.block_size)]
        for lane, name in enumerate(lanes):
            magnitude = f"((_ extract {width * lane + width - 2} {width * lane}) {part.wire('x', 's')})"
            texts.append(constant(name, width - 1, magnitude))
        texts.append(constant("b", width - 1, part.wire("amax", "s")))
        return lemma(
            "maximum",
            f"every block of {len(lanes)} numbers has its largest magnitude",
            (*lanes, "b"),
            part.text,
            part.state("s"),
            *texts,
            holds=self.s.is_largest(lanes, "b"),
            has_block=True,
        )

    def lanes(self) -> list[Part]:
        """The lanes that differ in more than their names."""
        return list(dict.fromkeys(part.named("lane") for part in self.design.parts(*map(Cut, self.wires.lanes))))


def domain(rules: Nvfp4Encode, words: Mapping[Role, str]) -> str:
    """The statement that the constants of a tensor are some of which the lemmas are."""
    one = bits(FP32.bias << FP32.man_bits, FP32.bits)
    k, d = (words.get(role, one) for role in (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT))
    return specification_of(rules).are_constants(k, d)


def blocks(rules: Nvfp4Encode, values: dict[str, int]) -> Transactions:
    """Blocks that hold what a solver found: a whole block, or one of a largest magnitude."""
    size, source = rules.block_size, rules.source
    numbers = (
        [values.get(f"x{lane}", 0) for lane in range(size)] if "x0" in values else [values["b"], *[0] * (size - 1)]
    )
    one = FP32.bias << FP32.man_bits
    arrays = {Role.NUMBERS: np.array([numbers], f"uint{source.bits}")}
    for port in rules.ports:
        if port.role is Role.RANDOM:
            arrays[port.role] = np.zeros((1, size), np.uint16)
        elif port.direction == "input" and port.role is not Role.NUMBERS:
            arrays[port.role] = np.array([[values.get(port.name, one)]], np.uint32)
    return Transactions(arrays)
