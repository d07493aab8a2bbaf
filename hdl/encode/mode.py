"""Run-time modes: constants or signals that the mode selects. A choice costs nothing if all modes agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amaranth.hdl import Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Member

from ..config.encode import ConverterConfig

if TYPE_CHECKING:
    from ..primitives.register import Stage


def mode_port(config: ConverterConfig) -> dict[str, Member]:
    """The mode input of a component, if there are several modes."""
    return {"mode": In(config.mode_bits)} if config.alternatives else {}


def by_mode(stage: Stage | wiring.Component, choices: Sequence[Value | int]) -> Value | int:
    """The choice for the ``mode`` of a stage or a component. There is one choice for each mode; larger mode numbers
    select the last one.
    """
    if (all(isinstance(choice, int) for choice in choices) and len(set(choices)) == 1) or len(choices) == 1:
        return choices[0]
    *others, chosen = choices
    for number, choice in reversed(list(enumerate(others))):
        is_mode = stage.mode == number if number else ~stage.mode.any()  # a comparison with 0 is printed as !
        chosen = Mux(is_mode, choice, chosen)
    return Value.cast(chosen)
