"""Configurations of any operation, by its name or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict, Unpack

from ...spec import (
    NVFP4_OPERATIONS,
    Cast,
    CastFields,
    Decode,
    DecodeFields,
    Hadamard,
    Nvfp4Decode,
    Nvfp4Encode,
    Nvfp4TileEncode,
    TileEncode,
    TileFields,
    is_nvfp4,
)
from ...spec.catalogue import entry, known_name
from ...spec.operations.operation import operation_of
from .architecture import DecoderArchitectureFields, MicroarchitectureFields
from .cast import CastConfig
from .decode import DecoderConfig
from .encode import ConverterConfig, Format
from .hadamard import HadamardConfig
from .hardware import HardwareConfig
from .nvfp4_decode import Nvfp4DecoderConfig
from .nvfp4_encode import Nvfp4Config
from .tile import Nvfp4TileConfig, TileConfig

AnyConfig: TypeAlias = (
    ConverterConfig
    | DecoderConfig
    | CastConfig
    | Nvfp4Config
    | Nvfp4DecoderConfig
    | HadamardConfig
    | TileConfig
    | Nvfp4TileConfig
)
"""The configuration of any operation."""

AnyFormat: TypeAlias = (
    "Format | Decode | Cast | Nvfp4Encode | Nvfp4Decode | Hadamard | TileEncode | Nvfp4TileEncode | AnyConfig"
)
"""The format of any operation, the operation, or its configuration."""


class AnyBuildFields(
    TileFields, DecodeFields, CastFields, MicroarchitectureFields, DecoderArchitectureFields, total=False
):
    """Fields of any operation and of its hardware, without ``target``. ``optimize`` is a `Goal`."""

    optimize: str


class AnyFields(AnyBuildFields, total=False):
    """`AnyBuildFields`, and ``target``, one of `BEST`."""

    target: str


class ConstraintFields(TypedDict, total=False):
    """Constraints that choose ``registered_after`` (`synth.constrained`)."""

    latency: int
    """Clock cycles."""
    frequency_mhz: float
    delays_of: str
    """The target with the delays of the estimate; ``ecp5`` by default."""


CONSTRAINTS = tuple(ConstraintFields.__annotations__)

CONFIGURATIONS: dict[str, type[AnyConfig]] = {
    kind.OPERATION.name: kind
    for kind in (
        ConverterConfig,
        DecoderConfig,
        CastConfig,
        Nvfp4Config,
        Nvfp4DecoderConfig,
        HadamardConfig,
        TileConfig,
        Nvfp4TileConfig,
    )
}
"""The configuration class of each operation, by its name."""


def config_of(parts: Mapping[str, object]) -> HardwareConfig:
    """The configuration that `HardwareConfig.to_dict` wrote. Raises ValueError and TypeError for anything else."""
    operation = operation_of(entry(parts, "numerics", dict))
    return CONFIGURATIONS[operation.name].from_dict(parts)


def configuration(op: str, format: AnyFormat, profile: str | None = None, **fields: Unpack[AnyFields]) -> AnyConfig:
    """The configuration of an operation by name, as `converter_config`, `decoder_config`, `cast_config`,
    `hadamard_config` and `tile_config` make it. For an NVFP4 format, ``encode``, ``decode`` and ``tile`` mean the
    NVFP4 operations.

    Raises ValueError for an unknown operation and for a configuration of another one, and the errors of these
    functions.

    >>> configuration("cast", "ue8m0", "ptx").numerics.subject
    'fp32_to_e8m0'
    """
    if op not in CONFIGURATIONS:
        op = known_name("operation", op, [name for name in CONFIGURATIONS if name not in NVFP4_OPERATIONS.values()])
    if is_nvfp4(format.numerics if isinstance(format, HardwareConfig) else format):
        op = NVFP4_OPERATIONS.get(op, op)
    if isinstance(format, HardwareConfig) and format.numerics.name != op:
        raise ValueError(f"a {type(format).__name__} is of the operation {format.numerics.name}, not {op}")
    return CONFIGURATIONS[op].built(format, profile, fields)
