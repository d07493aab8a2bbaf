"""What an adapter is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from ...spec import Operation

__all__ = ["Adapter"]


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """A library's converter under a name."""

    name: str
    distribution: str
    """What is installed, by pip's name."""
    calls: str
    """What of the library is called."""
    operations: Mapping[str, tuple[str, ...]]
    """By the name of an operation, the elements or formats that it takes."""
    make: Callable[[Operation], Callable]
    """The function on arrays for some rules, which imports the library."""

    @property
    def version(self) -> str | None:
        """The installed version, None without one."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None

    def function(self, rules: Operation) -> Callable:
        """The library as a function for the formats of some rules. Raises ValueError where it is not installed or has
        no such formats.
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
            hint = f"pip install {self.distribution}"
            raise ValueError(f"the adapter {self.name} needs {self.distribution} ({error}): {hint}") from error


def formats_name(rules: Operation) -> str:
    """The element of a block format, or the codes of a cast."""
    block = getattr(rules, "block", None)
    if block is None:
        return rules.scalar.name  # type: ignore[attr-defined]
    return "nvfp4" if rules.name.startswith("two_level") else block.element.name


def lazily(module: str, name: str) -> Callable[[Operation], Callable]:
    """A maker that is imported when it is used."""
    return lambda rules: getattr(import_module(f".{module}", __package__), name)(rules)
