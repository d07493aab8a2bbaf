/* The usual rules in vectors, for one instruction set: blocks of 16 or 32, to nearest even. The arithmetic is that of
blocks.h, which does the rest. Each function returns the number of blocks that it did. */

/* Magnitudes that are multiplied, or divided, and clamped. */
static ISA ALWAYS_INLINE FLOATS NAME(clamped)(FLOATS x, FLOATS factor, FLOATS limit, int divides)
{
    const FLOATS product = divides ? OP(div_ps)(x, factor) : OP(mul_ps)(x, factor);
#if LANES == 16
    return _mm512_range_ps(product, limit, 0xA); /* the smaller magnitude, without a sign */
#else
    return OP(min_ps)(FLOATS_OF(ON_BITS(and)(BITS_OF(product), NAME(each)(0x7FFFFFFF))), limit);
#endif
}

/* Vector ``i`` from ``u`` on. The next group is fetched meanwhile: the search for its maxima would wait for memory. */
static ISA ALWAYS_INLINE VECTOR NAME(load_ahead)(const uint32_t *u, int i)
{
    if (i * LANES % 16 == 0) /* once for each line of the cache; the address may be any */
        _mm_prefetch((const void *)((uintptr_t)(u + i * LANES) + 4 * GROUP), _MM_HINT_T0);
    return ON_BITS(loadu)((const void *)(u + i * LANES));
}

/* Codes of floating-point elements. The parameters after ``codes`` are constants in each call. */
static ISA ALWAYS_INLINE void NAME(usual_floats)(const uint32_t *u, const float *factors, const struct encoding *e,
                                                 size_t elements, uint8_t *codes, int size, int man_bits, int sign_at,
                                                 int divides, int drops)
{
    const int shift = 23 - man_bits;
    const FLOATS limit = OP(set1_ps)(e->limit);
    const VECTOR lowest = NAME(each)(e->lowest_field), exponent = NAME(each)(0x7F800000);
    const VECTOR two_of_lowest = NAME(each)(e->lowest_field + ((uint32_t)shift << 23));
    const VECTOR sign = NAME(each)(1u << sign_at);
    for (size_t at = 0; at < elements; at += 4 * LANES) {
        VECTOR found[4];
        for (int i = 0; i < 4; i++) {
            const size_t from = at + (size_t)i * LANES;
            const VECTOR x = NAME(load_ahead)(u + at, i);
            const FLOATS y = NAME(clamped)(FLOATS_OF(x), OP(set1_ps)(factors[from / (size_t)size]), limit, divides);
            /* both fields are in the upper halves of their words, and a difference below zero is zero */
            const VECTOR above = ON_BITS(and)(OP(subs_epu16)(BITS_OF(y), lowest), exponent);
            const VECTOR two = OP(add_epi32)(above, two_of_lowest);
            const VECTOR steps = OP(sub_epi32)(BITS_OF(OP(add_ps)(y, FLOATS_OF(two))), two);
            const VECTOR code = OP(add_epi32)(steps, OP(srli_epi32)(above, shift));
            VECTOR negative = ON_BITS(and)(OP(srli_epi32)(x, 31 - sign_at), sign);
            if (drops) /* zeros have no sign */
#if LANES == 16
                negative = _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(BITS_OF(y), BITS_OF(y)), negative);
#else
                negative = ON_BITS(andnot)(OP(cmpeq_epi32)(BITS_OF(y), ON_BITS(setzero)()), negative);
#endif
            found[i] = ON_BITS(or)(code, negative);
        }
        NAME(store_bytes)(codes + at, found);
    }
}

/* Codes of INT8: the sum has a sign, and its last byte is the code. */
static ISA ALWAYS_INLINE void NAME(usual_int8)(const uint32_t *u, const float *factors, const struct encoding *e,
                                               size_t elements, uint8_t *codes, int size)
{
    const FLOATS largest = OP(set1_ps)(e->limit), smallest = OP(set1_ps)(-e->limit);
    const FLOATS two = OP(set1_ps)(number_of((e->lowest_field + (23u << 23)) | 0x400000));
    const VECTOR last = NAME(each)(255);
    for (size_t at = 0; at < elements; at += 4 * LANES) {
        VECTOR found[4];
        for (int i = 0; i < 4; i++) {
            const size_t from = at + (size_t)i * LANES;
            const FLOATS x = FLOATS_OF(NAME(load_ahead)(u + at, i));
            const FLOATS product = OP(mul_ps)(x, OP(set1_ps)(factors[from / (size_t)size]));
            const FLOATS y = OP(max_ps)(OP(min_ps)(product, largest), smallest);
            found[i] = ON_BITS(and)(BITS_OF(OP(add_ps)(y, two)), last);
        }
        NAME(store_bytes)(codes + at, found);
    }
}

static ISA size_t NAME(usual_codes)(const uint32_t *u, const float *factors, const struct encoding *e, size_t blocks,
                                    uint8_t *codes)
{
    const int size = e->block_size, drops = e->zero == ZERO_OF_PRODUCT;
    if ((size != 32 && size != 16) || e->rounding != ROUND_RNE || e->flush_element)
        return 0;
    if (e->zero != ZERO_SIGNED && !drops)
        return 0;
    const size_t elements = blocks * (size_t)size / (4 * LANES) * (4 * LANES), done = elements / (size_t)size;
#define CASE(man_bits, sign_at)                                                                                        \
    case man_bits << 8 | 1 << sign_at:                                                                                 \
        if (size != 32 || drops || e->divides)                                                                         \
            return 0;                                                                                                  \
        NAME(usual_floats)(u, factors, e, elements, codes, 32, man_bits, sign_at, 0, 0);                               \
        return done;
    if (e->is_fixed) {
        if (size != 32 || drops || e->mask != 255)
            return 0;
        NAME(usual_int8)(u, factors, e, elements, codes, 32);
        return done;
    }
    switch (e->man_bits << 8 | e->sign_mask) {
        CASE(2, 7)
        CASE(3, 7)
        CASE(2, 5)
        CASE(3, 5)
    case 1 << 8 | 1 << 3:
        if (size == 32 && !drops && !e->divides)
            NAME(usual_floats)(u, factors, e, elements, codes, 32, 1, 3, 0, 0);
        else if (size == 16 && !e->divides && drops)
            NAME(usual_floats)(u, factors, e, elements, codes, 16, 1, 3, 0, 1);
        else if (size == 16 && !e->divides)
            NAME(usual_floats)(u, factors, e, elements, codes, 16, 1, 3, 0, 0);
        else if (size == 16 && drops)
            NAME(usual_floats)(u, factors, e, elements, codes, 16, 1, 3, 1, 1);
        else if (size == 16)
            NAME(usual_floats)(u, factors, e, elements, codes, 16, 1, 3, 1, 0);
        else
            return 0;
        return done;
    }
    return 0;
#undef CASE
}

/* Largest magnitudes of blocks of ``size``, a constant. */
static ISA ALWAYS_INLINE size_t NAME(usual_maxima)(const uint32_t *u, size_t blocks, int size, uint32_t *maxima)
{
    const size_t done = blocks / LANES * LANES;
    const VECTOR magnitude = NAME(each)(0x7FFFFFFF);
    for (size_t block = 0; block < done; block += LANES) {
        VECTOR rows[LANES];
        for (int row = 0; row < LANES; row++) {
            const uint32_t *x = u + (block + (size_t)row) * (size_t)size;
            VECTOR most = ON_BITS(and)(ON_BITS(loadu)((const void *)x), magnitude);
            for (int i = LANES; i < size; i += LANES)
                most = NAME(larger)(most, ON_BITS(and)(ON_BITS(loadu)((const void *)(x + i)), magnitude));
            rows[row] = most;
        }
        ON_BITS(storeu)((void *)(maxima + block), NAME(largest)(rows));
    }
    return done;
}

/* Values of LANES codes of a floating-point format that are not special. */
static ISA ALWAYS_INLINE FLOATS NAME(float_values)(VECTOR code, const struct decoding *d)
{
    const __m128i shift = _mm_cvtsi32_si128(23 - d->man_bits), sign_shift = _mm_cvtsi32_si128(d->sign_shift);
    const VECTOR magnitude = ON_BITS(and)(code, NAME(each)(d->mask));
    const VECTOR sign = ON_BITS(and)(OP(sll_epi32)(code, sign_shift), NAME(each)(0x80000000));
    const VECTOR pattern = OP(add_epi32)(OP(sll_epi32)(magnitude, shift), NAME(each)(d->lowest_field - (1u << 23)));
    /* a number below ``ones`` has no leading one: it is added, and its value subtracted */
    const VECTOR leading = NAME(each)(1u << 23), ones = NAME(each)(1u << d->man_bits);
    const FLOATS lowest = FLOATS_OF(NAME(each)(d->lowest_field));
#if LANES == 16
    const __mmask16 is_small = _mm512_cmplt_epi32_mask(magnitude, ones);
    const FLOATS larger = FLOATS_OF(_mm512_mask_add_epi32(pattern, is_small, pattern, leading));
    const FLOATS value = _mm512_mask_sub_ps(larger, is_small, larger, lowest);
#else
    const VECTOR is_small = OP(cmpgt_epi32)(ones, magnitude);
    const FLOATS larger = FLOATS_OF(OP(add_epi32)(pattern, ON_BITS(and)(is_small, leading)));
    const FLOATS value = OP(sub_ps)(larger, OP(and_ps)(FLOATS_OF(is_small), lowest));
#endif
    return FLOATS_OF(ON_BITS(or)(BITS_OF(value), sign));
}

static ISA ALWAYS_INLINE size_t NAME(usual_numbers)(const uint8_t *scales, const uint8_t *codes,
                                                    const struct decoding *d, size_t blocks, float *y, int is_fixed)
{
    const size_t elements = blocks * 32 / (4 * LANES) * (4 * LANES);
    const struct decoding format = *d; /* in registers: no store to ``y`` changes it */
    const FLOATS step = FLOATS_OF(NAME(each)(format.lowest_field));
    for (size_t at = 0; at < elements; at += 4 * LANES) {
        if (!is_fixed && NAME(has_byte)(codes + at, (uint8_t)format.mask, (uint8_t)format.first_special)) {
            for (size_t i = at; i < at + 4 * LANES; i++)
                y[i] = format.values[codes[i]] * format.factors[scales[i / 32]];
            continue;
        }
        for (size_t from = at; from < at + 4 * LANES; from += LANES) {
            const VECTOR code = NAME(load_bytes)(codes + from);
            const FLOATS value =
                is_fixed ? OP(mul_ps)(OP(cvtepi32_ps)(OP(srai_epi32)(OP(slli_epi32)(code, 24), 24)), step)
                         : NAME(float_values)(code, &format);
            OP(storeu_ps)(y + from, OP(mul_ps)(value, OP(set1_ps)(format.factors[scales[from / 32]])));
        }
    }
    return elements / 32;
}

static ISA size_t NAME(usual_decode)(const uint8_t *scales, const uint8_t *codes, const struct decoding *d,
                                     size_t blocks, float *y)
{
    if (d->block_size != 32 || d->kind == TABLE)
        return 0;
    return d->kind == FIXED ? NAME(usual_numbers)(scales, codes, d, blocks, y, 1)
                            : NAME(usual_numbers)(scales, codes, d, blocks, y, 0);
}
