"""Verilated designs as functions over arrays."""
