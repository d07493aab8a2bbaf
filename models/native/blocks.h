/* Kernels of kernels.c for one instruction set. kernels.c includes this file once for each, with NAME and ISA defined,
and on x86-64 with LANES, the numbers of a vector.

The arithmetic is that of models/fast, on whole blocks instead of whole chunks. The sum of y and the power of two whose
last place is one step of the element format holds y in steps, rounded to nearest, ties to even. Other roundings
correct that sum by its error, which is exact. */

#ifdef LANES
#include "lanes.h"

#include "usual.h"
#endif

/* Patterns of blocks as binary32, with subnormals flushed if the rules say so. */
static ISA inline void NAME(widen)(const void *numbers, size_t at, int size, const struct encoding *e, uint32_t *u)
{
    if (e->source == SOURCE_FP32)
        memcpy(u, (const uint32_t *)numbers + at, (size_t)size * 4);
    else if (e->source == SOURCE_BF16)
        for (int i = 0; i < size; i++)
            u[i] = (uint32_t)((const uint16_t *)numbers)[at + i] << 16;
    else
        for (int i = 0; i < size; i++) {
            uint32_t h = ((const uint16_t *)numbers)[at + i];
            /* the exponent is rebiased by an exact product; 65536 and more are Inf and NaN */
            uint32_t magnitude = bits_of(number_of((h & 0x7FFF) << 13) * 0x1p112f);
            u[i] = magnitude | (magnitude >= 0x47800000 ? 0x7F800000 : 0) | (h & 0x8000) << 16;
        }
    if (e->flush_input)
        for (int i = 0; i < size; i++)
            u[i] &= u[i] & 0x7F800000 ? 0xFFFFFFFF : 0x80000000;
}

static ISA inline int32_t NAME(amax)(const uint32_t *u, int size)
{
    int32_t most = 0;
    for (int i = 0; i < size; i++) {
        int32_t magnitude = (int32_t)(u[i] & 0x7FFFFFFF);
        most = magnitude > most ? magnitude : most;
    }
    return most;
}

/* Codes of one block. The parameters after ``size`` are constants in each call, so that loops have no branches. */
static ISA ALWAYS_INLINE void NAME(elements)(const uint32_t *restrict u, float factor, const struct encoding *e,
                                             const uint16_t *random, uint8_t *restrict codes, int size, int rounding,
                                             int is_fixed, int is_usual, int divides)
{
    const float limit = e->limit;
    const uint32_t lowest = e->lowest_field, shift = 23 - e->man_bits, sign_mask = e->sign_mask, mask = e->mask;
    const uint32_t flushed_below = e->flush_element ? e->smallest_normal : 0, positive = e->zero == ZERO_POSITIVE;
    const uint32_t dropped = e->zero == ZERO_OF_PRODUCT;
    const uint32_t taken = e->zero == ZERO_TAKEN_NEGATIVE, replaced = taken || e->zero == ZERO_TAKEN_POSITIVE;
    const uint32_t random_bits = (uint32_t)e->random_bits;
    const float random_range = e->random_range;
    for (int i = 0; i < size; i++) {
        const uint32_t magnitude = u[i] & 0x7FFFFFFF;
        const float product = divides ? number_of(magnitude) / factor : number_of(magnitude) * factor;
        const float y = product < limit ? product : limit;
        /* exponent field above the lowest one; a mask in place of a branch */
        const int32_t difference = (int32_t)((bits_of(y) & 0x7F800000) - lowest);
        const uint32_t above = is_fixed ? 0 : (uint32_t)(difference & ~(difference >> 31));
        const float two = number_of(lowest + above + (shift << 23));
        const float sum = y + two;
        uint32_t code = bits_of(sum) - bits_of(two) + (above >> shift);
        if (rounding != ROUND_RNE) {
            const float error = y - (sum - two), half = two * 0x1p-24f;
            if (rounding == ROUND_RNA)
                code += error == half;
            else if (rounding == ROUND_RNZ)
                code -= error == -half;
            else if (rounding == ROUND_EVEN_CODE)
                code -= (error == -half) & code;
            else
                code -= error < 0;
            if (rounding == ROUND_SR) { /* the part that was cut off, in units of the last random bit */
                const float part = error / (half * 2) + (float)(error < 0);
                code += ((uint32_t)(int32_t)(part * random_range) + random[i]) >> random_bits;
            }
        }
        uint32_t negative = u[i] >> 31;
        if (!is_usual) {
            const uint32_t was_zero = magnitude == 0, is_zero = code < flushed_below;
            code &= is_zero - 1;
            negative = (negative & ~(was_zero & replaced)) | (was_zero & taken);
            negative &= ~((uint32_t)(code == 0) & positive);
            negative &= ~((uint32_t)(product == 0) & dropped);
        }
        const uint32_t all = 0 - negative; /* ones for a negative number */
        codes[i] = (uint8_t)(is_fixed ? ((code ^ all) + negative) & mask : code | (all & sign_mask));
    }
}

/* One block under any rules. */
static ISA void NAME(any)(const uint32_t *u, float factor, const struct encoding *e, const uint16_t *random,
                          uint8_t *codes, int size)
{
#define CASE(rounding)                                                                                                 \
    case rounding:                                                                                                     \
        if (e->is_fixed)                                                                                               \
            NAME(elements)(u, factor, e, random, codes, size, rounding, 1, 0, 0);                                      \
        else                                                                                                           \
            NAME(elements)(u, factor, e, random, codes, size, rounding, 0, 0, 0);                                      \
        break;
    switch (e->rounding) {
        CASE(ROUND_RNE)
        CASE(ROUND_EVEN_CODE)
        CASE(ROUND_RNA)
        CASE(ROUND_RNZ)
        CASE(ROUND_RTZ)
        CASE(ROUND_SR)
    }
#undef CASE
}

/* The numbers of blocks as binary32 patterns: in place if they are, otherwise in ``u``. */
static ISA inline const uint32_t *NAME(patterns)(const void *numbers, size_t at, size_t elements,
                                                 const struct encoding *e, uint32_t *u)
{
    if (e->source == SOURCE_FP32 && !e->flush_input)
        return (const uint32_t *)numbers + at;
    NAME(widen)(numbers, at, (int)elements, e, u);
    return u;
}

/* Largest magnitudes of blocks of binary32 patterns. */
static ISA void NAME(group_maxima)(const uint32_t *u, int size, size_t blocks, uint32_t *maxima)
{
    size_t done = 0;
#ifdef LANES
    if (size == 32)
        done = NAME(usual_maxima)(u, blocks, 32, maxima);
    else if (size == 16)
        done = NAME(usual_maxima)(u, blocks, 16, maxima);
#endif
    for (; done < blocks; done++)
        maxima[done] = (uint32_t)NAME(amax)(u + done * (size_t)size, size);
}

/* Codes of blocks of binary32 patterns. */
static ISA void NAME(group_codes)(const uint32_t *u, const float *factors, const struct encoding *e, size_t blocks,
                                  const uint16_t *random, uint8_t *codes)
{
    const int size = e->block_size;
    size_t done = 0;
#ifdef LANES
    done = NAME(usual_codes)(u, factors, e, blocks, codes);
#else
    const int is_usual = e->zero == ZERO_SIGNED && !e->flush_element && e->rounding == ROUND_RNE && !e->divides;
    for (; size == 32 && is_usual && done < blocks; done++)
        if (e->is_fixed)
            NAME(elements)(u + done * 32, factors[done], e, NULL, codes + done * 32, 32, ROUND_RNE, 1, 1, 0);
        else
            NAME(elements)(u + done * 32, factors[done], e, NULL, codes + done * 32, 32, ROUND_RNE, 0, 1, 0);
#endif
    for (; done < blocks; done++) {
        const size_t at = done * (size_t)size;
        if (e->divides)
            NAME(elements)(u + at, factors[done], e, NULL, codes + at, size, ROUND_RNE, 0, 0, 1);
        else
            NAME(any)(u + at, factors[done], e, random ? random + at : NULL, codes + at, size);
    }
}

/* Blocks whose numbers stay in the first-level cache between two passes. */
static inline size_t NAME(group)(const struct encoding *e)
{
    return e->block_size < GROUP ? GROUP / (size_t)e->block_size : 1;
}

static ISA void NAME(maxima)(const void *numbers, const struct encoding *e, size_t blocks, uint32_t *maxima)
{
    uint32_t u[GROUP];
    const size_t size = (size_t)e->block_size, group = NAME(group)(e);
    for (size_t first = 0; first < blocks; first += group) {
        const size_t count = blocks - first < group ? blocks - first : group;
        const uint32_t *x = NAME(patterns)(numbers, first * size, count * size, e, u);
        NAME(group_maxima)(x, e->block_size, count, maxima + first);
    }
}

static ISA void NAME(encode_under)(const void *numbers, const float *factors, const struct encoding *e, size_t blocks,
                                   const uint16_t *random, uint8_t *codes)
{
    uint32_t u[GROUP];
    const size_t size = (size_t)e->block_size, group = NAME(group)(e);
    for (size_t first = 0; first < blocks; first += group) {
        const size_t count = blocks - first < group ? blocks - first : group, at = first * size;
        const uint32_t *x = NAME(patterns)(numbers, at, count * size, e, u);
        NAME(group_codes)(x, factors + first, e, count, random ? random + at : NULL, codes + at);
    }
}

static ISA void NAME(encode)(const void *numbers, const struct encoding *e, size_t blocks, const uint16_t *random,
                             uint8_t *scales, uint8_t *codes, uint8_t *special)
{
    uint32_t u[GROUP], maxima[GROUP], steps[256];
    float factors[GROUP];
    const size_t size = (size_t)e->block_size, group = NAME(group)(e);
    for (int i = 0; i < 256; i++)
        steps[i] = (uint32_t)e->scales[i] << 23 | e->limits[i];
    for (size_t first = 0; first < blocks; first += group) {
        const size_t count = blocks - first < group ? blocks - first : group, at = first * size;
        const uint32_t *x = NAME(patterns)(numbers, at, count * size, e, u);
        NAME(group_maxima)(x, e->block_size, count, maxima);
        for (size_t i = 0; i < count; i++) {
            const uint32_t exponent = maxima[i] >> 23, step = steps[exponent];
            const uint32_t scale = (step >> 23) + ((maxima[i] & 0x7FFFFF) > (step & 0x7FFFFF));
            special[first + i] = exponent == 255;
            scales[first + i] = (uint8_t)scale;
            factors[i] = number_of(scale < 254 ? (254 - scale) << 23 : 0x00400000);
        }
        NAME(group_codes)(x, factors, e, count, random ? random + at : NULL, codes + at);
    }
}

/* Value of each code times the factor of its block. */
static ISA void NAME(decode)(const uint8_t *scales, const uint8_t *codes, const struct decoding *d, size_t blocks,
                             float *y)
{
    const float *values = d->values, *factors = d->factors;
    const size_t size = (size_t)d->block_size;
    size_t block = 0;
#ifdef LANES
    block = NAME(usual_decode)(scales, codes, d, blocks, y);
#endif
    for (codes += block * size, y += block * size; block < blocks; block++, codes += size, y += size) {
        const float factor = factors[scales[block]];
        for (size_t i = 0; i < size; i++)
            y[i] = values[codes[i]] * factor;
    }
}

/* Add the errors of a block to the sums, unless one of them is not finite; returns whether they were added. Sums have 16
lanes with every instruction set, so that they do not depend on it. */
static ISA ALWAYS_INLINE int NAME(add_errors)(const uint32_t *restrict u, const float *restrict values, float factor,
                                              double weight, float largest, size_t size, struct errors *restrict sums)
{
    float signal[16] = {0}, noise[16] = {0};
    int32_t saturated[16] = {0}, flushed[16] = {0};
#define ADD(i, lane)                                                                                                   \
    do {                                                                                                               \
        const float x = number_of(u[i]) * factor, error = x - values[i];                                               \
        signal[lane] += x * x;                                                                                         \
        noise[lane] += error * error;                                                                                  \
        saturated[lane] += __builtin_fabsf(x) > largest;                                                               \
        flushed[lane] += (values[i] == 0) & ((u[i] & 0x7FFFFFFF) != 0);                                                \
    } while (0)
    for (size_t first = 0; first + 16 <= size; first += 16)
        for (size_t i = 0; i < 16; i++)
            ADD(first + i, i);
    for (size_t i = size / 16 * 16; i < size; i++)
        ADD(i, i % 16);
#undef ADD
    int is_finite = 1;
    for (int i = 0; i < 16; i++)
        is_finite &= bits_of(noise[i]) < 0x7F800000;
    if (!is_finite)
        return 0;
    for (int i = 0; i < 16; i++) {
        sums->signal[i] += weight * (double)signal[i];
        sums->noise[i] += weight * (double)noise[i];
        sums->saturated[i] += saturated[i];
        sums->flushed[i] += flushed[i];
    }
    return 1;
}

/* Errors of blocks. Those whose scale does not fit their numbers, or that are not finite, are marked and left out. */
static ISA void NAME(errors)(const uint32_t *u, const uint8_t *scales, const uint8_t *codes, const struct decoding *d,
                             const float *reciprocals, float largest, size_t blocks, uint8_t *special,
                             struct errors *sums)
{
    static const uint8_t unit[GROUP] = {0};
    const float one = 1;
    struct decoding values = *d;
    float y[GROUP];
    uint32_t maxima[GROUP];
    const size_t size = (size_t)d->block_size, group = GROUP / size;
    values.factors = &one;
    for (size_t first = 0; first < blocks; first += group) {
        const size_t count = blocks - first < group ? blocks - first : group;
        NAME(decode)(unit, codes + first * size, &values, count, y);
        NAME(group_maxima)(u + first * size, d->block_size, count, maxima);
        for (size_t i = 0; i < count; i++) {
            const uint8_t scale = scales[first + i];
            const uint32_t *x = u + (first + i) * size;
            const float factor = reciprocals[scale], amax = number_of(maxima[i]);
            const double weight = wide_power(2 * (scale - 127));
            int fits = (amax * factor > VANISHING || amax == 0) && maxima[i] < TOP;
            if (fits) /* a size that is a constant is faster */
                fits = size == 32 ? NAME(add_errors)(x, y + i * size, factor, weight, largest, 32, sums)
                                  : NAME(add_errors)(x, y + i * size, factor, weight, largest, size, sums);
            special[first + i] = !fits;
            if (fits) {
                sums->amax_min = amax < sums->amax_min ? amax : sums->amax_min;
                sums->amax_max = amax > sums->amax_max ? amax : sums->amax_max;
            }
        }
    }
}
