"""Statements about the order of beats in hardware with lanes, and their proofs by induction."""
