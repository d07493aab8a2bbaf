// SPDX-License-Identifier: Apache-2.0
// Drives a Verilated design: transactions enter and leave as rows of words, a word for each lane of a port.
// Before this file stands what `driver.py` makes of the ports: `drive`, `collect` and how long rows are.

#include <exception>
#include <stdexcept>
#include <string>

double sc_time_stamp() { return 0; }

// $stop, $error and what Verilator itself gives up on: an error of this call, where the library would end the process.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + message);
}

namespace {

// What has stopped `run`, or null.
template <class Run>
const char* reason(Run run) {
    thread_local std::string why;
    try {
        run();
    } catch (const std::exception& error) {
        why = error.what();
        return why.c_str();
    }
    return nullptr;
}

#if MXCAST_CLOCK
void edge(Vdut& dut) {
    dut.clk = 1;
    dut.eval();
    dut.clk = 0;
    dut.eval();
}
#endif

}  // namespace

// Every entry has the arrays of the ports, the number of transactions, and numbers in and out.
#define MXCAST_ENTRY(name)                                                                                             \
    extern "C" const char* name(const uint8_t* const* in, uint8_t* const* out, uint64_t count,                         \
                                [[maybe_unused]] const uint64_t* given, [[maybe_unused]] uint64_t* found)

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
