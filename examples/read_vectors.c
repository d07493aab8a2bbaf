/* Try a converter on a set of `mxcast vectors`, with plain C:
   cc read_vectors.c my_encoder.c -lm && ./a.out < FOLDER/vectors.csv
   A row has words that enter and words that must leave, as its head names them. Of an encoder of blocks of 32 these are
   32 FP32 patterns, then the scale byte and 32 codes. A decoder: -DIN=33 -DOUT=32; a cast: -DIN=1 -DOUT=1; an encoder to
   NVFP4 -DIN=19 -DOUT=17, of which the first is the number of the tensor. The converter is yours. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifndef IN
#define IN 32
#define OUT 33
#endif

void convert(const uint32_t *in, uint32_t *out);

int main(void) {
    uint32_t words[IN + OUT], out[OUT];
    long blocks = 0, wrong = 0;
    char category[16];
    scanf("%*[^\n]");
    for (; scanf(" %15[^,]", category) == 1; blocks++) {
        for (int i = 0; i < IN + OUT && scanf(",%x", &words[i]) == 1; i++) {}
        memset(out, 0, sizeof out);
        convert(words, out);
        wrong += memcmp(out, words + IN, sizeof out) != 0;
    }
    printf("%ld of %ld blocks differ\n", wrong, blocks);
    return wrong || !blocks;
}
