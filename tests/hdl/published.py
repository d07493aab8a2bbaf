"""Numbers typed from tables A.1, B.1 and B.3 of the numerics specification, by element."""

EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
MMAX = {"e5m2": 0x600000, "e4m3": 0x600000, "e3m2": 0x600000, "e2m3": 0x700000, "e2m1": 0x400000, "int8": 0x7E0000}
"""Mantissa of the largest number."""
BIAS = {"e5m2": 15, "e4m3": 7, "e3m2": 3, "e2m3": 1, "e2m1": 1, "int8": 0}
"""The int8 of the FPGA paper has no bias, which is 0 here."""
BITS = {"e5m2": 8, "e4m3": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
EVEN = {"e5m2": 0x700000, "e4m3": 0x780000, "e3m2": 0x700000, "e2m3": 0x780000, "e2m1": 0x600000, "int8": 0x7F0000}
"""First mantissa that ``even`` rounds up."""
MULTIPLICATION = {
    "e5m2": {0x07E00001},
    "e4m3": {0x04600001},
    "e3m2": {0x02600001},
    "e2m3": {0x01700001},
    "e2m1": {0x01400001},
    "int8": {0x007F0001},
}
"""Largest magnitudes whose byte is one less when a / destmax is a product in FP32. Besides, for int8, 0x7E0001 in every
normal binade."""

ROOT = {"e5m2": 0x1E6455, "e4m3": 0x1E6455, "e3m2": 0x1E6455, "e2m3": 0x29B4A5, "e2m1": 0x07C3B7, "int8": 0x339AEA}
"""First mantissa from which a is nearer to the next power of two times the largest element, by log2: that above 7/4,
15/8, 3/2 or 127/64 divided by sqrt(2) = 1.41421356237."""

MIDDLE = {"e5m2": 0x700000, "e4m3": 0x700000, "e3m2": 0x700000, "e2m3": 0x780000, "e2m1": 0x600000, "int8": 0x7F0000}
"""Mantissa of the middle between the largest number and the next power of two: 15/8, 31/16, 7/4 or 255/128."""
