"""Specifications of each operation as statements of SMT-LIB."""
