"""Inspection of quantized files: counts, suspicions, reports."""
