"""NVFP4 encoders with a cache of the rows of thresholds."""
