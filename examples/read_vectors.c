/* Try an encoder on a set of `mxcast vectors`, with plain C:
   cc read_vectors.c my_encoder.c -lm && ./a.out < FOLDER/vectors.csv
   The encoder is yours: 32 numbers to a scale byte and 32 codes. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void encode(const float *x, uint8_t *scale, uint8_t *codes);

int main(void) {
    long blocks = 0, wrong = 0;
    char category[16];
    scanf("%*[^\n]");
    for (unsigned word; scanf(" %15[^,]", category) == 1; blocks++) {
        uint32_t bits[32];
        uint8_t scale = 0, codes[32] = {0}, want[33];
        float x[32];
        for (int i = 0; i < 32 && scanf(",%x", &word) == 1; i++) bits[i] = word;
        for (int i = 0; i < 33 && scanf(",%x", &word) == 1; i++) want[i] = (uint8_t)word;
        memcpy(x, bits, sizeof x);
        encode(x, &scale, codes);
        wrong += scale != want[0] || memcmp(codes, want + 1, 32) != 0;
    }
    printf("%ld of %ld blocks differ\n", wrong, blocks);
    return wrong || !blocks;
}
