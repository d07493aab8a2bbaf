"""Keys of the sweeps of each operation, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..hdl.config.architecture import CHOICES, DECODER_CHOICES, NVFP4_CHOICES, Interface
from ..spec import (
    CAST_RULES,
    DECODE_RULES,
    NVFP4_RULES,
    SCALARS,
    Cast,
    Decode,
    Encode,
    Nvfp4Encode,
    Rule,
    ScalePlace,
    block_format,
)
from ..spec.formats.names import scalar_format, source_format
from ..spec.operations.encode import RULES


def _blocks(names: str) -> None:
    for name in names.split(","):
        block_format(name.strip())


def _destination(name: str) -> None:
    source_format(name, "destination")


def _scalar(name: str) -> None:
    scalar_format(name, "format", SCALARS)


@dataclass(frozen=True, kw_only=True)
class Explorable:
    """Keys of a sweep that not every operation has, by the kind of their values."""

    sweep: str
    """The sweep by default."""
    objectives: tuple[str, ...]
    """Columns of the Pareto front by default."""
    rules: Mapping[str, type[Rule]]
    choices: Mapping[str, type[Rule]] = field(default_factory=dict)
    """Choices of the hardware."""
    numbers: tuple[str, ...]
    texts: Mapping[str, Callable[[str], object]]
    """Keys of other texts, and a function that raises ValueError for a wrong one."""
    usual: Mapping[str, str] = field(default_factory=dict)
    """Defaults of keys that every operation has, if they differ from MX formats."""

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.texts, *self.rules, *self.numbers, *self.choices)


OPERATIONS: dict[str, Explorable] = {
    Encode.name: Explorable(
        sweep="rounding",
        objectives=("luts", "levels", "sqnr_db"),
        rules=RULES,
        choices=CHOICES | {"interface": Interface, "scale_place": ScalePlace},
        numbers=("random_bits", "block_size", "lanes"),
        texts={"format": _blocks, "source": source_format},
    ),
    Decode.name: Explorable(
        sweep="decoders",
        objectives=("luts", "levels", "differing"),
        rules=DECODE_RULES,
        choices=DECODER_CHOICES | {"interface": Interface, "scale_place": ScalePlace},
        numbers=("random_bits", "block_size", "lanes"),
        texts={"format": block_format, "destination": _destination},
    ),
    Cast.name: Explorable(
        sweep="casts",
        objectives=("luts", "levels", "max_relative_error"),
        rules=CAST_RULES,
        choices={"interface": Interface},
        numbers=("random_bits", "lanes"),
        texts={"format": _scalar, "source": source_format, "destination": _destination},
    ),
    Nvfp4Encode.name: Explorable(
        sweep="nvfp4",
        objectives=("luts", "levels", "sqnr_db"),
        rules=NVFP4_RULES,
        choices=NVFP4_CHOICES | {"interface": Interface, "scale_place": ScalePlace},
        numbers=("random_bits", "block_size", "lanes"),
        texts={"format": block_format, "source": source_format},
        usual={"format": "nvfp4", "profile": "nvfp4_te"},
    ),
}
"""By the name of the operation."""
