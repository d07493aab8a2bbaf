"""What all hardware is that is made here: the ports of its configuration, and where it has registers a handshake."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, Self, TypeVar

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Role
from ..config.hardware import HardwareConfig
from ..emission.stored import wire
from .elaboration import set_elaborated
from .register import Stage

Config = TypeVar("Config", bound=HardwareConfig)


class Pipeline(wiring.Component, Generic[Config]):
    """A component with the ports of a configuration; clock and reset are those of the domain ``sync``."""

    SIGNALS: ClassVar[frozenset[str]] = frozenset()
    """Names of signals in the module, besides its ports. A module of the same name would be hidden."""

    def __new__(cls, *arguments: Any, **fields: Any) -> Self:
        self = super().__new__(cls, *arguments, **fields)
        set_elaborated(self)  # until the configuration is accepted
        return self

    def __init__(self, config: Config) -> None:
        self.config = config
        set_elaborated(self, False)
        super().__init__(
            {
                port.name: (In if port.direction == "input" else Out)(port.width)
                for port in config.pins
                if port.role not in (Role.CLOCK, Role.RESET)
            }
        )
        for port in config.ports:
            if port not in config.pins:  # its bits are those of a pin with another order
                setattr(self, port.name, Signal(port.width, name=port.name))
        self.enable = Signal()
        """Whether all registers take what comes, in this cycle."""

    def tell(self, m: Module, now: Stage, part: wiring.Component) -> None:
        """Connect what a part needs to know of the whole: the mode, and whether registers take what comes."""
        if "mode" in part.signature.members:
            m.d.comb += part.mode.eq(now.mode)
        if "enable" in part.signature.members:
            m.d.comb += part.enable.eq(self.enable)

    def store(self, m: Module) -> None:
        """Connect the pins of a layout, where the configuration has one."""
        config = self.config
        if config.layout is not None:
            data = (port for port in (*config.ports, *config.pins) if port.role.is_data)
            signals = {port.role: getattr(self, port.name) for port in data}
            wire(m, config.layout, {port.role: port for port in config.ports}, signals)

    def handshake(self, m: Module) -> None:
        """A valid bit goes along with each block. Everything moves unless the last one waits to be taken."""
        valid = self.i_valid
        for place in self.config.microarchitecture.registered_after:
            before, valid = valid, Signal(name=f"valid_{place}_q")
            with m.If(self.enable):
                m.d.sync += valid.eq(before)
        m.d.comb += [self.enable.eq(self.o_ready | ~valid), self.i_ready.eq(self.enable), self.o_valid.eq(valid)]
