"""Questions about converters to NVFP4: lemmas about their modules and wires.

docs/verification.md explains how the lemmas prove the whole, and which laws of arithmetic they use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ....hdl import HardwareConfig, Nvfp4Config, Nvfp4Form
from ....sim.transactions import Transactions
from ....spec import FP32, FourOverSix, Nvfp4Encode, Order, Role
from ...netlist.design import Cut, Design, Part
from ...netlist.nvfp4_structure import CodesWiring, Nvfp4Wiring, nvfp4_wiring
from ...netlist.structure import StructureError
from ...specification.encode import bits
from ...specification.mutants.mutant import Mutant
from ...specification.mutants.nvfp4_encode import NVFP4_ENCODE_MUTANTS, OF_FACTOR
from ...specification.nvfp4 import Nvfp4Specification
from ...specification.nvfp4_divisor import CompressedTensorsSpecification, DivisorSpecification, ModeloptSpecification
from ...specification.nvfp4_quotient import QuotientSpecification
from ..provable import Provable
from ..question import Question, constant, lemma
from .arithmetic import laws, limits, random_rounding, two_roundings, underflow
from .candidate import CandidateWiring, FourOverSixWiring, choice, four_over_six_wiring, of_candidate
from .divisor import of_divisor, product_divisor, quotient_divisor
from .element import of_products, of_table, of_thresholds
from .factor import companion, quotient, reciprocal
from .lemma import PartWith
from .scale import product_scale, quotient_scale, special_numbers
from .threshold import same_thresholds, thresholds

ONE = FP32.bias << FP32.man_bits
"""The constant of a tensor that a design lacks."""


class ProvableNvfp4(Provable[Nvfp4Encode, Nvfp4Specification]):
    """The proof of a converter to NVFP4."""

    mutants = NVFP4_ENCODE_MUTANTS
    is_asked_whole = False

    def specification(self, rules: Nvfp4Encode) -> Nvfp4Specification:
        return ORDERS[rules.order].specification(rules)

    def composed(
        self, config: HardwareConfig[Nvfp4Encode], design: Design, specify: Callable[[Nvfp4Encode], Nvfp4Specification]
    ) -> Iterator[Question]:
        assert isinstance(config, Nvfp4Config)
        return ORDERS[config.numerics.order](config, design, specify(config.numerics)).every()

    def unchanged(self, config: HardwareConfig[Nvfp4Encode], right: Design, wrong: Design) -> Question | None:
        assert isinstance(config, Nvfp4Config)
        if not config.has_thresholds:
            return None
        order, s = ORDERS[config.numerics.order], self.specification(config.numerics)
        one, other = (order(config, design, s) for design in (right, wrong))
        if len(one.wires.codes) > 1 or len(other.wires.codes) > 1:  # each has lemmas of its own
            return None
        return same_thresholds(one.threshold_unit(), other.threshold_unit(), *order.companion)

    def mutants_of(self, config: HardwareConfig[Nvfp4Encode]) -> dict[str, Mutant[Nvfp4Encode, Nvfp4Specification]]:
        assert isinstance(config, Nvfp4Config)
        left_out = OF_FACTOR if config.microarchitecture.form is Nvfp4Form.TABLE else ()
        return {name: one for name, one in super().mutants_of(config).items() if name not in left_out}

    def monolithic(
        self, config: HardwareConfig[Nvfp4Encode], design: Design, nan_codes_free: bool = False
    ) -> list[Question]:
        raise StructureError(f"no solver answers in one question whether a design converts {config.formats}")

    def blocks(self, rules: Nvfp4Encode, values: dict[str, int]) -> Transactions:
        """A whole block, or a block with one largest magnitude."""
        size, source = rules.block_size, rules.source
        numbers = (
            [values.get(f"x{lane}", 0) for lane in range(size)] if "x0" in values else [values["b"], *[0] * (size - 1)]
        )
        arrays = {Role.NUMBERS: np.array([numbers], f"uint{source.bits}")}
        for port in rules.ports:
            if port.role is Role.RANDOM:
                arrays[port.role] = np.zeros((1, size), np.uint16)
            elif port.direction == "input" and port.role is not Role.NUMBERS:
                arrays[port.role] = np.array([[values.get(port.name, ONE)]], np.uint32)
        return Transactions(arrays)

    def domain(self, rules: Nvfp4Encode, words: Mapping[Role, str]) -> str:
        """The statement that the constants of a tensor meet the assumptions of the lemmas."""
        one = bits(ONE, FP32.bits)
        k, d = (words.get(role, one) for role in (Role.SCALE_CONSTANT, Role.ELEMENT_CONSTANT))
        return self.specification(rules).are_constants(k, d)


Stated = TypeVar("Stated", bound=Nvfp4Specification)
Dividing = TypeVar("Dividing", bound=DivisorSpecification)


class _Questions(ABC, Generic[Stated]):
    """The questions about one design."""

    specification: ClassVar[type[Nvfp4Specification]]
    companion: ClassVar[tuple[str, str]]
    """The wires of the companion of a factor, and of the error of their product."""

    def __init__(self, config: Nvfp4Config, design: Design, s: Stated) -> None:
        self.rules, self.design, self.s = config.numerics, design, s
        self.form = config.microarchitecture.form
        is_tried = self.rules.four_over_six is not FourOverSix.OFF
        checked = four_over_six_wiring if is_tried else nvfp4_wiring
        self.wires: Nvfp4Wiring = checked(design.modules, design.top, config)

    @abstractmethod
    def scale(self, unit: PartWith) -> Iterator[Question]:
        """Lemmas about the module that computes the scale."""

    @abstractmethod
    def factor(self, unit: PartWith) -> Iterator[Question]:
        """Lemmas about the module that computes the factor."""

    def companion_of(self, unit: PartWith) -> Iterator[Question]:
        """Lemmas about the companion of a factor, if the lemmas about the factor leave it out."""
        yield from ()

    def part(self, module: str, *wires: str, without: tuple[str, ...] = (), freed: tuple[str, ...] = ()) -> Part:
        (found,) = self.design.parts(Cut(module, without, wires, freed=freed))
        return found.named("part")

    def threshold_unit(self) -> PartWith:
        """The module that computes thresholds from a factor."""
        return partial(self.part, self.wires.codes[0].factor_unit, without=("factor",))

    def every(self) -> Iterator[Question]:
        yield self.maximum()
        yield from self.scale(partial(self.part, self.wires.scale_unit))
        asked = set()
        for number, wires in enumerate(self.wires.codes):  # a reader may copy the module of both candidates
            for one in self.codes(wires):
                if one.text not in asked:
                    yield replace(one, name=f"{one.name}-{number}") if number else one
                asked.add(one.text)
        if isinstance(self.wires, FourOverSixWiring):
            yield choice(self.design, self.wires, self.s)
        yield from self.roundings()
        yield from laws()

    def roundings(self) -> Iterator[Question]:
        """The laws of roundings to elements."""
        if self.rules.random_bits:
            yield random_rounding(self.rules.random_bits)
        else:
            yield from (two_roundings(self.s), limits(self.s))

    def codes(self, wires: CodesWiring) -> Iterator[Question]:
        """Lemmas about the codes of a block under a scale."""
        unit = partial(self.part, wires.factor_unit)
        lanes = self.lanes(wires)
        if self.form is not Nvfp4Form.TABLE:
            yield from self.factor(partial(self.part, wires.factor))
        if self.form is Nvfp4Form.THRESHOLDS:
            without = partial(unit, without=("factor",))
            yield from self.companion_of(without)
            yield from thresholds(without, *self.companion, self.s)
            yield from of_thresholds(unit, lanes, self.s, self.companion[0])
        if self.form is Nvfp4Form.PRODUCT:
            yield from of_products(lanes, self.s)
        if self.form is Nvfp4Form.TABLE:
            yield from of_table(unit(), lanes, self.s)
        if isinstance(wires, CandidateWiring):
            yield from of_candidate(self.design, wires, self.s)

    def lanes(self, wires: CodesWiring) -> list[Part]:
        """The module of the lanes, and others that copies of it have become."""
        return list(dict.fromkeys(part.named("lane") for part in self.design.parts(*map(Cut, wires.lanes))))

    def maximum(self) -> Question:
        return largest(self.part(self.wires.maximum), self.rules, self.s)


def largest(part: Part, rules: Nvfp4Encode, s: Nvfp4Specification) -> Question:
    """The lemma about the largest magnitude of a block."""
    width, texts = rules.source.bits, []
    lanes = [f"x{lane}" for lane in range(rules.block_size)]
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
        holds=s.is_largest(lanes, "b"),
        has_block=True,
    )


class _Products(_Questions[Nvfp4Specification]):
    """The questions of orders that multiply: the factor is the reciprocal of its companion."""

    specification = Nvfp4Specification
    companion = ("companion", "error")

    def scale(self, unit: PartWith) -> Iterator[Question]:
        return product_scale(unit, self.s)

    def factor(self, unit: PartWith) -> Iterator[Question]:
        return reciprocal(unit, self.s)


class _Quotients(_Questions[QuotientSpecification]):
    """The questions of orders that divide."""

    specification = QuotientSpecification
    companion = ("companion_quotient", "companion_error")

    def scale(self, unit: PartWith) -> Iterator[Question]:
        return quotient_scale(unit, self.s)

    def factor(self, unit: PartWith) -> Iterator[Question]:
        return quotient(unit, self.s)

    def companion_of(self, unit: PartWith) -> Iterator[Question]:
        return companion(unit)


class _Divisors(_Questions[Dividing]):
    """The questions of orders that divide numbers."""

    def codes(self, wires: CodesWiring) -> Iterator[Question]:
        yield from self.factor(partial(self.part, wires.factor))
        yield from of_divisor(partial(self.part, wires.factor_unit), self.lanes(wires), self.s)

    def roundings(self) -> Iterator[Question]:
        yield from (two_roundings(self.s), underflow())


class _Modelopt(_Divisors[ModeloptSpecification]):
    """The divisor is a product, and the scale a quotient."""

    specification = ModeloptSpecification

    def scale(self, unit: PartWith) -> Iterator[Question]:
        return quotient_scale(unit, self.s)

    def factor(self, unit: PartWith) -> Iterator[Question]:
        return product_divisor(unit, self.s)


class _CompressedTensors(_Divisors[CompressedTensorsSpecification]):
    """The divisor is a quotient, and the scale a product."""

    specification = CompressedTensorsSpecification

    def scale(self, unit: PartWith) -> Iterator[Question]:
        yield from product_scale(unit, self.s)
        yield special_numbers(self.s)

    def factor(self, unit: PartWith) -> Iterator[Question]:
        return quotient_divisor(unit, self.s)


ORDERS: dict[Order, type[_Questions[Any]]] = {
    Order.TE: _Products,
    Order.PAPER: _Products,
    Order.AO: _Quotients,
    Order.AO_SINGLE: _Quotients,
    Order.MODELOPT: _Modelopt,
    Order.COMPRESSED_TENSORS: _CompressedTensors,
}
