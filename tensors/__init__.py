"""Tensor files: read in place, cut into tiles of whole blocks, converted, and written whole or not at all."""
