"""Identification of the rules that a function follows."""
