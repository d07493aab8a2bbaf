"""An encoder in a LiteX SoC: one DMA reads numbers from a memory, another writes blocks, and software can control both.

    python -m pip install litex==2024.12
    python examples/litex_soc.py

`MxEncoder` is the module to take: a LiteX stream of numbers in, one of packed blocks out, both in words of the bus.
`Quantizer` is a SoC with it between the DMAs of LiteX, whose registers (base, length, enable, done) are on the bus of
the SoC. Without a processor they start with the addresses of the memories. Verilator simulates the SoC, and what it
wrote is compared with the golden model.
"""

import logging
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.gen import ClockDomain, ClockSignal, Instance, LiteXModule, ResetSignal
from litex.gen.fhdl.verilog import convert
from litex.soc.cores.dma import WishboneDMAReader, WishboneDMAWriter
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import stream, wishbone

from mxcast import quantize
from mxcast.hdl import converter_config, emit
from mxcast.hdl.bus.pins import BusWidths
from mxcast.hdl.emission.around import Around
from mxcast.sim.run.tools import simulator_environment

CONFIG = converter_config("e4m3", "nvidia", lanes=4, interface="axis", scale_place="before", target="xcu")
BUS = 32
"""Bits of a word of the bus."""
NUMBERS, RESULTS = 0x1000_0000, 0x2000_0000
"""Addresses of the memories."""

BENCH = """module bench;
  reg clock = 0, reset = 1;
  wire done;
  integer cycles = 0;
  soc soc (.sys_clk(clock), .sys_rst(reset), .done(done));
  always #5 clock = ~clock;
  always @(posedge clock) begin
    cycles <= cycles + 1;
    if (cycles == 4) reset <= 0;
    if (done) begin
      $writememh("results.hex", soc.results);
      $display("cycles %0d", cycles);
    end
    if (done || cycles == 1000000) $finish;
  end
endmodule
"""


class MxEncoder(LiteXModule):
    """An encoder with AXI4-Stream as a module of LiteX.

    Attributes
    ----------
    sink : stream of FP32 numbers
    source : stream of words with the bytes of blocks: the scale of each block in front of its codes
    """

    def __init__(self, name: str) -> None:
        self.sink = stream.Endpoint([("data", BUS)])
        self.source = stream.Endpoint([("data", BUS)])
        self.specials += Instance(
            name,
            i_aclk=ClockSignal(),
            i_aresetn=~ResetSignal(),
            i_s_axis_tdata=self.sink.data,
            i_s_axis_tkeep=(1 << BUS // 8) - 1,
            i_s_axis_tlast=self.sink.last,
            i_s_axis_tvalid=self.sink.valid,
            o_s_axis_tready=self.sink.ready,
            o_m_axis_tdata=self.source.data,
            o_m_axis_tlast=self.source.last,
            o_m_axis_tvalid=self.source.valid,
            i_m_axis_tready=self.source.ready,
        )


class Quantizer(SoCMini):
    """A SoC that reads ``words`` from one memory and writes ``size`` bytes of blocks to another."""

    def __init__(self, platform, encoder: str, words: list[int], size: int) -> None:
        super().__init__(platform, clk_freq=int(100e6), with_uart=False, with_timer=False)
        self.crg = LiteXModule()
        self.crg.cd_sys = ClockDomain("sys")
        self.comb += [
            self.crg.cd_sys.clk.eq(platform.request("sys_clk")),
            self.crg.cd_sys.rst.eq(platform.request("sys_rst")),
        ]
        self.add_ram("numbers", NUMBERS, 4 * len(words), contents=words)
        self.add_ram("results", RESULTS, 1 << (size - 1).bit_length())

        # "big" takes a word as it is; "little" exchanges its bytes
        self.reader = WishboneDMAReader(wishbone.Interface(data_width=BUS, adr_width=30), endianness="big")
        self.reader.add_ctrl()
        self.reader.add_csr(NUMBERS, 4 * len(words), default_enable=1)
        self.writer = WishboneDMAWriter(wishbone.Interface(data_width=BUS, adr_width=30), endianness="big")
        self.writer.add_ctrl()
        self.writer.add_csr(RESULTS, size, default_enable=1)
        for name in ("reader", "writer"):
            self.bus.add_master(name, getattr(self, name).bus)

        self.encoder = MxEncoder(encoder)
        self.comb += [
            self.reader.source.connect(self.encoder.sink),
            self.encoder.source.connect(self.writer.sink),
            platform.request("done").eq(self.writer.done),
        ]


def written(x: np.ndarray, size: int, out: Path) -> tuple[bytes, int]:
    """So many bytes that the simulated SoC writes for the numbers, and the cycles that it takes."""
    files = emit(CONFIG, out, "mx_encoder", around=Around(bus=BusWidths(entering=BUS, leaving=BUS)))
    sources = [str(files[kind].resolve()) for kind in ("verilog", "bus")]
    platform = SimPlatform("SIM", [(name, 0, Pins(1)) for name in ("sys_clk", "sys_rst", "done")])
    soc = Quantizer(platform, files["bus"].stem, x.view(np.uint32).ravel().tolist(), size)
    soc.finalize()
    with chdir(out):  # Migen writes the contents of memories here
        convert(soc, platform.constraint_manager.get_io_signals(), name="soc").write("soc.v")
    (out / "bench.v").write_text(BENCH)
    build = ["verilator", "--binary", "-Wno-fatal", "-CFLAGS", "-fcoroutines", "bench.v", "soc.v", *sources]
    for command in (build, ["obj_dir/Vbench"]):
        done = subprocess.run(command, cwd=out, env=simulator_environment(), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr or done.stdout)
    cycles = int(done.stdout.split("cycles ")[1].split()[0])
    words = [int(line, 16) for line in (out / "results.hex").read_text().split() if not line.startswith("//")]
    return np.array(words, "<u4").tobytes()[:size], cycles


def main(out: Path = Path("build/litex_soc")) -> int:
    x = np.random.default_rng(0).standard_normal((64, CONFIG.numerics.block_size)).astype(np.float32)
    out.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.INFO)  # LiteX lists its regions
    q = quantize(x, CONFIG.numerics)
    expected = np.concatenate([q.scales.reshape(-1, 1), q.codes.reshape(x.shape)], axis=1).tobytes()
    found, cycles = written(x, len(expected), out)
    print(f"{len(x)} blocks in {cycles} cycles, bytes {'equal to' if found == expected else 'DIFFER from'} the model")
    return 0 if found == expected else 1


if __name__ == "__main__":
    sys.exit(main())
