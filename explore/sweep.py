"""Sweeps of points. Each grid is the product of its lists."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from itertools import product
from numbers import Integral
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

from ..hdl import ConverterConfig, Goal, HardwareConfig, configuration
from ..hdl.config.architecture import CHOICES
from ..host.files import read_toml
from ..spec import (
    BLOCKS,
    DECODERS,
    PROFILES,
    SCALARS,
    Cast,
    Decode,
    Encode,
    Nvfp4Encode,
    ScaleRule,
    numerics,
    profile_named,
    profile_of,
)
from ..spec.catalogue import known_name, unknown_name
from ..synth import DELAYS, TARGETS
from ..synth.devices import DEVICES
from .operations import OPERATIONS
from .points import Point, checked_column

USUAL: dict[str, str | int] = {"target": "xcu", "format": "e4m3", "profile": "ocp", "seeds": 0}
"""Keys that every operation has, and their defaults."""
CONSTRAINTS = ("latency", "frequency_mhz")
"""Wanted latency or clock. The delays of the target choose the registers, or of ECP5 if they are unknown."""
OWN_KEYS = ("name", "operation", "objectives", "grid")
"""Keys of the file of a sweep that are not lists of values."""
NAME = re.compile(r"\w[\w. -]*")
Texts: TypeAlias = str | Iterable[str]
Numbers: TypeAlias = int | Iterable[int]


class Lists(TypedDict, total=False):
    """The keys of a grid, with one value or several: fields of a point, of an operation and of its hardware, and
    constraints. An operation takes some of them (`keys_of`).
    """

    target: Texts
    format: Texts
    profile: Texts
    seeds: Numbers
    source: Texts
    destination: Texts
    scale_rule: Texts
    scale_reading: Texts
    rounding: Texts
    specials: Texts
    input_subnormals: Texts
    element_subnormals: Texts
    subnormals: Texts
    overflow: Texts
    nan: Texts
    nan_substitute: Texts
    zero: Texts
    negative: Texts
    underflow: Texts
    random_bits: Numbers
    block_size: Numbers
    lanes: Numbers
    amax_key: Texts
    amax: Texts
    quantizer: Texts
    lane: Texts
    structure: Texts
    interface: Texts
    scale_place: Texts
    order: Texts
    four_over_six: Texts
    form: Texts
    registered_after: Texts
    optimize: Texts
    latency: Numbers
    frequency_mhz: Numbers


BUILT = ("registered_after", "optimize", *CONSTRAINTS)
"""Keys of the hardware of every operation."""


def keys_of(operation: str) -> tuple[str, ...]:
    """The keys of the sweeps of an operation."""
    return tuple(dict.fromkeys((*USUAL, *OPERATIONS[operation].keys, *BUILT)))


Grid = Mapping[str, tuple]
"""Values by key of `keys_of`."""


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A combination that cannot be built, and why."""

    fields: dict[str, object]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Grids of points, in order. Equal points are one point."""

    name: str
    grids: tuple[Grid, ...]
    operation: str = Encode.name
    objectives: tuple[str, ...] = ()
    """Columns of the Pareto front; the operation has defaults."""
    description: str = ""
    usual: Grid = field(default_factory=dict)
    """Values of keys that a grid leaves out."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(
                "the name of a sweep is letters, digits, '-', '_', '.' and spaces, as files are named after it, "
                f"not {self.name!r}"
            )
        object.__setattr__(self, "operation", known_name("operation", self.operation, OPERATIONS))
        object.__setattr__(self, "usual", _lists(self.usual))
        object.__setattr__(self, "grids", tuple(map(_lists, self.grids)))
        for grid in (*self.grids, self.usual):
            for key, values in grid.items():
                _check(self.operation, key, values)
        objectives = self.objectives or OPERATIONS[self.operation].objectives
        object.__setattr__(self, "objectives", tuple(dict.fromkeys(map(checked_column, objectives))))

    def replace(self, **changed: Unpack[Lists]) -> Sweep:
        """The sweep with these lists in every grid, in place of its own."""
        lists = _lists(changed)
        return dataclasses.replace(self, grids=tuple({**grid, **lists} for grid in self.grids))

    def with_objectives(self, objectives: Iterable[str]) -> Sweep:
        return dataclasses.replace(self, objectives=tuple(objectives))

    @property
    def combinations(self) -> int:
        """The number of combinations of the lists. Some may be equal points, or impossible to build."""
        return sum(math.prod(map(len, {**self.usual, **grid}.values())) for grid in self.grids)

    def points(self) -> tuple[list[Point], list[LeftOut]]:
        """Every point once, in order, and the combinations that cannot be built. Raises ValueError without a point."""
        found: dict[str, Point] = {}
        left_out = []
        for grid in self.grids:
            usual = USUAL | dict(OPERATIONS[self.operation].usual)
            lists = {**{key: (value,) for key, value in usual.items()}, **self.usual, **grid}
            for values in product(*lists.values()):
                fields = dict(zip(lists, values))
                try:
                    point = point_of(fields, self.operation)
                except ValueError as error:
                    left_out.append(LeftOut(fields=fields, reason=str(error)))
                else:
                    found.setdefault(point.id, point)
        if not found:
            raise ValueError(
                f"none of the {len(left_out)} combinations can be built: {left_out[0].reason}"
                if left_out
                else f"the sweep {self.name} has no points"
            )
        return list(found.values()), left_out


def point_of(fields: Mapping[str, Any], operation: str = Encode.name) -> Point:
    """The point with one value for each key of an operation; keys have defaults. Raises ValueError if it cannot be
    built.
    """
    fields = USUAL | dict(OPERATIONS[operation].usual) | dict(fields)
    target, block, profile, seeds = (fields.pop(key) for key in USUAL)
    constraints = {key: fields.pop(key) for key in CONSTRAINTS if key in fields}
    config: HardwareConfig = configuration(operation, block, profile, **fields, target=TARGETS[target].optimized_as)
    if constraints.get("latency") or "frequency_mhz" in constraints:
        if config.latency:
            raise ValueError(f"registered_after names the stage boundaries: leave out {' and '.join(constraints)}")
        from ..synth import pipelined  # which imports Amaranth

        config = pipelined(
            config,
            latency=constraints.get("latency"),
            frequency_mhz=constraints.get("frequency_mhz"),
            target=target if target in DELAYS else "ecp5",
        )
    if seeds and TARGETS[target].device is None:
        raise ValueError(f"place and route is for {', '.join(DEVICES)}, not {target}")
    return Point(config=_named(config), target=target, seeds=seeds)


def _named(config: HardwareConfig) -> HardwareConfig:
    """The configuration under the first profile with the same rules and source, so that equal points look equal."""
    if not isinstance(config, ConverterConfig):
        return dataclasses.replace(config, profile=profile_of(config.numerics))
    rules = config.numerics
    return dataclasses.replace(config, profile=next((name for name in PROFILES if _under(name, rules) == rules), None))


def _under(profile: str, rules: Encode) -> Encode | None:
    """The encoder to the same block format and source under a profile; None if the profile lacks the element."""
    try:
        return numerics(rules.block, profile, source=rules.source)
    except ValueError:
        return None


def _lists(grid: Mapping[str, object]) -> Grid:
    return {key: _values(value) for key, value in grid.items()}


def _values(value: object) -> tuple:
    """One value or several, as a tuple of Python values."""
    several = value if isinstance(value, Iterable) and not isinstance(value, str | Mapping | Set) else (value,)
    return tuple(int(one) if isinstance(one, Integral) and not isinstance(one, bool) else one for one in several)


def _check(operation: str, key: str, values: tuple) -> None:
    """Raise ValueError or TypeError for a wrong key or value. Combinations are checked by `point_of`."""
    of = OPERATIONS[operation]
    if key not in keys_of(operation):
        raise ValueError(unknown_name("key of a sweep", key, keys_of(operation), all_known=True))
    if not values:
        raise ValueError(f"{key} needs at least one value")
    for value in values:
        if key in ("seeds", *CONSTRAINTS, *of.numbers):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise TypeError(f"{key} takes whole numbers, not {value!r}")
        elif not isinstance(value, str):
            raise TypeError(f"{key} takes texts, not {value!r}")
        elif key in of.texts:
            of.texts[key](value)
        elif key in of.rules:
            for name in value.split(",") if operation == Encode.name else [value]:
                of.rules[key].named(key, name.strip())
        elif key in of.choices:
            of.choices[key].named(key, value)
        elif key == "optimize":
            Goal.named(key, value)
        elif key == "profile":
            profile_named(operation, value)
        elif key == "target" and value not in TARGETS:
            raise ValueError(unknown_name(key, value, TARGETS))


def read_sweep(path: Path) -> Sweep:
    """The sweep in a TOML file: lists by key of `keys_of`, ``name``, ``operation``, ``objectives``, and any number of
    tables ``[[grid]]`` with lists that override those above. Raises ValueError for invalid TOML and unknown names,
    TypeError for values of a wrong kind.
    """
    document = read_toml(path)
    if not document:
        raise ValueError(f"{path} is empty: a sweep has at least one key, such as format")
    _check_keys(path, document)
    name, operation, objectives, grids = (
        document.pop("name", path.stem),
        document.pop("operation", Encode.name),
        document.pop("objectives", None),
        document.pop("grid", [{}]),
    )
    if not isinstance(name, str):
        raise TypeError(f"{path}: name must be a string, not {name!r}")
    if not isinstance(operation, str):
        raise TypeError(f"{path}: operation must be a string, not {operation!r}")
    if not isinstance(grids, list) or not all(isinstance(grid, dict) for grid in grids):
        raise TypeError(f"{path}: a grid is a table, written [[grid]]")
    if objectives is not None and not (
        isinstance(objectives, list) and all(isinstance(name, str) for name in objectives)
    ):
        raise TypeError(f"{path}: objectives must be a list of names, not {objectives!r}")
    if objectives == []:
        raise ValueError(f"{path}: objectives needs at least one column")
    if not grids:
        raise ValueError(f"{path}: grid needs at least one table, written [[grid]]")
    try:
        return Sweep(
            name=name,
            grids=tuple(grids),
            operation=operation,
            usual=_lists(document),
            objectives=tuple(objectives or ()),
            description=f"the sweep of {path.name}",
        )
    except (ValueError, TypeError) as error:
        raise type(error)(f"{path}: {error}") from None


def _check_keys(path: Path, document: Mapping[str, object]) -> None:
    """Raise ValueError for an unknown key, and for a key of the whole sweep in a grid."""
    operation, grids = document.get("operation", Encode.name), document.get("grid", [])
    if not isinstance(operation, str) or operation.lower() not in OPERATIONS or not isinstance(grids, list):
        return  # `read_sweep` reports it
    known = [*OWN_KEYS, *keys_of(operation.lower())]
    for key in document:
        if key not in known:
            raise ValueError(f"{path}: {unknown_name('key of a sweep', key, known, all_known=True)}")
    for key in OWN_KEYS:
        if any(isinstance(grid, dict) and key in grid for grid in grids):
            raise ValueError(f"{path}: the key {key} is for the whole sweep: write it above the tables [[grid]]")


SHORT = tuple(block.short_name for block in BLOCKS.values())
_EACH_CLAUSE = (
    {"input_subnormals": ("flush",)},
    {"element_subnormals": ("flush",)},
    {"specials": ("te", "drop", "inf_scale")},
)
"""Clauses of the standard, left out one at a time."""

SWEEPS: dict[str, Sweep] = {
    sweep.name: sweep
    for sweep in (
        Sweep(name="point", description="one converter, by --set and other options", grids=({},)),
        Sweep(
            name="rounding",
            description="scale rules and roundings, and each clause of the standard left out",
            grids=(
                {"scale_rule": tuple(map(str, ScaleRule)), "rounding": ("rne", "rtz", "sr")},
                *_EACH_CLAUSE,
                {"rounding": ("rtz",), "quantizer": ("shift",)},
            ),
        ),  # sr has no tables: it is compared with rtz without tables
        Sweep(
            name="formats",
            description="the six formats under the rules of OCP and of NVIDIA",
            grids=({"format": SHORT, "profile": ("ocp", "nvidia")},),
        ),
        Sweep(
            name="microarchitecture",
            description="every architecture of one converter",
            usual={"target": ("xcu", "ecp5"), "optimize": ("plain",)},
            grids=(
                {"amax": tuple(CHOICES["amax"]), "quantizer": tuple(CHOICES["quantizer"]), "structure": ("flat",)},
                {"amax": tuple(CHOICES["amax"]), "quantizer": ("table",), "structure": ("kept",)},
                {"amax_key": ("magnitude",)},
            ),
        ),
        Sweep(
            name="pipeline",
            description="registers, from none to eight",
            objectives=("luts", "fmax_mhz", "latency_cycles"),
            usual={"target": ("ecp5",), "seeds": (3,), "optimize": ("speed",)},
            grids=({"latency": (0, 1, 2, 3, 4, 6, 8)},),
        ),
        Sweep(
            name="lanes",
            description="1 to 16 numbers in a clock cycle, and whole blocks",
            objectives=("luts", "numbers_per_cycle"),
            usual={"profile": ("ocp",)},
            grids=({"format": SHORT, "lanes": (1, 2, 4, 8, 16)}, {"format": SHORT}),
        ),
        Sweep(
            name="decoders",
            description="decoders of the six formats under the rules of every profile, to their usual destination",
            operation=Decode.name,
            grids=({"format": SHORT, "profile": tuple(DECODERS)},),
        ),
        Sweep(
            name="casts",
            description="casts from FP32 to every scalar format, by every rounding that OCP and PTX have",
            operation=Cast.name,
            grids=({"format": tuple(SCALARS), "profile": ("ocp", "ptx"), "rounding": ("rne", "rtz", "rp", "sr")},),
        ),
        Sweep(
            name="nvfp4",
            description="encoders of NVFP4 from BF16 in every order, with 4 over 6 and with stochastic rounding",
            operation=Nvfp4Encode.name,
            usual={"source": ("bf16",), "target": ("xcu-nodsp",)},
            grids=(
                {
                    "profile": (
                        "nvfp4_te",
                        "nvfp4_paper",
                        "nvfp4_ao",
                        "nvfp4_ao_single",
                        "nvfp4_modelopt",
                        "nvfp4_te_4over6",
                    )
                },
                {"profile": ("nvfp4_te",), "form": ("product",), "rounding": ("rne", "sr")},
            ),
        ),
        Sweep(
            name="nvfp4_lanes",
            description="encoders of NVFP4 that take 1 to 8 numbers in a clock cycle, and whole blocks",
            operation=Nvfp4Encode.name,
            objectives=("luts", "numbers_per_cycle"),
            grids=({"source": ("bf16", "fp32"), "lanes": (1, 2, 4, 8)}, {"source": ("bf16", "fp32")}),
        ),
    )
}
"""Built-in sweeps."""
