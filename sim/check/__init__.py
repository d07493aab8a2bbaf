"""Comparison of designs with the golden model: verification, scoreboard, self-checking benches."""
