"""Simulation of NVFP4 encoders and decoders: golden models, stimuli, causes of differences."""
