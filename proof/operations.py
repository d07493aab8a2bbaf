"""What a proof asks about every operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..hdl import HardwareConfig, Nvfp4Config
from ..sim.transactions import Transactions
from ..spec import Role
from .netlist.design import Design
from .netlist.structure import StructureError
from .questions import elementwise
from .questions import encode as questions
from .questions import nvfp4 as nvfp4_questions
from .questions.question import Question
from .specification.cast import CastSpecification
from .specification.decode import DecodeSpecification
from .specification.encode import Specification


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The functions for one operation."""

    specification: Callable[[Any], Any]
    """The statements for an operation."""
    composed: Callable[[Any, Design, Callable[[Any], Any]], Iterable[Question]]
    """Questions about parts of a design, whose answers make the proof of the whole; the last argument gives the
    specification of an operation.
    """
    monolithic: Callable[[Any, Design, bool], list[Question]] | None
    """One question about the whole; with True codes under a scale of NaN may be anything. None where a solver would not
    answer it."""
    blocks: Callable[[Any, dict[str, int]], Transactions]
    """Blocks that hold what a solver found, of an operation."""
    domain: Callable[[Any, Mapping[Role, str]], str] = lambda rules, words: "true"
    """The statement that the specification says something about an input, given a term for each port by its role."""


OPERATIONS: dict[str, Asked] = {
    "encode": Asked(
        specification=Specification,
        composed=questions.composed,
        monolithic=questions.monolithic,
        blocks=questions.blocks,
    ),
    "decode": Asked(
        specification=DecodeSpecification,
        composed=elementwise.composed,
        monolithic=partial(elementwise.monolithic, DecodeSpecification),
        blocks=elementwise.blocks,
    ),
    "cast": Asked(
        specification=CastSpecification,
        composed=elementwise.composed,
        monolithic=partial(elementwise.monolithic, CastSpecification),
        blocks=elementwise.blocks,
    ),
    "two_level_encode": Asked(
        specification=nvfp4_questions.specification_of,
        composed=nvfp4_questions.composed,
        monolithic=None,
        blocks=nvfp4_questions.blocks,
        domain=nvfp4_questions.domain,
    ),
}
"""By the name of the operation."""


def asked_of(config: HardwareConfig) -> Asked:
    """The entry of the operation of a configuration. Raises ValueError for one that has none."""
    if config.numerics.name not in OPERATIONS:
        operation = config.numerics.name
        raise ValueError(
            f"{config.formats}, operation {operation}, is not proved yet: verify compares its Verilog with the model"
        )
    if isinstance(config, Nvfp4Config):
        nvfp4_questions.check_proved(config)
    return OPERATIONS[config.numerics.name]


def whole(config: HardwareConfig, design: Design, nan_codes_free: bool = False) -> list[Question]:
    """`Asked.monolithic` of a configuration. Raises `StructureError` where there is none."""
    if not is_asked_whole(config):
        raise StructureError(f"no solver answers in one question whether a design converts {config.formats}")
    ask = OPERATIONS[config.numerics.name].monolithic
    assert ask is not None
    return ask(config, design, nan_codes_free)


def is_asked_whole(config: HardwareConfig) -> bool:
    """Is there one question about a whole design of an operation?"""
    asked = OPERATIONS.get(config.numerics.name)
    return asked is not None and asked.monolithic is not None
