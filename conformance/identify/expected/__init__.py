"""Results that rules predict: exact, before rounding, and as returned numbers."""
