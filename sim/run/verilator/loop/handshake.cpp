// SPDX-License-Identifier: Apache-2.0
// Behind gaps.cpp in the same file: a design with a clock, valid and ready.

namespace {

enum Fault { NONE, READY, CHANGED, EXTRA, LOST, LATE };

}  // namespace

// Transactions enter in order and results leave, with gaps on both sides that a seed gives; finds a fault, and at which
// result. In a gap the inputs are the complement. Registers start with random bits and with transactions inside, which
// the reset must drop; so must a reset at each place of a block that takes several cycles.
MXCAST_ENTRY(mxcast_handshake) {
    return reason([&] {
        const uint64_t latency = given[0], pause = given[2];  // cycles in which blocks may stop
        const uint64_t interval = given[3];  // moves from a block to the next one that can enter
        const uint64_t places = interval + pause;  // of a block, at which a reset may drop it
        uint64_t done = 0;
        Fault fault = NONE;
        if (count) {
            uint32_t state = static_cast<uint32_t>(given[1]) * 2654435761u | 1;
            Gaps input{&state}, output{&state};
            Started design{in, state};
            Vdut& dut = design.dut;
            for (uint64_t cycle = 0; cycle < 2 * latency; ++cycle) edge(dut);
            design.reset();
            for (uint64_t moved = 0; places > 1 && moved < places && fault == NONE; ++moved) {
                dut.i_valid = dut.o_ready = 1;
                for (uint64_t left = latency + moved; left; --left) edge(dut);
                design.reset();
                dut.i_valid = 0;
                for (uint64_t left = latency + places; left; --left) {
                    dut.eval();
                    if (dut.o_valid) fault = EXTRA;
                    edge(dut);
                }
            }

            Held before, now;
            uint64_t entered = 0, moves = 0, next = 0;
            uint64_t entry[256];  // by transaction: how often everything has moved before it entered
            bool offered = false, waits = false;
            const uint64_t most = (64 + pause + interval) * count + 64 * latency + 1024;
            for (uint64_t cycle = 0, rest = latency + pause + 2; fault == NONE && rest; ++cycle) {
                const bool gap = input.now(cycle);
                offered = entered < count && (offered || !gap);  // what is offered stays until it is taken
                drive(dut, in, offered ? entered : entered % count, !offered);
                dut.i_valid = offered;
                dut.o_ready = !output.now(cycle);
                dut.eval();
                now.take(dut);
                const bool goes = dut.o_ready || !dut.o_valid;
                if (pause ? dut.i_ready && !goes : dut.i_ready != (goes && moves >= next)) fault = READY;
                if (waits && !(dut.o_valid && now == before)) fault = CHANGED;
                if (dut.o_valid) {
                    if (done == entered) {
                        fault = EXTRA;
                    } else if (const uint64_t late = moves - entry[done % 256]; pause ? late > latency : late != latency) {
                        fault = LATE;
                    } else if (dut.o_ready) {
                        collect(dut, out, done++);
                    }
                }
                waits = dut.o_valid && !dut.o_ready;
                before = now;
                if (offered && dut.i_ready) {
                    entry[entered++ % 256] = moves;
                    next = moves + interval;
                    offered = false;
                }
                moves += pause ? dut.i_ready : goes;
                rest -= done == count;  // nothing may come after the last
                if (cycle == most) fault = LOST;
                edge(dut);
            }
            dut.final();
        }
        found[0] = fault;
        found[1] = done;
    });
}
