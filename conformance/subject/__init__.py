"""Functions to identify: Python, shared libraries, and their replies."""
