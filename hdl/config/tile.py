"""The configuration of a tile encoder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias, Unpack

from ...spec import BlockFormat, ColumnOrder, NumberFormat, Port, TileEncode, TileFields, tile_encoding
from ...spec.catalogue import constructed
from .architecture import Amax, AmaxKey, Interface, Microarchitecture, MicroarchitectureFields
from .encode import SCALE_STAGE, ConverterConfig
from .goals import Goal, fields_of, optimized
from .hardware import Fields, HardwareConfig, TargetFields

TURNED_STAGE = "turned"
"""The stage boundary behind the store that transposes the codes of the columns."""

TileFormat: TypeAlias = "str | BlockFormat | NumberFormat | TileEncode | TileConfig"
"""The output format of a tile encoder, its operation, or its configuration."""


class TileHardwareFields(TileFields, MicroarchitectureFields, TargetFields, total=False):
    """Fields of `spec.TileEncode` and of the hardware. Fields of the hardware change no bit.

    >>> from mxcast import TileRules
    >>> rules: TileRules = {"source": "bf16", "columns": "in_place"}      # checked by mypy and editors
    >>> tile_config("e4m3", **rules).numerics.columns.value
    'in_place'
    """


@dataclass(frozen=True, kw_only=True)
class TileConfig(HardwareConfig[TileEncode]):
    """A tile encoder. A row of the tile enters in each cycle; a row block and a column block leave in each cycle.

    >>> [f"{port.name}[{port.width}]" for port in tile_config("e2m1", source="bf16").ports if port.role.is_data]
    ['x[512]', 'scale[8]', 'p[128]', 'column_scale[8]', 'column_p[128]']
    """

    OPERATION: ClassVar[type[TileEncode]] = TileEncode
    ARCHITECTURE: ClassVar[type[Microarchitecture]] = Microarchitecture
    RESOLVED = staticmethod(tile_encoding)
    KIND: ClassVar[str] = "a tile encoder"

    microarchitecture: Microarchitecture = field(default_factory=Microarchitecture)

    def _check(self) -> None:
        super()._check()
        micro = self.microarchitecture
        missing = tuple(place for place in self.always_registered if place not in micro.registered_after)
        if missing:
            every = (*micro.registered_after, *missing)
            object.__setattr__(self, "microarchitecture", dataclasses.replace(micro, registered_after=every))
        self.of_row._check()

    def _refused(self) -> dict[str, bool]:
        micro = self.microarchitecture
        return {
            "a row of the tile enters in a cycle: leave out lanes": micro.lanes > 0,
            "a tile has valid and ready: leave out interface": micro.interface is not Interface.STREAM,
            "a tile collects the reduced keys of its columns: leave amax_key as reduced": (
                micro.amax_key is AmaxKey.MAGNITUDE
            ),
            "a layout is of the blocks of one direction, but a tile has two: leave out layout": bool(micro.layout),
        }

    @classmethod
    def _architecture(cls, modes: tuple[TileEncode, ...], goal: Goal, target: str, chosen: Fields) -> Microarchitecture:
        rows = tuple(mode.rows for mode in modes)
        return constructed(optimized, {"goal": goal, "modes": rows, "target": target, **chosen})

    @property
    def is_turned(self) -> bool:
        """Are the codes of the columns transposed?"""
        return self.numerics.columns is ColumnOrder.TRANSPOSED

    @property
    def always_registered(self) -> tuple[str, ...]:
        """Stage boundaries that always have registers: those behind the two stores."""
        return (SCALE_STAGE, TURNED_STAGE) if self.is_turned else (SCALE_STAGE,)

    def _inner(self, **choices: object) -> ConverterConfig:
        """An encoder with the rules and the registers of this one up to `TURNED_STAGE`."""
        micro = dataclasses.replace(self.microarchitecture, registered_after=(), **choices)  # type: ignore[arg-type]
        plain = ConverterConfig(numerics=self.numerics.rows, microarchitecture=micro)
        registered = tuple(place for place in self.microarchitecture.registered_after if place in plain.stages)
        return dataclasses.replace(plain, microarchitecture=dataclasses.replace(micro, registered_after=registered))

    @cached_property
    def of_row(self) -> ConverterConfig:
        """The encoder of one row."""
        return self._inner()

    @cached_property
    def of_column(self) -> ConverterConfig:
        """The encoder of one column, a number of which enters in each cycle."""
        return self._inner(lanes=1, amax=Amax.COMPARE)

    @property
    def beats(self) -> int:
        return self.numerics.block_size

    @property
    def gathered(self) -> int:
        return self.beats

    @property
    def latency(self) -> int:
        return super().latency + (self.beats if self.is_turned else 0)

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """The ports of the operation, with the part of a tile in a cycle."""
        return tuple(dataclasses.replace(port, lanes=port.lanes // self.beats) for port in self.numerics.ports)

    @property
    def tree_stages(self) -> tuple[str, ...]:
        """Stage boundaries in front of the store, in the search for the largest key of a row."""
        return self.of_row.tree_stages

    @property
    def stages(self) -> tuple[str, ...]:
        """The stage boundaries of an encoder, and ``turned`` behind the store that transposes."""
        rows = ConverterConfig(
            numerics=self.numerics.rows,
            microarchitecture=dataclasses.replace(self.microarchitecture, registered_after=()),
        )
        return (*rows.stages, *([TURNED_STAGE] if self.is_turned else []))

    @property
    def title(self) -> str:
        side = self.beats
        return f"{self.numerics.source.name} to {self.formats} encoder of the rows and columns of {side} x {side} tiles"

    def port_words(self) -> dict[str, str]:
        rules, block, side = self.numerics, self.numerics.block, self.beats
        codes = f"{side} {block.element.name} codes of {block.element.bits} bits"
        scale = f"{block.scale.name} (byte = exponent + {block.scale.bias})"
        of_columns = {
            ColumnOrder.TRANSPOSED: f"{codes} of column k, row 0 in the low bits",
            ColumnOrder.IN_PLACE: f"{codes} of row k, each under the scale of its column, column 0 in the low bits",
        }
        return {
            "i_valid": "x is a row of a tile",
            "i_ready": "a row is taken at the edge that sees i_valid too; follows o_ready in the same cycle",
            "o_first": "the result is the first of its tile",
            "o_last": "the result is the last of its tile",
            "x": f"{side} {rules.source.name} numbers of a row, column 0 in the low bits; {side} rows are a tile",
            "scale": f"with the result k of a tile the shared scale of row k, {scale}",
            "p": f"{codes} of row k, column 0 in the low bits",
            "column_scale": f"the shared scale of column k, {scale}",
            "column_p": of_columns[rules.columns],
        }

    @property
    def uses_tables(self) -> bool:
        return self.of_row.uses_tables

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        micro = self.microarchitecture
        if micro.registered_after == self.always_registered:
            micro = dataclasses.replace(micro, registered_after=())
        return fields_of(micro, tuple(mode.rows for mode in self.modes), targets)


def tile_config(block: TileFormat, profile: str | None = None, **fields: Unpack[TileHardwareFields]) -> TileConfig:
    """The configuration of a tile encoder, with the parameters and the errors of `converter_config`.

    ``block`` is a format, a `TileEncode` or a `TileConfig`. ``fields`` are fields of `TileEncode` and of
    `Microarchitecture`.

    >>> tile_config("e4m3", "nvidia", columns="in_place").latency
    33
    """
    return TileConfig.built(block, profile, fields)
