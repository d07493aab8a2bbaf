"""One block of a tensor file by its address, ``FILE:TENSOR[ROW, BLOCK]``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from ...spec import FP32, Encode

if TYPE_CHECKING:
    import numpy as np

ADDRESS = re.compile(r"\s*(?P<path>.*?\.(?:safetensors|npy|npz))(?::(?P<name>.*?))?(?:\[(?P<indices>[^\[\]]*)\])?\s*")


def is_slice(text: str) -> bool:
    """Is this the name of a tensor file, perhaps with a tensor and a place in it?"""
    return ADDRESS.fullmatch(text) is not None


def read_slice(text: str, numerics: Encode) -> tuple[np.ndarray, str]:
    """The numbers of the block ``FILE:TENSOR[ROW, BLOCK]``, and a description of its place.

    Blocks lie along the last axis, and the last one may be incomplete. ROW counts the rows of all leading axes
    together, or is one index for each of them; a tensor of one axis needs no ROW. A file with one tensor needs no
    TENSOR. Raises ValueError, which lists the tensors of the file, and the errors of `containers.read`.
    """
    if (match := ADDRESS.fullmatch(text)) is None:
        raise ValueError(f"{text!r} must have the form FILE:TENSOR[ROW, BLOCK]")
    path, name, size = Path(match["path"]), match["name"], numerics.block_size
    import numpy as np

    from .containers import read
    from .contents import CONVERTED

    tensors = read(path).tensors
    if not name and len(tensors) == 1:
        name = next(iter(tensors))
    if not name:
        raise ValueError(f"{path} needs the name of a tensor, as in {path}:TENSOR[ROW, BLOCK]: {few(tensors)}")
    if name not in tensors:
        close = get_close_matches(name, tensors, n=1)
        raise ValueError(
            f"{path} has no tensor {name!r}: " + (f"did you mean {close[0]!r}?" if close else few(tensors))
        )
    stored = tensors[name]
    if stored.dtype not in CONVERTED or not math.prod(stored.shape) or not stored.shape:
        raise ValueError(
            f"tensor {name!r} of {path} must hold F32, F16 or BF16 numbers along an axis, not be "
            f"{stored.dtype} of shape {stored.shape}"
        )
    from ...models.arrays.source import DTYPES, widen

    if numerics.source is not FP32 and CONVERTED[stored.dtype] != DTYPES[numerics.source.name]:
        raise ValueError(
            f"tensor {name!r} of {path} is {stored.dtype}, which the source {numerics.source.name} does not take"
        )
    row, block = _place(match["indices"], stored.shape, size, f"{path}:{name}")
    length = stored.shape[-1]
    first = row * length + block * size
    widened = ", widened to fp32" if numerics.source is FP32 and stored.dtype != "F32" else ""
    where = f"{path}: {stored.dtype} tensor {name!r} of shape {stored.shape}, row {row}, block {block}{widened}"
    numbers = stored.data[first : min(first + size, (row + 1) * length)]
    if numerics.source is FP32:
        numbers = widen(numbers.astype(numbers.dtype.newbyteorder("=")), np.empty(numbers.shape, np.uint32)).view(
            np.float32
        )
    return numbers, where


def _place(indices: str | None, shape: tuple[int, ...], size: int, what: str) -> tuple[int, int]:
    """Row and block from the text between the brackets. Raises ValueError for places outside the tensor."""
    *leading, length = shape
    rows, blocks = math.prod(leading), -(-length // size)
    try:
        chosen = [int(index) for index in (indices or "").split(",")]
    except ValueError:
        raise ValueError(
            f"{what} needs the place of a block, as in {what}[ROW, BLOCK]: ROW 0 to {rows - 1}, BLOCK 0 to {blocks - 1}"
        ) from None
    if len(chosen) == len(shape) and len(shape) > 2:
        limits = [*leading, blocks]
        names = [f"index {i}" for i in range(len(leading))] + ["BLOCK"]
    else:
        if len(chosen) == 1 and len(shape) == 1:
            chosen = [0, *chosen]
        limits, names = [rows, blocks], ["ROW", "BLOCK"]
    if len(chosen) != len(limits):
        many = f" or {len(shape)} indices" if len(shape) > 2 else ""
        raise ValueError(f"{what} of shape {shape} takes [ROW, BLOCK]{many}, not {len(chosen)}")
    for index, limit, called in zip(chosen, limits, names):
        if not 0 <= index < limit:
            raise ValueError(f"{called} of {what} must be 0 to {limit - 1}, not {index}")
    row = 0
    for index, limit in zip(chosen[:-1], limits[:-1]):
        row = row * limit + index
    return row, chosen[-1]


def few(names: Iterable[str]) -> str:
    """The first names of a file, for a message."""
    names = list(names)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"it has {', '.join(names[:8]) or 'none'}{more}"
