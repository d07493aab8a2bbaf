"""Packages that have the name of a function of the stable interface, as ``mxcast.synth`` and ``mxcast.explore``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType


def callable_package(name: str, function: Callable[..., object]) -> None:
    """Let the module of this name be called as the function, which importing the package would hide otherwise."""

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: object, **options: object) -> object:
            return function(*arguments, **options)

    sys.modules[name].__class__ = CallablePackage
