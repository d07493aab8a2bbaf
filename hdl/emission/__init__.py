"""Emission: Verilog files and the files that tools need next to them."""
