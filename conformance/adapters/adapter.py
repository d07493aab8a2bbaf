"""The record of an adapter: a library's converter under a name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from ...spec import BlockOperation, Cast, Operation, is_nvfp4


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A library's converter."""

    name: str
    distribution: str
    """The name of the package for pip, or of the project if it has no package."""
    calls: str
    """The functions of the library that it calls."""
    operations: Mapping[str, tuple[str, ...]]
    """By the name of an operation the elements or formats that it supports."""
    make: Callable[[Operation], Callable]
    """Imports the library, and makes the function on arrays for some rules."""
    tested: str
    """The version of the library with which it was tested."""
    checkout: str = ""
    """How to provide a checkout of a project without a package, in words."""
    is_there: Callable[[], bool] = lambda: False
    """Whether the checkout is there."""

    @property
    def version(self) -> str | None:
        """The installed version, or None."""
        if self.checkout:
            return "checkout" if self.is_there() else None
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None

    def function(self, rules: Operation) -> Callable:
        """The library as a function for the formats of some rules. Raises ValueError if it is not installed, does not
        support the formats, or has another interface.
        """
        known = self.operations.get(rules.name, ())
        name = formats_name(rules)
        if name not in known:
            has = "; ".join(f"{op}: {', '.join(names)}" for op, names in self.operations.items())
            raise ValueError(f"the adapter {self.name} does not {rules.name} {name}: it has {has}")
        if getattr(rules, "random_bits", 0):
            raise ValueError(f"the adapter {self.name} takes no random bits")
        try:
            return self.make(rules)
        except ImportError as error:
            if self.version is not None and not isinstance(error, ModuleNotFoundError) and not self.checkout:
                raise self._other(error) from error
            hint = self.checkout or f"pip install {self.distribution}"
            raise ValueError(f"the adapter {self.name} needs {self.distribution} ({_line(error)}): {hint}") from error
        except (AttributeError, KeyError, TypeError, OSError, RuntimeError) as error:
            raise self._other(error) from error

    def _other(self, error: Exception) -> ValueError:
        return ValueError(
            f"the adapter {self.name} is for {self.distribution} {self.tested}, and {self.version} is another or does "
            f"not work here: {type(error).__name__}: {_line(error)}"
        )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def formats_name(rules: Operation) -> str:
    """The name of the element of a block format, or of the codes of a cast."""
    if isinstance(rules, Cast):
        return rules.scalar.name
    assert isinstance(rules, BlockOperation)
    return "nvfp4" if is_nvfp4(rules) else rules.block.element.name


def on_path(module: str) -> Callable[[], bool]:
    """A test whether a module of this name is on the path."""

    def found() -> bool:
        try:
            return find_spec(module) is not None
        except ValueError:  # the module was made by code
            return module in sys.modules

    return found


def lazily(module: str, name: str) -> Callable[[Operation], Callable]:
    """A maker that is imported when it is used."""
    return lambda rules: getattr(import_module(f".{module}", __package__), name)(rules)
