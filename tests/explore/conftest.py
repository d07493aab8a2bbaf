"""A cache of its own for every test, as in tests/synth."""

from ..synth.conftest import cache

__all__ = ["cache"]
