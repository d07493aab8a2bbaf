"""Where reference and design meet: stimuli, cocotb benches, and the Verilated design as a NumPy function."""

from .check.verification import Verification, verify
from .cocotb.regression import Regression, test
from .run.verilated import (
    Verilated,
    VerilatedCast,
    VerilatedDecoder,
    VerilatedHadamard,
    VerilatedNvfp4,
    VerilatedNvfp4Decoder,
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
    "VerilatedNvfp4",
    "VerilatedNvfp4Decoder",
    "test",
    "verify",
    "verilate",
    "verilate_configuration",
]
