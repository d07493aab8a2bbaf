"""Explanations on the screen: one file for each operation."""
