"""Arrays that models take and return: sources, block arrays, packed layouts."""
