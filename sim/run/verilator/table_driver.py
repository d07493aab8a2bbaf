"""A design that reads a table of thresholds, with the software that writes the table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from ....hdl.nvfp4.threshold_row import Row, row_ports, row_under
from ....spec import FP32, Nvfp4Encode, Port, Role
from ...transactions import Transactions, word
from .driver import Driver

ONE = FP32.bias << FP32.man_bits


@lru_cache(maxsize=1 << 16)
def _row(rules: Nvfp4Encode, scale: int, d: int) -> Row | None:
    """The row of a scale in the table of a tensor; None for NaN, whose elements read no row."""
    return row_under(rules, scale, d) if scale <= rules.scale_format.max_code else None


def with_rows(rules: Nvfp4Encode, entering: Transactions, scales: np.ndarray) -> Transactions:
    """Inputs with the rows for these scales (n, 1) from the tables of their tensors."""
    constants = entering.get(Role.ELEMENT_CONSTANT)
    every = np.full(len(scales), ONE) if constants is None else constants[:, 0]
    start, cells, thresholds = row_ports(rules.source)
    found = {port.role: np.zeros((len(scales), port.lanes), word(port)) for port in (start, cells, thresholds)}
    for number, (scale, d) in enumerate(zip(scales[:, 0].tolist(), every.tolist())):
        if (row := _row(rules, scale, d)) is not None:
            found[start.role][number] = row.start & (1 << start.bits) - 1
            found[cells.role][number] = row.cells
            found[thresholds.role][number] = row.thresholds
    return entering.with_arrays(found)


class TableDriver(Driver):
    """A design with ports for a row; it gets the row that its own scale byte chooses."""

    def __init__(self, library: Path, ports: Sequence[Port], rules: Nvfp4Encode) -> None:
        super().__init__(library, ports)
        self.rules = rules

    def __call__(self, entering: Transactions) -> Transactions:
        nothing = np.full((len(entering), 1), self.rules.scale_format.magnitude_mask)
        scales = super().__call__(with_rows(self.rules, entering, nothing))[Role.SCALE]
        return super().__call__(with_rows(self.rules, entering, scales))
