/* Functions of mxcast.h over arrays, for ctypes. */

#include "mxcast.h"

void encode(const mxcast_encode *r, size_t blocks, const void *x, const uint16_t *random, uint8_t *scales,
            uint16_t *codes) {
    const size_t size = (size_t)r->block_size, bytes = (size_t)mxcast_bits(&r->source) / 8;
    for (size_t i = 0; i < blocks; i++)
        mxcast_encode_block(r, (const char *)x + i * size * bytes, random ? random + i * size : NULL, scales + i,
                            codes + i * size);
}

void decode(const mxcast_decode *r, size_t blocks, const uint8_t *scales, const uint16_t *codes,
            const uint16_t *random, void *y) {
    const size_t size = (size_t)r->block_size, bytes = (size_t)mxcast_bits(&r->destination) / 8;
    for (size_t i = 0; i < blocks; i++)
        mxcast_decode_block(r, scales[i], codes + i * size, random ? random + i * size : NULL,
                            (char *)y + i * size * bytes);
}

void cast(const mxcast_cast *r, size_t count, const uint64_t *numbers, const uint16_t *random, uint64_t *results) {
    for (size_t i = 0; i < count; i++) results[i] = mxcast_cast_number(r, numbers[i], random ? random[i] : 0);
}

/* Each block is in a tensor of its own, whose largest magnitude is one of amax; constants are its k and d. */
void nvfp4_encode(const mxcast_nvfp4_encode *r, size_t blocks, const uint32_t *amax, const void *x,
                  const uint16_t *random, uint8_t *scales, uint16_t *codes, uint32_t *constants) {
    const size_t size = (size_t)r->block_size, bytes = (size_t)mxcast_bits(&r->source) / 8;
    for (size_t i = 0; i < blocks; i++) {
        const mxcast_constants t = mxcast_nvfp4_constants(r, amax[i]);
        constants[2 * i] = t.k;
        constants[2 * i + 1] = t.d;
        mxcast_nvfp4_encode_block(r, t, (const char *)x + i * size * bytes, random ? random + i * size : NULL,
                                  scales + i, codes + i * size);
    }
}

void nvfp4_decode(const mxcast_nvfp4_decode *r, size_t blocks, uint32_t tensor_scale, const uint8_t *scales,
                  const uint16_t *codes, void *y) {
    const size_t size = (size_t)r->block_size, bytes = (size_t)mxcast_bits(&r->destination) / 8;
    for (size_t i = 0; i < blocks; i++)
        mxcast_nvfp4_decode_block(r, tensor_scale, scales[i], codes + i * size, (char *)y + i * size * bytes);
}

void philox_random(size_t blocks, uint64_t seed, uint64_t subsequence, uint64_t offset, const int *byte_order,
                   uint16_t *random) {
    for (size_t i = 0; i < blocks; i++)
        mxcast_philox_random(seed, subsequence, offset + i, byte_order, random + 16 * i);
}

void store(const mxcast_layout *l, size_t blocks, const uint8_t *scales, const uint16_t *codes, uint8_t *stored_scales,
           uint8_t *bytes) {
    for (size_t i = 0; i < blocks; i++)
        mxcast_store_block(l, i, scales[i], codes + i * (size_t)l->block_size, stored_scales, bytes);
}

void load(const mxcast_layout *l, size_t blocks, const uint8_t *stored_scales, const uint8_t *bytes, uint8_t *scales,
          uint16_t *codes) {
    for (size_t i = 0; i < blocks; i++)
        mxcast_load_block(l, i, stored_scales, bytes, scales + i, codes + i * (size_t)l->block_size);
}

void tiles_128x4(size_t rows, size_t blocks, size_t *places) {
    for (size_t row = 0; row < rows; row++)
        for (size_t block = 0; block < blocks; block++)
            places[row * blocks + block] = mxcast_tiles_128x4(row, block, blocks);
}

/* Numbers of ints in the structs, in the order of MEMBERS in native/structs.py. */
void sizes(size_t *found) {
    found[0] = sizeof(mxcast_encode) / sizeof(int);
    found[1] = sizeof(mxcast_decode) / sizeof(int);
    found[2] = sizeof(mxcast_cast) / sizeof(int);
    found[3] = sizeof(mxcast_nvfp4_encode) / sizeof(int);
    found[4] = sizeof(mxcast_nvfp4_decode) / sizeof(int);
}
