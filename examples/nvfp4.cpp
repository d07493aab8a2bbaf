// Quantize a tensor to NVFP4 as Transformer Engine does, with stochastic rounding, and decode it again in C++17:
//   mxcast emit e2m1 --c -o build
//   c++ -std=c++17 -O2 -I build/mxfp4_e2m1_ocp/c nvfp4.cpp && ./a.out
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "mxcast.h"

int main() {
    constexpr int size = 16;
    const mxcast_nvfp4_encode encode = {
        MXCAST_FP32, MXCAST_E4M3, size, MXCAST_ORDER_TE, MXCAST_ROUNDING_SR, MXCAST_FOUR_OVER_SIX_OFF, 448, 8,
    };
    const mxcast_nvfp4_decode decode = {
        MXCAST_FP32, MXCAST_E4M3, size, MXCAST_CONVENTION_AMAX, MXCAST_DECODED_NAN_CANONICAL,
        MXCAST_DECODED_ROUNDING_RNE, 448, 0,
    };
    std::vector<float> x(8 * size), y(x.size());
    float amax = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
        x[i] = std::sin(static_cast<float>(i)) * static_cast<float>(1 + i / size);
        amax = std::fmax(amax, std::fabs(x[i]));
    }
    const mxcast_constants tensor = mxcast_nvfp4_constants(&encode, mxcast_pattern_of(amax));
    const int software[4] = {0, 1, 2, 3};
    double error = 0, energy = 0;
    for (std::size_t block = 0; block < x.size() / size; block++) {
        std::uint16_t random[size], codes[size];
        std::uint8_t scale;
        mxcast_philox_random(7, 0, block, software, random); // seed 7, subsequence 0
        mxcast_nvfp4_encode_block(&encode, tensor, &x[block * size], random, &scale, codes);
        mxcast_nvfp4_decode_block(&decode, mxcast_pattern_of(amax), scale, codes, &y[block * size]);
        std::printf("%02x", scale);
        for (const std::uint16_t code : codes) std::printf("%x", code);
        std::printf("\n");
    }
    for (std::size_t i = 0; i < x.size(); i++) {
        error += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
        energy += std::pow(static_cast<double>(x[i]), 2);
    }
    std::printf("%.1f dB\n", 10 * std::log10(energy / error));
}
