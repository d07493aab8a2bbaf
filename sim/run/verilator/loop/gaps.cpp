// SPDX-License-Identifier: Apache-2.0
// Behind driver.cpp in the same file: the start of a design with a handshake, and results that wait.

namespace {

// A design whose registers start with random bits, at an input that is offered: the complement of the first one.
struct Started {
    VerilatedContext context;
    Vdut dut{&context};

    Started(const uint8_t* const* in, uint32_t seed) {
        context.randReset(2);
        context.randSeed(static_cast<int>(seed >> 1) | 1);
        dut.clk = dut.rst = dut.o_ready = 0;
        drive(dut, in, 0, true);
        dut.i_valid = 1;
        dut.eval();
    }
    void reset() {
        dut.rst = 1;
        dut.eval();
        edge(dut);
        dut.rst = 0;
    }
};

// A result by itself, to see whether it changes.
struct Held {
    uint8_t words[TOTAL_BYTES] = {};

    void take(const Vdut& dut) {
        uint8_t* out[OUTPUTS];
        for (unsigned port = 0, start = 0; port < OUTPUTS; start += ROW_BYTES[port++]) out[port] = words + start;
        collect(dut, out, 0);
    }
    bool operator==(const Held& other) const { return !std::memcmp(words, other.words, TOTAL_BYTES); }
};

}  // namespace
