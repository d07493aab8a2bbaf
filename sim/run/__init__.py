"""Simulators: Verilated designs as functions, and Icarus."""
