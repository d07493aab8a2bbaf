// SPDX-License-Identifier: Apache-2.0
// Behind driver.cpp in the same file: a design with a clock, without valid and ready.

// A transaction enters every `interval` cycles and is held till the next; its result is read `latency` edges later, when
// other inputs are there already, so that a result at another time is a wrong one. After the last comes its complement.
MXCAST_ENTRY(mxcast_stream) {
    return reason([&] {
        const uint64_t latency = given[0], interval = given[1];
        VerilatedContext context;
        Vdut dut{&context};
        dut.clk = 0;
#if MXCAST_RESET
        dut.rst = 1;
#endif
        dut.eval();
        for (unsigned cycle = 0; cycle < 8; ++cycle) edge(dut);
#if MXCAST_RESET
        dut.rst = 0;
#endif
        const uint64_t cycles = count ? (count - 1) * interval + latency + 1 : 0;
        for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
            const uint64_t row = cycle / interval;
            if (cycle % interval == 0 && row < count) {
                drive(dut, in, row, false);
            } else if (cycle == count * interval) {
                drive(dut, in, count - 1, true);
            }
            dut.eval();
            if (cycle >= latency && (cycle - latency) % interval == 0) collect(dut, out, (cycle - latency) / interval);
            edge(dut);
        }
        dut.final();
    });
}
