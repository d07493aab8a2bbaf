"""Conformance vectors: blocks with their exact results."""
