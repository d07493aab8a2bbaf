// SPDX-License-Identifier: Apache-2.0
// The loop over blocks around a Verilated converter. Ports of any width are plain little-endian words in memory.

#include <cstdint>
#include <cstring>

#include "Vdut.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr unsigned BLOCK = MXCAST_BLOCK_SIZE;
constexpr unsigned SOURCE_BYTES = MXCAST_SOURCE_BITS / 8;
constexpr unsigned CODE_BITS = MXCAST_CODE_BITS;

void unpack(const uint8_t* packed, uint8_t* codes) {
    if (CODE_BITS == 8) {
        std::memcpy(codes, packed, BLOCK);
        return;
    }
    for (unsigned lane = 0; lane < BLOCK; ++lane) {
        const unsigned bit = lane * CODE_BITS;
        uint16_t word;  // a code never spans more than two bytes; the buffer has one to spare
        std::memcpy(&word, packed + bit / 8, 2);
        codes[lane] = static_cast<uint8_t>((word >> (bit % 8)) & ((1u << CODE_BITS) - 1));
    }
}

}  // namespace

extern "C" void mxcast_convert(const uint8_t* x, uint8_t* scales, uint8_t* codes, uint64_t blocks) {
    VerilatedContext context;
    Vdut dut{&context};
    uint8_t packed[BLOCK * CODE_BITS / 8 + 2] = {};
    for (uint64_t block = 0; block < blocks; ++block) {
        std::memcpy(&dut.x, x + block * BLOCK * SOURCE_BYTES, BLOCK * SOURCE_BYTES);
        dut.eval();
        std::memcpy(scales + block, &dut.scale, 1);
        std::memcpy(packed, &dut.p, BLOCK * CODE_BITS / 8);
        unpack(packed, codes + block * BLOCK);
    }
    dut.final();
}
