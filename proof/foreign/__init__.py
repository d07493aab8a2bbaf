"""Converters of others: adapters, port maps, and the check against our rules."""
