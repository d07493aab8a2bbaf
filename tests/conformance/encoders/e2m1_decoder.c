/* OCP's E2M1 decoder, written from the specification: 32 codes and a scale byte to 32 FP32 patterns. */
#include <math.h>
#include <stdint.h>
#include <string.h>

void convert(const uint32_t *in, uint32_t *out) {
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    for (int i = 0; i < 32; i++) {
        double magnitude = ldexp(values[in[i] & 7], (int)in[32] - 127);
        float y = (float)(in[i] & 8 ? -magnitude : magnitude);
        memcpy(&out[i], &y, sizeof y);
        if (in[32] == 255) out[i] = 0x7FC00000;
    }
}
