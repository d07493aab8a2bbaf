"""Whose rules somebody's converter follows: rules that it may follow, and how near it is to them."""
