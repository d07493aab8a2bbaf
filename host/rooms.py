"""Rooms that have the name of a function of the stable interface, as ``mxcast.synth`` and ``mxcast.explore``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

__all__ = ["callable_room"]


def callable_room(name: str, function: Callable[..., object]) -> None:
    """Let the module of this name be called as the function: importing the room would hide the function otherwise."""

    class Room(ModuleType):
        def __call__(self, *arguments: object, **options: object) -> object:
            return function(*arguments, **options)

    sys.modules[name].__class__ = Room
