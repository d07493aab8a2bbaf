"""The top component of an operation: the ports of its configuration, and a handshake if it has registers."""

from __future__ import annotations

from typing import ClassVar, Generic, Self, TypeVar

from amaranth.hdl import ClockDomain, ClockSignal, Module, ResetSignal, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Role
from ..config.command import command_line
from ..config.hardware import HardwareConfig
from ..emission.stored import wire
from .elaboration import set_elaborated
from .register import Stage

Config = TypeVar("Config", bound=HardwareConfig, covariant=True)


class Pipeline(wiring.Component, Generic[Config]):
    """A component with the ports of a configuration. Clock and reset belong to the domain ``sync``."""

    SIGNALS: ClassVar[frozenset[str]] = frozenset()
    """Names of signals in the module that are not ports. A module of the same name would be hidden."""

    IN_BEATS: ClassVar[bool] = False
    """Do blocks enter in beats?"""

    IS_AROUND: ClassVar[bool] = False
    """Does it change the handshake of a core?"""

    IS_STEADY: ClassVar[bool] = True
    """Can a block enter in each cycle?"""

    def __new__(cls, *arguments: object, **fields: object) -> Self:
        self = super().__new__(cls, *arguments, **fields)
        set_elaborated(self)  # until the configuration is accepted
        return self

    def __init__(self, config: Config) -> None:
        self.config = config
        is_other = config.in_beats != self.IN_BEATS or (config.core is not None) != self.IS_AROUND
        if config.has_axis or is_other:
            takes = "beats" if self.IN_BEATS else "whole blocks without lanes"
            raise ValueError(f"{type(self).__name__} takes {takes} by valid and ready, not {command_line(config)}")
        if config.is_steady != self.IS_STEADY and not self.IS_AROUND:
            raise ValueError(
                f"{type(self).__name__} takes a block in each cycle, not {command_line(config)}: take StreamConverter"
            )
        set_elaborated(self, False)
        super().__init__(
            {
                port.name: (In if port.direction == "input" else Out)(port.width)
                for port in config.pins
                if port.role not in (Role.CLOCK, Role.RESET)
            }
        )
        for port in config.ports:
            if port not in config.pins:  # a layout has its bits in another pin
                setattr(self, port.name, Signal(port.width, name=port.name))
        self.enable = Signal()
        """Enable of all registers."""

    def tell(self, m: Module, now: Stage, part: wiring.Component) -> None:
        """Connect the mode and the enable of a part."""
        if "mode" in part.signature.members:
            m.d.comb += part.mode.eq(now.mode)
        if "enable" in part.signature.members:
            m.d.comb += part.enable.eq(self.enable)

    def store(self, m: Module) -> None:
        """Connect the pins of a layout, if the configuration has one."""
        config = self.config
        if config.layout is not None:
            data = (port for port in (*config.ports, *config.pins) if port.role.is_data)
            signals = {port.role: getattr(self, port.name) for port in data}
            wire(m, config.layout, {port.role: port for port in config.ports}, signals)

    def handshake(self, m: Module) -> None:
        """Connect valid and ready. A valid bit follows each block, and all blocks move unless the last one waits."""
        valid = self.i_valid
        for place in self.config.microarchitecture.registered_after:
            before, valid = valid, Signal(name=f"valid_{place}_q")
            with m.If(self.enable):
                m.d.sync += valid.eq(before)
        m.d.comb += [self.enable.eq(self.o_ready | ~valid), self.i_ready.eq(self.enable), self.o_valid.eq(valid)]


class AxisPipeline(Pipeline[Config]):
    """A `Pipeline` whose pins are AXI4-Stream, with its clock and its reset."""

    def __init__(self, config: Config) -> None:
        self.config = config
        ports = {pin.name: (In if pin.direction == "input" else Out)(pin.width) for pin in config.pins}
        wiring.Component.__init__(self, ports)

    def clocked(self) -> Module:
        """A module whose domain ``sync`` has this clock and this reset."""
        m = Module()
        m.domains.sync = ClockDomain("sync")
        m.d.comb += [ClockSignal().eq(self.aclk), ResetSignal().eq(~self.aresetn)]
        return m
