"""Tensor scales of files: the constants that they give to blocks, and the scales that rules expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from ...models.arrays.tensor_scales import scale_in_convention
from ...models.exact.binary32 import fp32
from ...models.fast.nvfp4_encode import STORED, tensor_constants
from ...spec import Convention, Nvfp4Encode, Order, Role
from .tensor import Tensor

FROM_STORED: dict[Order, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    Order.AO: lambda g: (g, np.float32(1) / g),
    Order.MODELOPT: lambda g: (g, g),
    Order.COMPRESSED_TENSORS: lambda g: (g, g),
}
"""k and d of a tensor scale, by the orders that compute them from it."""


def constants(tensor: Tensor, rules: Nvfp4Encode, of_file: bool) -> dict[Role, np.ndarray]:
    """The constants of a tensor by the ports of the rules, float32: one for each of its tensor scales. They follow from
    its largest magnitude or, ``of_file``, from the tensor scales that are stored.
    """
    if rules.block.tensor_scale is None:
        return {}
    found = tensor_constants(tensor.amax(rules.order), rules)
    k, d, a = (np.atleast_1d(one) for one in (found.k, found.d, found.a))
    stored = tensor.tensor_scales
    if of_file and stored.size and tensor.convention == rules.block.convention:
        with np.errstate(all="ignore"):
            if tensor.convention is Convention.AMAX:
                found = tensor_constants(stored, rules)
                k, d, a = np.atleast_1d(found.k), np.atleast_1d(found.d), stored
            elif rules.order in FROM_STORED:
                k, d = FROM_STORED[rules.order](stored)
    roles = {Role.SCALE_CONSTANT: k, Role.ELEMENT_CONSTANT: d}
    if any(port.role is Role.TENSOR_AMAX for port in rules.ports):
        roles[Role.TENSOR_AMAX] = a
    return {role: values.astype(np.float32) for role, values in roles.items()}


def wrong_scales(tensors: Sequence[Tensor], rules: Nvfp4Encode) -> Iterator[str]:
    """Tensor scales that the rules do not give, each in words."""
    for tensor in tensors:
        stored, expected = tensor.tensor_scales, _expected(tensor, rules)
        if not np.array_equal(expected.view(np.uint32), stored.view(np.uint32)):
            yield (
                f"tensor {tensor.name!r}: tensor scale ({tensor.convention}) expected {_words(expected)}, "
                f"got {_words(stored)}"
            )


def _expected(tensor: Tensor, rules: Nvfp4Encode) -> np.ndarray:
    """The tensor scales of the rules in the convention of the file; the nearest float32 if the rules have another
    convention.
    """
    own, wanted = rules.block.convention, tensor.convention
    stored = STORED[own](tensor_constants(tensor.amax(rules.order), rules))
    if stored is None and wanted is Convention.NONE:
        return np.zeros(0, np.float32)
    scales = np.atleast_1d(np.ones(1) if stored is None else stored).astype(np.float32)
    if wanted in (own, Convention.NONE):
        return scales
    most = Fraction(rules.scale_max) * Fraction(rules.block.element.max_value)
    return np.array([_converted(float(g), (own, most), (wanted, most)) for g in scales], np.float32)


def _converted(g: float, own: tuple[Convention, Fraction], wanted: tuple[Convention, Fraction]) -> np.float32:
    if not np.isfinite(g) or g == 0:
        return np.float32(g)
    with np.errstate(over="ignore"):
        return np.float32(float(fp32(scale_in_convention(Fraction(g), own, wanted))))


def _words(scales: np.ndarray) -> str:
    if not scales.size:
        return "none"
    shown = ", ".join(f"{one:.9g} (0x{int(np.float32(one).view(np.uint32)):08X})" for one in scales[:2])
    return shown + (f" and {len(scales) - 2} more" if len(scales) > 2 else "")
