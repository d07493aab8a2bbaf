"""Netlists in which blocks come in beats: what computes the bits of a beat, and everything else."""
