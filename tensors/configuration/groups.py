"""Groups of modules that are quantized in the same way, in the configuration of a model."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ...spec.catalogue import excerpt
from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import AnyLayout, ScaledLayout, Tile

OTHER_ROOTS = "language_model.model.", "model.language_model."
"""Two prefixes of the same names, which libraries exchange (vLLM, modelopt.py)."""
EVERY = ("Linear",)
"""Targets of a group of all linear modules."""


@dataclass(frozen=True)
class Targets:
    """Targets of compressed-tensors: names of modules, regular expressions after ``re:``, or names of classes."""

    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid regular expression."""
        self._patterns  # noqa: B018

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(text for text in self.texts if not text.startswith("re:"))

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        found = []
        for text in (text for text in self.texts if text.startswith("re:")):
            try:
                found.append(re.compile(text.removeprefix("re:")))
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"{excerpt(text)} is not a regular expression: {error}") from None
        return tuple(found)

    @property
    def has_class(self) -> bool:
        """Is a class named? A checkpoint does not contain the classes of modules."""
        return any("." not in name and name[:1].isupper() for name in self._names)

    def has_name(self, modules: Sequence[str]) -> bool:
        return not self._names.isdisjoint(modules)

    @cached_property
    def _together(self) -> re.Pattern[str] | None:
        """All expressions in one, which is faster; None if they have flags."""
        try:
            return re.compile("|".join(f"(?:{one.pattern})" for one in self._patterns))
        except re.error:
            return None

    def names(self, modules: Sequence[str]) -> bool:
        """Does a name or an expression match one of these modules?"""
        if self.has_name(modules) or not self._patterns:
            return self.has_name(modules)
        if self._together is None:
            return any(one.match(module) for one in self._patterns for module in modules)
        return any(map(self._together.match, modules))


def wildcards(patterns: Iterable[str], has_subtrees: bool = True) -> tuple[str, ...]:
    """Targets for names with ``*`` and ``?``, as in ModelOpt and Quark. A name includes the modules below it."""
    found = []
    for pattern in patterns:
        end = r"(?:\..*)?" if has_subtrees else ""
        found.append(f"re:{fnmatch.translate(pattern).removesuffix(chr(92) + 'Z').removesuffix(chr(92) + 'z')}{end}$")
    return tuple(found)


def modules_of(tensor: str) -> tuple[str, ...]:
    """The possible names of the module of a tensor in a configuration; for experts also the name of the array.

    >>> modules_of("model.mlp.up_proj.weight"), modules_of("model.mlp.experts.down_proj")
    (('model.mlp.up_proj',), ('model.mlp.experts.down_proj', 'model.mlp.experts'))
    """
    module = tensor.removesuffix(".weight")
    names = [module] if module != tensor or "." not in tensor else [tensor, tensor.rpartition(".")[0]]
    for here, there in (OTHER_ROOTS, OTHER_ROOTS[::-1]):
        names += [there + name.removeprefix(here) for name in names if name.startswith(here)]
    return tuple(names)


@dataclass(frozen=True)
class Unread:
    """A quantization of some modules that is not read here."""

    found: object


@dataclass(frozen=True, kw_only=True)
class Group:
    """Modules that are quantized in the same way."""

    words: str
    """The name in the configuration, for messages."""
    targets: Targets = Targets(EVERY)
    layouts: tuple[AnyLayout, ...] = ()
    """The possible layouts of the arrays; empty for a quantization that is not read here. FP8 with a tile has scales
    for this tile only."""
    unread: object = None
    """The quantization that is not read here."""

    @classmethod
    def of(cls, words: str, layouts: tuple[AnyLayout, ...] | Unread, targets: Targets) -> Group:
        if isinstance(layouts, Unread):
            return cls(words=words, targets=targets, unread=layouts.found)
        return cls(words=words, targets=targets, layouts=layouts)

    @property
    def in_words(self) -> str:
        """The layouts, or the name of a quantization that is not read here."""
        if not self.layouts:
            return f"{self.words}, which is not read here"
        names = list(dict.fromkeys(layout.full_name for layout in self.layouts))
        return " or ".join(names) if len(names) < 3 else self.words

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles of FP8 that the group names."""
        return tuple(one.tile for one in self._scaled if one.tile is not None)

    def has(self, layout: AnyLayout) -> bool:
        """Is this one of the layouts of the group?"""
        if isinstance(layout, ScaledLayout):
            return any(one.name == layout.name and one.tile in (None, layout.tile) for one in self._scaled)
        return any(one.name == layout.name for one in self.layouts)

    @property
    def _scaled(self) -> list[ScaledLayout]:
        return [one for one in self.layouts if isinstance(one, ScaledLayout)]

    def allows(self, layout: AnyLayout) -> bool:
        """Does a layout of the group read the arrays in the same way?"""
        if isinstance(layout, ScaledLayout):
            return any(one.is_read_as(layout) for one in self._scaled)
        return any(isinstance(one, Layout) and one.reading == layout.reading for one in self.layouts)


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The groups of a model."""

    groups: tuple[Group, ...]
    ignored: Targets = Targets()
    kv_cache: object = field(default=None, compare=False)
    """The entry of the configuration for scales of the cache of keys and values."""

    def of(self, tensor: str) -> Group | None:
        """The group of a tensor; None for a tensor that is not quantized. Names precede expressions, and both precede
        classes. If several groups remain, libraries differ, and the result contains the layouts of all.
        """
        modules = modules_of(tensor)
        if self.ignored.names(modules):
            return None
        for has in (
            lambda targets: targets.has_name(modules),
            lambda targets: targets.names(modules),
            lambda targets: targets.has_class,
        ):
            if found := [one for one in self.groups if has(one.targets)]:
                return found[0] if len(found) == 1 else _together(found)
        return None

    def in_words(self, tensor: str) -> str:
        """The statement of the configuration about a tensor."""
        group = self.of(tensor)
        return "that it is not quantized" if group is None else group.in_words

    @property
    def layouts(self) -> tuple[AnyLayout, ...]:
        """The layouts of all groups."""
        return tuple(layout for group in self.groups for layout in group.layouts)

    @property
    def tiles(self) -> tuple[Tile, ...]:
        """The tiles of FP8 that the groups name."""
        return tuple(dict.fromkeys(tile for group in self.groups for tile in group.tiles))


def _together(groups: Sequence[Group]) -> Group:
    """One group with the layouts of several."""
    words = " or ".join(one.words for one in groups)
    layouts = tuple(dict.fromkeys(layout for one in groups for layout in one.layouts))
    return Group(words=words, targets=Targets(), layouts=layouts, unread=None if layouts else groups[0].unread)
