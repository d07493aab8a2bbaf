"""The random Hadamard transform."""
