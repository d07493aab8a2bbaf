/* Vectors of LANES numbers of 32 bits, for one instruction set of x86-64. usual.h is written on them. */
#undef VECTOR
#undef FLOATS
#undef OP
#undef ON_BITS
#undef FLOATS_OF
#undef BITS_OF
#if LANES == 16
#define VECTOR __m512i
#define FLOATS __m512
#define OP(name) _mm512_##name
#define ON_BITS(name) _mm512_##name##_si512
#define FLOATS_OF(v) _mm512_castsi512_ps(v)
#define BITS_OF(y) _mm512_castps_si512(y)
#elif LANES == 8
#define VECTOR __m256i
#define FLOATS __m256
#define OP(name) _mm256_##name
#define ON_BITS(name) _mm256_##name##_si256
#define FLOATS_OF(v) _mm256_castsi256_ps(v)
#define BITS_OF(y) _mm256_castps_si256(y)
#else
#define VECTOR __m128i
#define FLOATS __m128
#define OP(name) _mm_##name
#define ON_BITS(name) _mm_##name##_si128
#define FLOATS_OF(v) _mm_castsi128_ps(v)
#define BITS_OF(y) _mm_castps_si128(y)
#endif

static ISA ALWAYS_INLINE VECTOR NAME(each)(uint32_t u)
{
    return OP(set1_epi32)((int)u);
}

/* The larger of signed numbers. */
static ISA ALWAYS_INLINE VECTOR NAME(larger)(VECTOR a, VECTOR b)
{
#if LANES == 4 /* SSE2 lacks the instruction */
    const VECTOR is_larger = _mm_cmpgt_epi32(a, b);
    return _mm_or_si128(_mm_and_si128(is_larger, a), _mm_andnot_si128(is_larger, b));
#else
    return OP(max_epi32)(a, b);
#endif
}

/* The largest number of each of LANES vectors, in their order. */
static ISA ALWAYS_INLINE VECTOR NAME(largest)(const VECTOR *v)
{
    VECTOR pairs[LANES / 2], fours[LANES / 4]; /* each 128 bits have two maxima of two vectors, one of four */
    for (int i = 0; i < LANES / 2; i++)
        pairs[i] = NAME(larger)(OP(unpacklo_epi32)(v[2 * i], v[2 * i + 1]), OP(unpackhi_epi32)(v[2 * i], v[2 * i + 1]));
    for (int i = 0; i < LANES / 4; i++)
        fours[i] = NAME(larger)(OP(unpacklo_epi64)(pairs[2 * i], pairs[2 * i + 1]),
                                OP(unpackhi_epi64)(pairs[2 * i], pairs[2 * i + 1]));
#if LANES == 16
    VECTOR eights[2];
    for (int i = 0; i < 2; i++)
        eights[i] = _mm512_max_epi32(_mm512_shuffle_i32x4(fours[2 * i], fours[2 * i + 1], 0x44),
                                     _mm512_shuffle_i32x4(fours[2 * i], fours[2 * i + 1], 0xEE));
    return _mm512_max_epi32(_mm512_shuffle_i32x4(eights[0], eights[1], 0x88),
                            _mm512_shuffle_i32x4(eights[0], eights[1], 0xDD));
#elif LANES == 8
    return _mm256_max_epi32(_mm256_permute2x128_si256(fours[0], fours[1], 0x20),
                            _mm256_permute2x128_si256(fours[0], fours[1], 0x31));
#else
    return fours[0];
#endif
}

/* Store the bytes of four vectors of numbers below 256. */
static ISA ALWAYS_INLINE void NAME(store_bytes)(uint8_t *to, const VECTOR *v)
{
    VECTOR bytes = OP(packus_epi16)(OP(packs_epi32)(v[0], v[1]), OP(packs_epi32)(v[2], v[3]));
#if LANES == 16
    bytes = _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
#elif LANES == 8
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
#endif
    ON_BITS(storeu)((void *)to, bytes);
}

/* LANES bytes as numbers. */
static ISA ALWAYS_INLINE VECTOR NAME(load_bytes)(const uint8_t *from)
{
#if LANES == 16
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)from));
#elif LANES == 8
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)from));
#else
    int32_t four;
    memcpy(&four, from, 4);
    const VECTOR zero = _mm_setzero_si128();
    return _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero), zero);
#endif
}

/* Is one of 4 * LANES bytes at least ``least`` under the mask? */
static ISA ALWAYS_INLINE int NAME(has_byte)(const uint8_t *from, uint8_t mask, uint8_t least)
{
    const VECTOR masked = ON_BITS(and)(ON_BITS(loadu)((const void *)from), OP(set1_epi8)((char)mask));
    const VECTOR limit = OP(set1_epi8)((char)least);
#if LANES == 16
    return _mm512_cmpge_epu8_mask(masked, limit) != 0;
#else
    return OP(movemask_epi8)(OP(cmpeq_epi8)(OP(max_epu8)(masked, limit), masked)) != 0;
#endif
}
