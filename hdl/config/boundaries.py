"""Stage boundaries, at which registers may stand: the steps of a converter by name, in the order of data flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...spec import FP16, FP32, TF32, Convention, FourOverSix, Order, Subnormals
from ...spec.catalogue import unknown_name

if TYPE_CHECKING:
    from .build import (
        CastConfig,
        ConverterConfig,
        DecoderConfig,
        HadamardConfig,
        HardwareConfig,
        Nvfp4Config,
        Nvfp4DecoderConfig,
    )

TOGETHER = {"compare": 2, "radix4": 4}
"""How many numbers a node of the tree compares. Other ways to find the largest look at digits."""


def element_stages(config: ConverterConfig) -> tuple[str, ...]:
    """Stage boundaries inside an element quantizer."""
    return {"shift": ("normalised", "aligned", "rounded"), "table": ("top", "distance", "chosen")}[
        config.microarchitecture.quantizer
    ]


def tree_stages(config: ConverterConfig) -> tuple[str, ...]:
    """Stage boundaries inside the comparator tree and behind it, the last level or digit being its output."""
    if config.microarchitecture.amax not in TOGETHER:
        return "key", *(f"digit{number}" for number in range(1, config.numerics.source.exp_bits // 2 + 1))
    left, levels = config.numerics.block_size, list[str]()
    while left > 1:
        left = -(-left // TOGETHER[config.microarchitecture.amax])
        levels.append(f"level{len(levels) + 1}")
    return ("key", *levels) if config.microarchitecture.amax_key == "reduced" else (*levels, "key")


def stages(config: HardwareConfig) -> tuple[str, ...]:
    """After which steps hardware can have registers: each name is that of the step before the register.

    Of an encoder: ``input``; ``widened`` where the source is FP16; ``key``, what is compared of a number (or, where
    whole magnitudes are compared, what is left of the largest); ``level1`` and so on, the levels of the tree, or
    ``digit1`` and so on, two bits of the exponent each; ``scale``; inside the quantizers ``normalised``, ``aligned``,
    ``rounded``, or ``top``, which all lanes make of the scale, ``distance``, ``chosen``; and ``output``.

    Of a decoder: ``input``; ``scale``; inside the element decoders ``read``, where each has a copy of what it is told
    of the scale, ``sum``, the exponent, and ``shifted``, where there are subnormal results; and ``output``.

    Of a cast: ``input``; ``exponent``, that of the result; ``shifted``, where the destination has subnormals;
    ``rounded``; and ``output``.

    Of an encoder under two levels of scales: ``input``; ``level0`` and so on, the levels of the tree; ``amax``; in the
    orders ``te`` and ``paper`` ``sixth`` (``paper`` alone), ``leading``, the zeros before a subnormal number,
    ``normalised``, ``partials``, the products of halves of significands, ``ratio``, ``nearest``, ``packed``,
    ``scale_exponent``, ``scale_shifted`` and ``scale_rounded``; ``scale``; in these orders ``rows`` and
    ``denominator``, the product that is divided by, ``divisor_cut``, ``divisor_rounded``, ``divisor``, ``digits2`` and
    so on, digits of its reciprocal, ``compared`` and ``reciprocal``; where there are thresholds ``multiples``,
    ``left``, ``least2`` and ``least4``, digits of their corrections, and ``threshold``; ``factor``, what lanes are
    told; in a lane with thresholds ``entry``, what its cell has; where both 4 and 6 are tried ``codes``, ``errors`` and
    ``sum1`` to ``sum15``; and ``output``.

    Of a decoder under two levels of scales: ``input``; ``scaled``, the product of both scales; ``reduced``, where the
    tensor scale is a largest magnitude; ``products``, the results of all codes; and ``output``.

    Of a Hadamard transform: ``input``; ``aligned``, the numbers as integers; ``level1`` to ``level4``, their sums and
    differences; and ``output``.
    """
    return STAGES[config.numerics.name](config)


def _of_encoder(config: ConverterConfig) -> tuple[str, ...]:
    widened = ("widened",) if config.numerics.source in (FP16, TF32) else ()  # TF32 is what FP16 is widened to
    return ("input", *widened, *tree_stages(config), "scale", *element_stages(config), "output")


def _of_decoder(config: DecoderConfig) -> tuple[str, ...]:
    shifted = () if config.numerics.subnormals is Subnormals.FLUSH else ("shifted",)
    return "input", "scale", "read", "sum", *shifted, "output"


def cast_stages(config: CastConfig) -> tuple[str, ...]:
    """Stage boundaries inside a lane of a cast."""
    return ("exponent", *(["shifted"] if config.numerics.destination.subnormals else []), "rounded")


def _of_cast(config: CastConfig) -> tuple[str, ...]:
    return "input", *cast_stages(config), "output"


SCALE_CAST = ("exponent", "shifted", "rounded")
"""Stage boundaries inside the cast to the format of the scale."""

RECIPROCAL_DIGITS = FP32.man_bits + 1
"""Steps of the division that makes the factor of the orders ``te`` and ``paper``."""


def maximum_stages(config: Nvfp4Config) -> tuple[str, ...]:
    """Stage boundaries inside the tree of whole magnitudes, whose last level is its output."""
    return tuple(f"level{number}" for number in range((config.numerics.block_size - 1).bit_length()))


def scale_stages(config: Nvfp4Config) -> tuple[str, ...]:
    """Stage boundaries inside the unit that makes the scale byte."""
    if config.numerics.order not in (Order.TE, Order.PAPER):
        return ()
    sixth = ("sixth",) if config.numerics.order is Order.PAPER else ()
    cast = (f"scale_{name}" for name in SCALE_CAST)
    return *sixth, "leading", "normalised", "partials", "ratio", "nearest", "packed", *cast


def reciprocal_stages(config: Nvfp4Config) -> tuple[str, ...]:
    """Stage boundaries inside the unit that makes the factor, and at its output where it is part of another one."""
    if config.numerics.order not in (Order.TE, Order.PAPER) or config.microarchitecture.form == "table":
        return ()
    divisor = ("rows", "denominator", "divisor_cut", "divisor_rounded", "divisor")
    return *divisor, *(f"digits{count}" for count in range(2, RECIPROCAL_DIGITS + 1, 2)), "compared", "reciprocal"


def factor_stages(config: Nvfp4Config) -> tuple[str, ...]:
    """Stage boundaries inside the unit that makes of the scale what lanes are told."""
    thresholds = (
        ("multiples", "left", "least2", "least4", "threshold") if config.microarchitecture.form == "thresholds" else ()
    )
    return *reciprocal_stages(config), *thresholds


def lane_stages(config: Nvfp4Config) -> tuple[str, ...]:
    """Stage boundaries inside a lane."""
    return ("entry",) if config.microarchitecture.form == "thresholds" else ()


def candidate_stages(config: Nvfp4Config) -> tuple[str, ...]:
    """Stage boundaries inside one of the two candidates of `FourOverSix`."""
    sums = (f"sum{number}" for number in range(1, config.numerics.block_size))
    return *factor_stages(config), "factor", *lane_stages(config), "codes", "errors", *sums


def _of_nvfp4(config: Nvfp4Config) -> tuple[str, ...]:
    lanes = (*factor_stages(config), "factor", *lane_stages(config))
    if config.numerics.four_over_six is not FourOverSix.OFF:
        lanes = candidate_stages(config)
    return "input", *maximum_stages(config), "amax", *scale_stages(config), "scale", *lanes, "output"


def _of_nvfp4_decoder(config: Nvfp4DecoderConfig) -> tuple[str, ...]:
    reduced = ("reduced",) if config.numerics.convention is Convention.AMAX else ()
    return "input", "scaled", *reduced, "products", "output"


def _of_hadamard(config: HadamardConfig) -> tuple[str, ...]:
    return "input", "aligned", "level1", "level2", "level3", "level4", "output"


STAGES: dict[str, Callable[..., tuple[str, ...]]] = {
    "encode": _of_encoder,
    "decode": _of_decoder,
    "cast": _of_cast,
    "two_level_encode": _of_nvfp4,
    "two_level_decode": _of_nvfp4_decoder,
    "hadamard": _of_hadamard,
}
"""By the name of the operation."""


def in_order(config: HardwareConfig, names: Iterable[str]) -> tuple[str, ...]:
    """Names of stage boundaries in the order of data flow. Raises ValueError for one that the converter does not have,
    and for one that is named twice.
    """
    names, known = list(names), stages(config)
    for name in names:
        if name not in known:
            raise ValueError(unknown_name("stage boundary", name, known))
        if names.count(name) > 1:
            raise ValueError(f"registered_after has {name} twice: every stage boundary has one register")
    return tuple(sorted(names, key=known.index))
