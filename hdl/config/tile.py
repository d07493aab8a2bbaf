"""The configurations of tile encoders."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, TypeAlias, TypeVar, Unpack

from ...spec import (
    BlockFormat,
    ColumnOrder,
    FourOverSix,
    NumberFormat,
    Nvfp4TileEncode,
    Nvfp4TileFields,
    Port,
    ScalePlace,
    Tiled,
    TileEncode,
    TileFields,
    nvfp4_tile_encoding,
    tile_encoding,
)
from ...spec.catalogue import constructed
from .architecture import (
    Amax,
    AmaxKey,
    BeatArchitecture,
    Interface,
    Microarchitecture,
    MicroarchitectureFields,
    Nvfp4Architecture,
    Nvfp4Form,
)
from .axis import words_around
from .beats import StreamConfig
from .encode import SCALE_STAGE, ConverterConfig
from .goals import Goal, fields_of, optimized
from .hardware import Fields, TargetFields
from .nvfp4_encode import Nvfp4ArchitectureFields, Nvfp4Config

TURNED_STAGE = "turned"
"""The stage boundary behind the second stores, which turn the codes of the columns."""

TileFormat: TypeAlias = "str | BlockFormat | NumberFormat | TileEncode | TileConfig"
"""The output format of a tile encoder, its operation, or its configuration."""

Nvfp4TileFormat: TypeAlias = "str | BlockFormat | NumberFormat | Nvfp4TileEncode | Nvfp4TileConfig"
"""The format, the operation or the configuration of an NVFP4 tile encoder."""

Tile = TypeVar("Tile", bound=Tiled)


class TileHardwareFields(TileFields, MicroarchitectureFields, TargetFields, total=False):
    """Fields of `spec.TileEncode` and of the hardware. Fields of the hardware change no bit.

    >>> from mxcast import TileRules
    >>> rules: TileRules = {"source": "bf16", "columns": "in_place"}      # checked by mypy and editors
    >>> tile_config("e4m3", **rules).numerics.columns.value
    'in_place'
    """


class Nvfp4TileHardwareFields(Nvfp4TileFields, Nvfp4ArchitectureFields, TargetFields, total=False):
    """Fields of `spec.Nvfp4TileEncode` and of the hardware, which change no bit."""


@dataclass(frozen=True, kw_only=True)
class TiledConfig(StreamConfig[Tile]):
    """A tile encoder. A row of the tile enters in each cycle; a row block and a column block leave in each cycle."""

    AROUND: ClassVar[tuple[Interface, ...]] = (Interface.SKID, Interface.AXIS)

    microarchitecture: BeatArchitecture = field(default_factory=BeatArchitecture)

    def _refused(self) -> dict[str, bool]:
        micro = self.microarchitecture
        return {
            "a row of the tile enters in a cycle: leave out lanes": micro.lanes > 0,
            "a tile has a stream for the scales of each direction: leave out scale_place": (
                micro.scale_place is not ScalePlace.APART
            ),
            "a layout is of the blocks of one direction, but a tile has two: leave out layout": bool(micro.layout),
        }

    @property
    def always_registered(self) -> frozenset[str]:
        """Stage boundaries that always have registers: those behind the stores, and the last one if results leave
        registers.
        """
        is_plain = self.microarchitecture.interface is Interface.STREAM
        return self.behind_stores if is_plain else self.behind_stores | {self.stages[-1]}

    @property
    @abstractmethod
    def is_turned(self) -> bool:
        """Are results turned in second stores?"""

    @property
    @abstractmethod
    def behind_stores(self) -> frozenset[str]:
        """Stage boundaries behind the stores."""

    @property
    def latency(self) -> int:
        return super().latency + (self.beats if self.is_turned else 0)

    @property
    @abstractmethod
    def line_stages(self) -> tuple[str, ...]:
        """The stage boundaries of the encoder of a row or of a column."""

    @property
    def stages(self) -> tuple[str, ...]:
        """The stage boundaries of an encoder, and ``turned`` behind the second stores."""
        return (*self.line_stages, *([TURNED_STAGE] if self.is_turned else []))

    @property
    def tree_stages(self) -> tuple[str, ...]:
        """Stage boundaries in front of the store, in the search for the largest key of a row."""
        return ()

    @property
    def beats(self) -> int:
        return self.numerics.block_size

    @property
    def gathered(self) -> int:
        return self.beats

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """The ports of the operation, with the part of a tile in a cycle."""
        return tuple(
            dataclasses.replace(port, lanes=port.lanes // self.beats) if port.lanes > 1 else port
            for port in self.numerics.ports
        )

    @property
    def title(self) -> str:
        side = self.beats
        return (
            f"{self.numerics.numbers.name} to {self.formats} encoder of the rows and columns of {side} x {side} tiles"
        )

    def port_words(self) -> dict[str, str]:
        words = self.words_of_ports()
        return words_around(self.operation_ports, words, "tile") if self.has_axis else words

    def words_of_ports(self) -> dict[str, str]:
        """A description of each port with valid and ready by its name."""
        rules, block, side = self.numerics, self.numerics.block, self.beats
        codes = f"{side} {block.element.name} codes of {block.element.bits} bits"
        of_columns = {
            ColumnOrder.TRANSPOSED: f"{codes} of column k, row 0 in the low bits",
            ColumnOrder.IN_PLACE: f"{codes} of row k, each under the scale of its column, column 0 in the low bits",
        }
        return {
            "i_valid": "x is a row of a tile",
            "i_ready": f"a row is taken at the edge that sees i_valid too; {self.ready_words}",
            "o_first": "the result is the first of its tile",
            "o_last": "the result is the last of its tile",
            "x": f"{side} {rules.numbers.name} numbers of a row, column 0 in the low bits; {side} rows are a tile",
            "scale": f"with the result k of a tile the shared scale of row k, {block.scale.name}",
            "p": f"{codes} of row k, column 0 in the low bits",
            "column_scale": f"the shared scale of column k, {block.scale.name}",
            "column_p": of_columns[rules.columns],
        }


@dataclass(frozen=True, kw_only=True)
class TileConfig(TiledConfig[TileEncode]):
    """A tile encoder to MX formats.

    >>> [f"{port.name}[{port.width}]" for port in tile_config("e2m1", source="bf16").ports if port.role.is_data]
    ['x[512]', 'scale[8]', 'p[128]', 'column_scale[8]', 'column_p[128]']
    """

    OPERATION: ClassVar[type[TileEncode]] = TileEncode
    ARCHITECTURE: ClassVar[type[Microarchitecture]] = Microarchitecture
    RESOLVED = staticmethod(tile_encoding)
    KIND: ClassVar[str] = "a tile encoder"

    microarchitecture: Microarchitecture = field(default_factory=Microarchitecture)

    def _refused(self) -> dict[str, bool]:
        return super()._refused() | {
            "a tile collects the reduced keys of its columns: leave amax_key as reduced": (
                self.microarchitecture.amax_key is AmaxKey.MAGNITUDE
            )
        }

    @classmethod
    def _architecture(cls, modes: tuple[TileEncode, ...], goal: Goal, target: str, chosen: Fields) -> Microarchitecture:
        rows = tuple(mode.rows for mode in modes)
        return constructed(optimized, {"goal": goal, "modes": rows, "target": target, **chosen})

    @property
    def is_turned(self) -> bool:
        """The codes of columns are turned to transpose them."""
        return self.numerics.columns is ColumnOrder.TRANSPOSED

    @property
    def behind_stores(self) -> frozenset[str]:
        return frozenset((SCALE_STAGE, TURNED_STAGE) if self.is_turned else (SCALE_STAGE,))

    def _inner(self, **choices: object) -> ConverterConfig:
        """An encoder with the rules and the registers of this one up to `TURNED_STAGE`."""
        micro = dataclasses.replace(self.microarchitecture.at_once, **choices)  # type: ignore[arg-type]
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
    def tree_stages(self) -> tuple[str, ...]:
        return self.of_row.tree_stages

    @property
    def line_stages(self) -> tuple[str, ...]:
        return ConverterConfig(numerics=self.numerics.rows, microarchitecture=self.microarchitecture.at_once).stages

    def words_of_ports(self) -> dict[str, str]:
        bias = f" (byte = exponent + {self.numerics.block.scale.bias})"
        words = super().words_of_ports()
        return words | {name: words[name] + bias for name in ("scale", "column_scale")}

    @property
    def uses_tables(self) -> bool:
        return self.of_row.uses_tables

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        micro = self.microarchitecture
        if {*micro.registered_after} == self.always_registered:
            micro = dataclasses.replace(micro, registered_after=())
        return fields_of(micro, tuple(mode.rows for mode in self.modes), targets)


@dataclass(frozen=True, kw_only=True)
class Nvfp4TileConfig(TiledConfig[Nvfp4TileEncode]):
    """A tile encoder to NVFP4. Two encoders take the rows and the columns.

    >>> [f"{port.name}[{port.width}]" for port in nvfp4_tile_config("nvfp4").ports if port.role.is_data]
    ['x[512]', 'k[32]', 'd[32]', 'scale[8]', 'p[64]', 'column_scale[8]', 'column_p[64]']
    """

    OPERATION: ClassVar[type[Nvfp4TileEncode]] = Nvfp4TileEncode
    ARCHITECTURE: ClassVar[type[Nvfp4Architecture]] = Nvfp4Architecture
    RESOLVED = staticmethod(nvfp4_tile_encoding)
    KIND: ClassVar[str] = "an NVFP4 tile encoder"

    microarchitecture: Nvfp4Architecture = field(default_factory=Nvfp4Architecture)

    def _refused(self) -> dict[str, bool]:
        return super()._refused() | {
            "four_over_six sums errors in the order of the numbers, which a tile changes: leave out four_over_six": (
                self.numerics.four_over_six is not FourOverSix.OFF
            ),
            "the form table has a handshake without registers only: leave out form": (
                self.microarchitecture.form is Nvfp4Form.TABLE
            ),
            "the form cache encodes blocks, not tiles: leave out form": self.microarchitecture.form is Nvfp4Form.CACHE,
        }

    @classmethod
    def _architecture(
        cls, modes: tuple[Nvfp4TileEncode, ...], goal: Goal, target: str, chosen: Fields
    ) -> Nvfp4Architecture:
        return Nvfp4Config._architecture(tuple(mode.rows for mode in modes), goal, target, chosen)

    @property
    def is_turned(self) -> bool:
        """The codes of columns leave their encoder transposed, and are turned to stay in place."""
        return self.numerics.columns is ColumnOrder.IN_PLACE

    @property
    def behind_stores(self) -> frozenset[str]:
        """The one with the fewest bits, and the one behind the second stores."""
        return frozenset(("output", TURNED_STAGE) if self.is_turned else ("output",))

    @cached_property
    def of_block(self) -> Nvfp4Config:
        """The encoder of a row or of a column, with the registers of this one."""
        registered = tuple(place for place in self.microarchitecture.registered_after if place != TURNED_STAGE)
        micro = dataclasses.replace(self.microarchitecture.at_once, registered_after=registered)
        return Nvfp4Config(numerics=self.numerics.rows, microarchitecture=micro)

    @property
    def line_stages(self) -> tuple[str, ...]:
        return Nvfp4Config(numerics=self.numerics.rows, microarchitecture=self.microarchitecture.at_once).stages

    def words_of_ports(self) -> dict[str, str]:
        words = Nvfp4Config.port_words(self.of_block)
        constants = {port.name: words[port.name] for port in self.numerics.constants}
        return super().words_of_ports() | {
            name: f"{text}; result k takes the one that enters with row k" for name, text in constants.items()
        }


def tile_config(block: TileFormat, profile: str | None = None, **fields: Unpack[TileHardwareFields]) -> TileConfig:
    """The configuration of a tile encoder, with the parameters and the errors of `converter_config`.

    ``block`` is a format, a `TileEncode` or a `TileConfig`. ``fields`` are fields of `TileEncode` and of
    `Microarchitecture`.

    >>> tile_config("e4m3", "nvidia", columns="in_place").latency
    33
    """
    return TileConfig.built(block, profile, fields)


def nvfp4_tile_config(
    block: Nvfp4TileFormat, profile: str | None = None, **fields: Unpack[Nvfp4TileHardwareFields]
) -> Nvfp4TileConfig:
    """The configuration of an NVFP4 tile encoder, with the parameters and the errors of `nvfp4_config`.

    ``block`` is ``nvfp4``, ``nvfp4_32``, an `Nvfp4TileEncode` or an `Nvfp4TileConfig`.

    >>> nvfp4_tile_config("nvfp4", source="bf16").latency
    17
    """
    return Nvfp4TileConfig.built(block, profile, fields)
