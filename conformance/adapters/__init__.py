"""Public libraries as functions on blocks. The user installs the library."""

from .adapter import Adapter
from .catalogue import ADAPTERS

__all__ = ["ADAPTERS", "Adapter"]
