"""The golden model in NumPy. One file for each operation, and one for each step of encoding."""
