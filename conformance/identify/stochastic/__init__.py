"""Random converters, judged by the distribution of their results."""
