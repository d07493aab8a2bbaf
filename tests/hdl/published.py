"""Numbers typed from tables A.1, B.1 and B.3 of the numerics specification, by element."""

EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
MMAX = {"e5m2": 0x600000, "e4m3": 0x600000, "e3m2": 0x600000, "e2m3": 0x700000, "e2m1": 0x400000, "int8": 0x7E0000}
"""Mantissa of the largest number."""
BIAS = {"e5m2": 15, "e4m3": 7, "e3m2": 3, "e2m3": 1, "e2m1": 1, "int8": 0}
"""The FPGA paper's int8 has none."""
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
