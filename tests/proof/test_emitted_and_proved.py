"""`prove` takes all hardware that `emit` writes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from itertools import chain, product

import pytest

from mxcast.hdl import CHOICES, CONFIGURATIONS, DECODER_CHOICES, HADAMARD_CHOICES, NVFP4_CHOICES, HardwareConfig
from mxcast.hdl.config.architecture import Interface, ScalePlace
from mxcast.proof.operations import provable
from mxcast.spec import (
    BLOCKS,
    CAST_RULES,
    DECODE_RULES,
    NVFP4_DECODE_RULES,
    NVFP4_RULES,
    NVFP4_TILE_RULES,
    PROFILES_OF,
    RULES,
    SCALARS,
    TILE_RULES,
)

FORMATS = {
    "encode": BLOCKS,
    "decode": BLOCKS,
    "cast": SCALARS,
    "two_level_encode": ("nvfp4", "nvfp4_2d"),
    "two_level_decode": ("nvfp4", "nvfp4_2d"),
    "hadamard": ("hadamard16",),
    "tile": BLOCKS,
    "nvfp4_tile": ("nvfp4", "nvfp4_32"),
}
ENUMERATIONS = {
    "encode": RULES | CHOICES,
    "decode": DECODE_RULES | DECODER_CHOICES,
    "cast": CAST_RULES,
    "two_level_encode": NVFP4_RULES | NVFP4_CHOICES,
    "two_level_decode": NVFP4_DECODE_RULES,
    "hadamard": HADAMARD_CHOICES,
    "tile": TILE_RULES | CHOICES,
    "nvfp4_tile": NVFP4_TILE_RULES | NVFP4_CHOICES,
}
OPTIONS = {
    "interface": Interface,
    "lanes": (1, 8),
    "scale_place": ScalePlace,
    "layout": ("ggml", "compressed_tensors"),
    "registered_after": ("output", "input,output"),
    "source": ("bf16",),
    "destination": ("bf16", "fp16"),
    "target": ("xcu", "ecp5", "ice40", "asic"),
}
"""Values of other fields, most of which each operation lacks."""


def configurations(op: str) -> Iterator[HardwareConfig]:
    """Every hardware with one or two fields that are not the usual ones, and every profile."""
    values: dict[str, list[object]] = {name: list(one) for name, one in (OPTIONS | ENUMERATIONS.get(op, {})).items()}
    single = [{name: str(value) if isinstance(value, Enum) else value} for name, one in values.items() for value in one]
    pairs = (
        one | other for one, other in product(single, single) if {"interface", "lanes"} & one.keys() and one != other
    )
    for format, profile in product(FORMATS[op], PROFILES_OF[op]):
        is_usual = profile == next(iter(PROFILES_OF[op])) and format in tuple(FORMATS[op])[:2]
        for fields in chain([{}], single, pairs if is_usual else []):
            try:
                yield CONFIGURATIONS[op].built(format, profile, fields)
            except (ValueError, TypeError):  # `emit` refuses it too
                continue


@pytest.mark.parametrize("op", CONFIGURATIONS)
def test_prove_takes_what_emit_writes(op):
    asked = [provable(config) for config in configurations(op)]
    assert len(asked) > (40 if op in ENUMERATIONS else 1)
