"""Names of formats, rules and casts in NVIDIA's PTX. An instruction is a cast: ``cvt.rp.satfinite.ue8m0x2.f32``.

PTX ISA 9.0, section cvt, of August 2025, without the forms with ``.relu``, which do more than a cast. An instruction
packs its first operand into the high bits, so operands a and b are ``{a, b}`` in Verilog. Instructions with random bits
share them between numbers; here each number has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Fields: TypeAlias = dict[str, str | int]
"""Fields of a cast by name."""

FORMATS = {"ue8m0": "e8m0"}
"""Our names of formats, by their names in PTX."""

RULES = {"rounding": {"rz": "rtz", "rs": "sr", "rn": "rne"}, "overflow": {"satfinite": "saturate"}}
"""Our names of rules, by field of `Cast` and by their names in PTX.

To powers of two ``rn`` is ``rna`` (CUDA 13.5 headers, cudaRoundNearest).
"""

FP8, FP6, FP4, SCALE = ("e4m3", "e5m2"), ("e2m3", "e3m2"), ("e2m1",), ("ue8m0",)
PACKED = {"fp32": "f32", "fp16": "f16x2", "bf16": "bf16x2"}
"""Formats of pairs of numbers in the name of an instruction."""


def _instructions() -> Iterator[tuple[str, Fields]]:
    for format in FP8 + FP6 + FP4:
        for source in ("fp32", "fp16") if format in FP8 else ("fp32",):
            yield _to(format, source, "rn", ".satfinite")
        bits = 8 if format in FP4 else 16
        name, fields = _to(format, "fp32", "rs", ".satfinite", 4)
        yield name, fields | {"random_bits": bits}
        yield _back(format, "fp16")
    for format in SCALE:
        for rounding in ("rp", "rz"):
            for satfinite in ("", ".satfinite"):
                for source in ("fp32", "bf16"):
                    yield _to(format, source, rounding, satfinite)
        yield _back(format, "bf16")


def _to(format: str, source: str, rounding: str, satfinite: str, lanes: int = 2) -> tuple[str, Fields]:
    overflow = "satfinite" if satfinite else "inf"
    fields: Fields = {"format": format, "source": source, "lanes": lanes, "rounding": rounding, "overflow": overflow}
    return f"cvt.{rounding}{satfinite}.{format}x{lanes}.{PACKED[source]}", fields


def _back(format: str, destination: str) -> tuple[str, Fields]:
    fields: Fields = {"format": format, "destination": destination, "lanes": 2, "rounding": "rn"}
    return f"cvt.rn.{PACKED[destination]}.{format}x2", fields


INSTRUCTIONS: dict[str, Fields] = dict(_instructions())
"""Format and fields of the cast of each instruction, under the profile ``ptx``."""


def is_instruction(name: object) -> bool:
    """Does the name have the form of an instruction?"""
    return isinstance(name, str) and name.startswith("cvt.")
