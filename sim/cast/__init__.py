"""Simulation of casts: golden model and causes of differences."""
