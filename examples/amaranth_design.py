"""A converter inside one's own Amaranth design: registers around a BlockConverter, and Verilog of the whole.

python examples/amaranth_design.py > top.v
"""

from amaranth.back import verilog
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mxcast.hdl import BlockConverter


class RegisteredConverter(wiring.Component):
    """One block a cycle, two cycles of latency: ``x`` and the outputs are registered."""

    def __init__(self) -> None:
        self.converter = BlockConverter("e2m1", profile="nvidia")
        super().__init__({"x": In(1024), "scale": Out(8), "p": Out(128)})

    def elaborate(self, platform) -> Module:
        m = Module()
        m.submodules.converter = self.converter
        m.d.sync += [self.converter.x.eq(self.x), self.scale.eq(self.converter.scale), self.p.eq(self.converter.p)]
        return m


if __name__ == "__main__":
    print(verilog.convert(RegisteredConverter(), name="top"))
