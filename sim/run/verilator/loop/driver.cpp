// SPDX-License-Identifier: Apache-2.0
// Drives a Verilated design: transactions enter and leave as rows of words, a word for each lane of a port.
// Before this file stands what `driver.py` makes of the ports: `drive`, `collect` and how long rows are.

#if MXCAST_CLOCK
namespace {

void edge(Vdut& dut) {
    dut.clk = 1;
    dut.eval();
    dut.clk = 0;
    dut.eval();
}

}  // namespace
#endif

// A design without registers: one transaction after the other.
MXCAST_ENTRY(mxcast_convert) {
    return reason([&] {
        VerilatedContext context;
        Vdut dut{&context};
        for (uint64_t row = 0; row < count; ++row) {
            drive(dut, in, row, false);
            dut.eval();
            collect(dut, out, row);
        }
        dut.final();
    });
}
