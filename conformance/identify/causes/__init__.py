"""Departures of a converter from rules, and their causes."""
