// SPDX-License-Identifier: Apache-2.0
// Behind verilated.cpp in the same file: the loop around a Verilated converter with registers, valid and ready.

namespace {

constexpr unsigned X_BYTES = BLOCK * SOURCE_BYTES;
constexpr unsigned P_BYTES = packed_bytes(CODES, CODE_BITS);

enum Fault { NONE, READY, CHANGED, EXTRA, LOST, LATE };

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

struct Bench {
    VerilatedContext context;
    Vdut dut{&context};
    const uint8_t* x;
    const uint16_t* random;
    uint32_t mode;

    // A block, or, in a gap, its complement under another mode.
    void drive(uint64_t block, bool valid) {
        uint8_t bytes[X_BYTES];
        const uint8_t flip = valid ? 0 : 0xff;
        for (unsigned byte = 0; byte < X_BYTES; ++byte) bytes[byte] = x[block * X_BYTES + byte] ^ flip;
        std::memcpy(&dut.x, bytes, X_BYTES);
#if MXCAST_RANDOM_BITS
        uint8_t bits[packed_bytes(BLOCK, RANDOM_BITS) + 4];
        uint16_t drawn[BLOCK];
        for (unsigned lane = 0; lane < BLOCK; ++lane)
            drawn[lane] = random[block * BLOCK + lane] ^ (valid ? 0 : (1u << RANDOM_BITS) - 1);
        pack(drawn, bits);
        std::memcpy(&dut.random, bits, packed_bytes(BLOCK, RANDOM_BITS));
#endif
#if MXCAST_MODES > 1
        dut.mode = valid ? mode : (mode + 1) % MXCAST_MODES;
#endif
        dut.i_valid = valid;
    }
    void edge() {
        dut.clk = 1;
        dut.eval();
        dut.clk = 0;
        dut.eval();
    }
};

}  // namespace

// Blocks enter in order and results leave, with gaps on both sides that a seed gives; returns a fault, and at which result.
// Registers start with random bits and with blocks inside, which the reset must drop.
extern "C" uint32_t mxcast_handshake(const uint8_t* x, const uint16_t* random, uint32_t mode, uint32_t latency, uint32_t seed,
                                     uint8_t* scales, uint8_t* codes, uint64_t blocks, uint64_t* left) {
    if (!blocks) return *left = 0, NONE;
    uint32_t state = seed * 2654435761u | 1;
    Gaps input{&state}, output{&state};
    Bench bench{.x = x, .random = random, .mode = mode};
    Vdut& dut = bench.dut;
    bench.context.randReset(2);
    bench.context.randSeed(static_cast<int>(state >> 1) | 1);
    dut.clk = dut.rst = dut.o_ready = 0;
    bench.drive(0, false);
    dut.i_valid = 1;
    dut.eval();
    for (uint32_t cycle = 0; cycle < 2 * latency; ++cycle) bench.edge();
    dut.rst = 1;
    dut.eval();
    bench.edge();
    dut.rst = 0;

    uint8_t packed[P_BYTES + 4] = {}, held[P_BYTES] = {}, held_scale = 0;
    uint64_t entered = 0, moves = 0, done = 0;
    uint64_t entry[256];  // by block: how often everything has moved before it entered
    bool offered = false, waits = false;
    Fault fault = NONE;
    const uint64_t most = 64 * blocks + 64 * latency + 1024;
    for (uint64_t cycle = 0, rest = latency + 2; fault == NONE && rest; ++cycle) {
        const bool gap = input.now(cycle);
        offered = entered < blocks && (offered || !gap);  // what is offered stays until it is taken
        bench.drive(offered ? entered : entered % blocks, offered);
        dut.o_ready = !output.now(cycle);
        dut.eval();
        if (dut.i_ready != (dut.o_ready || !dut.o_valid)) fault = READY;
        if (waits && !(dut.o_valid && dut.scale == held_scale && !std::memcmp(&dut.p, held, P_BYTES))) fault = CHANGED;
        if (dut.o_valid) {
            if (done == entered) {
                fault = EXTRA;
            } else if (moves - entry[done % 256] != latency) {
                fault = LATE;
            } else if (dut.o_ready) {
                scales[done] = dut.scale;
                std::memcpy(packed, &dut.p, P_BYTES);
                unpack(packed, codes + done * CODES * CODE_BYTES);
                ++done;
            }
        }
        waits = dut.o_valid && !dut.o_ready;
        held_scale = dut.scale;
        std::memcpy(held, &dut.p, P_BYTES);
        if (offered && dut.i_ready) {
            entry[entered++ % 256] = moves;
            offered = false;
        }
        moves += dut.i_ready;
        rest -= done == blocks;  // nothing may come after the last
        if (cycle == most) fault = LOST;
        bench.edge();
    }
    *left = done;
    dut.final();
    return fault;
}
