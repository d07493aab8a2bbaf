"""Number formats and block formats as data, and their names."""
