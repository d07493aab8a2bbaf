"""Identification of converters: the rules that they may follow, and how near they are to them."""
