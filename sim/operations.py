"""The operations in simulations, by name, and what is the same for all of them."""

from __future__ import annotations

from typing import Any

from ..hdl import HardwareConfig
from ..spec import Operation, Role
from .cast.simulation import CastSimulation
from .decode.simulation import DecodeSimulation
from .encode.simulation import EncodeSimulation
from .encode.tile import TileSimulation
from .hadamard.simulation import HadamardSimulation
from .nvfp4.decode import Nvfp4DecodeSimulation
from .nvfp4.encode import Nvfp4EncodeSimulation
from .nvfp4.tile import Nvfp4TileSimulation
from .run.verilator.table_driver import with_rows
from .simulation import Simulation
from .stimuli import random_bits
from .transactions import Transactions

OPERATIONS: dict[str, type[Simulation[Any]]] = {
    "encode": EncodeSimulation,
    "decode": DecodeSimulation,
    "cast": CastSimulation,
    "two_level_encode": Nvfp4EncodeSimulation,
    "two_level_decode": Nvfp4DecodeSimulation,
    "hadamard": HadamardSimulation,
    "tile": TileSimulation,
    "nvfp4_tile": Nvfp4TileSimulation,
}
"""By the name of the operation."""


def of(operation: Operation) -> Simulation[Any]:
    """An operation in simulations."""
    return OPERATIONS[operation.name](operation)


def element_role(operation: Operation) -> Role:
    """The role of the input that has a word for each element."""
    return operation.ports[0].role


def golden(operation: Operation, entering: Transactions) -> Transactions:
    """The results of the golden model."""
    return of(operation).golden(entering)


def supplied(config: HardwareConfig, entering: Transactions) -> Transactions:
    """Inputs with what software supplies to hardware that reads a table: the rows of the right scales."""
    if any(port.role is Role.ROW_START for port in config.ports):
        return with_rows(config.numerics, entering, golden(config.numerics, entering)[Role.SCALE])
    return entering


def drawn(operation: Operation, entering: Transactions, seed: int) -> Transactions:
    """Inputs with seeded random bits if the rounding takes them and they are not given."""
    if Role.RANDOM in entering.arrays:
        return entering
    random = random_bits(operation, (len(entering), operation.block_size), seed)
    return entering if random is None else entering.with_arrays({Role.RANDOM: random})
