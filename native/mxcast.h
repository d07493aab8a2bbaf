/* mxcast.h: conversions between numbers and block formats (OCP MX, NVFP4), as they are defined, bit by bit.

   SPDX-License-Identifier: Apache-2.0

   One header for C99 and C++17. It needs no library, allocates nothing and has no state. All arithmetic is on integers,
   so neither a rounding mode nor a flush-to-zero mode of the processor changes a bit. Names of rules and fields are
   those of mxcast's configurations, and docs/numerics.md of mxcast defines each of them.

   Words: X is the shared exponent of a block, and its scale byte is X + 127. a is the largest magnitude of a block.
   A magnitude is a pattern or a code without its sign. A value is significand * 2**exponent.

   Contents: formats; numbers; rounding; binary32 arithmetic; encode; decode; cast; NVFP4; random bits; layouts. */

#ifndef MXCAST_H
#define MXCAST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "mxcast.h: compile without -ffast-math, which lets a program flush the subnormal numbers it passes here"
#endif

/* ---- Formats ----------------------------------------------------------------------------------------------------- */

enum mxcast_kind { MXCAST_KIND_FLOAT, MXCAST_KIND_FIXED };

/* Codes that are not numbers. IEEE: the top exponent field is Inf and NaN. NAN_ONLY: the all-ones magnitude is NaN.
   FNUZ: the code of negative zero is NaN. */
enum mxcast_special_codes {
    MXCAST_SPECIAL_CODES_IEEE,
    MXCAST_SPECIAL_CODES_NAN_ONLY,
    MXCAST_SPECIAL_CODES_NONE,
    MXCAST_SPECIAL_CODES_FNUZ
};

typedef struct mxcast_format {
    enum mxcast_kind kind;
    /* FLOAT: from the top bit down, sign (if is_signed), exponent field, fraction. */
    int exp_bits, man_bits, bias;
    enum mxcast_special_codes specials;
    int is_signed;
    int subnormals; /* exponent field 0 holds zero and subnormal numbers; otherwise it is a binade like the others */
    /* FIXED: two's complement in units of 2**-frac_bits. The lowest code is never made, so the format is symmetric. */
    int bits, frac_bits;
} mxcast_format;

#define MXCAST_FLOAT_FORMAT(exp_bits, man_bits, bias, specials, is_signed, subnormals) \
    { MXCAST_KIND_FLOAT, exp_bits, man_bits, bias, MXCAST_SPECIAL_CODES_##specials, is_signed, subnormals, 0, 0 }
#define MXCAST_FIXED_FORMAT(bits, frac_bits) \
    { MXCAST_KIND_FIXED, 0, 0, 0, MXCAST_SPECIAL_CODES_NONE, 1, 0, bits, frac_bits }

static const mxcast_format MXCAST_FP64 = MXCAST_FLOAT_FORMAT(11, 52, 1023, IEEE, 1, 1);
static const mxcast_format MXCAST_FP32 = MXCAST_FLOAT_FORMAT(8, 23, 127, IEEE, 1, 1);
static const mxcast_format MXCAST_BF16 = MXCAST_FLOAT_FORMAT(8, 7, 127, IEEE, 1, 1);
static const mxcast_format MXCAST_FP16 = MXCAST_FLOAT_FORMAT(5, 10, 15, IEEE, 1, 1);
static const mxcast_format MXCAST_E5M2 = MXCAST_FLOAT_FORMAT(5, 2, 15, IEEE, 1, 1);
static const mxcast_format MXCAST_E4M3 = MXCAST_FLOAT_FORMAT(4, 3, 7, NAN_ONLY, 1, 1);
static const mxcast_format MXCAST_E3M2 = MXCAST_FLOAT_FORMAT(3, 2, 3, NONE, 1, 1);
static const mxcast_format MXCAST_E2M3 = MXCAST_FLOAT_FORMAT(2, 3, 1, NONE, 1, 1);
static const mxcast_format MXCAST_E2M1 = MXCAST_FLOAT_FORMAT(2, 1, 1, NONE, 1, 1);
static const mxcast_format MXCAST_INT8 = MXCAST_FIXED_FORMAT(8, 6);
static const mxcast_format MXCAST_E8M0 = MXCAST_FLOAT_FORMAT(8, 0, 127, NAN_ONLY, 0, 0);
static const mxcast_format MXCAST_UE4M3 = MXCAST_FLOAT_FORMAT(4, 3, 7, NAN_ONLY, 0, 1);
static const mxcast_format MXCAST_UE5M3 = MXCAST_FLOAT_FORMAT(5, 3, 15, NAN_ONLY, 0, 1);
static const mxcast_format MXCAST_E4M3FNUZ = MXCAST_FLOAT_FORMAT(4, 3, 8, FNUZ, 1, 1);
static const mxcast_format MXCAST_E5M2FNUZ = MXCAST_FLOAT_FORMAT(5, 2, 16, FNUZ, 1, 1);

/* n ones. */
static inline uint64_t mxcast_ones(int n) {
    return n >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

/* Shift to the right, by any number of bits. */
static inline uint64_t mxcast_shifted(uint64_t value, int n) {
    return n >= 64 ? 0 : value >> n;
}

/* Bits from the leading one down; 0 for 0. */
static inline int mxcast_bit_length(uint64_t value) {
    int n = 0;
    for (int half = 32; half; half /= 2) {
        if (value >> half == 0) continue;
        value >>= half;
        n += half;
    }
    return n + (value != 0);
}

static inline int mxcast_bits(const mxcast_format *f) {
    return f->kind == MXCAST_KIND_FIXED ? f->bits : f->is_signed + f->exp_bits + f->man_bits;
}

/* The sign bit; 0 without one. */
static inline uint64_t mxcast_sign_mask(const mxcast_format *f) {
    return f->is_signed ? (uint64_t)1 << (mxcast_bits(f) - 1) : 0;
}

static inline uint64_t mxcast_magnitude_mask(const mxcast_format *f) {
    return mxcast_ones(mxcast_bits(f) - f->is_signed);
}

/* The top exponent field with the fraction 0: Inf under IEEE, otherwise a number. */
static inline uint64_t mxcast_inf_field(const mxcast_format *f) {
    return mxcast_ones(f->exp_bits) << f->man_bits;
}

/* Code of the largest number. */
static inline uint64_t mxcast_max_code(const mxcast_format *f) {
    if (f->specials == MXCAST_SPECIAL_CODES_IEEE) return mxcast_inf_field(f) - 1;
    return mxcast_magnitude_mask(f) - (f->specials == MXCAST_SPECIAL_CODES_NAN_ONLY);
}

/* Exponent of the smallest normal number. */
static inline int mxcast_emin(const mxcast_format *f) {
    return f->subnormals - f->bias;
}

/* Exponent of the largest number. */
static inline int mxcast_emax(const mxcast_format *f) {
    if (f->kind == MXCAST_KIND_FIXED) return mxcast_bit_length(mxcast_max_code(f)) - 1 - f->frac_bits;
    return (int)(mxcast_max_code(f) >> f->man_bits) - f->bias;
}

/* Fraction bits of a number in the top binade. */
static inline int mxcast_fraction_bits(const mxcast_format *f) {
    return f->kind == MXCAST_KIND_FIXED ? mxcast_bit_length(mxcast_max_code(f)) - 1 : f->man_bits;
}

static inline int mxcast_has_signed_zero(const mxcast_format *f) {
    return f->kind == MXCAST_KIND_FLOAT && f->is_signed && f->subnormals && f->specials != MXCAST_SPECIAL_CODES_FNUZ;
}

/* Is there a NaN? If so, mxcast_nan_code is the positive one whose other bits are ones, or that of FNUZ. */
static inline int mxcast_has_nan(const mxcast_format *f) {
    return f->specials != MXCAST_SPECIAL_CODES_NONE;
}

static inline uint64_t mxcast_nan_code(const mxcast_format *f) {
    return f->specials == MXCAST_SPECIAL_CODES_FNUZ ? mxcast_sign_mask(f) : mxcast_magnitude_mask(f);
}

/* The code of a magnitude and a sign. Formats without a sign, and without a negative zero, leave it out. */
static inline uint64_t mxcast_signed_code(const mxcast_format *f, uint64_t magnitude, int negative) {
    if (!negative || !f->is_signed) return magnitude;
    if (f->kind == MXCAST_KIND_FIXED) return (~magnitude + 1) & mxcast_ones(f->bits);
    return magnitude || mxcast_has_signed_zero(f) ? magnitude | mxcast_sign_mask(f) : magnitude;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

enum mxcast_class { MXCAST_CLASS_FINITE, MXCAST_CLASS_INF, MXCAST_CLASS_NAN };

typedef struct mxcast_number {
    int negative;
    enum mxcast_class kind;
    uint64_t significand; /* the magnitude of a finite number is significand * 2**exponent */
    int exponent;
} mxcast_number;

/* The number of a code. */
static inline mxcast_number mxcast_number_of(uint64_t code, const mxcast_format *f) {
    mxcast_number n = {0, MXCAST_CLASS_FINITE, 0, 0};
    n.negative = (code & mxcast_sign_mask(f)) != 0;
    if (f->kind == MXCAST_KIND_FIXED) {
        n.significand = n.negative ? ((uint64_t)1 << f->bits) - code : code;
        n.exponent = -f->frac_bits;
        return n;
    }
    const uint64_t magnitude = code & mxcast_magnitude_mask(f);
    if (magnitude > mxcast_max_code(f)) {
        const int is_inf = f->specials == MXCAST_SPECIAL_CODES_IEEE && magnitude == mxcast_inf_field(f);
        n.kind = is_inf ? MXCAST_CLASS_INF : MXCAST_CLASS_NAN;
        return n;
    }
    if (f->specials == MXCAST_SPECIAL_CODES_FNUZ && code == mxcast_sign_mask(f)) {
        n.kind = MXCAST_CLASS_NAN;
        return n;
    }
    const int field = (int)(magnitude >> f->man_bits);
    const uint64_t fraction = magnitude & mxcast_ones(f->man_bits);
    const int is_subnormal = f->subnormals && field == 0;
    n.significand = is_subnormal ? fraction : fraction + ((uint64_t)1 << f->man_bits);
    n.exponent = field + is_subnormal - f->bias - f->man_bits;
    return n;
}

/* Code number i of an array of 16-, 32- or 64-bit codes of a format, for instance of float. Bytes are copied, so the
   array may have any type. */
static inline uint64_t mxcast_load(const void *array, size_t i, const mxcast_format *f) {
    const unsigned char *bytes = (const unsigned char *)array;
    uint16_t short_code;
    uint32_t code;
    uint64_t long_code;
    switch (mxcast_bits(f)) {
    case 64: memcpy(&long_code, bytes + 8 * i, 8); return long_code;
    case 32: memcpy(&code, bytes + 4 * i, 4); return code;
    default: memcpy(&short_code, bytes + 2 * i, 2); return short_code;
    }
}

/* The FP32 pattern of a number. */
static inline uint32_t mxcast_pattern_of(float number) {
    uint32_t pattern;
    memcpy(&pattern, &number, 4);
    return pattern;
}

/* Store code number i of an array of 16- or 32-bit codes of a format. */
static inline void mxcast_store(void *array, size_t i, const mxcast_format *f, uint64_t value) {
    unsigned char *bytes = (unsigned char *)array;
    const uint16_t short_code = (uint16_t)value;
    const uint32_t code = (uint32_t)value;
    if (mxcast_bits(f) == 32) memcpy(bytes + 4 * i, &code, 4);
    else memcpy(bytes + 2 * i, &short_code, 2);
}

/* ---- Rounding ---------------------------------------------------------------------------------------------------- */

/* Position of a magnitude on a grid: `part` of a step above point number `code`. The part is a fraction of 2**32, whose
   last bit is also set if there is anything below it. */
typedef struct mxcast_position {
    int64_t code;
    uint32_t part;
} mxcast_position;

#define MXCAST_HALF 0x80000000u

/* Position on the grid of all multiples of 2**place. */
static inline mxcast_position mxcast_in_steps(uint64_t significand, int exponent, int place) {
    mxcast_position p = {0, 0};
    const int dropped = place - exponent;
    if (dropped <= 0) {
        p.code = (int64_t)(significand << -dropped);
        return p;
    }
    const uint64_t rest = significand & mxcast_ones(dropped);
    p.code = (int64_t)mxcast_shifted(significand, dropped);
    if (dropped <= 32) {
        p.part = (uint32_t)(rest << (32 - dropped));
    } else {
        const int lost = dropped - 32;
        p.part = (uint32_t)mxcast_shifted(rest, lost) | ((rest & mxcast_ones(lost)) != 0);
    }
    return p;
}

/* Exponent of the leading bit of a value > 0. */
static inline int mxcast_floor_log2(uint64_t significand, int exponent) {
    return exponent + mxcast_bit_length(significand) - 1;
}

/* Position of a value > 0 among the magnitudes of a format, which are numbered by their codes. The grid of a float goes
   on beyond the largest number, and without subnormals also below the smallest one, where codes are negative. */
static inline mxcast_position mxcast_position_of(uint64_t significand, int exponent, const mxcast_format *f) {
    const int top = mxcast_floor_log2(significand, exponent);
    if (f->kind == MXCAST_KIND_FIXED) {
        if (top > mxcast_emax(f)) { /* every rounding saturates */
            mxcast_position largest = {0, 0};
            largest.code = (int64_t)mxcast_max_code(f);
            return largest;
        }
        return mxcast_in_steps(significand, exponent, -f->frac_bits);
    }
    const int emin = mxcast_emin(f);
    const int binade = f->subnormals && top < emin ? emin : top;
    mxcast_position p = mxcast_in_steps(significand, exponent, binade - f->man_bits);
    p.code += (binade - emin) * ((int64_t)1 << f->man_bits);
    if (!f->subnormals) p.code -= (int64_t)1 << f->man_bits;
    return p;
}

/* Is the upper neighbour the nearest, or the even one of two nearest? */
static inline int mxcast_up_even(mxcast_position p) {
    return p.part > MXCAST_HALF || (p.part == MXCAST_HALF && (p.code & 1));
}

/* Do `n` random bits, added to the first n bits of the part, give a carry? */
static inline int mxcast_up_random(mxcast_position p, uint32_t random, int n) {
    return (p.part >> (32 - n)) + random >= (uint32_t)1 << n;
}

/* ---- Binary32 arithmetic ----------------------------------------------------------------------------------------- */

/* One operation of IEEE 754 binary32 on magnitudes: an exact result, rounded to nearest, ties to even. Operands and
   results are patterns without a sign; only the NaN of an invalid operation has one, as on x86. */

#define MXCAST_ONE 0x3F800000u
#define MXCAST_SIX 0x40C00000u
#define MXCAST_LARGEST 0x7F7FFFFFu
#define MXCAST_INF 0x7F800000u
#define MXCAST_INVALID 0xFFC00000u

static inline int mxcast_is_nan(uint32_t a) {
    return (a & 0x7FFFFFFFu) > MXCAST_INF;
}

/* The fields of a pattern as a value. Exponent field 255 is taken for a binade like the others. */
static inline uint32_t mxcast_significand(uint32_t a) {
    return a & 0x7F800000u ? (a & 0x007FFFFFu) | 0x00800000u : a & 0x007FFFFFu;
}

static inline int mxcast_exponent(uint32_t a) {
    const int field = (int)(a >> 23 & 0xFFu);
    return (field ? field : 1) - 150;
}

static inline uint32_t mxcast_fp32(uint64_t significand, int exponent) {
    if (significand == 0) return 0;
    const mxcast_position p = mxcast_position_of(significand, exponent, &MXCAST_FP32);
    const int64_t code = p.code + mxcast_up_even(p);
    return code > MXCAST_LARGEST ? MXCAST_INF : (uint32_t)code;
}

static inline uint32_t mxcast_multiply(uint32_t a, uint32_t b) {
    if (mxcast_is_nan(a)) return a;
    if (mxcast_is_nan(b)) return b;
    if (a == MXCAST_INF || b == MXCAST_INF) return a == 0 || b == 0 ? MXCAST_INVALID : MXCAST_INF;
    return mxcast_fp32((uint64_t)mxcast_significand(a) * mxcast_significand(b),
                       mxcast_exponent(a) + mxcast_exponent(b));
}

static inline uint32_t mxcast_divide(uint32_t a, uint32_t b) {
    if (mxcast_is_nan(a)) return a;
    if (mxcast_is_nan(b)) return b;
    if ((a == MXCAST_INF && b == MXCAST_INF) || (a == 0 && b == 0)) return MXCAST_INVALID;
    if (a == MXCAST_INF || b == 0) return MXCAST_INF;
    if (b == MXCAST_INF || a == 0) return 0;
    /* The dividend is moved up until the quotient has 39 bits or more; a remainder sets its last bit. */
    const uint64_t divisor = mxcast_significand(b);
    const int up = 63 - mxcast_bit_length(mxcast_significand(a));
    const uint64_t dividend = (uint64_t)mxcast_significand(a) << up;
    const uint64_t quotient = dividend / divisor | (dividend % divisor != 0);
    return mxcast_fp32(quotient, mxcast_exponent(a) - up - mxcast_exponent(b));
}

/* |a - b|, or a + b if the signs of the operands differ. */
static inline uint32_t mxcast_distance(uint32_t a, uint32_t b, int signs_differ) {
    if (mxcast_is_nan(a)) return a;
    if (mxcast_is_nan(b)) return b;
    if (a == MXCAST_INF || b == MXCAST_INF) return a == b && !signs_differ ? MXCAST_INVALID : MXCAST_INF;
    const uint32_t high = a > b ? a : b, low = a > b ? b : a;
    /* 32 bits are added below the larger one. What the smaller one has below them sets its last bit. */
    const int exponent = mxcast_exponent(high) - 32, down = mxcast_exponent(high) - mxcast_exponent(low);
    const uint64_t larger = (uint64_t)mxcast_significand(high) << 32, whole = (uint64_t)mxcast_significand(low) << 32;
    const uint64_t smaller = mxcast_shifted(whole, down) | ((whole & mxcast_ones(down)) != 0);
    return mxcast_fp32(signs_differ ? larger + smaller : larger - smaller, exponent);
}

static inline uint32_t mxcast_add(uint32_t a, uint32_t b) {
    return mxcast_distance(a, b, 1);
}

/* The smaller of a value and a limit; NaN stays NaN. */
static inline uint32_t mxcast_at_most(uint32_t a, uint32_t limit) {
    return !mxcast_is_nan(a) && a > limit ? limit : a;
}

static inline uint32_t mxcast_at_least(uint32_t a, uint32_t limit) {
    return a < limit ? limit : a;
}

/* The FP32 pattern of a code, with its sign; exact for every format here but FP64. The fraction of a NaN is kept. */
static inline uint32_t mxcast_widened(uint64_t code, const mxcast_format *f) {
    if (f->exp_bits == 8 && f->specials == MXCAST_SPECIAL_CODES_IEEE) return (uint32_t)code << (23 - f->man_bits);
    const mxcast_number n = mxcast_number_of(code, f);
    const uint32_t sign = n.negative ? 0x80000000u : 0;
    if (n.kind == MXCAST_CLASS_FINITE) return sign | mxcast_fp32(n.significand, n.exponent);
    if (n.kind == MXCAST_CLASS_INF) return sign | MXCAST_INF;
    const uint32_t fraction = (uint32_t)(code & mxcast_ones(f->man_bits)) << (23 - f->man_bits);
    return sign | MXCAST_INF | (fraction ? fraction : 0x00400000u);
}

/* ---- Encode: a block of numbers becomes a scale byte and element codes ------------------------------------------- */

enum mxcast_scale_rule {
    MXCAST_SCALE_RULE_FLOOR,
    MXCAST_SCALE_RULE_CEIL,
    MXCAST_SCALE_RULE_RCEIL,
    MXCAST_SCALE_RULE_POW2_CEIL,
    MXCAST_SCALE_RULE_EVEN,
    MXCAST_SCALE_RULE_BIAS_FLOOR,
    MXCAST_SCALE_RULE_EVEN1,
    MXCAST_SCALE_RULE_ROUND_LOG2,
    MXCAST_SCALE_RULE_LINEAR_NEAREST,
    MXCAST_SCALE_RULE_MIDMAX
};
enum mxcast_rounding {
    MXCAST_ROUNDING_RNE,
    MXCAST_ROUNDING_RNA,
    MXCAST_ROUNDING_RTZ,
    MXCAST_ROUNDING_SR,
    MXCAST_ROUNDING_GUARD_HALF_UP,
    MXCAST_ROUNDING_RNZ
};
enum mxcast_specials {
    MXCAST_SPECIALS_NAN_BLOCK,
    MXCAST_SPECIALS_TE,
    MXCAST_SPECIALS_INF_SCALE,
    MXCAST_SPECIALS_DROP
};
enum mxcast_subnormals { MXCAST_SUBNORMALS_EXACT, MXCAST_SUBNORMALS_FLUSH };
enum mxcast_overflow { MXCAST_OVERFLOW_SATURATE };
enum mxcast_encoded_zero {
    MXCAST_ENCODED_ZERO_SIGNED,
    MXCAST_ENCODED_ZERO_POSITIVE,
    MXCAST_ENCODED_ZERO_TAKEN_POSITIVE,
    MXCAST_ENCODED_ZERO_TAKEN_NEGATIVE
};

typedef struct mxcast_encode {
    mxcast_format source; /* FP32, BF16 or FP16 */
    mxcast_format element;
    int block_size;
    enum mxcast_scale_rule scale_rule;
    enum mxcast_rounding rounding;
    enum mxcast_specials specials;
    enum mxcast_subnormals input_subnormals, element_subnormals;
    enum mxcast_overflow overflow;
    enum mxcast_encoded_zero zero;
    int random_bits; /* 1 to 16 under SR, otherwise 0 */
} mxcast_encode;

/* Smallest X with a <= limit * 2**X, where the limit is below 2 * 2**exponent and its significand has 24 bits. */
static inline int mxcast_smallest_x(uint32_t a, uint32_t limit, int exponent) {
    const int top = mxcast_floor_log2(mxcast_significand(a), mxcast_exponent(a));
    const uint32_t significand = mxcast_significand(a) << (23 - (top - mxcast_exponent(a)));
    return top - exponent + (significand > limit);
}

/* The shared exponent for a largest magnitude a, a finite FP32 pattern above 0, before it is clamped. */
static inline int mxcast_unclamped_x(uint32_t a, const mxcast_format *element, enum mxcast_scale_rule rule) {
    const int emax = mxcast_emax(element);
    const int floor_log2 = mxcast_floor_log2(mxcast_significand(a), mxcast_exponent(a));
    const mxcast_number largest = mxcast_number_of(mxcast_max_code(element), element);
    /* The significand of the largest number, in 24 bits. */
    const uint32_t destmax = (uint32_t)(largest.significand << (24 - mxcast_bit_length(largest.significand)));
    switch (rule) {
    case MXCAST_SCALE_RULE_FLOOR:
        return floor_log2 - emax;
    case MXCAST_SCALE_RULE_BIAS_FLOOR:
        return floor_log2 - element->bias;
    case MXCAST_SCALE_RULE_CEIL:
        return mxcast_smallest_x(a, destmax, emax);
    case MXCAST_SCALE_RULE_MIDMAX: /* the limit is the middle between the largest number and 2**(emax + 1) */
        return mxcast_smallest_x(a, (destmax + 0x01000000u) / 2, emax);
    case MXCAST_SCALE_RULE_RCEIL:
    case MXCAST_SCALE_RULE_LINEAR_NEAREST: {
        const uint32_t reciprocal = mxcast_divide(MXCAST_ONE, mxcast_fp32(largest.significand, largest.exponent));
        const uint32_t p = mxcast_multiply(a, reciprocal);
        if (p <= 0x00400000u) return -127; /* 2**-127 */
        if (rule == MXCAST_SCALE_RULE_RCEIL) return mxcast_smallest_x(p, 0x00800000u, 0);
        return (int)(p >> 23) - 127 + (int)(p >> 22 & 1);
    }
    case MXCAST_SCALE_RULE_POW2_CEIL:
        return (int)(a >> 23) - 127 - emax + ((a & 0x007FFFFFu) != 0);
    case MXCAST_SCALE_RULE_EVEN:
        return (int)((a + ((uint32_t)1 << (22 - mxcast_fraction_bits(element)))) >> 23) - 127 - emax;
    case MXCAST_SCALE_RULE_EVEN1:
        return (int)((a + 0x00200000u) >> 23) - 127 - emax;
    case MXCAST_SCALE_RULE_ROUND_LOG2: {
        /* r = A / destmax is between 1/2 and 2. log2 r is rounded: r * r is compared with 2 and with 1/2. */
        const uint64_t A = (uint64_t)mxcast_significand(a) << (23 - (floor_log2 - mxcast_exponent(a)));
        const uint64_t over = A * A, under = (uint64_t)destmax * destmax;
        return floor_log2 - emax + (over >= 2 * under) - (2 * over < under);
    }
    }
    return 0;
}

/* The shared exponent for a largest magnitude a. */
static inline int mxcast_shared_exponent(uint32_t a, const mxcast_encode *r) {
    const int x = a == 0 ? -127 : mxcast_unclamped_x(a, &r->element, r->scale_rule);
    return x < -127 ? -127 : x > 127 ? 127 : x;
}

/* Magnitude code of a value > 0 under GUARD_HALF_UP, before it saturates at the largest code. */
static inline int64_t mxcast_guard_half_up(uint64_t significand, int exponent, const mxcast_encode *r) {
    const mxcast_format *f = &r->element;
    if (f->kind == MXCAST_KIND_FIXED) {
        const mxcast_position p = mxcast_position_of(significand, exponent, f);
        return p.code + (p.part >= MXCAST_HALF);
    }
    const int64_t last = ((int64_t)1 << f->exp_bits) * ((int64_t)1 << f->man_bits) - ((int64_t)1 << f->man_bits) - 1;
    const int top = mxcast_floor_log2(significand, exponent), field = top + f->bias;
    int64_t code;
    if (field < 1 && r->element_subnormals == MXCAST_SUBNORMALS_EXACT) {
        const mxcast_position p = mxcast_in_steps(significand, exponent, mxcast_emin(f) - f->man_bits);
        code = p.code + (p.part >= MXCAST_HALF);
    } else if (field < 0) {
        code = 0;
    } else { /* the fraction is that of the number's own binade, also in field 0 */
        const mxcast_position p = mxcast_in_steps(significand, exponent, top - f->man_bits);
        code = (field - 1) * ((int64_t)1 << f->man_bits) + p.code + (p.part >= MXCAST_HALF);
    }
    return code > last ? last : code;
}

/* Magnitude code of an element: significand * 2**exponent, rounded. */
static inline uint64_t mxcast_element(uint64_t significand, int exponent, const mxcast_encode *r, uint32_t random) {
    if (significand == 0) return 0;
    const mxcast_format *f = &r->element;
    const mxcast_position p = mxcast_position_of(significand, exponent, f);
    const int64_t largest = (int64_t)mxcast_max_code(f);
    int64_t code = p.code;
    switch (r->rounding) {
    case MXCAST_ROUNDING_RNE: code += mxcast_up_even(p); break;
    case MXCAST_ROUNDING_RNA: code += p.part >= MXCAST_HALF; break;
    case MXCAST_ROUNDING_RNZ: code += p.part > MXCAST_HALF; break;
    case MXCAST_ROUNDING_RTZ: break;
    case MXCAST_ROUNDING_SR: code += mxcast_up_random(p, random, r->random_bits); break;
    case MXCAST_ROUNDING_GUARD_HALF_UP: code = mxcast_guard_half_up(significand, exponent, r); break;
    }
    if (code > largest) code = largest; /* MXCAST_OVERFLOW_SATURATE */
    const int is_subnormal = f->kind == MXCAST_KIND_FLOAT && code >> f->man_bits == 0;
    const int is_flushed = r->element_subnormals == MXCAST_SUBNORMALS_FLUSH &&
                           r->rounding != MXCAST_ROUNDING_GUARD_HALF_UP;
    return is_flushed && is_subnormal ? 0 : (uint64_t)code;
}

/* The FP32 pattern of number i, with input subnormals and the sign of zeros under the rules. */
static inline uint32_t mxcast_source_pattern(const void *x, size_t i, const mxcast_encode *r) {
    const uint32_t pattern = mxcast_widened(mxcast_load(x, i, &r->source), &r->source);
    uint32_t sign = pattern & 0x80000000u, magnitude = pattern & 0x7FFFFFFFu;
    if (r->input_subnormals == MXCAST_SUBNORMALS_FLUSH && magnitude < 0x00800000u) magnitude = 0;
    if (magnitude != 0) return sign | magnitude;
    switch (r->zero) {
    case MXCAST_ENCODED_ZERO_SIGNED: break;
    case MXCAST_ENCODED_ZERO_POSITIVE:
    case MXCAST_ENCODED_ZERO_TAKEN_POSITIVE: sign = 0; break;
    case MXCAST_ENCODED_ZERO_TAKEN_NEGATIVE: sign = 0x80000000u; break;
    }
    return sign;
}

/* Encode a block of block_size numbers.

   x       numbers of the source: float, or patterns in uint32_t or uint16_t
   random  under SR the random bits of each element, otherwise NULL
   scale   the scale byte
   codes   the element codes, with their sign */
static inline void mxcast_encode_block(const mxcast_encode *r, const void *x, const uint16_t *random, uint8_t *scale,
                                       uint16_t *codes) {
    const mxcast_format *f = &r->element;
    const size_t count = (size_t)r->block_size;
    uint32_t amax = 0;
    int has_nan = 0, has_inf = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = mxcast_source_pattern(x, i, r) & 0x7FFFFFFFu;
        if (magnitude > MXCAST_INF) has_nan = 1;
        else if (magnitude == MXCAST_INF) has_inf = 1;
        else if (magnitude > amax) amax = magnitude;
    }
    int byte = mxcast_shared_exponent(amax, r) + 127;
    uint64_t largest = mxcast_max_code(f), nan = mxcast_has_nan(f) ? mxcast_nan_code(f) : largest;
    switch (r->specials) {
    case MXCAST_SPECIALS_NAN_BLOCK:
        if (has_nan || has_inf) {
            *scale = 0xFF;
            for (size_t i = 0; i < count; i++) codes[i] = (uint16_t)(mxcast_has_nan(f) ? nan : 0);
            return;
        }
        break;
    case MXCAST_SPECIALS_TE:
        if (has_inf) byte = 0xFE;
        break;
    case MXCAST_SPECIALS_INF_SCALE:
        if (has_nan || has_inf) {
            uint64_t signal = largest; /* FIXED */
            if (f->kind == MXCAST_KIND_FLOAT) {
                const uint64_t most = mxcast_magnitude_mask(f), inf = mxcast_inf_field(f);
                signal = !has_nan ? inf : most > inf + 1 ? most - 1 : most;
            }
            *scale = has_nan ? 0xFF : 0xFE;
            for (size_t i = 0; i < count; i++)
                codes[i] = (uint16_t)mxcast_signed_code(f, signal, mxcast_source_pattern(x, i, r) >> 31 != 0);
            return;
        }
        break;
    case MXCAST_SPECIALS_DROP: break;
    }
    *scale = (uint8_t)byte;
    for (size_t i = 0; i < count; i++) {
        const uint32_t pattern = mxcast_source_pattern(x, i, r), magnitude = pattern & 0x7FFFFFFFu;
        int negative = pattern >> 31 != 0;
        uint64_t code;
        if (r->specials == MXCAST_SPECIALS_TE && magnitude >= MXCAST_INF) {
            code = magnitude == MXCAST_INF ? largest : nan;
            if (magnitude != MXCAST_INF) negative = 0;
        } else {
            code = mxcast_element(mxcast_significand(magnitude), mxcast_exponent(magnitude) - (byte - 127), r,
                                  random ? random[i] : 0);
            if (code == 0 && r->zero == MXCAST_ENCODED_ZERO_POSITIVE) negative = 0;
        }
        codes[i] = (uint16_t)mxcast_signed_code(f, code, negative);
    }
}

/* ---- Decode: a scale byte and codes become a block of numbers ---------------------------------------------------- */

enum mxcast_scale_reading {
    MXCAST_SCALE_READING_E8M0,
    MXCAST_SCALE_READING_POWER,
    MXCAST_SCALE_READING_FIELD,
    MXCAST_SCALE_READING_SIGNED
};
enum mxcast_decoded_rounding {
    MXCAST_DECODED_ROUNDING_RNE,
    MXCAST_DECODED_ROUNDING_RNA,
    MXCAST_DECODED_ROUNDING_RTZ,
    MXCAST_DECODED_ROUNDING_SR
};
enum mxcast_decoded_overflow { MXCAST_DECODED_OVERFLOW_INF, MXCAST_DECODED_OVERFLOW_SATURATE };
enum mxcast_decoded_nan {
    MXCAST_DECODED_NAN_CANONICAL,
    MXCAST_DECODED_NAN_ALL_ONES,
    MXCAST_DECODED_NAN_PAYLOAD
};
enum mxcast_decoded_zero { MXCAST_DECODED_ZERO_SIGNED, MXCAST_DECODED_ZERO_POSITIVE };

typedef struct mxcast_decode {
    mxcast_format destination; /* FP32, BF16 or FP16 */
    mxcast_format element;
    int block_size;
    enum mxcast_scale_reading scale_reading;
    enum mxcast_decoded_rounding rounding;
    enum mxcast_decoded_overflow overflow;
    enum mxcast_subnormals subnormals;
    enum mxcast_decoded_nan nan;
    enum mxcast_decoded_zero zero;
    int random_bits; /* 1 to 16 under SR, otherwise 0 */
} mxcast_decode;

/* The factor of a scale byte. */
static inline mxcast_number mxcast_factor(uint8_t byte, enum mxcast_scale_reading reading) {
    mxcast_number n = {0, MXCAST_CLASS_FINITE, 1, 0};
    n.exponent = (int)byte - 127;
    switch (reading) {
    case MXCAST_SCALE_READING_E8M0:
        if (byte == 255) n.kind = MXCAST_CLASS_NAN;
        break;
    case MXCAST_SCALE_READING_POWER: break;
    case MXCAST_SCALE_READING_FIELD:
        if (byte == 0) n.significand = 0;
        if (byte == 255) n.kind = MXCAST_CLASS_INF;
        break;
    case MXCAST_SCALE_READING_SIGNED: n.exponent = byte < 128 ? (int)byte : (int)byte - 256; break;
    }
    return n;
}

/* A fraction of one format in another: its bits from the top down. */
static inline uint64_t mxcast_moved_fraction(uint64_t code, const mxcast_format *from, const mxcast_format *to) {
    const uint64_t fraction = code & mxcast_ones(from->man_bits);
    const int up = to->man_bits - from->man_bits;
    return up >= 0 ? fraction << up : fraction >> -up;
}

/* The pattern of a NaN, for a code of a format that may itself be NaN. */
static inline uint64_t mxcast_nan_pattern(uint64_t code, const mxcast_format *from, const mxcast_format *to,
                                          enum mxcast_decoded_nan rule) {
    const uint64_t quiet = mxcast_inf_field(to) | (uint64_t)1 << (to->man_bits - 1);
    const mxcast_number n = mxcast_number_of(code, from);
    switch (rule) {
    case MXCAST_DECODED_NAN_CANONICAL: break;
    case MXCAST_DECODED_NAN_ALL_ONES: return mxcast_magnitude_mask(to);
    case MXCAST_DECODED_NAN_PAYLOAD:
        if (n.kind != MXCAST_CLASS_NAN) break;
        return (n.negative ? mxcast_sign_mask(to) : 0) | quiet | mxcast_moved_fraction(code, from, to);
    }
    return quiet;
}

/* The magnitude pattern of a value, rounded to the destination. */
static inline uint64_t mxcast_rounded(uint64_t significand, int exponent, const mxcast_decode *r, uint32_t random) {
    const mxcast_format *to = &r->destination;
    if (significand == 0) return 0;
    if (r->subnormals == MXCAST_SUBNORMALS_FLUSH && mxcast_floor_log2(significand, exponent) < mxcast_emin(to))
        return 0;
    const mxcast_position p = mxcast_position_of(significand, exponent, to);
    uint64_t code = (uint64_t)p.code;
    switch (r->rounding) {
    case MXCAST_DECODED_ROUNDING_RNE: code += (uint64_t)mxcast_up_even(p); break;
    case MXCAST_DECODED_ROUNDING_RNA: code += p.part >= MXCAST_HALF; break;
    case MXCAST_DECODED_ROUNDING_RTZ: break;
    case MXCAST_DECODED_ROUNDING_SR: code += (uint64_t)mxcast_up_random(p, random, r->random_bits); break;
    }
    if (code <= mxcast_max_code(to)) return code;
    return r->overflow == MXCAST_DECODED_OVERFLOW_SATURATE ? mxcast_max_code(to) : mxcast_inf_field(to);
}

/* Decode a block of block_size codes.

   scale   the scale byte
   codes   the element codes
   random  under SR the random bits of each element, otherwise NULL
   y       numbers of the destination: float, or patterns in uint32_t or uint16_t */
static inline void mxcast_decode_block(const mxcast_decode *r, uint8_t scale, const uint16_t *codes,
                                       const uint16_t *random, void *y) {
    const mxcast_format *to = &r->destination;
    const mxcast_number factor = mxcast_factor(scale, r->scale_reading);
    const int factor_is_zero = factor.kind == MXCAST_CLASS_FINITE && factor.significand == 0;
    for (size_t i = 0; i < (size_t)r->block_size; i++) {
        const mxcast_number element = mxcast_number_of(codes[i], &r->element);
        const int is_zero = element.kind == MXCAST_CLASS_FINITE && element.significand == 0;
        const int has_inf = element.kind == MXCAST_CLASS_INF || factor.kind == MXCAST_CLASS_INF;
        const int negative = element.negative && !(is_zero && r->zero == MXCAST_DECODED_ZERO_POSITIVE);
        uint64_t pattern;
        if (element.kind == MXCAST_CLASS_NAN || factor.kind == MXCAST_CLASS_NAN ||
            (has_inf && (is_zero || factor_is_zero))) {
            mxcast_store(y, i, to, mxcast_nan_pattern(codes[i], &r->element, to, r->nan));
            continue;
        }
        if (has_inf) pattern = mxcast_inf_field(to);
        else pattern = mxcast_rounded(element.significand * factor.significand, element.exponent + factor.exponent, r,
                                      random ? random[i] : 0);
        mxcast_store(y, i, to, pattern | (negative ? mxcast_sign_mask(to) : 0));
    }
}

/* ---- Cast: one number from one floating-point format to another -------------------------------------------------- */

enum mxcast_cast_rounding {
    MXCAST_CAST_ROUNDING_RNE,
    MXCAST_CAST_ROUNDING_RNA,
    MXCAST_CAST_ROUNDING_RNZ,
    MXCAST_CAST_ROUNDING_RTZ,
    MXCAST_CAST_ROUNDING_RP,
    MXCAST_CAST_ROUNDING_SR
};
enum mxcast_cast_overflow { MXCAST_CAST_OVERFLOW_SATURATE, MXCAST_CAST_OVERFLOW_INF, MXCAST_CAST_OVERFLOW_IEEE };
enum mxcast_cast_nan {
    MXCAST_CAST_NAN_CANONICAL,
    MXCAST_CAST_NAN_SIGNED,
    MXCAST_CAST_NAN_ALL_ONES,
    MXCAST_CAST_NAN_SIGNED_ALL_ONES,
    MXCAST_CAST_NAN_NEGATIVE,
    MXCAST_CAST_NAN_PAYLOAD
};
enum mxcast_nan_substitute { MXCAST_NAN_SUBSTITUTE_LARGEST, MXCAST_NAN_SUBSTITUTE_ZERO };
enum mxcast_cast_negative { MXCAST_CAST_NEGATIVE_MAGNITUDE, MXCAST_CAST_NEGATIVE_NAN };
enum mxcast_cast_underflow {
    MXCAST_CAST_UNDERFLOW_SMALLEST,
    MXCAST_CAST_UNDERFLOW_NAN_ZERO,
    MXCAST_CAST_UNDERFLOW_NAN
};

typedef struct mxcast_cast {
    mxcast_format source, destination; /* FLOAT only */
    enum mxcast_cast_rounding rounding;
    enum mxcast_cast_overflow overflow;
    enum mxcast_cast_nan nan;
    enum mxcast_nan_substitute nan_substitute;
    enum mxcast_cast_negative negative;
    enum mxcast_cast_underflow underflow;
    enum mxcast_encoded_zero zero;
    int random_bits; /* 1 to 16 under SR, otherwise 0 */
} mxcast_cast;

/* The code of a NaN: `code` is that of the source, which is NaN itself if is_nan. */
static inline uint64_t mxcast_cast_nan_code(uint64_t code, int negative, int is_nan, const mxcast_cast *r) {
    const mxcast_format *from = &r->source, *to = &r->destination;
    if (!mxcast_has_nan(to)) {
        if (r->nan_substitute == MXCAST_NAN_SUBSTITUTE_LARGEST) return mxcast_max_code(to);
        return mxcast_signed_code(to, 0, !negative);
    }
    if (to->specials == MXCAST_SPECIAL_CODES_FNUZ) return mxcast_nan_code(to);
    const uint64_t all_ones = mxcast_magnitude_mask(to);
    uint64_t quiet = all_ones;
    if (to->specials == MXCAST_SPECIAL_CODES_IEEE)
        quiet = mxcast_inf_field(to) + ((uint64_t)1 << (to->man_bits - 1));
    switch (r->nan) {
    case MXCAST_CAST_NAN_CANONICAL: break;
    case MXCAST_CAST_NAN_SIGNED: return mxcast_signed_code(to, quiet, negative);
    case MXCAST_CAST_NAN_ALL_ONES: return all_ones;
    case MXCAST_CAST_NAN_SIGNED_ALL_ONES: return mxcast_signed_code(to, all_ones, negative);
    case MXCAST_CAST_NAN_NEGATIVE: return mxcast_ones(mxcast_bits(to));
    case MXCAST_CAST_NAN_PAYLOAD:
        if (!is_nan || from->man_bits == 0 || from->specials == MXCAST_SPECIAL_CODES_FNUZ) break;
        return mxcast_signed_code(to, quiet | mxcast_moved_fraction(code, from, to), negative);
    }
    return quiet;
}

/* Is the result for zero, or for a value that is rounded below the smallest number, NaN? Only formats without a zero
   have such values. */
static inline int mxcast_underflows_to_nan(int is_zero, enum mxcast_cast_underflow rule) {
    switch (rule) {
    case MXCAST_CAST_UNDERFLOW_SMALLEST: return 0;
    case MXCAST_CAST_UNDERFLOW_NAN_ZERO: return is_zero;
    case MXCAST_CAST_UNDERFLOW_NAN: return 1;
    }
    return 0;
}

/* The code of a number, of which `code` is the code. `random` are its random bits under SR. */
static inline uint64_t mxcast_cast_number(const mxcast_cast *r, uint64_t code, uint32_t random) {
    const mxcast_format *to = &r->destination;
    const mxcast_number n = mxcast_number_of(code, &r->source);
    const int was_zero = n.kind == MXCAST_CLASS_FINITE && n.significand == 0;
    const int64_t largest = (int64_t)mxcast_max_code(to);
    int64_t magnitude = to->subnormals ? 0 : -1; /* without a zero in the format, zero is below the smallest number */
    int overflows = n.kind == MXCAST_CLASS_INF;
    if (n.kind == MXCAST_CLASS_NAN) return mxcast_cast_nan_code(code, n.negative, 1, r);
    if (n.negative && !to->is_signed && r->negative == MXCAST_CAST_NEGATIVE_NAN)
        return mxcast_cast_nan_code(code, n.negative, 0, r);
    if (!was_zero && !overflows) {
        const mxcast_position p = mxcast_position_of(n.significand, n.exponent, to);
        magnitude = p.code;
        switch (r->rounding) {
        case MXCAST_CAST_ROUNDING_RNE: magnitude += mxcast_up_even(p); break;
        case MXCAST_CAST_ROUNDING_RNA: magnitude += p.part >= MXCAST_HALF; break;
        case MXCAST_CAST_ROUNDING_RNZ: magnitude += p.part > MXCAST_HALF; break;
        case MXCAST_CAST_ROUNDING_RTZ: break;
        case MXCAST_CAST_ROUNDING_RP: magnitude += p.part > 0; break;
        case MXCAST_CAST_ROUNDING_SR: magnitude += mxcast_up_random(p, random, r->random_bits); break;
        }
        overflows = magnitude > largest;
    }
    if (overflows) {
        const int becomes_largest =
            r->overflow == MXCAST_CAST_OVERFLOW_SATURATE ||
            (r->overflow == MXCAST_CAST_OVERFLOW_IEEE && r->rounding == MXCAST_CAST_ROUNDING_RTZ &&
             n.kind == MXCAST_CLASS_FINITE);
        if (!becomes_largest && to->specials != MXCAST_SPECIAL_CODES_IEEE)
            return mxcast_cast_nan_code(code, n.negative, 0, r);
        magnitude = becomes_largest ? largest : (int64_t)mxcast_inf_field(to);
    } else if (magnitude < 0) {
        if (mxcast_underflows_to_nan(was_zero, r->underflow)) return mxcast_cast_nan_code(code, n.negative, 0, r);
        magnitude = 0;
    }
    int negative = n.negative;
    switch (r->zero) {
    case MXCAST_ENCODED_ZERO_SIGNED: break;
    case MXCAST_ENCODED_ZERO_POSITIVE: negative = negative && magnitude != 0; break;
    case MXCAST_ENCODED_ZERO_TAKEN_POSITIVE: negative = negative && !was_zero; break;
    case MXCAST_ENCODED_ZERO_TAKEN_NEGATIVE: negative = negative || was_zero; break;
    }
    return mxcast_signed_code(to, (uint64_t)magnitude, negative);
}

/* ---- NVFP4: E2M1 elements under a floating-point scale and the constants of a tensor ----------------------------- */

enum mxcast_order {
    MXCAST_ORDER_TE,
    MXCAST_ORDER_PAPER,
    MXCAST_ORDER_AO,
    MXCAST_ORDER_AO_SINGLE,
    MXCAST_ORDER_MODELOPT,
    MXCAST_ORDER_COMPRESSED_TENSORS
};
enum mxcast_four_over_six { MXCAST_FOUR_OVER_SIX_OFF, MXCAST_FOUR_OVER_SIX_MAE, MXCAST_FOUR_OVER_SIX_MSE };
enum mxcast_convention {
    MXCAST_CONVENTION_MULTIPLIER,
    MXCAST_CONVENTION_DIVISOR,
    MXCAST_CONVENTION_AMAX,
    MXCAST_CONVENTION_NONE
};

typedef struct mxcast_nvfp4_encode {
    mxcast_format source; /* FP32, BF16 or FP16 */
    mxcast_format scale;  /* E4M3 or UE5M3 */
    int block_size;       /* 16 or 32; 256 for blocks of 16 x 16, row by row */
    enum mxcast_order order;
    enum mxcast_rounding rounding; /* RNE; SR under TE and PAPER */
    enum mxcast_four_over_six four_over_six;
    int scale_max; /* 448, or 256 with four_over_six; 114688 for UE5M3 */
    int random_bits;
} mxcast_nvfp4_encode;

typedef struct mxcast_nvfp4_decode {
    mxcast_format destination; /* FP32, BF16 or FP16 */
    mxcast_format scale;
    int block_size;
    enum mxcast_convention convention;
    enum mxcast_decoded_nan nan;
    enum mxcast_decoded_rounding rounding; /* RNE */
    int scale_max;
    int random_bits;
} mxcast_nvfp4_decode;

/* The constants of a tensor, FP32 patterns. */
typedef struct mxcast_constants {
    uint32_t k, d; /* for the scales of blocks, and for elements */
    uint32_t a;    /* the largest magnitude of the tensor */
} mxcast_constants;

/* C = 6 * scale_max. */
static inline uint32_t mxcast_c(int scale_max) {
    return mxcast_fp32((uint64_t)scale_max * 6, 0);
}

/* The constants of a tensor whose largest magnitude is a. */
static inline mxcast_constants mxcast_nvfp4_constants(const mxcast_nvfp4_encode *r, uint32_t a) {
    const uint32_t c = mxcast_c(r->scale_max);
    mxcast_constants t = {MXCAST_ONE, MXCAST_ONE, 0};
    t.a = a;
    switch (r->order) {
    case MXCAST_ORDER_TE:
    case MXCAST_ORDER_PAPER: {
        uint32_t s = mxcast_at_most(mxcast_divide(c, a), MXCAST_LARGEST);
        if (a == 0 || s == 0) s = MXCAST_ONE;
        t.k = r->order == MXCAST_ORDER_TE ? mxcast_multiply(s, mxcast_divide(MXCAST_ONE, MXCAST_SIX)) : s;
        t.d = mxcast_divide(MXCAST_ONE, s);
        break;
    }
    case MXCAST_ORDER_AO:
        t.k = mxcast_divide(a, c);
        t.d = mxcast_divide(MXCAST_ONE, t.k);
        break;
    case MXCAST_ORDER_AO_SINGLE: break;
    case MXCAST_ORDER_MODELOPT: t.k = t.d = mxcast_divide(a, c); break;
    case MXCAST_ORDER_COMPRESSED_TENSORS: {
        const uint32_t g = mxcast_multiply(c, mxcast_divide(MXCAST_ONE, mxcast_at_least(a, 0x00800000u)));
        t.k = t.d = g >= MXCAST_INF ? MXCAST_ONE : g;
        break;
    }
    }
    return t;
}

/* The scale code of a block whose largest magnitude is b, times `candidate` (1, or 1.5 for 4 over 6). */
static inline uint16_t mxcast_nvfp4_scale(const mxcast_nvfp4_encode *r, uint32_t b, uint32_t k, uint32_t candidate) {
    const mxcast_format *scale = &r->scale;
    const uint32_t largest = mxcast_widened(mxcast_max_code(scale), scale), smallest = mxcast_widened(1, scale);
    const uint32_t smallest_normal = mxcast_fp32(1, mxcast_emin(scale));
    uint32_t t = 0;
    switch (r->order) {
    case MXCAST_ORDER_TE: t = mxcast_at_most(mxcast_multiply(b, k), MXCAST_LARGEST); break;
    case MXCAST_ORDER_PAPER: t = mxcast_multiply(mxcast_divide(b, MXCAST_SIX), k); break;
    case MXCAST_ORDER_AO:
    case MXCAST_ORDER_AO_SINGLE:
        t = mxcast_divide(mxcast_divide(b, MXCAST_SIX), k);
        t = mxcast_at_least(mxcast_at_most(t, largest), smallest_normal);
        break;
    case MXCAST_ORDER_MODELOPT:
        t = mxcast_divide(b, mxcast_multiply(MXCAST_SIX, k));
        t = mxcast_at_least(mxcast_at_most(t == 0 ? MXCAST_ONE : t, largest), smallest);
        break;
    case MXCAST_ORDER_COMPRESSED_TENSORS: t = mxcast_multiply(k, mxcast_divide(b, MXCAST_SIX)); break;
    }
    if (candidate != MXCAST_ONE) t = mxcast_multiply(t, candidate);
    if (mxcast_is_nan(t)) return (uint16_t)(mxcast_nan_code(scale) | (t >> 31 ? mxcast_sign_mask(scale) : 0));
    int64_t code = 0;
    if (t != 0) {
        const mxcast_position p = mxcast_position_of(mxcast_significand(t), mxcast_exponent(t), scale);
        code = p.code + mxcast_up_even(p);
    }
    if (code == 0 && r->order == MXCAST_ORDER_COMPRESSED_TENSORS) code = mxcast_position_of(1, -3, scale).code;
    return (uint16_t)(code > (int64_t)mxcast_max_code(scale) ? (int64_t)mxcast_max_code(scale) : code);
}

/* The element code of a number x, an FP32 pattern with its sign, under a scale code. */
static inline uint16_t mxcast_nvfp4_element(const mxcast_nvfp4_encode *r, uint32_t x, uint16_t scale, uint32_t d,
                                            uint32_t random) {
    const uint32_t magnitude = x & 0x7FFFFFFFu, s = mxcast_widened(scale, &r->scale) & 0x7FFFFFFFu;
    const int is_negative_nan = mxcast_is_nan(s) && (scale & mxcast_sign_mask(&r->scale));
    uint32_t y = 0;
    uint16_t nan_code = 7;
    switch (r->order) {
    case MXCAST_ORDER_TE:
    case MXCAST_ORDER_PAPER:
        y = mxcast_multiply(magnitude,
                            mxcast_at_most(mxcast_divide(MXCAST_ONE, mxcast_multiply(s, d)), MXCAST_LARGEST));
        break;
    case MXCAST_ORDER_AO:
    case MXCAST_ORDER_AO_SINGLE:
        y = mxcast_multiply(magnitude, mxcast_divide(d, s));
        nan_code = !mxcast_is_nan(s) ? 11 : is_negative_nan ? 12 : 4;
        break;
    case MXCAST_ORDER_MODELOPT: y = mxcast_divide(magnitude, mxcast_multiply(s, d)); break;
    case MXCAST_ORDER_COMPRESSED_TENSORS:
        y = mxcast_divide(magnitude, mxcast_divide(s, d));
        nan_code = 0;
        break;
    }
    if (mxcast_is_nan(y)) return nan_code;
    if (y == 0 && (r->order == MXCAST_ORDER_MODELOPT || r->order == MXCAST_ORDER_COMPRESSED_TENSORS)) return 0;
    int64_t code = 0;
    if (y != 0) {
        const mxcast_position p = mxcast_position_of(mxcast_significand(y), mxcast_exponent(y), &MXCAST_E2M1);
        code = p.code + (r->rounding == MXCAST_ROUNDING_SR ? mxcast_up_random(p, random, r->random_bits)
                                                           : mxcast_up_even(p));
    }
    return (uint16_t)mxcast_signed_code(&MXCAST_E2M1, code > 7 ? 7 : (uint64_t)code, x >> 31 != 0);
}

static inline uint32_t mxcast_nvfp4_number(const mxcast_nvfp4_encode *r, const void *x, size_t i) {
    return mxcast_widened(mxcast_load(x, i, &r->source), &r->source);
}

/* The error of a block under a scale code, for 4 over 6: each row of 16 is summed one after another, and then the sums
   are added in pairs, first half to second half. */
static inline uint32_t mxcast_nvfp4_error(const mxcast_nvfp4_encode *r, const void *x, uint16_t scale,
                                          mxcast_constants t) {
    const uint32_t s = mxcast_widened(scale, &r->scale) & 0x7FFFFFFFu, c = mxcast_c(r->scale_max);
    uint32_t rows[16] = {0};
    size_t count = (size_t)r->block_size / 16;
    for (size_t i = 0; i < (size_t)r->block_size; i++) {
        const uint32_t pattern = mxcast_nvfp4_number(r, x, i);
        const uint16_t code = mxcast_nvfp4_element(r, pattern, scale, t.d, 0);
        const uint32_t q = mxcast_widened(code & 7u, &MXCAST_E2M1);
        const uint32_t v = mxcast_divide(mxcast_multiply(mxcast_multiply(q, s), t.a), c);
        uint32_t e = mxcast_distance(v, pattern & 0x7FFFFFFFu, (code >> 3 != 0) != (pattern >> 31 != 0));
        if (r->four_over_six == MXCAST_FOUR_OVER_SIX_MSE) e = mxcast_multiply(e, e);
        rows[i / 16] = mxcast_add(rows[i / 16], e);
    }
    for (; count > 1; count /= 2)
        for (size_t i = 0; i < count / 2; i++) rows[i] = mxcast_add(rows[i], rows[i + count / 2]);
    return rows[0];
}

/* Encode a block of block_size numbers under the constants of its tensor (mxcast_nvfp4_constants). Arguments are those
   of mxcast_encode_block; the scale is a code of its format. */
static inline void mxcast_nvfp4_encode_block(const mxcast_nvfp4_encode *r, mxcast_constants t, const void *x,
                                             const uint16_t *random, uint8_t *scale, uint16_t *codes) {
    const int ignores_nan = r->order == MXCAST_ORDER_TE || r->order == MXCAST_ORDER_PAPER;
    uint32_t b = 0;
    for (size_t i = 0; i < (size_t)r->block_size; i++) {
        const uint32_t magnitude = mxcast_nvfp4_number(r, x, i) & 0x7FFFFFFFu;
        if (mxcast_is_nan(magnitude) && ignores_nan) continue;
        if (magnitude > b) b = magnitude; /* NaN is above Inf */
    }
    uint16_t chosen = mxcast_nvfp4_scale(r, b, t.k, MXCAST_ONE);
    if (r->four_over_six != MXCAST_FOUR_OVER_SIX_OFF) {
        const uint16_t four = mxcast_nvfp4_scale(r, b, t.k, 0x3FC00000u); /* 1.5 */
        const uint32_t of_four = mxcast_nvfp4_error(r, x, four, t), of_six = mxcast_nvfp4_error(r, x, chosen, t);
        if (!mxcast_is_nan(of_four) && !mxcast_is_nan(of_six) && of_four < of_six) chosen = four;
    }
    *scale = (uint8_t)chosen;
    for (size_t i = 0; i < (size_t)r->block_size; i++)
        codes[i] = mxcast_nvfp4_element(r, mxcast_nvfp4_number(r, x, i), chosen, t.d, random ? random[i] : 0);
}

/* Decode a block of block_size codes. `tensor_scale` is an FP32 pattern in the convention; it may be negative. */
static inline void mxcast_nvfp4_decode_block(const mxcast_nvfp4_decode *r, uint32_t tensor_scale, uint8_t scale,
                                             const uint16_t *codes, void *y) {
    const mxcast_format *to = &r->destination;
    const mxcast_number factor = mxcast_number_of(scale, &r->scale);
    const uint32_t s = mxcast_widened(scale, &r->scale) & 0x7FFFFFFFu;
    const uint32_t g = tensor_scale & 0x7FFFFFFFu, c = mxcast_c(r->scale_max);
    const int g_is_negative = r->convention != MXCAST_CONVENTION_NONE && tensor_scale >> 31;
    uint32_t product = s;
    switch (r->convention) {
    case MXCAST_CONVENTION_MULTIPLIER: product = mxcast_multiply(s, g); break;
    case MXCAST_CONVENTION_DIVISOR: product = mxcast_divide(s, g); break;
    case MXCAST_CONVENTION_AMAX:
        product = mxcast_multiply(mxcast_multiply(s, g), mxcast_divide(MXCAST_ONE, c));
        break;
    case MXCAST_CONVENTION_NONE: break;
    }
    mxcast_decode rounding = {MXCAST_FP32,
                              MXCAST_E2M1,
                              1,
                              MXCAST_SCALE_READING_E8M0,
                              MXCAST_DECODED_ROUNDING_RNE,
                              MXCAST_DECODED_OVERFLOW_INF,
                              MXCAST_SUBNORMALS_EXACT,
                              MXCAST_DECODED_NAN_CANONICAL,
                              MXCAST_DECODED_ZERO_SIGNED,
                              0};
    rounding.destination = *to;
    for (size_t i = 0; i < (size_t)r->block_size; i++) {
        const int negative = (codes[i] >> 3 & 1) ^ factor.negative ^ g_is_negative;
        const uint32_t q = mxcast_widened(codes[i] & 7u, &MXCAST_E2M1), magnitude = mxcast_multiply(q, product);
        uint64_t pattern;
        if (mxcast_is_nan(magnitude)) {
            mxcast_store(y, i, to, mxcast_nan_pattern(scale, &r->scale, to, r->nan));
            continue;
        }
        if (magnitude == MXCAST_INF) pattern = mxcast_inf_field(to);
        else pattern = mxcast_rounded(mxcast_significand(magnitude), mxcast_exponent(magnitude), &rounding, 0);
        mxcast_store(y, i, to, pattern | (negative ? mxcast_sign_mask(to) : 0));
    }
}

/* ---- Random bits ------------------------------------------------------------------------------------------------- */

/* Philox4x32-10 (Salmon and others, SC 2011): four words from a counter, the lowest word first, and a key. */
static inline void mxcast_philox(uint64_t counter_low, uint64_t counter_high, uint64_t key, uint32_t words[4]) {
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    words[0] = (uint32_t)counter_low;
    words[1] = (uint32_t)(counter_low >> 32);
    words[2] = (uint32_t)counter_high;
    words[3] = (uint32_t)(counter_high >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t first = (uint64_t)words[0] * 0xD2511F53u, second = (uint64_t)words[2] * 0xCD9E8D57u;
        words[0] = (uint32_t)(second >> 32) ^ words[1] ^ low;
        words[2] = (uint32_t)(first >> 32) ^ words[3] ^ high;
        words[1] = (uint32_t)second;
        words[3] = (uint32_t)first;
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
}

/* Eight random bits for each of 16 elements of block `offset` of a stream, as Transformer Engine draws them. Element
   4i + j takes byte byte_order[j] of word i: {0, 1, 2, 3} in its software, {0, 2, 1, 3} by the operands of PTX. */
static inline void mxcast_philox_random(uint64_t seed, uint64_t subsequence, uint64_t offset, const int byte_order[4],
                                        uint16_t random[16]) {
    uint32_t words[4];
    mxcast_philox(offset, subsequence, seed, words);
    for (int i = 0; i < 16; i++) random[i] = (uint16_t)(words[i / 4] >> 8 * byte_order[i % 4] & 0xFFu);
}

/* ---- Layouts: codes and scales in bytes -------------------------------------------------------------------------- */

enum mxcast_packing {
    MXCAST_PACKING_BYTES,
    MXCAST_PACKING_LOW_FIRST,
    MXCAST_PACKING_HIGH_FIRST,
    MXCAST_PACKING_HALVES,
    MXCAST_PACKING_LITTLE_ENDIAN,
    MXCAST_PACKING_HIGH_PARTS
};
enum mxcast_scale_place { MXCAST_SCALE_PLACE_APART, MXCAST_SCALE_PLACE_BEFORE, MXCAST_SCALE_PLACE_AFTER };
enum mxcast_scale_byte { MXCAST_SCALE_BYTE_CODE, MXCAST_SCALE_BYTE_EXPONENT };

typedef struct mxcast_layout {
    int block_size; /* a multiple of 4 */
    enum mxcast_packing packing;
    enum mxcast_scale_place place;
    int together; /* number of blocks whose scales are next to each other, before or after all of their codes */
    enum mxcast_scale_byte scale_byte;
} mxcast_layout;

/* Bits of a code in bytes. */
static inline int mxcast_packed_bits(enum mxcast_packing packing) {
    switch (packing) {
    case MXCAST_PACKING_BYTES: return 8;
    case MXCAST_PACKING_LOW_FIRST:
    case MXCAST_PACKING_HIGH_FIRST:
    case MXCAST_PACKING_HALVES: return 4;
    case MXCAST_PACKING_LITTLE_ENDIAN:
    case MXCAST_PACKING_HIGH_PARTS: return 6;
    }
    return 0;
}

/* Bytes of the codes of a block. */
static inline size_t mxcast_block_bytes(const mxcast_layout *l) {
    return (size_t)l->block_size * (size_t)mxcast_packed_bits(l->packing) / 8;
}

/* The codes of a block in bytes. Codes have no bits above those of their packing. */
static inline void mxcast_pack(const mxcast_layout *l, const uint16_t *codes, uint8_t *bytes) {
    const size_t count = (size_t)l->block_size, half = count / 2;
    switch (l->packing) {
    case MXCAST_PACKING_BYTES:
        for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)codes[i];
        break;
    case MXCAST_PACKING_LOW_FIRST:
        for (size_t i = 0; i < half; i++) bytes[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
        break;
    case MXCAST_PACKING_HIGH_FIRST:
        for (size_t i = 0; i < half; i++) bytes[i] = (uint8_t)(codes[2 * i] << 4 | codes[2 * i + 1]);
        break;
    case MXCAST_PACKING_HALVES:
        for (size_t i = 0; i < half; i++) bytes[i] = (uint8_t)(codes[i] | codes[i + half] << 4);
        break;
    case MXCAST_PACKING_LITTLE_ENDIAN:
        for (size_t i = 0; i < count / 4; i++) {
            const uint16_t *v = codes + 4 * i;
            bytes[3 * i] = (uint8_t)(v[0] | v[1] << 6);
            bytes[3 * i + 1] = (uint8_t)(v[1] >> 2 | v[2] << 4);
            bytes[3 * i + 2] = (uint8_t)(v[2] >> 4 | v[3] << 2);
        }
        break;
    case MXCAST_PACKING_HIGH_PARTS:
        for (size_t i = 0; i < count / 4; i++) {
            const uint16_t *v = codes + 4 * i;
            bytes[3 * i] = (uint8_t)(v[0] >> 4 << 6 | v[1] >> 4 << 4 | v[2] >> 4 << 2 | v[3] >> 4);
            bytes[3 * i + 1] = (uint8_t)(v[0] << 4 | (v[1] & 15));
            bytes[3 * i + 2] = (uint8_t)(v[2] << 4 | (v[3] & 15));
        }
        break;
    }
}

/* The inverse of mxcast_pack. */
static inline void mxcast_unpack(const mxcast_layout *l, const uint8_t *bytes, uint16_t *codes) {
    const size_t count = (size_t)l->block_size, half = count / 2;
    switch (l->packing) {
    case MXCAST_PACKING_BYTES:
        for (size_t i = 0; i < count; i++) codes[i] = bytes[i];
        break;
    case MXCAST_PACKING_LOW_FIRST:
        for (size_t i = 0; i < count; i++) codes[i] = bytes[i / 2] >> 4 * (i % 2) & 15;
        break;
    case MXCAST_PACKING_HIGH_FIRST:
        for (size_t i = 0; i < count; i++) codes[i] = bytes[i / 2] >> 4 * (1 - i % 2) & 15;
        break;
    case MXCAST_PACKING_HALVES:
        for (size_t i = 0; i < count; i++) codes[i] = bytes[i % half] >> 4 * (i / half) & 15;
        break;
    case MXCAST_PACKING_LITTLE_ENDIAN:
        for (size_t i = 0; i < count; i++) {
            const uint8_t *b = bytes + i / 4 * 3;
            const uint32_t word = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
            codes[i] = word >> 6 * (i % 4) & 63;
        }
        break;
    case MXCAST_PACKING_HIGH_PARTS:
        for (size_t i = 0; i < count; i++) {
            const uint8_t *b = bytes + i / 4 * 3;
            const unsigned place = (unsigned)(i % 4);
            const unsigned high = b[0] >> (6 - 2 * place) & 3u, low = b[1 + place / 2] >> 4 * (1 - place % 2) & 15u;
            codes[i] = (uint16_t)(high << 4 | low);
        }
        break;
    }
}

/* The byte that stores a scale code, and back. */
static inline uint8_t mxcast_stored_scale(const mxcast_layout *l, uint8_t scale) {
    return l->scale_byte == MXCAST_SCALE_BYTE_EXPONENT ? (uint8_t)(scale - 127) : scale;
}

static inline uint8_t mxcast_scale_of(const mxcast_layout *l, uint8_t byte) {
    return l->scale_byte == MXCAST_SCALE_BYTE_EXPONENT ? (uint8_t)(byte + 127) : byte;
}

/* Where scale and codes of block number i are in the bytes of a row of blocks. Under APART, `scale` counts in the array
   of the scales, in linear order. */
static inline void mxcast_place(const mxcast_layout *l, size_t i, size_t *scale, size_t *codes) {
    const size_t size = mxcast_block_bytes(l), together = (size_t)l->together;
    const size_t group = i / together, rest = i % together;
    const size_t start = group * together * (size + 1);
    switch (l->place) {
    case MXCAST_SCALE_PLACE_APART:
        *scale = i;
        *codes = i * size;
        break;
    case MXCAST_SCALE_PLACE_BEFORE:
        *scale = start + rest;
        *codes = start + together + rest * size;
        break;
    case MXCAST_SCALE_PLACE_AFTER:
        *scale = start + together * size + rest;
        *codes = start + rest * size;
        break;
    }
}

/* Store block number i of a row. Unless scales are APART, `scales` is the same array as `bytes`. */
static inline void mxcast_store_block(const mxcast_layout *l, size_t i, uint8_t scale, const uint16_t *codes,
                                      uint8_t *scales, uint8_t *bytes) {
    size_t of_scale = 0, of_codes = 0;
    mxcast_place(l, i, &of_scale, &of_codes);
    scales[of_scale] = mxcast_stored_scale(l, scale);
    mxcast_pack(l, codes, bytes + of_codes);
}

/* The inverse of mxcast_store_block. */
static inline void mxcast_load_block(const mxcast_layout *l, size_t i, const uint8_t *scales, const uint8_t *bytes,
                                     uint8_t *scale, uint16_t *codes) {
    size_t of_scale = 0, of_codes = 0;
    mxcast_place(l, i, &of_scale, &of_codes);
    *scale = mxcast_scale_of(l, scales[of_scale]);
    mxcast_unpack(l, bytes + of_codes, codes);
}

/* Byte of the scale of a row and a block in tiles of 128 rows and 4 blocks, of which `blocks` are in a row. */
static inline size_t mxcast_tiles_128x4(size_t row, size_t block, size_t blocks) {
    const size_t tile = row / 128 * ((blocks + 3) / 4) + block / 4;
    return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}

#endif
