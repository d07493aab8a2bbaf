"""What an adapter is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from ...spec import Operation


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A library's converter under a name."""

    name: str
    distribution: str
    """What is installed, by pip's name; of what is no package, what it is called."""
    calls: str
    """What of the library is called."""
    operations: Mapping[str, tuple[str, ...]]
    """By the name of an operation, the elements or formats that it takes."""
    make: Callable[[Operation], Callable]
    """The function on arrays for some rules, which imports the library."""
    tested: str
    """The version of the library that it was tried with."""
    checkout: str = ""
    """Of what is no package: how a checkout is found, in words."""
    is_there: Callable[[], bool] = lambda: False
    """... and whether there is one."""

    @property
    def version(self) -> str | None:
        """The installed version, None without one."""
        if self.checkout:
            return "checkout" if self.is_there() else None
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None

    def function(self, rules: Operation) -> Callable:
        """The library as a function for the formats of some rules. Raises ValueError where it is not installed, has
        no such formats, or has another interface.
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
    """The element of a block format, or the codes of a cast."""
    block = getattr(rules, "block", None)
    if block is None:
        return rules.scalar.name  # type: ignore[attr-defined]
    return "nvfp4" if rules.name.startswith("two_level") else block.element.name


def on_path(module: str) -> Callable[[], bool]:
    """Is a module of this name on the path?"""

    def found() -> bool:
        try:
            return find_spec(module) is not None
        except ValueError:  # one that was made, not found
            return module in sys.modules

    return found


def lazily(module: str, name: str) -> Callable[[Operation], Callable]:
    """A maker that is imported when it is used."""
    return lambda rules: getattr(import_module(f".{module}", __package__), name)(rules)
