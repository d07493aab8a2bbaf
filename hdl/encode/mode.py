"""Run-time modes: what depends on the mode is chosen from constants or signals, and costs nothing where all modes
agree.
"""

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
    """The mode input of a component, or none where there is one mode only."""
    return {"mode": In(config.mode_bits)} if config.alternatives else {}


def by_mode(stage: Stage | wiring.Component, choices: Sequence[Value | int]) -> Value | int:
    """The choice, one of as many as there are modes, of the ``mode`` of a stage or a component; mode numbers without
    one of their own choose the last."""
    if (all(isinstance(choice, int) for choice in choices) and len(set(choices)) == 1) or len(choices) == 1:
        return choices[0]
    *others, chosen = choices
    for number, choice in reversed(list(enumerate(others))):
        is_mode = stage.mode == number if number else ~stage.mode.any()  # a comparison with 0 is printed as !
        chosen = Mux(is_mode, choice, chosen)
    return Value.cast(chosen)
