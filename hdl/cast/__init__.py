"""Casts of single numbers."""
