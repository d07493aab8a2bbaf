"""Simulators of Verilog: Verilator and Icarus."""
