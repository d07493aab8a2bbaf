"""Profiles: the named rules of standards and libraries."""
