"""Statements about libraries as expectations: one block for each, and its expected result.

Section numbers refer to the collection of numerics with which this project began: A.2 scales, B.1 and B.5 blocks, C.2
elements, C.4 and D.2 witnesses, and L for layouts. If a run gives another result, the table says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mxcast.conformance.adapters import ADAPTERS
from mxcast.conformance.subject.subject import Function
from mxcast.sim.transactions import Transactions
from mxcast.spec import Role
from mxcast.spec.profiles.resolve import operation_of

ONE, INF, NAN, MINUS = 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000000
LARGEST = 0x7F7FFFFF


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Expected result of a library for one block. Fields that are None are not compared."""

    adapter: str
    format: str
    section: str
    text: str
    given: Sequence[int]
    """FP32 patterns; the last one fills the block."""
    op: str = "encode"
    scale: int | None = None
    codes: Sequence[int] | None = None
    """Codes of the first elements."""
    numbers: Sequence[int] | None = None
    """FP32 patterns of the first results of a function that returns numbers; any NaN matches NaN."""

    @property
    def expected(self) -> str:
        return _in_words(self.scale, self.codes, self.numbers)


def _in_words(scale: int | None, codes: Sequence[int] | None, numbers: Sequence[int] | None) -> str:
    parts = [] if scale is None else [f"scale 0x{scale:02X}"]
    parts += [] if codes is None else ["codes " + " ".join(f"{code:02X}" for code in codes)]
    parts += [] if numbers is None else ["numbers " + " ".join(f"{number:08X}" for number in numbers)]
    return ", ".join(parts)


def _e8m0(adapter: str, section: str, results: Sequence[int]) -> list[Fact]:
    numbers = {
        "0": 0,
        "-1": ONE | MINUS,
        "2^-149": 1,
        "1.25": 0x3FA00000,
        "1.5": 0x3FC00000,
        "3": 0x40400000,
        "3.4e38": 0x7F7FC99E,
        "Inf": INF,
        "NaN": NAN,
    }
    return [
        Fact(adapter=adapter, format="e8m0", op="cast", section=section, text=text, given=[x], codes=[code])
        for (text, x), code in zip(numbers.items(), results)
    ]


def _blocks(adapter: str, format: str, section: str, rows: dict[str, tuple]) -> list[Fact]:
    """Rows of a text, the block, the scale and the first codes."""
    return [
        Fact(adapter=adapter, format=format, section=section, text=text, given=given, scale=scale, codes=codes)
        for text, (given, scale, codes) in rows.items()
    ]


def _numbers(adapter: str, format: str, section: str, rows: dict[str, tuple]) -> list[Fact]:
    return [
        Fact(adapter=adapter, format=format, section=section, text=text, given=given, numbers=numbers)
        for text, (given, numbers) in rows.items()
    ]


def _casts(adapter: str, format: str, rows: dict[str, tuple[int, int]]) -> list[Fact]:
    return [
        Fact(adapter=adapter, format=format, op="cast", section="C.2", text=text, given=[x], codes=[code])
        for text, (x, code) in rows.items()
    ]


SPECIAL = [NAN, ONE]
TIES = [0x40C00000, 0x3E800000, 0x3F400000, 0x3FA00000, 0x3FE00000, 0x40200000, 0x40600000, 0x40A00000, 0]
"""6, and what lies halfway between two elements of E2M1: 0.25, 0.75, 1.25, 1.75, 2.5, 3.5 and 5."""
TOWARD_ZERO = [7, 0, 1, 2, 3, 4, 5, 6]

FACTS: tuple[Fact, ...] = (
    *_e8m0("ml_dtypes", "A.2", [255, 255, 0, 127, 128, 129, 255, 255, 255]),
    *_e8m0("torch", "A.2", [0, 127, 0, 127, 128, 129, 255, 255, 255]),
    *_e8m0("gfloat", "A.2", [255, 255, 255, 127, 128, 128, 254, 254, 255]),
    *_blocks(
        "torchao_floor",
        "e4m3",
        "B.5",
        {
            "+0": ([0], 0, [0]),
            "-0": ([MINUS], 0, [0x80]),
            "one NaN": (SPECIAL, 255, [0x7F, 0x00]),
            "+Inf": ([INF, ONE], 247, [0x7E, 0x00]),
            "the largest number": ([LARGEST, 0], 246, [0x7E]),
        },
    ),
    *_blocks(
        "torchao_rceil",
        "e4m3",
        "B.5",
        {
            "one NaN": (SPECIAL, 255, [0x7F, 0x7F]),
            "+Inf": ([INF, ONE], 254, [0x7E, 0x00]),
            "the largest number": ([LARGEST, 0], 247, [0x78]),
        },
    ),
    *_blocks("torchao_ceil", "e4m3", "B.5", {"the largest number": ([LARGEST, 0], 247, [0x78])}),
    *_blocks("torchao_even", "e4m3", "B.5", {"the largest number": ([LARGEST, 0], 247, [0x78])}),
    *_blocks(
        "gfloat",
        "e4m3",
        "B.5",
        {
            "+0": ([0], 0, [0]),
            "-0": ([MINUS], 0, [0x80]),
            "one NaN": (SPECIAL, 255, [0xFF, 0xFF]),
            "+Inf": ([INF, ONE], 254, [0x7E, 0x00]),
            "the largest number": ([LARGEST, 0], 246, [0x7E]),
        },
    ),
    *_numbers(
        "microxcaling",
        "e4m3",
        "B.5",
        {"-0": ([MINUS], [0]), "one NaN": (SPECIAL, [NAN, NAN]), "+Inf": ([INF, ONE], [NAN, NAN])},
    ),
    *_casts(
        "ml_dtypes", "e4m3", {"NaN": (NAN, 0x7F), "-NaN": (NAN | MINUS, 0xFF), "Inf": (INF, 0x7F), "-0": (MINUS, 0x80)}
    ),
    *_casts("ml_dtypes", "e5m2", {"NaN": (NAN, 0x7E), "-NaN": (NAN | MINUS, 0xFE), "Inf": (INF, 0x7C)}),
    *_casts("ml_dtypes", "e3m2", {"NaN": (NAN, 0x20), "-NaN": (NAN | MINUS, 0)}),
    *_casts("ml_dtypes", "e2m1", {"NaN": (NAN, 0x8), "-NaN": (NAN | MINUS, 0)}),
    *_casts("torch", "e4m3", {"NaN": (NAN, 0x7F), "-NaN": (NAN | MINUS, 0xFF), "Inf": (INF, 0x7E)}),
    *_casts("torch", "e5m2", {"NaN": (NAN, 0x7F), "-NaN": (NAN | MINUS, 0xFF), "Inf": (INF, 0x7C)}),
    *_casts("gfloat", "e4m3", {"NaN": (NAN, 0xFF), "Inf": (INF, 0x7E)}),
    *_casts("gfloat", "e5m2", {"Inf": (INF, 0x7B)}),
    *_blocks(
        "torchao_rceil",
        "e4m3",
        "C.4",
        {
            "FP32 log2: a byte too small": ([0x3FE00001, 0], 119, None),
            "the same near the bottom": ([0x04E00001, 0], 1, None),
            "byte 0: elements 0": ([0x00400000, 0], 0, [0]),
        },
    ),
    *_blocks("torchao_rceil", "e2m1", "C.4", {"FP32 log2: a byte too small": ([0x01C00001, 0], 1, None)}),
    *_blocks("torchao_floor", "e2m1", "C.4", {"byte 0: half of the element": ([0x003FFFFF, 0], 0, [1])}),
    *_numbers(
        "microxcaling",
        "e4m3",
        "C.4",
        {"half a step less one place becomes one": ([0x3A7FFFFF, 0x43800000, 0], [0x3B000000])},
    ),
    *_numbers("microxcaling", "int8", "C.4", {"log2 rounds up to 128": ([0x7F7FFFD4, 0], [NAN])}),
    *_blocks("gfloat", "int8", "C.4", {"-128 is used": ([0xBFFFFFFF, 0], 127, [0x80])}),
    *_blocks("gguf", "e2m1", "C.3", {"ties go toward zero": (TIES, 127, TOWARD_ZERO)}),
    *_blocks("gguf", "e2m1", "C.2", {"-0 becomes +0": ([ONE, MINUS], 125, [6, 0])}),
    *_blocks(
        "compressed_tensors",
        "e4m3",
        "L.4",
        {
            "1.75 rounds up, with one fraction bit": ([0x3FE00000, 0], 120, None),
            "a place less does not": ([0x3FDFFFFF, 0], 119, None),
        },
    ),
    *_blocks(
        "compressed_tensors",
        "e2m3",
        "L.4",
        {"1.9375 rounds up, with three": ([0x3FF80000, 0], 126, None), "a place less": ([0x3FF7FFFF, 0], 125, None)},
    ),
    *_blocks("compressed_tensors", "e2m1", "L.4", {"1.75 rounds up": ([0x3FE00000, 0], 126, None)}),
    *_blocks("modelopt", "e2m1", "L.5", {"ties go toward zero": (TIES, 127, TOWARD_ZERO)}),
    *_blocks("modelopt", "e4m3", "L.5", {"ceil(log2(amax / 448))": ([0x43E00000, 0], 127, [0x7E])}),
    *_blocks("modelopt", "nvfp4", "L.5", {"-0 becomes +0": ([0x40C00000, MINUS], None, [7, 0])}),
    *_blocks(
        "mlx",
        "e2m1",
        "L.10",
        {
            "a block of zeros has byte 127": ([0], 127, [0]),
            "ties go toward zero": (TIES, 127, TOWARD_ZERO),
            "-0 becomes +0": ([0x40C00000, MINUS], 127, [7, 0]),
        },
    ),
    *_numbers("quark_even", "e2m1", "B.1", {"1.75 rounds up": ([0x3FE00000, 0x3EC00000, 0], [0x40000000, 0x3F000000])}),
    *_blocks("te_reference", "nvfp4", "C.2", {"-0 becomes +0": ([0x40C00000, MINUS], None, [7, 0])}),
    *_blocks("te_reference", "nvfp4", "D.2", {"NaN reaches the scale": (SPECIAL, 0x7F, None)}),
)


def checked(fact: Fact) -> dict:
    """A fact with the result of the installed library."""
    rules = operation_of(fact.op, fact.format)
    patterns = np.full((1, rules.ports[0].lanes), fact.given[-1], np.uint32)
    patterns[0, : len(fact.given)] = fact.given
    adapter = ADAPTERS[fact.adapter]
    made = Function(adapter.function(rules), rules, fact.adapter)(Transactions({Role.NUMBERS: patterns}))
    scale = None if fact.scale is None else int(made[Role.SCALE][0, 0])
    codes = None if fact.codes is None else made[Role.CODES][0, : len(fact.codes)].tolist()
    numbers = None
    if fact.numbers is not None:
        found = made[Role.NUMBERS][0, : len(fact.numbers)]
        numbers = np.where(np.isnan(found.view(np.float32)), NAN, found).tolist()
    got = _in_words(scale, codes, numbers)
    return {
        "adapter": fact.adapter,
        "version": adapter.version,
        "format": fact.format,
        "op": fact.op,
        "section": fact.section,
        "fact": fact.text,
        "given": ",".join(f"0x{word:08X}" for word in fact.given),
        "expected": fact.expected,
        "got": got,
        "holds": got == fact.expected,
    }
