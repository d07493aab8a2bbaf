"""Solvers, proofs and counterexamples."""
