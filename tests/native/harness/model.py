"""The golden model with the functions of `header.Header`, and questions that both answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Protocol

import numpy as np

from mxcast.models.arrays.source import code_dtype
from mxcast.models.fast import cast, decode, encode, nvfp4_decode, nvfp4_encode
from mxcast.sim.nvfp4.encode_ties import ties
from mxcast.sim.nvfp4.stimuli import ties as equal_errors
from mxcast.sim.stimuli.boundary import boundary_blocks
from mxcast.sim.stimuli.seeded import random_bits, random_blocks
from mxcast.spec import (
    CAST_SOURCES,
    CASTS,
    DECODERS,
    ELEMENTS,
    SCALARS,
    SOURCES,
    Cast,
    Convention,
    Decode,
    DecodedRounding,
    Encode,
    EncodedZero,
    FourOverSix,
    Nvfp4Decode,
    Nvfp4Encode,
    Order,
    Role,
    Rounding,
    ScaleRule,
    Specials,
    Subnormals,
    block_format,
    casting,
    decoding,
)

from ...models.nvfp4_blocks import AMAXIMA, edges

Drawn = np.ndarray | None
NUMBERS: dict[str, type] = {"fp32": np.float32, "bf16": np.uint16, "fp16": np.float16}
"""Arrays of numbers by format."""


class Answers(Protocol):
    """Conversions of patterns; codes are uint16."""

    def encode(self, rules: Encode, x: np.ndarray, random: Drawn = None) -> tuple[np.ndarray, np.ndarray]: ...

    def decode(self, rules: Decode, scales: np.ndarray, codes: np.ndarray, random: Drawn = None) -> np.ndarray: ...

    def cast(self, rules: Cast, numbers: np.ndarray, random: Drawn = None) -> np.ndarray: ...

    def nvfp4_encode(
        self, rules: Nvfp4Encode, amax: np.ndarray | int, x: np.ndarray, random: Drawn = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]: ...

    def nvfp4_decode(
        self, rules: Nvfp4Decode, tensor_scale: int, scales: np.ndarray, codes: np.ndarray
    ) -> np.ndarray: ...


class Model:
    """The answers of `models.fast`."""

    def encode(self, rules: Encode, x: np.ndarray, random: Drawn = None) -> tuple[np.ndarray, np.ndarray]:
        scales, codes = np.empty(len(x), np.uint8), np.empty(x.shape, code_dtype(rules.block.element))
        encode.quantize_blocks(x.view(NUMBERS[rules.source.name]), rules, scales, codes, random)
        return scales, codes.astype(np.uint16)

    def decode(self, rules: Decode, scales: np.ndarray, codes: np.ndarray, random: Drawn = None) -> np.ndarray:
        y = np.empty(codes.shape, NUMBERS[rules.destination.name])
        decode.decode_blocks(scales, codes.astype(code_dtype(rules.block.element)), rules, y, random)
        return y.view(f"u{y.itemsize}")

    def cast(self, rules: Cast, numbers: np.ndarray, random: Drawn = None) -> np.ndarray:
        source, to = (f"u{-(-format.bits // 8)}" for format in (rules.source, rules.destination))
        results = np.empty(numbers.shape, to)
        cast.cast_patterns(numbers.astype(source), rules, results, random)
        return results.astype(np.uint64)

    def nvfp4_encode(
        self, rules: Nvfp4Encode, amax: np.ndarray | int, x: np.ndarray, random: Drawn = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scales, codes = np.empty(len(x), np.uint8), np.empty(x.shape, np.uint8)
        maxima = np.broadcast_to(np.asarray(amax, np.uint32), len(x)).copy()
        made = nvfp4_encode.tensor_constants(maxima.view(np.float32), rules)
        each = made.each(lambda one: np.broadcast_to(one, len(x)).copy())
        nvfp4_encode.encode_blocks(x.view(NUMBERS[rules.source.name]), rules, each, scales, codes, random)
        return scales, codes.astype(np.uint16), np.stack([each.k.view(np.uint32), each.d.view(np.uint32)], axis=1)

    def nvfp4_decode(self, rules: Nvfp4Decode, tensor_scale: int, scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        y = np.empty(codes.shape, NUMBERS[rules.destination.name])
        g = np.asarray(np.uint32(tensor_scale).view(np.float32))
        nvfp4_decode.decode_blocks(scales, codes.astype(np.uint8), rules, g, y)
        return y.view(f"u{y.itemsize}")


def encode_questions() -> list[Encode]:
    """Every scale rule with every rounding, and the other rules in turn, over the OCP formats and sources."""
    found = []
    for number, (scale_rule, rounding) in enumerate(product(ScaleRule, Rounding)):
        rules = Encode(
            block=block_format(list(ELEMENTS)[number % 6]),
            scale_rule=scale_rule,
            rounding=rounding,
            specials=list(Specials)[number // 2 % 4],
            input_subnormals=list(Subnormals)[number // 3 % 2],
            element_subnormals=list(Subnormals)[number // 5 % 2],
            zero=list(EncodedZero)[number // 7 % 4],
        )
        found.append(rules.replace(source=list(SOURCES)[number // 4 % 3], block_size=8))
    return found


Question = tuple[str, tuple]
"""A function of `Answers`, and its arguments."""
Answered = list[tuple[str, np.ndarray]]


def special_blocks(rules: Encode) -> np.ndarray:
    """Blocks with NaN, Inf, zeros and subnormal numbers of both signs, in repeated groups of 4."""
    source = rules.source
    inf, sign = source.inf_field, source.sign_mask
    rows = [
        [0, sign, 1, sign | 1],
        [inf, sign | inf, inf | 1, sign | inf | 1 << source.man_bits - 1],
        [inf, sign | inf - 1, sign, 1],
        [sign | inf | 1, inf - 1, 0, sign],
        [sign, 0, sign, 0],
    ]
    return np.tile(np.array(rows, f"u{source.bits // 8}"), rules.block_size // 4)


@cache
def survey() -> list[Question]:
    """Questions about all operations."""
    return list(_survey())


def _survey() -> Iterator[Question]:
    for seed, rules in enumerate(encode_questions()):
        x = np.concatenate([special_blocks(rules), boundary_blocks(rules)[:300], random_blocks(rules, 200, seed)])
        yield "encode", (rules, x, random_bits(rules, x.shape, seed))
    for element, decoder, rounding in product(ELEMENTS, DECODERS, DecodedRounding):
        try:
            decodes = decoding(element, decoder, rounding=rounding, block_size=1)
        except ValueError:  # a profile of other formats
            continue
        grid = np.indices((256, 1 << decodes.block.element.bits)).reshape(2, -1)[:, ::7]
        scales, codes = grid[0].astype(np.uint8), np.ascontiguousarray(grid[1][:, None].astype(np.uint16))
        yield "decode", (decodes, scales, codes, random_bits(decodes, codes.shape, 1))
    for scalar, profile in product(SCALARS, CASTS):
        for source in CAST_SOURCES:
            try:
                casts = casting(scalar, profile, source=source)
            except ValueError:  # a definition without this cast
                continue
            yield "cast", (casts, cast_numbers(casts))
    for order, source in product(Order, SOURCES):
        if order is Order.COMPRESSED_TENSORS and source != "fp32":
            continue
        nvfp4 = Nvfp4Encode(block="nvfp4", order=order, source=source)
        tied = ties(nvfp4, seed=1)
        yield "nvfp4_encode", (nvfp4, tied.a[:8000], np.ascontiguousarray(tied.patterns[:8000]))
    amaxima, wide = np.array([*map(amax_of, AMAXIMA)], np.uint32), edges().view(np.uint32)
    for order, tried in product(Order, FourOverSix):
        if tried is FourOverSix.OFF or order is Order.PAPER:
            nvfp4 = Nvfp4Encode(block="nvfp4", order=order, four_over_six=tried)
            maxima = np.repeat(amaxima, len(wide))
            yield "nvfp4_encode", (nvfp4, maxima, np.tile(wide, (len(amaxima), 1)))
    for tried in (FourOverSix.MAE, FourOverSix.MSE):
        nvfp4 = Nvfp4Encode(block="nvfp4", order=Order.PAPER, four_over_six=tried)
        equal = equal_errors(nvfp4, 2000, seed=1)
        yield "nvfp4_encode", (nvfp4, equal[Role.TENSOR_AMAX][:, 0], np.ascontiguousarray(equal[Role.NUMBERS]))
    grid = np.indices((256, 16)).reshape(2, -1)
    scales, codes = grid[0].astype(np.uint8), np.ascontiguousarray(grid[1][:, None].astype(np.uint16))
    for convention, to, amax in product(Convention, SOURCES, (0.37, 3e38, 1e-38)):
        back = Nvfp4Decode(block="nvfp4", convention=convention, destination=to).replace(block_size=1)
        yield "nvfp4_decode", (back, amax_of(amax), scales, codes)


PARTS = {"encode": ("scales", "codes"), "nvfp4_encode": ("scales", "codes", "constants")}
"""The arrays of an answer with more than one."""


def answers(asked: Answers) -> Iterator[tuple[str, np.ndarray]]:
    """Answers to the survey, with a label for each array. The sign of NaN in the constants of a tensor, which differs
    between processors, is left out.
    """
    for operation, (rules, *given) in survey():
        found = getattr(asked, operation)(rules, *given)
        for part, array in zip(PARTS.get(operation, ("",)), found if isinstance(found, tuple) else (found,)):
            if part == "constants":
                array = np.where(array & np.uint32(0x7FFFFFFF) > 0x7F800000, np.uint32(0x7FC00000), array)
            yield f"{rules} {part}", array


def cast_numbers(rules: Cast) -> np.ndarray:
    """Patterns of a source, uint64: zeros, NaN and Inf, and an even choice of all, with few and many bits set."""
    bits = rules.source.bits
    any_ = np.random.default_rng(bits).integers(0, 1 << bits, 6000, np.uint64)
    short = any_ & np.uint64(((1 << bits) - 1) ^ ((1 << rules.source.man_bits - 4) - 1))
    one = np.uint64(1)
    ends = np.array([0, 1, rules.source.inf_field, rules.source.inf_field + 1, rules.source.magnitude_mask], np.uint64)
    ends = np.concatenate([ends, ends | np.uint64(rules.source.sign_mask)])
    return np.concatenate([ends, any_, short, short + one])


def amax_of(number: float) -> int:
    """The FP32 pattern of a number."""
    return int(np.float32(number).view(np.uint32))


def difference(asked: Answers, expected: Answered) -> str | None:
    """The first question of the survey with another answer, or None."""
    for (label, found), (_, right) in zip(answers(asked), expected, strict=True):
        if not np.array_equal(found, right):
            return f"{label}: {int((found != right).sum())} of {found.size} differ"
    return None
