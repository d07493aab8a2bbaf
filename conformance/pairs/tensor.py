"""A tensor as numbers and as stored blocks: what an identification reads of two files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from ...spec import BlockFormat, Convention, FloatFormat, Order


class Blocks(Protocol):
    """Some blocks of a tensor."""

    @property
    def patterns(self) -> np.ndarray:
        """Numbers (n, block_size), as patterns of their format."""

    @property
    def scales(self) -> np.ndarray:
        """(n, 1)."""

    @property
    def codes(self) -> np.ndarray:
        """(n, block_size)."""

    @property
    def matrix(self) -> int:
        """The number of their matrix along the leading axes."""

    def place(self, row: int) -> tuple[int, int]:
        """The line and the block of one of them."""


class Tensor(Protocol):
    """A tensor as numbers, and as it is stored."""

    @property
    def name(self) -> str: ...

    @property
    def block(self) -> BlockFormat: ...

    @property
    def source(self) -> FloatFormat:
        """The format of its numbers."""

    @property
    def count(self) -> int:
        """The number of its blocks."""

    @property
    def convention(self) -> Convention:
        """The meaning of its tensor scale."""

    @property
    def tensor_scales(self) -> np.ndarray:
        """float32: one for the tensor, one for each matrix, or an empty array."""

    def amax(self, order: Order) -> np.ndarray:
        """float32: the largest magnitude under each tensor scale."""

    def parts(self, whole: bool) -> Iterator[Blocks]:
        """All blocks, or some at even distances."""

    def described(self, matrix: int, line: int, block: int) -> str:
        """The place of a block, in words."""
