"""Mutants of the specification: each is wrong for some block, so the proof of a right design must refute each.

A proof that passes means little unless nearly right specifications fail.
"""
