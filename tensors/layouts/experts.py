"""Gate and up of experts: interleaved in the rows of one tensor (gpt-oss: even rows gate, odd rows up), or in two
tensors.

A tensor of experts has three axes, and ``gate_up_proj`` or ``gate_up_exps`` in its name; two tensors have ``gate`` and
``up`` instead. Biases of two axes are arranged with them. No number changes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

import numpy as np

from ...models import BlockArray
from ...models.arrays.layout_parts import Box
from ...spec.catalogue import Rule
from ..containers.contents import Stored
from .stored_tensors import StoredTensor

Shape = tuple[int, ...]
One = TypeVar("One", StoredTensor, Stored)


class Experts(Rule):
    """How gate and up of experts are stored."""

    SPLIT = "split", "in two tensors, gate_proj and up_proj"
    INTERLEAVED = "interleaved", "in one tensor, gate_up_proj: even rows gate, odd rows up"


GATE_OR_UP = {
    Experts.SPLIT: re.compile(r"(?<![A-Za-z])gate_up(?=_(?:proj|exps))"),
    Experts.INTERLEAVED: re.compile(r"(?<![A-Za-z])(?<!gate_)(?:gate|up)(?=_(?:proj|exps))"),
}
"""Patterns of the names of the tensors that each arrangement changes."""


def has_experts(names: Iterable[str], how: Experts) -> bool:
    """Does an arrangement change one of these tensors?"""
    return any(GATE_OR_UP[how].search(name) for name in names)


def arranged(
    tensors: Mapping[str, StoredTensor], copied: Mapping[str, Stored], how: Experts
) -> tuple[dict[str, StoredTensor], dict[str, Stored]]:
    """The quantized tensors and the other arrays of a file, with gate and up arranged.

    Raises ValueError if no tensor can be arranged, and for a gate without its up.
    """
    found = _arranged(tensors, 3, how, _Half, _Both), _arranged(copied, 2, how, _half_of_bias, _both_of_biases)
    if (found[0].keys(), found[1].keys()) == (tensors.keys(), copied.keys()):
        has = "gate_up_proj" if how is Experts.SPLIT else "gate_proj and up_proj"
        raise ValueError(f"no quantized tensor of three axes has a name with {has}")
    return found


def _arranged(
    ones: Mapping[str, One], axes: int, how: Experts, half: Callable[[One, int], One], both: Callable[[One, One], One]
) -> dict[str, One]:
    """Split or join the tensors with this number of axes and a name of experts."""
    found: dict[str, One] = {}
    for name, one in ones.items():
        if len(one.shape) != axes or not GATE_OR_UP[how].search(name):
            found[name] = one
            continue
        gate, up, together = (GATE_OR_UP[how].sub(part, name) for part in ("gate", "up", "gate_up"))
        others = [gate, up] if how is Experts.SPLIT else [together]
        if taken := [other for other in others if other in ones]:
            raise ValueError(f"{name!r} becomes {taken[0]!r}, and there is another tensor of this name")
        if how is Experts.INTERLEAVED and (missing := {gate, up} - ones.keys()):
            raise ValueError(f"{name!r} is there without {missing.pop()!r}")
        try:
            if how is Experts.SPLIT:
                found |= {gate: half(one, 0), up: half(one, 1)}
            elif together not in found:  # at the place of the first of both
                found[together] = both(ones[gate], ones[up])
        except ValueError as error:
            raise ValueError(f"tensor {name!r}: {error}") from None
    return found


class _Half:
    """The even or the odd rows of a tensor."""

    def __init__(self, whole: StoredTensor, first: int) -> None:
        """Raises ValueError for an odd number of rows, and for blocks along another axis."""
        if whole.axis != -1 or whole.codes[-2] % 2:
            raise ValueError(f"its {whole.codes[-2]} rows are not gate and up in turn")
        self.whole, self.first = whole, first
        self.block, self.axis = whole.block, whole.axis
        self.codes, self.shape = (_with_rows(shape, shape[-2] // 2) for shape in (whole.codes, whole.shape))

    @property
    def units(self) -> Shape:
        units = self.whole.units
        return _with_rows(units, units[-2] // math.gcd(units[-2], 2))

    def head(self) -> BlockArray:
        return self.whole.head()

    def part(self, box: Box) -> BlockArray:
        *experts, rows, columns = box
        q = self.whole.part((*experts, slice(2 * rows.start, 2 * rows.stop), columns))
        codes, scales = (np.ascontiguousarray(array[..., self.first :: 2, :]) for array in (q.codes, q.scales))
        scale = q.tensor_scale
        if scale is not None and scale.ndim:
            scale = scale[..., self.first :: 2, :]
        return replace(q, codes=codes, scales=scales, tensor_scale=scale)


class _Both:
    """Two tensors, one in the even and one in the odd rows."""

    def __init__(self, gate: StoredTensor, up: StoredTensor) -> None:
        """Raises ValueError for tensors of different shapes, block formats or tensor scales."""
        if gate.axis != -1 or (gate.codes, gate.shape, gate.block) != (up.codes, up.shape, up.block):
            raise ValueError(
                f"gate of shape {gate.shape} and up of {up.shape} must have one shape and one block format"
            )
        ours, theirs = (half.head().tensor_scale for half in (gate, up))
        if ours is not None and theirs is not None and not np.array_equal(ours, theirs):
            raise ValueError("gate and up have different tensor scales, and one tensor has one")
        self.halves = gate, up
        self.block, self.axis = gate.block, gate.axis
        self.codes, self.shape = (_with_rows(shape, 2 * shape[-2]) for shape in (gate.codes, gate.shape))

    @property
    def units(self) -> Shape:
        both = tuple(map(math.lcm, *(half.units for half in self.halves)))
        return _with_rows(both, 2 * both[-2])

    def head(self) -> BlockArray:
        return self.halves[0].head()

    def part(self, box: Box) -> BlockArray:
        *experts, rows, columns = box
        gate, up = (half.part((*experts, slice(rows.start // 2, rows.stop // 2), columns)) for half in self.halves)
        scale = gate.tensor_scale
        if scale is not None and scale.ndim and up.tensor_scale is not None:
            scale = _interleaved(scale, up.tensor_scale, -2)
        codes, scales = _interleaved(gate.codes, up.codes, -2), _interleaved(gate.scales, up.scales, -2)
        return replace(gate, codes=codes, scales=scales, tensor_scale=scale)


def _with_rows(shape: Shape, rows: int) -> Shape:
    return (*shape[:-2], rows, shape[-1])


def _interleaved(even: np.ndarray, odd: np.ndarray, axis: int) -> np.ndarray:
    """Interleave two arrays of the same shape along an axis."""
    shape = list(even.shape)
    shape[axis] *= 2
    return np.stack([even, odd], axis=even.ndim + axis + 1).reshape(shape)


def _half_of_bias(whole: Stored, first: int) -> Stored:
    if whole.shape[-1] % 2:
        raise ValueError(f"its {whole.shape[-1]} numbers are not gate and up in turn")
    numbers = whole.data.reshape(whole.shape)[:, first::2]
    return Stored(dtype=whole.dtype, shape=numbers.shape, data=np.ascontiguousarray(numbers).reshape(-1))


def _both_of_biases(gate: Stored, up: Stored) -> Stored:
    if (gate.dtype, gate.shape) != (up.dtype, up.shape):
        raise ValueError(f"biases of gate and up must have one shape, not {gate.shape} and {up.shape}")
    numbers = _interleaved(gate.data.reshape(gate.shape), up.data.reshape(up.shape), -1)
    return Stored(dtype=gate.dtype, shape=numbers.shape, data=numbers.reshape(-1))
