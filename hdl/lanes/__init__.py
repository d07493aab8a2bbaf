"""Encoders with lanes: a block enters and leaves in beats of a few numbers."""
