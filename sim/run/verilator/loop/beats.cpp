// SPDX-License-Identifier: Apache-2.0
// Behind gaps.cpp in the same file: a design with a clock, valid and ready, whose blocks are several beats.

namespace {

enum Fault { NONE, CHANGED, EXTRA, LOST, LATE, SLOW, MARKED, PATH };

}  // namespace

// Beats enter in order and leave in order, with gaps on both sides that a seed gives; finds a fault, and at which beat.
// In a gap the inputs are the complement. Registers start with random bits, and with a part of a block inside, which the
// reset must drop. Whenever the receiver has been ready for long, a beat must be able to enter in each cycle, and results
// must come a fixed time after the last beat that they need: a part is the beats that enter before the first of their
// results can leave, a whole block or a beat.
MXCAST_ENTRY(mxcast_beats) {
    return reason([&] {
        const uint64_t latency = given[0], beats = given[1], settled = 2 * (latency + beats);
        const bool is_elastic = given[3];  // no output follows an input within the cycle
        const uint64_t part = given[4];
        const bool is_steady = given[5];  // a beat can enter in each cycle, and its result leaves after the latency
        const uint64_t pause = given[6];  // cycles in which beats may stop
        uint64_t done = 0;
        Fault fault = NONE;
        if (count) {
            uint32_t state = static_cast<uint32_t>(given[2]) * 2654435761u | 1;
            Gaps input{&state}, output{&state};
            Started design{in, state};
            Vdut& dut = design.dut;
            const uint64_t before_reset = input.draw() % (2 * latency + beats);
            for (uint64_t cycle = 0; cycle < 2; ++cycle) {  // registers start with random bits
                design.reset();
                dut.eval();
                if (cycle == 0)
                    for (uint64_t left = before_reset; left; --left) edge(dut);
            }

            Held before, now;
            uint64_t entered = 0, free = 0;  // free: for how many cycles the receiver has been ready
            uint64_t completed[256];  // by part: the cycle in which its last beat entered
            bool offered = false, waits = false, first = false, last = false;
            const uint64_t most = (64 + pause) * count + 64 * settled + 1024;
            for (uint64_t cycle = 0, rest = settled + pause; fault == NONE && rest; ++cycle) {
                const bool gap = input.now(cycle);
                offered = entered < count && (offered || !gap);  // what is offered stays until it is taken
                drive(dut, in, offered ? entered : entered % count, !offered);
                dut.i_valid = offered;
                dut.o_ready = !output.now(cycle);
                dut.eval();
                if (is_elastic) {
                    const bool ready = dut.i_ready, valid = dut.o_valid;
                    dut.o_ready = !dut.o_ready;
                    dut.i_valid = !dut.i_valid;
                    dut.eval();
                    if (dut.i_ready != ready || dut.o_valid != valid) fault = PATH;
                    dut.o_ready = !dut.o_ready;
                    dut.i_valid = !dut.i_valid;
                    dut.eval();
                }
                now.take(dut);
                const uint64_t needed = done / part;
                if (free > settled && dut.o_ready && !dut.i_ready) fault = SLOW;
                if (waits && !(dut.o_valid && now == before && dut.o_first == first && dut.o_last == last)) {
                    fault = CHANGED;
                }
                if (dut.o_valid) {
                    if (needed >= entered / part) {
                        fault = EXTRA;
                    } else if (dut.o_first != (done % beats == 0) || dut.o_last != (done % beats == beats - 1)) {
                        fault = MARKED;
                    } else if (free > settled && done % part == 0 &&
                               cycle - completed[needed % 256] != latency - (part - 1)) {
                        fault = LATE;
                    } else if (dut.o_ready) {
                        collect(dut, out, done++);
                    }
                } else if (free > settled && needed < entered / part && cycle > completed[needed % 256] + latency) {
                    fault = LATE;
                }
                waits = dut.o_valid && !dut.o_ready;
                before = now;
                first = dut.o_first;
                last = dut.o_last;
                free = dut.o_ready && is_steady ? free + 1 : 0;
                if (offered && dut.i_ready) {
                    if (entered % part == part - 1) completed[entered / part % 256] = cycle;
                    ++entered;
                    offered = false;
                }
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
