"""Encoders and decoders of NVFP4."""
