"""Where reference and design meet: stimuli, cocotb benches, and the Verilated design as a NumPy function."""

from .regression import Regression, test
from .verification import Verification, verify
from .verilated import (
    Verilated,
    VerilatedCast,
    VerilatedDecoder,
    VerilatedHadamard,
    VerilatedTwoLevel,
    VerilatedTwoLevelDecoder,
    verilate,
    verilate_configuration,
)

__all__ = [
    "Regression",
    "Verification",
    "Verilated",
    "VerilatedCast",
    "VerilatedDecoder",
    "VerilatedHadamard",
    "VerilatedTwoLevel",
    "VerilatedTwoLevelDecoder",
    "test",
    "verify",
    "verilate",
    "verilate_configuration",
]
