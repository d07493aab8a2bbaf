"""Search for the converter that a text names: a function of a module, a file or a shared library, or an adapter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from ...spec import Operation
from ...spec.catalogue import unknown_name
from ..adapters import ADAPTERS
from .native import SUFFIXES, native


def located(text: str, rules: Operation) -> Callable:
    """The function that a text names.

    ``module:name`` is imported, the current folder first. ``folder/file.py:name`` is read. ``library.so:name`` is
    called by `native.native`. A text without a colon names an adapter (`adapters.ADAPTERS`). Raises ValueError if the
    function is missing or cannot be called, and if an adapter does not support the rules.
    """
    place, colon, name = text.rpartition(":")
    if not colon:
        if text not in ADAPTERS:
            raise ValueError(
                unknown_name("adapter", text, ADAPTERS) + "; a function is MODULE:NAME, FILE.py:NAME or LIBRARY.so:NAME"
            )
        return ADAPTERS[text].function(rules)
    if not place or not name:
        raise ValueError(f"a function is MODULE:NAME, FILE.py:NAME or LIBRARY.so:NAME, not {text!r}")
    if Path(place).suffix in SUFFIXES:
        return native(Path(place), name, rules)
    found: object = _module(place)
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise ValueError(f"{place} has no {name!r}") from None
    if not callable(found):
        raise ValueError(f"{text} is no function: it is of the type {type(found).__name__}")
    return found


def _module(place: str) -> object:
    try:
        if place.endswith(".py"):
            return _read(Path(place))
        here = str(Path.cwd())
        sys.path.insert(0, here)
        try:
            return import_module(place)
        finally:
            sys.path.remove(here)
    except ModuleNotFoundError as error:
        raise ValueError(f"{place} cannot be imported: {error}") from error
    except OSError as error:
        raise ValueError(f"{place} cannot be read: {error.strerror}") from error
    except (Exception, SystemExit) as error:  # an import can raise anything
        text = " ".join(str(error).split())
        raise ValueError(f"{place} cannot be imported: {type(error).__name__}: {text}") from error


def _read(path: Path) -> object:
    path.read_bytes()  # raises OSError if it is missing
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None  # the name ends in .py
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
