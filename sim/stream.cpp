// SPDX-License-Identifier: Apache-2.0
// Behind verilated.cpp in the same file: the loop around a Verilated converter that is registered.

namespace {

void edge(Vdut& dut) {
    dut.clk = 1;
    dut.eval();
    dut.clk = 0;
    dut.eval();
}

// A block enters every `interval` cycles and is held till the next; its result is read `latency` edges later, when other
// inputs are there already, so that a result at another time is a wrong one. After the last block comes its complement.
void stream(const uint8_t* x, const uint16_t* random, uint32_t latency, uint32_t interval, uint8_t* scales, uint8_t* codes,
            uint64_t blocks) {
    constexpr unsigned BYTES = BLOCK * SOURCE_BYTES;
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
    uint8_t packed[packed_bytes(CODES, CODE_BITS) + 4] = {};
    const uint64_t cycles = blocks ? (blocks - 1) * interval + latency + 1 : 0;
    for (uint64_t cycle = 0; cycle < cycles; ++cycle) {
        const uint64_t block = cycle / interval;
        if (cycle % interval == 0 && block < blocks) {
            std::memcpy(&dut.x, x + block * BYTES, BYTES);
#if MXCAST_RANDOM_BITS
            uint8_t bits[packed_bytes(BLOCK, RANDOM_BITS) + 4];
            pack(random + block * BLOCK, bits);
            std::memcpy(&dut.random, bits, packed_bytes(BLOCK, RANDOM_BITS));
#endif
        } else if (cycle == blocks * interval) {
            uint8_t other[BYTES];
            for (unsigned byte = 0; byte < BYTES; ++byte) other[byte] = ~x[(blocks - 1) * BYTES + byte];
            std::memcpy(&dut.x, other, BYTES);
        }
        dut.eval();
        if (cycle >= latency && (cycle - latency) % interval == 0) {
            const uint64_t result = (cycle - latency) / interval;
            scales[result] = dut.scale;
            std::memcpy(packed, &dut.p, packed_bytes(CODES, CODE_BITS));
            unpack(packed, codes + result * CODES * CODE_BYTES);
        }
        edge(dut);
    }
    dut.final();
}

}  // namespace

extern "C" const char* mxcast_stream(const uint8_t* x, const uint16_t* random, uint32_t latency, uint32_t interval, uint8_t* scales,
                                     uint8_t* codes, uint64_t blocks) {
    return reason([&] { stream(x, random, latency, interval, scales, codes, blocks); });
}
