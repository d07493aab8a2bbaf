"""Simulation of Hadamard transforms: golden model and causes of differences."""
