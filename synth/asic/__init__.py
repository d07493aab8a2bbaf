"""Converters in the standard cells of a Liberty file: area, longest path, and energy."""
