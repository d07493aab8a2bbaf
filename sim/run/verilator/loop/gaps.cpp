// SPDX-License-Identifier: Apache-2.0
// Behind driver.cpp in the same file: gaps at a handshake, and results that wait.

namespace {

// Gaps on one side, in 16ths of all cycles; another choice every 64 cycles.
struct Gaps {
    uint32_t* state;
    unsigned often = 0;

    uint32_t draw() {  // xorshift32
        *state ^= *state << 13;
        *state ^= *state >> 17;
        return *state ^= *state << 5;
    }
    bool now(uint64_t cycle) {
        static constexpr unsigned CHOICES[] = {0, 2, 8, 15};
        if (cycle % 64 == 0) often = CHOICES[draw() >> 30];
        return (draw() >> 16) % 16 < often;
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
