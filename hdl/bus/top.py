"""The module around hardware with AXI4-Stream that has words of the bus of a system."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth.hdl import Const, Instance, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...spec import Port
from ..emission.modules import instantiated
from .gearbox import Gearbox
from .pins import BusWidths, Stream, bus_pins, streams_of


class OnBus(wiring.Component):
    """The pins of the module ``inner``, with streams of words of a bus. It only connects modules.

    Parameters
    ----------
    pins : the pins of the module inside
    widths : bits of the words
    inner : the name of the module inside
    """

    HAS_ENABLES = False

    def __init__(self, pins: Sequence[Port], widths: BusWidths, inner: str) -> None:
        self.pins, self.inner, self.streams = pins, inner, streams_of(pins, widths)
        outside = bus_pins(pins, widths)
        super().__init__({pin.name: (In if pin.direction == "input" else Out)(pin.width) for pin in outside})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inside = dict[str, Value]()
        for stream in self.streams:
            inside |= self.connected(m, platform, stream)
        wires = {pin: inside[pin.name] if pin.name in inside else getattr(self, pin.name) for pin in self.pins}
        m.submodules.inner = Instance(
            self.inner, **{f"{pin.direction[0]}_{pin.name}": wire for pin, wire in wires.items()}
        )
        return m

    def connected(self, m: Module, platform: object, stream: Stream) -> dict[str, Value]:
        """Connect a stream to a gearbox, if its words have another size inside. Returns what it is connected to there
        by the name of the pin.
        """
        if stream.inside == stream.outside:
            return {}
        box = Gearbox(stream)
        m.submodules[stream.kind] = instantiated(box, platform)
        m.d.comb += [box.aclk.eq(self.aclk), box.aresetn.eq(self.aresetn)]
        outer, inner = ("s_", "m_") if stream.enters else ("m_", "s_")
        if not stream.has_keep and not stream.enters:
            m.d.comb += box.s_tkeep.eq(Const(-1, stream.inside))
        inside = dict[str, Value]()
        for signal in ("tdata", "tkeep", "tlast", *(["tuser"] if stream.user else []), "tvalid", "tready"):
            pin, of_box = getattr(self, stream.name + signal), getattr(box, outer + signal)
            m.d.comb += of_box.eq(pin) if stream.enters == (signal != "tready") else pin.eq(of_box)
            inside[stream.name + signal] = getattr(box, inner + signal)
        return inside
