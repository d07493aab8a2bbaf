"""Simulations of designs against the reference: stimuli, cocotb benches, and Verilated designs as NumPy functions."""

from .check.verification import Verification, verify
from .cocotb.regression import Regression, test
from .run.verilator.verilated import (
    Verilated,
    VerilatedCast,
    VerilatedDecoder,
    VerilatedHadamard,
    VerilatedNvfp4,
    VerilatedNvfp4Decoder,
    VerilatedTile,
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
    "VerilatedTile",
    "test",
    "verify",
    "verilate",
    "verilate_configuration",
]
