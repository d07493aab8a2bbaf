// SPDX-License-Identifier: Apache-2.0
// Behind driver.cpp in the same file: a design without registers on MANY transactions at a time.
// Before this file stands what `many.py` makes of the design: `Many`, `drive_many`, `collect_many` and `evaluate`.

// The processor may be another one than where this was compiled.
static bool has_vectors() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2");
#else
    return true;
#endif
}

MXCAST_ENTRY(mxcast_convert_many) {
    if (!has_vectors()) return mxcast_convert(in, out, count, given, found);
    static thread_local Many many;
    many = Many{};
    for (uint64_t row = 0; row < count; row += MANY) {
        const unsigned used = count - row < MANY ? static_cast<unsigned>(count - row) : MANY;
        for (unsigned lane = 0; lane < used; ++lane) drive_many(many, in, row + lane, lane);
        evaluate(many);
        for (unsigned lane = 0; lane < used; ++lane) collect_many(many, out, row + lane, lane);
    }
    return nullptr;
}
