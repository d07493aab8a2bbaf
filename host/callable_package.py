"""Packages that have the name of a function of the stable interface, as ``mxcast.synth`` and ``mxcast.explore``."""

from __future__ import annotations

import sys
from types import ModuleType


def callable_package(package: str, function: str) -> None:
    """Let a package be called as the function of this name in it, which importing the package would hide otherwise."""

    class CallablePackage(ModuleType):
        def __call__(self, *arguments: object, **options: object) -> object:
            return getattr(self, function)(*arguments, **options)

    sys.modules[package].__class__ = CallablePackage
