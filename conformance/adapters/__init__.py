"""Public libraries as functions on blocks: how each is called. The library itself is the user's."""

from .adapter import Adapter
from .catalogue import ADAPTERS

__all__ = ["ADAPTERS", "Adapter"]
