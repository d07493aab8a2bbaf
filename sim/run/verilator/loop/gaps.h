// SPDX-License-Identifier: Apache-2.0
// Gaps at a handshake, which a seed gives.

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

}  // namespace
