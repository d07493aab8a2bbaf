"""A file of numbers and a quantized file: the rules that made the second from the first."""
