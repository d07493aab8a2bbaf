"""Arrays that look like codes or scales and belong to no recognised tensor.

The signs are a dtype of less than a byte, a dtype of eight bits with an exponent, and a scale next to integers. A copy
of such arrays would have no description, and a loader would read codes as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from ..containers.contents import Stored

NARROW = ("F4", "F6_E2M3", "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ")
"""Dtypes of codes and scales."""
NOT_READ = "they look quantized, and no layout here has these names, dtypes and shapes"
INTEGERS = ("U8", "I8", "U16", "I16", "U32", "I32")
"""Dtypes that may hold codes."""
SCALE = re.compile(r"scale|absmax|scb|zero|e8m0|shared_exp|exponents?$", re.IGNORECASE)
"""A part of the name of every scale and zero point."""
OF_ACTIVATIONS = re.compile(r"^(input|output|act|in|out|kv?|[qv])_|_act_")
"""A part of the names of scales that belong to no weight."""
BARE = re.compile(
    r"(q|w|weight)?_?(scales?|absmax|scb|zeros?|zero_points?|e8m0|(shared_)?exp(onent)?s?)"
    r"(_inv|_weight|_\d)*",
    re.IGNORECASE,
)
"""Names of scales that belong to the weight of their module."""
SUFFIX = re.compile(r"_(packed|blocks|qdata|data|codes)$")
"""The end of the names of codes, in place of which scales have their own."""


def scales_of(tensors: Mapping[str, Stored], array: str) -> list[str]:
    """The names of the arrays that look like scales of the weight in an array.

    >>> stored = Stored(dtype="F32", shape=(), data=np.zeros(1))
    >>> scales_of(dict.fromkeys(["l.weight", "l.weight_scale_inv", "l.input_scale", "m.scale"], stored), "l.weight")
    ['l.weight_scale_inv']
    """
    return _Scales(tensors).of(array)


class _Scales:
    """The arrays that look like scales, by module."""

    def __init__(self, tensors: Mapping[str, Stored], elsewhere: Collection[str] = ()) -> None:
        """``elsewhere`` has the names of arrays in other files."""
        self._by_module: dict[str, list[str]] = {}
        for name in (*tensors, *elsewhere):
            module, _, leaf = name.rpartition(".")
            if SCALE.search(leaf) and not OF_ACTIVATIONS.search(leaf):
                if name not in tensors or not _are_zero(name, tensors[name]):
                    self._by_module.setdefault(module, []).append(name)

    def of(self, array: str) -> list[str]:
        module, _, leaf = array.rpartition(".")
        stem = SUFFIX.sub("", leaf)
        found = [
            name
            for name in self._by_module.get(module, ())
            if name != array and (_is_of(name.rpartition(".")[2], stem) or BARE.fullmatch(name.rpartition(".")[2]))
        ]
        return found + self._by_module.get(array, [])


def apart(tensors: Mapping[str, Stored], elsewhere: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The arrays of a shard whose codes or scales are in another shard, each with a sentence. ``elsewhere`` has the
    shards of the other arrays by their names.
    """
    scales = _Scales(tensors, elsewhere)
    for array, stored in tensors.items():
        is_scale = bool(SCALE.search(array.rpartition(".")[2]))
        if not is_scale and (stored.dtype in NARROW or stored.dtype in INTEGERS):
            if away := next((name for name in scales.of(array) if name in elsewhere), None):
                yield array, f"its scales {away!r} are in {elsewhere[away]}: inspect the folder"
    for array in elsewhere:
        if not SCALE.search(array.rpartition(".")[2]):
            for scale in scales.of(array):
                if scale in tensors and tensors[scale].dtype in (*NARROW, *INTEGERS):
                    yield scale, f"its codes {array!r} are in {elsewhere[array]}: inspect the folder"


def _is_of(scale: str, stem: str) -> bool:
    return scale.startswith(stem) and not scale[len(stem) : len(stem) + 1].isalnum()


def unrecognised(tensors: Mapping[str, Stored], taken: Collection[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The arrays outside ``taken`` that look like codes or scales: codes with their scales, and a description."""
    scales, said = _Scales({name: one for name, one in tensors.items() if name not in taken}), set(taken)
    alone = (name for name, stored in tensors.items() if _is_scale(name, stored))
    for array in (*_codes(tensors, scales), *alone):
        if array in said:
            continue
        parts = [array, *(name for name in scales.of(array) if name not in said)]
        said.update(parts)
        words = (f"{name!r} {tensors[name].dtype} of shape {tensors[name].shape}" for name in parts)
        yield tuple(parts), " and ".join(words)


def check_numbers(path: Path, tensors: Mapping[str, Stored], chosen: Collection[str]) -> None:
    """Raise ValueError if an array to be quantized looks like the scales of a quantized tensor."""
    for arrays, words in unrecognised(tensors, ()):
        if scale := next((array for array in arrays if array in chosen), None):
            raise ValueError(
                f"{path}: {words}: they look quantized, and {scale!r} is one of them: --exclude leaves it out"
            )


def _codes(tensors: Mapping[str, Stored], scales: _Scales) -> list[str]:
    """The arrays that look like codes, and not like scales."""
    found = []
    for name, stored in tensors.items():
        is_scale = bool(SCALE.search(name.rpartition(".")[2]))
        if not is_scale and (stored.dtype in NARROW or (_is_matrix_of_integers(stored) and scales.of(name))):
            found.append(name)
    return found


def _is_matrix_of_integers(stored: Stored) -> bool:
    return stored.dtype in INTEGERS and len(stored.shape) > 1


def _is_scale(array: str, stored: Stored) -> bool:
    """Does an array look like a scale?"""
    leaf = array.rpartition(".")[2]
    if OF_ACTIVATIONS.search(leaf) or _are_zero(array, stored):
        return False
    return stored.dtype in NARROW or (bool(SCALE.search(leaf)) and _is_matrix_of_integers(stored))


CHANGING = re.compile(r"pre_quant_scale|svdquant_lora_\w+|\w*g_idx|\w*zero_points?")
"""Names, in no layout, of arrays that change the numbers of the weight of their module."""


def more_than_codes(tensors: Mapping[str, Stored], known: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The arrays that change the numbers of tensors and belong to no layout, by tensor: zero points and the like, and
    scales for equal parts of the codes. ``known`` has the arrays of each tensor, its codes first.
    """
    taken = {array for arrays in known.values() for array in arrays}
    scales = _Scales({name: stored for name, stored in tensors.items() if name not in taken})
    changing = {name.rpartition(".")[0]: name for name, stored in tensors.items() if _changes(name, stored)}
    found = {}
    for tensor, (codes, *_) in known.items():
        module, elements = tensor.rpartition(".")[0], 2 * prod(tensors[codes].shape)  # two in a byte
        others = [name for name in scales.of(codes) if elements % max(prod(tensors[name].shape), 1) == 0]
        if others := [changing[module]] if module in changing else others:
            found[tensor] = f"{others[0]!r} changes its numbers, and no layout here has both"
    return found


def _changes(array: str, stored: Stored) -> bool:
    leaf = array.rpartition(".")[2]
    is_of_weight = CHANGING.fullmatch(leaf) and not OF_ACTIVATIONS.search(leaf)
    return bool(is_of_weight) and not _are_zero(array, stored)


def _are_zero(array: str, stored: Stored) -> bool:
    """Are all of these zero points 0, so that they change nothing?"""
    return "zero_point" in array.rpartition(".")[2] and not stored.data.view(np.uint8).any()
