"""Conversion of tensor files, part by part."""
