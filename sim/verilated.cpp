// SPDX-License-Identifier: Apache-2.0
// The loop over blocks around a Verilated converter. Ports of any width are plain little-endian words in memory.

#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "Vdut.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

// $stop, $error and what Verilator itself gives up on: an error of this call, where the library would end the process.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + message);
}

namespace {

constexpr unsigned BLOCK = MXCAST_BLOCK_SIZE;
constexpr unsigned SOURCE_BYTES = MXCAST_SOURCE_BITS / 8;
constexpr unsigned CODE_BITS = MXCAST_CODE_BITS;
constexpr unsigned CODE_BYTES = (CODE_BITS + 7) / 8;
constexpr unsigned RANDOM_BITS = MXCAST_RANDOM_BITS;
constexpr unsigned DESIGNS = MXCAST_DESIGNS;  // several converters side by side on one input, or one
constexpr unsigned CODES = DESIGNS * BLOCK;

constexpr unsigned packed_bytes(unsigned fields, unsigned bits) { return (fields * bits + 7) / 8; }

// A field of up to 16 bits spans at most three bytes: buffers have bytes to spare.
void unpack(const uint8_t* packed, uint8_t* codes) {
    if (CODE_BITS % 8 == 0) {
        std::memcpy(codes, packed, CODES * CODE_BYTES);
        return;
    }
    for (unsigned lane = 0; lane < CODES; ++lane) {
        const unsigned bit = lane * CODE_BITS;
        uint32_t word;
        std::memcpy(&word, packed + bit / 8, 4);
        word = (word >> (bit % 8)) & ((1u << CODE_BITS) - 1);
        std::memcpy(codes + lane * CODE_BYTES, &word, CODE_BYTES);
    }
}

#if MXCAST_RANDOM_BITS
void pack(const uint16_t* random, uint8_t* packed) {
    std::memset(packed, 0, packed_bytes(BLOCK, RANDOM_BITS) + 4);
    for (unsigned lane = 0; lane < BLOCK; ++lane) {
        const unsigned bit = lane * RANDOM_BITS;
        uint32_t word;
        std::memcpy(&word, packed + bit / 8, 4);
        word |= static_cast<uint32_t>(random[lane]) << (bit % 8);
        std::memcpy(packed + bit / 8, &word, 4);
    }
}
#endif

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

void convert(const uint8_t* x, const uint16_t* random, uint32_t mode, uint8_t* scales, uint8_t* codes, uint64_t blocks) {
    VerilatedContext context;
    Vdut dut{&context};
    uint8_t packed[packed_bytes(CODES, CODE_BITS) + 4] = {};
#if MXCAST_MODES > 1
    dut.mode = mode;
#endif
    for (uint64_t block = 0; block < blocks; ++block) {
        std::memcpy(&dut.x, x + block * BLOCK * SOURCE_BYTES, BLOCK * SOURCE_BYTES);
#if MXCAST_RANDOM_BITS
        uint8_t bits[packed_bytes(BLOCK, RANDOM_BITS) + 4];
        pack(random + block * BLOCK, bits);
        std::memcpy(&dut.random, bits, packed_bytes(BLOCK, RANDOM_BITS));
#endif
        dut.eval();
        std::memcpy(scales + block * DESIGNS, &dut.scale, DESIGNS);
        std::memcpy(packed, &dut.p, packed_bytes(CODES, CODE_BITS));
        unpack(packed, codes + block * CODES * CODE_BYTES);
    }
    dut.final();
}

}  // namespace

extern "C" const char* mxcast_convert(const uint8_t* x, const uint16_t* random, uint32_t mode, uint8_t* scales, uint8_t* codes,
                                      uint64_t blocks) {
    return reason([&] { convert(x, random, mode, scales, codes, blocks); });
}
