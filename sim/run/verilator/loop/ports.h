// SPDX-License-Identifier: Apache-2.0
// Ports of a Verilated design, which are plain little-endian words in memory, and rows of words, one for each lane.

#include <cstdint>
#include <cstring>

#include "Vdut.h"
#include "verilated.h"

namespace {

template <unsigned BITS>
constexpr unsigned WORD = BITS <= 8 ? 1 : BITS <= 16 ? 2 : BITS <= 32 ? 4 : 8;

template <unsigned BITS>
constexpr uint64_t MASK = BITS == 64 ? ~uint64_t{0} : (uint64_t{1} << BITS) - 1;

constexpr unsigned bytes_of(unsigned bits) { return (bits + 7) / 8; }

// The lanes of a row, or their complement, to a port.
template <unsigned LANES, unsigned BITS, class Port>
void put(Port& port, const uint8_t* words, bool complement) {
    static_assert(BITS <= 56 || BITS == 64, "a field spans at most eight bytes");
    static_assert(sizeof(Port) >= bytes_of(LANES * BITS), "the port has another width");
    if (BITS == 8 * WORD<BITS> && !complement) {
        std::memcpy(&port, words, bytes_of(LANES * BITS));
        return;
    }
    uint8_t packed[bytes_of(LANES * BITS) + 8] = {};
    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint64_t field = 0, window;
        std::memcpy(&field, words + lane * WORD<BITS>, WORD<BITS>);
        if (complement) field = ~field;
        uint8_t* place = packed + lane * BITS / 8;
        std::memcpy(&window, place, 8);
        window |= (field & MASK<BITS>) << (lane * BITS % 8);
        std::memcpy(place, &window, 8);
    }
    std::memcpy(&port, packed, bytes_of(LANES * BITS));
}

// The lanes of a port to a row.
template <unsigned LANES, unsigned BITS, class Port>
void get(const Port& port, uint8_t* words) {
    static_assert(sizeof(Port) >= bytes_of(LANES * BITS), "the port has another width");
    if constexpr (BITS == 8 * WORD<BITS>) {
        std::memcpy(words, &port, LANES * WORD<BITS>);
        return;
    }
    uint8_t packed[bytes_of(LANES * BITS) + 8] = {};
    std::memcpy(packed, &port, bytes_of(LANES * BITS));
    for (unsigned lane = 0; lane < LANES; ++lane) {
        uint64_t field;
        std::memcpy(&field, packed + lane * BITS / 8, 8);
        field = field >> (lane * BITS % 8) & MASK<BITS>;
        std::memcpy(words + lane * WORD<BITS>, &field, WORD<BITS>);
    }
}

}  // namespace
