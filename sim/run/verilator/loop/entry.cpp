// SPDX-License-Identifier: Apache-2.0
// The entries of a library around a Verilated design, and the way in which a design that stops ends a call.

#include <exception>
#include <stdexcept>
#include <string>

double sc_time_stamp() { return 0; }

// $stop, $error and what Verilator itself gives up on: an error of this call, where the library would end the process.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + message);
}

// A design may ask which of its mutants is active. The answer holds from the start of a call to its end.
static unsigned active_mutant = 0;
extern "C" unsigned mxcast_mutant() { return active_mutant; }
extern "C" void mxcast_activate(unsigned number) { active_mutant = number; }

namespace {

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

}  // namespace

// Every entry has the arrays of the ports, the number of transactions, and numbers in and out.
#define MXCAST_ENTRY(name)                                                                                             \
    extern "C" const char* name(const uint8_t* const* in, uint8_t* const* out, uint64_t count,                         \
                                [[maybe_unused]] const uint64_t* given, [[maybe_unused]] uint64_t* found)
