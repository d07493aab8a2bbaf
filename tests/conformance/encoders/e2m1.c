/* OCP's E2M1 encoder, written from the specification: double has every product exactly. */
#include <math.h>
#include <stdint.h>
#include <string.h>

void encode(const float *x, uint8_t *scale, uint8_t *codes) {
    static const double halves[7] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
    double amax = 0;
    int finite = 1;
    for (int i = 0; i < 32; i++) {
        finite &= isfinite(x[i]) != 0;
        amax = fmax(amax, fabs(x[i]));
    }
    int exponent = amax > 0 && finite ? ilogb(amax) - 2 : -127;
    if (exponent < -127) exponent = -127;
    *scale = finite ? (uint8_t)(exponent + 127) : 255;
    for (int i = 0; i < 32; i++) {
        double y = ldexp(fabs(x[i]), -exponent);
        int code = 0;
        while (code < 7 && (y > halves[code] || (y == halves[code] && code % 2))) code++;
        codes[i] = finite ? (uint8_t)(code | (signbit(x[i]) ? 8 : 0)) : 0;
    }
}

void convert(const uint32_t *in, uint32_t *out) {
    float x[32];
    uint8_t scale, codes[32];
    memcpy(x, in, sizeof x);
    encode(x, &scale, codes);
    out[0] = scale;
    for (int i = 0; i < 32; i++) out[1 + i] = codes[i];
}
