"""Simulation of decoders: golden model and causes of differences."""
