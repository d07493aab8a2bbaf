"""A configuration: an operation, or one for each mode, and the micro-architecture that computes it."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import ClassVar, Generic, Self, TypeAlias, TypedDict, TypeVar, cast

from ...spec import (
    BlockFormat,
    BlockOperation,
    Layout,
    NumberFormat,
    Operation,
    Port,
    Role,
    layout_named,
    profile_of,
    short_id,
    stored_ports,
)
from ...spec.catalogue import constructed, entry, known_name, unknown_name
from ...spec.operations.operation import operation_of
from .architecture import Architecture
from .goals import BEST, GENERIC, Goal

Fields: TypeAlias = dict[str, object]
"""Fields of an operation or of an architecture by name. Their classes check the values."""

Op = TypeVar("Op", bound=Operation)
"""The operation of a configuration."""


class TargetFields(TypedDict, total=False):
    """``optimize`` is a `Goal`, and ``target`` one of `BEST`. Together they choose the micro-architecture."""

    optimize: str
    target: str


@dataclass(frozen=True, kw_only=True)
class HardwareConfig(ABC, Generic[Op]):
    """An operation, or one for each mode, and the micro-architecture that computes it.

    There is one subclass for each operation. It says what hardware supports, names its stage boundaries, and describes
    its ports.
    """

    OPERATION: ClassVar[type[Operation]]
    ARCHITECTURE: ClassVar[type[Architecture]]
    RESOLVED: ClassVar[Callable[..., Operation]]
    """The function of `spec` that returns the operation of a format under a profile, with some rules replaced."""
    KIND: ClassVar[str]
    """The hardware in messages, with its article."""

    numerics: Op
    alternatives: tuple[Op, ...] = ()
    microarchitecture: Architecture
    profile: str | None = field(default=None, compare=False)
    """The profile with these rules, for names and reports. It is not part of the identity."""

    def __post_init__(self) -> None:
        self._check()
        if len(set(self.modes)) < len(self.modes):
            raise ValueError("the modes of a converter must differ from each other")
        for mode in self.modes:
            if isinstance(mode, BlockOperation) and len(mode.block.shape) > 1:
                raise ValueError(f"hardware converts blocks along one axis, not {mode.block.name}")
        if self.microarchitecture.layout:
            self._check_layout()
        registered = self.microarchitecture.registered_after
        ordered = self._in_order((*registered, *sorted(self.always_registered - {*registered})))
        object.__setattr__(
            self, "microarchitecture", dataclasses.replace(self.microarchitecture, registered_after=ordered)
        )

    def _check(self) -> None:
        """Raise ValueError if this hardware cannot be built."""
        if self.alternatives:
            raise ValueError(f"{self.KIND} has one mode")
        for sentence, is_refused in self._refused().items():
            if is_refused:
                raise ValueError(sentence)

    def _refused(self) -> dict[str, bool]:
        """Messages, each with a flag that is set if the configuration is refused for this reason."""
        return {}

    def _check_layout(self) -> None:
        """Raise ValueError if this hardware cannot have the layout."""
        dialect = self.microarchitecture.layout
        found = [layout_named(dialect, mode.block) for mode in self.modes if isinstance(mode, BlockOperation)]
        if not found:
            raise ValueError(f"{self.formats} has no blocks under scales: leave out layout")
        if len({(layout.packing, layout.place) for layout in found}) > 1:
            raise ValueError(f"the layout {dialect} packs the formats of these modes in different ways")
        self._check_stored(found[0])

    def _check_stored(self, layout: Layout) -> None:
        """Raise ValueError if the ports cannot have the layout."""
        stored_ports(layout, self.operation_ports)

    def _in_order(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of stage boundaries in the order of data flow. Raises ValueError for an unknown or repeated name."""
        known = self.stages
        for name in names:
            if name not in known:
                raise ValueError(unknown_name("stage boundary", name, known))
            if names.count(name) > 1:
                raise ValueError(f"registered_after has {name} twice: every stage boundary has one register")
        return tuple(sorted(names, key=known.index))

    @classmethod
    def built(cls, format: object, profile: str | None = None, fields: Mapping[str, object] = {}) -> Self:
        """The configuration of a format under a profile, with these fields of the operation and of the hardware.

        A configuration of this class is returned as it is. Then a profile or fields raise TypeError.
        """
        if isinstance(format, cls):
            if fields or profile is not None:
                raise TypeError(f"a {cls.__name__} is complete: leave out profile and fields")
            return format
        given: Fields = {**fields}
        goal = Goal.named("optimize", given.pop("optimize", Goal.AREA))
        target = known_name("target", given.pop("target", GENERIC), BEST)
        of_hardware = {f.name for f in dataclasses.fields(cls.ARCHITECTURE)}
        chosen = {name: given.pop(name) for name in list(given) if name in of_hardware}
        known = cls._rule_names()
        for name in given:
            if name not in known:
                raise ValueError(unknown_name("field", name, [*known, *sorted(of_hardware), "optimize", "target"]))
        modes = cls._modes(format, profile, given)
        profiles = {profile_of(mode, profile) for mode in modes}
        return cls(
            numerics=modes[0],
            alternatives=modes[1:],
            microarchitecture=cls._architecture(modes, goal, target, chosen),
            profile=profiles.pop() if len(profiles) == 1 else None,
        )

    @classmethod
    def _rule_names(cls) -> list[str]:
        """Names of the fields of the operation, as `built` accepts them."""
        own = list(signature(cls.OPERATION).parameters)
        return [*own, "block_size"] if issubclass(cls.OPERATION, BlockOperation) else own

    @classmethod
    def _modes(cls, format: object, profile: str | None, rules: Fields) -> tuple[Op, ...]:
        """The operation of each mode."""
        return (cast("Op", cls.RESOLVED(format, profile, **rules)),)

    @classmethod
    def _architecture(cls, modes: tuple[Op, ...], goal: Goal, target: str, chosen: Fields) -> Architecture:
        """The best micro-architecture for a goal on a target, with the ``chosen`` fields as they are."""
        return constructed(cls.ARCHITECTURE, chosen)

    @classmethod
    def from_dict(cls, parts: Mapping[str, object]) -> Self:
        """The configuration that `to_dict` wrote. Raises ValueError and TypeError for anything else."""
        return cls(
            numerics=cls._read(entry(parts, "numerics", dict)),
            alternatives=tuple(map(cls._read, entry({"alternatives": [], **parts}, "alternatives", list))),
            microarchitecture=cls.ARCHITECTURE.from_dict(entry(parts, "microarchitecture", dict)),
        )

    @classmethod
    def _read(cls, fields: Mapping[str, object]) -> Op:
        operation = operation_of(fields)
        if not isinstance(operation, cls.OPERATION):
            raise ValueError(f"the operation of {cls.KIND} must be {cls.OPERATION.name}, not {operation.name}")
        return cast("Op", operation)

    @property
    @abstractmethod
    def stages(self) -> tuple[str, ...]:
        """Names of the stage boundaries in the order of data flow: each is the name of the step before it."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The hardware in a few words."""

    @abstractmethod
    def port_words(self) -> dict[str, str]:
        """A description of each data port by its name."""

    def random_words(self, each: str = "element") -> str:
        """A description of the random bits."""
        return f"{self.numerics.random_bits} random bits for each {each}, those of element 0 in the low bits"

    @property
    def uses_tables(self) -> bool:
        """Does the Verilog contain truth tables?"""
        return False

    def hardware_options(self, targets: tuple[str, ...]) -> dict[str, str]:
        """The fewest fields that choose this micro-architecture, for one of these targets."""
        chosen, usual = self.microarchitecture, self.ARCHITECTURE()
        return {
            f.name: ",".join(value) if isinstance(value, tuple) else str(value)
            for f in dataclasses.fields(chosen)
            if (value := getattr(chosen, f.name)) != getattr(usual, f.name)
        }

    @property
    def modes(self) -> tuple[Op, ...]:
        """The operation of each mode, by mode number."""
        return (self.numerics, *self.alternatives)

    @property
    def mode_bits(self) -> int:
        """Width of the mode input; 0 without one."""
        return len(self.alternatives).bit_length()

    @property
    def ports(self) -> tuple[Port, ...]:
        """The ports of the operation, the mode input, and clock, reset and handshake if there are registers.

        They are the ports of the top module (`pins`), unless blocks have a layout.
        """
        return self._with_control(self.operation_ports)

    @property
    def pins(self) -> tuple[Port, ...]:
        """The ports of the top module in the order of its Verilog."""
        ports = self.operation_ports
        return self._with_control(ports if self.layout is None else stored_ports(self.layout, ports))

    @property
    def layout(self) -> Layout | None:
        """The layout of blocks in `pins`, or None if they are laid out as in `ports`."""
        rules, dialect = self.numerics, self.microarchitecture.layout
        return layout_named(dialect, rules.block) if dialect and isinstance(rules, BlockOperation) else None

    @property
    def stored_pin(self) -> Port | None:
        """The pin with the bytes of a layout."""
        return next((pin for pin in self.pins if pin.role in (Role.STORED_CODES, Role.STORED_BLOCK)), None)

    def _with_control(self, ports: tuple[Port, ...]) -> tuple[Port, ...]:
        """Ports of an operation, with the mode input and the ports of the clock and the handshake."""

        def control(*ports: tuple[str, Role, str]) -> list[Port]:
            return [Port(name=name, role=role, direction=to) for name, role, to in ports if self.latency]

        entering = [port for port in ports if port.direction == "input"]
        mode = Port(name="mode", role=Role.MODE, direction="input", bits=self.mode_bits)
        return (
            *control(("clk", Role.CLOCK, "input"), ("rst", Role.RESET, "input")),
            *(port for port in entering if port.role is not Role.RANDOM),
            *([mode] if self.alternatives else []),
            *(port for port in entering if port.role is Role.RANDOM),
            *control(("i_valid", Role.VALID, "input"), ("i_ready", Role.READY, "output")),
            *(port for port in ports if port.direction == "output"),
            *(control(("o_first", Role.FIRST, "output"), ("o_last", Role.LAST, "output")) if self.in_beats else ()),
            *control(("o_valid", Role.VALID, "output"), ("o_ready", Role.READY, "input")),
        )

    @property
    def operation_ports(self) -> tuple[Port, ...]:
        """The ports of the operation in this micro-architecture."""
        return self.numerics.ports

    @property
    def formats(self) -> str:
        """The formats of all modes, with commas between them."""
        return ",".join(dict.fromkeys(mode.subject for mode in self.modes))

    @property
    def is_usual(self) -> bool:
        """Do format and profile alone select this configuration?"""
        return self.profile is not None and self == self.built(self._usual_format, self.profile)

    @property
    def _usual_format(self) -> BlockFormat | NumberFormat | str:
        """The format that selects this configuration, together with the profile."""
        rules = self.numerics
        return rules.block if isinstance(rules, BlockOperation) else rules.subject

    @property
    def latency(self) -> int:
        """Clock cycles from a block to its result; 0 without a clock. For a block in several beats, from its first beat
        to the first of its result.
        """
        return len(self.microarchitecture.registered_after) + (self.gathered if self.gathered > 1 else 0)

    @property
    def always_registered(self) -> frozenset[str]:
        """Stage boundaries that always have registers."""
        return self.microarchitecture.always_registered

    @property
    def core(self) -> Self | None:
        """The configuration of the only module in this one, if this one just changes the handshake: AXI4-Stream is
        around a skid buffer, and a skid buffer around valid and ready.
        """
        return None

    @property
    def is_elastic(self) -> bool:
        """Does no output follow an input within a cycle?"""
        return False

    @property
    def ready_words(self) -> str:
        """The signals on which ``i_ready`` depends, in words."""
        return "depends on registers only" if self.is_elastic else "follows o_ready in the same cycle"

    @property
    def has_axis(self) -> bool:
        """Are the pins AXI4-Stream?"""
        return False

    @property
    def beats(self) -> int:
        """Clock cycles in which a block enters, a part in each."""
        return 1

    @property
    def in_beats(self) -> bool:
        """Has it lanes, or another interface than valid and ready? Without lanes each beat is a whole block."""
        return self.beats > 1 or self.is_elastic

    @property
    def is_plain(self) -> bool:
        """Do blocks enter whole, and does everything move unless the last result waits?"""
        return not self.in_beats and self.is_steady

    @property
    def is_even(self) -> bool:
        """Do as many words enter as leave?"""
        return True

    @property
    def interval(self) -> int:
        """Cycles in which everything moves, from a block to the next one that can enter: the initiation interval."""
        return 1

    @property
    def is_steady(self) -> bool:
        """Can a part of a block enter in each cycle, and does its result leave after `latency`, if nothing waits?"""
        return self.is_even and not self.pause and self.interval == 1

    @property
    def pause(self) -> int:
        """Cycles for which a block may wait inside, and others may not enter."""
        return 0

    @property
    def gathered(self) -> int:
        """Beats that enter before the first of their results can leave: all of a block, or each one alone."""
        return 1

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of AXI4-Stream, by the beginnings of their pins; empty without."""
        end = "_tvalid"
        return tuple(pin.name.removesuffix(end) for pin in self.pins if pin.name.endswith(end))

    def to_dict(self) -> dict[str, object]:
        """The configuration for files, with every format in full."""
        alternatives = {"alternatives": [mode.to_dict() for mode in self.alternatives]} if self.alternatives else {}
        return {
            "numerics": self.numerics.to_dict(),
            **alternatives,
            "microarchitecture": self.microarchitecture.to_dict(),
        }

    def identity(self) -> dict[str, object]:
        """`to_dict`, in the short form of `Operation.identity`."""
        alternatives = {"alternatives": [mode.identity() for mode in self.alternatives]} if self.alternatives else {}
        return {
            "numerics": self.numerics.identity(),
            **alternatives,
            "microarchitecture": self.microarchitecture.to_dict(),
        }

    @property
    def config_id(self) -> str:
        """`short_id` of `identity`."""
        return short_id(self.identity())
