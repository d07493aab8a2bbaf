"""A file of numbers and a quantized file of the same tensors, compared block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm, prod
from pathlib import Path
from typing import Unpack

import numpy as np

from ...models import tensor_amax
from ...models.arrays.source import FORMATS
from ...models.arrays.tensor_scales import read_tensor_scale
from ...spec import BlockFormat, Convention, Encode, FloatFormat, Nvfp4Encode, Order, encoding
from ...spec.catalogue import excerpt
from ...spec.formats.names import block_format
from ...spec.layouts.catalogue import Layout
from ...spec.layouts.scaled import ScaledLayout
from ...spec.profiles.resolve import OperationFields
from ..containers.block_address import few
from ..containers.containers import read
from ..containers.contents import CONVERTED, Contents, Stored
from ..convert.tiles import CHUNK
from ..layouts.readings import Recognised
from ..layouts.recognition import recognised
from ..layouts.stored_blocks import StoredBlocks


@dataclass(frozen=True, kw_only=True)
class PairedBlocks:
    """Some blocks of a tensor: the numbers, and their stored codes and scales."""

    patterns: np.ndarray
    """Numbers (n, block_size), as bit patterns."""
    scales: np.ndarray
    """(n, 1) uint8."""
    codes: np.ndarray
    """(n, block_size) uint8."""
    matrix: int
    """The number of the matrix along all leading axes."""
    first: tuple[int, int]
    """Line and block of the first block."""
    width: int
    """Blocks of each line."""

    def place(self, row: int) -> tuple[int, int]:
        """Line and block of the block in a row."""
        line, block = divmod(row, self.width)
        return self.first[0] + line, self.first[1] + block


class PairedTensor:
    """A tensor in both files.

    Raises ValueError for shapes that do not fit, for codes of more than a byte, and for blocks of two axes.
    """

    def __init__(self, name: str, numbers: Stored, quantized: Recognised) -> None:
        self.name, self.numbers, layout = name, numbers, quantized.readings[0].layout
        if isinstance(layout, ScaledLayout):
            raise ValueError(f"block formats are compared, not {layout.name}, FP8 under scales that are numbers")
        self.layout, self.block = layout, layout.block_format
        if layout.element_bits > 8 or len(self.block.shape) > 1:
            raise ValueError(f"blocks of one axis and codes of eight bits are compared, not {self.block.name}")
        self.source: FloatFormat = FORMATS[CONVERTED[numbers.dtype].newbyteorder("=")]
        self._stored = StoredBlocks(quantized.arrays, layout, quantized.name)
        shape = numbers.shape or (1,)
        axis = layout.axis if len(shape) >= -layout.axis else -1
        numbers_of = numbers.data.reshape(shape).view(f"<u{self.source.bits // 8}")
        moved = np.moveaxis(numbers_of, axis, -1)
        self.lead = moved.shape[:-2]
        rows, length = (*(1,) * (2 - moved.ndim), *moved.shape)[-2:]
        self._numbers = moved.reshape(prod(self.lead), rows, length)
        unit = lcm(layout.width, layout.padding[1])
        completed = prod(self.lead), -(-rows // layout.padding[0]) * layout.padding[0], -(-length // unit) * unit
        matrices, lines, blocks = self._stored.shape
        if completed != (matrices, lines, blocks * layout.width):
            raise ValueError(
                f"its numbers have the shape {numbers.shape}, and what is stored is of "
                f"{matrices} x {lines} x {blocks * layout.width} elements ({layout.name})"
            )

    @property
    def count(self) -> int:
        """The number of blocks."""
        return self._stored.count

    @property
    def convention(self) -> Convention:
        """The convention of the tensor scale in the layout."""
        return self.layout.convention

    @property
    def tensor_scales(self) -> np.ndarray:
        """float32: one, one for each matrix, or none."""
        stored = self._stored.tensor_scale
        if stored is not None:
            return stored.astype(np.float32)
        implied = read_tensor_scale({}, self.name, (), self.layout)  # omitted if it multiplies by 1
        return np.zeros(0, np.float32) if implied is None else implied.reshape(1)

    def amax(self, order: Order) -> np.ndarray:
        """The largest magnitudes for the tensor scales, as an order finds them: float32, one or one for each matrix."""
        matrices = self._numbers if self.tensor_scales.size > 1 else self._numbers.reshape(1, -1)
        return np.array([self._largest(matrix.reshape(-1), order) for matrix in matrices], np.float32)

    def _largest(self, numbers: np.ndarray, order: Order) -> np.float32:
        largest = np.float32(0)
        dtype = CONVERTED[self.numbers.dtype]
        for start in range(0, numbers.size, CHUNK):
            part = np.require(numbers[start : start + CHUNK].view(dtype), dtype.newbyteorder("="), ["C", "A"])
            largest = np.maximum(largest, tensor_amax(part, order))  # which keeps NaN
        return largest

    def parts(self, whole: bool) -> Iterator[PairedBlocks]:
        """All blocks, or blocks at even distances."""
        size = self.layout.width
        for part in self._stored.parts(whole):
            codes, scales = (np.moveaxis(a, part.q.axis, -1) for a in (part.q.codes, part.q.scales))
            columns = slice(part.blocks.start * size, part.blocks.stop * size)
            numbers = self._numbers[part.matrix, part.lines, columns]
            missing = [(0, all_ - there) for all_, there in zip(codes.shape, numbers.shape)]
            if any(more for _, more in missing):
                numbers = np.pad(numbers, missing)
            yield PairedBlocks(
                patterns=np.require(numbers, numbers.dtype.newbyteorder("="), ["C", "A"]).reshape(-1, size),
                scales=np.ascontiguousarray(scales).reshape(-1, 1),
                codes=np.ascontiguousarray(codes).reshape(-1, size),
                matrix=part.matrix,
                first=(part.lines.start, part.blocks.start),
                width=part.blocks.stop - part.blocks.start,
            )

    @cached_property
    def _is_row(self) -> bool:
        return len(self.numbers.shape) < 2

    def described(self, matrix: int, line: int, block: int) -> str:
        """Where a block is, in words."""
        lead = [int(index) for index in np.unravel_index(matrix, self.lead)] if self.lead else []
        what = "row" if self.layout.axis == -1 else "column"
        where = "" if self._is_row else f", {what} {(*lead, line) if lead else line}"
        return f"tensor {self.name!r}{where}, block {block}"


def pairs(
    numbers: Path | str, quantized: Path | str, stored_as: str | None = None, format: str | BlockFormat | None = None
) -> list[PairedTensor]:
    """The tensors that two files have in common, one as numbers and one quantized, all in one block format.

    Parameters
    ----------
    numbers : a file with F32, F16 or BF16 tensors
    quantized : a file of quantized tensors, of `quantize_file` or in the layout of a library
    stored_as : its layout, if several fit: a dialect, or one of its layouts as ``quark:mxfp6_e2m3``
    format : the block format of the tensors to compare, if the file has several

    Two files with one tensor each may use different names. Raises ValueError for damaged files, for ambiguous layouts,
    for a tensor that one file lacks, for shapes that do not fit, and for files without common blocks.
    """
    numbers, quantized = Path(numbers), Path(quantized)
    given, made = read(numbers), read(quantized)
    entering = {name: stored for name, stored in given.tensors.items() if stored.dtype in CONVERTED}
    if not entering:
        raise ValueError(f"{numbers} has no F32, F16 or BF16 tensor")
    found = [one for one in recognised(quantized, made, stored_as) if not one.may_be_plain or one.name in entering]
    if not found:
        raise ValueError(f"{quantized} has no quantized tensors" + ("" if stored_as is None else f" ({stored_as})"))
    if format is not None:
        wanted = block_format(format)
        found = [one for one in (_of_format(one, wanted) for one in found) if one.readings]
        if not found:
            raise ValueError(f"{quantized} has no tensors of the block format {wanted.name}")
    for one in found:
        if one.is_ambiguous:
            raise ValueError(f"tensor {one.name!r} of {quantized}: {one.differences}; --from chooses")
        if one.contradiction:
            raise ValueError(f"tensor {one.name!r} of {quantized}: {one.contradiction}")
    is_single = len(entering) == len(found) == 1
    named = {next(iter(entering)) if is_single else one.name: one for one in found}
    _check_names(numbers, quantized, entering, named, made, format)
    formats = sorted({one.readings[0].layout.block for one in found})
    if len(formats) > 1:
        raise ValueError(f"{quantized} has tensors of {' and '.join(formats)}: --format chooses")
    paired = []
    for name, one in named.items():
        try:
            paired.append(PairedTensor(name, entering[name], one))
        except ValueError as error:
            raise ValueError(f"tensor {name!r} of {quantized}: {error}") from None
    if not any(one.count for one in paired):
        raise ValueError(f"{numbers} and {quantized} have no block to compare")
    return paired


def rules_of(
    paired: Sequence[PairedTensor], profile: str | None = None, **fields: Unpack[OperationFields]
) -> Encode | Nvfp4Encode:
    """The operation from the common format of the numbers, or else from FP32, to the block format, under a profile and
    with these fields.
    """
    sources = {one.source.name for one in paired}
    given: dict[str, object] = {"source": sources.pop() if len(sources) == 1 else "fp32", **fields}
    if given["source"] != "fp32" and not {one.source.name for one in paired} <= {given["source"]}:
        raise ValueError(f"the numbers of the file are {paired[0].source.name}, not {given['source']}")
    try:
        return encoding(paired[0].block, profile, **given)
    except ValueError:
        if "source" in fields or given["source"] == "fp32":
            raise
        return encoding(paired[0].block, profile, **(given | {"source": "fp32"}))  # rules for FP32 numbers alone


def _of_format(tensor: Recognised, block: BlockFormat) -> Recognised:
    """The tensor with only the readings of a block format."""
    kept = tuple(
        reading
        for reading in tensor.readings
        if isinstance(reading.layout, Layout) and reading.layout.block_format.scaled_by(block.convention) == block
    )
    return replace(tensor, readings=kept)


def _check_names(
    numbers: Path,
    quantized: Path,
    entering: dict[str, Stored],
    named: dict[str, Recognised],
    made: Contents,
    format: str | BlockFormat | None,
) -> None:
    """Raise ValueError for tensors that one of two files lacks."""
    lost = [name for name in named if name not in entering]
    if lost:
        raise ValueError(f"{numbers} has no tensor {excerpt(lost[0])}, which {quantized} has: {few(entering)}")
    arrays = {array for one in named.values() for array in one.arrays}
    gone = [name for name in entering if name not in named and name not in made.tensors and name not in arrays]
    if gone and format is None:
        raise ValueError(f"{quantized} has no tensor {excerpt(gone[0])}, which {numbers} has: {few(named)}")
