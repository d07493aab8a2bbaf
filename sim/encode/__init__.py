"""Simulation of encoders: golden model and causes of differences."""
