// SPDX-License-Identifier: Apache-2.0
// Behind gaps.h in the same file: an encoder with AXI4-Stream, its packets, and a receiver for codes and for scales.

namespace {

enum Fault { NONE, CHANGED, EXTRA, LOST };

// All bits of a signal, from at most so many bytes; the others are zeros.
template <class Signal>
void set(Signal& signal, const uint8_t* bytes, unsigned count) {
    uint8_t whole[sizeof(Signal)] = {};
    std::memcpy(whole, bytes, count);
    std::memcpy(&signal, whole, sizeof whole);
}

// Bytes of a beat that count.
template <class Keep>
unsigned kept_of(const Keep& keep) {
    uint8_t whole[sizeof(Keep)];
    std::memcpy(whole, &keep, sizeof whole);
    unsigned count = 0;
    for (const uint8_t byte : whole)
        for (unsigned bit = 0; bit < 8; ++bit) count += byte >> bit & 1;
    return count;
}

// The receiver of a stream. It writes the bytes of all packets one after the other, and the length of each.
template <unsigned BYTES>
struct Receiver {
    uint8_t *bytes, *end;
    uint64_t* lengths;
    uint64_t beats = 0, packets = 0, waits = 0, first = 0, last = 0;
    bool waited = false, was_last = false;
    unsigned was_kept = 0;
    uint8_t before[BYTES] = {};

    // A cycle before its edge; returns a fault. The beat is taken if it is valid and the receiver ready.
    Fault cycle(bool valid, bool ready, const void* data, unsigned kept, bool is_last, uint64_t now, uint64_t expected) {
        const bool is_same = is_last == was_last && kept == was_kept && !std::memcmp(before, data, BYTES);
        if (waited && !(valid && is_same)) return CHANGED;
        waited = valid && !ready;
        waits += waited;
        if (!valid) return NONE;
        std::memcpy(before, data, BYTES);
        was_last = is_last;
        was_kept = kept;
        if (packets == expected || bytes + kept > end) return EXTRA;
        if (!ready) return NONE;
        if (!beats++) first = now;
        last = now;
        std::memcpy(bytes, data, kept);
        bytes += kept;
        lengths[packets] += kept;
        packets += is_last;
        return NONE;
    }
};

}  // namespace

// Packets enter in order, and codes and scales leave, with gaps on all three sides if a seed is given. With packed
// blocks there is no stream of scales, which are among the codes. In a gap the
// inputs are the complement. in: the bytes of all packets, and the length of each. out: the bytes of codes and of
// scales, and their lengths. given: seed or 0, and room for codes and scales in bytes. found: the fault, the packets that
// have left, cycles until the last beat, beats of numbers, codes and scales, cycles in which each of the three waited,
// and the cycles from the first beat of codes to the last.
MXCAST_ENTRY(mxcast_packets) {
    return reason([&] {
        VerilatedContext context;
        context.randReset(2);
        context.randSeed(static_cast<int>(given[0] & 0x3FFFFFFF) | 1);
        Vdut dut{&context};
        uint32_t state = static_cast<uint32_t>(given[0]) * 2654435761u | 1;
        const bool stalls = given[0];
        Gaps gap[3] = {{&state}, {&state}, {&state}};
        Receiver<MXCAST_CODE_BYTES> codes{out[0], out[0] + given[1], reinterpret_cast<uint64_t*>(out[2])};
        Receiver<1> scales{out[1], out[1] + given[2], reinterpret_cast<uint64_t*>(out[3])};
        const uint8_t* next = in[0];
        const uint64_t* length = reinterpret_cast<const uint64_t*>(in[1]);
        uint64_t packet = 0, left = count ? length[0] : 0, beats = 0, waits = 0, cycles = 0, idle = 0;
        bool offered = false;
        Fault fault = NONE;
        const auto edge = [&] {
            dut.aclk = 1;
            dut.eval();
            dut.aclk = 0;
            dut.eval();
        };
        dut.aclk = dut.aresetn = dut.s_axis_tvalid = dut.m_axis_tready = 0;
        const auto scale_ready = [&](bool ready) {
#if MXCAST_SCALES
            dut.m_axis_scale_tready = ready;
#endif
        };
        scale_ready(false);
        dut.eval();
        edge();
        dut.aresetn = 1;
        for (uint64_t now = 0; fault == NONE && idle < 2000; ++now) {
            bool closed[3] = {};
            for (unsigned side = 0; stalls && side < 3; ++side) closed[side] = gap[side].now(now);
            offered = packet < count && (offered || !closed[0]);
            uint8_t data[MXCAST_NUMBER_BYTES], kept[(MXCAST_NUMBER_BYTES + 7) / 8] = {};
            const unsigned size = left < MXCAST_NUMBER_BYTES ? left : MXCAST_NUMBER_BYTES;
            for (unsigned byte = 0; byte < size; ++byte) {
                data[byte] = offered ? next[byte] : static_cast<uint8_t>(~next[byte]);
                kept[byte / 8] |= 1 << byte % 8;
            }
            set(dut.s_axis_tdata, data, size);
            set(dut.s_axis_tkeep, kept, sizeof kept);
            dut.s_axis_tlast = (left == size) == offered;
            dut.s_axis_tvalid = offered;
            dut.m_axis_tready = !closed[1];
            scale_ready(!closed[2]);
            dut.eval();
            const uint64_t done = codes.beats + scales.beats + beats;
            fault = codes.cycle(dut.m_axis_tvalid, !closed[1], &dut.m_axis_tdata, kept_of(dut.m_axis_tkeep),
                                dut.m_axis_tlast, now, count);
#if MXCAST_SCALES
            if (fault == NONE)
                fault = scales.cycle(dut.m_axis_scale_tvalid, !closed[2], &dut.m_axis_scale_tdata, 1,
                                     dut.m_axis_scale_tlast, now, count);
#endif
            if (offered && dut.s_axis_tready) {
                ++beats;
                offered = false;
                next += size;
                left -= size;
                if (!left && ++packet < count) left = length[packet];
            }
            waits += offered;
            const bool moved = codes.beats + scales.beats + beats != done;
            idle = moved ? 0 : idle + 1;  // also after the last packet: nothing more may come
            if (moved) cycles = now + 1;
            edge();
        }
        dut.final();
        if (fault == NONE && (codes.packets < count || (MXCAST_SCALES && scales.packets < count))) fault = LOST;
        const uint64_t results[] = {fault,     codes.packets, cycles,      beats,        codes.beats,
                                    scales.beats, waits,      codes.waits, scales.waits, codes.last - codes.first + 1};
        std::memcpy(found, results, sizeof results);
    });
}
