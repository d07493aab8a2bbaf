/* Quantize numbers to MXFP4 in the bytes of ggml, and decode them again, with the golden model in C:
   mxcast emit e2m1 --c -o build
   cc -std=c99 -O2 -I build/mxfp4_e2m1_ocp/c blocks.c -lm && ./a.out */
#include <math.h>
#include <stdio.h>

#include "mxcast.h"

enum { BLOCKS = 4, SIZE = 32 };

static const mxcast_encode ENCODE = {
    MXCAST_FLOAT_FORMAT(8, 23, 127, IEEE, 1, 1), /* source: FP32 */
    MXCAST_FLOAT_FORMAT(2, 1, 1, NONE, 1, 1),    /* element: E2M1 */
    SIZE,
    MXCAST_SCALE_RULE_FLOOR,
    MXCAST_ROUNDING_RNE,
    MXCAST_SPECIALS_NAN_BLOCK,
    MXCAST_SUBNORMALS_EXACT, /* inputs */
    MXCAST_SUBNORMALS_EXACT, /* elements */
    MXCAST_OVERFLOW_SATURATE,
    MXCAST_ENCODED_ZERO_SIGNED,
    0, /* random bits */
};

static const mxcast_decode DECODE = {
    MXCAST_FLOAT_FORMAT(8, 23, 127, IEEE, 1, 1),
    MXCAST_FLOAT_FORMAT(2, 1, 1, NONE, 1, 1),
    SIZE,
    MXCAST_SCALE_READING_E8M0,
    MXCAST_DECODED_ROUNDING_RNE,
    MXCAST_DECODED_OVERFLOW_INF,
    MXCAST_SUBNORMALS_EXACT,
    MXCAST_DECODED_NAN_CANONICAL,
    MXCAST_DECODED_ZERO_SIGNED,
    0,
};

static const mxcast_layout GGML = {
    SIZE, MXCAST_PACKING_HALVES, MXCAST_SCALE_PLACE_BEFORE, 1, MXCAST_SCALE_BYTE_CODE,
};

int main(void) {
    float x[BLOCKS * SIZE], y[BLOCKS * SIZE];
    uint8_t bytes[BLOCKS * (1 + SIZE / 2)], scale;
    uint16_t codes[SIZE];
    double error = 0, energy = 0;
    for (int i = 0; i < BLOCKS * SIZE; i++) x[i] = sinf((float)i) * (float)(1 + i / SIZE);
    for (size_t block = 0; block < BLOCKS; block++) {
        mxcast_encode_block(&ENCODE, x + block * SIZE, NULL, &scale, codes);
        mxcast_store_block(&GGML, block, scale, codes, bytes, bytes);
    }
    for (size_t block = 0; block < BLOCKS; block++) {
        mxcast_load_block(&GGML, block, bytes, bytes, &scale, codes);
        mxcast_decode_block(&DECODE, scale, codes, NULL, y + block * SIZE);
    }
    for (int i = 0; i < BLOCKS * SIZE; i++) {
        error += pow((double)x[i] - (double)y[i], 2);
        energy += pow((double)x[i], 2);
    }
    for (size_t i = 0; i < sizeof bytes; i++) printf("%02x", bytes[i]);
    printf("\n%.1f dB in %zu bytes\n", 10 * log10(energy / error), sizeof bytes);
    return 0;
}
