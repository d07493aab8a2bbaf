"""The encoding of one NVFP4 block, step by step: every binary32 operation between its numbers and its bits.

The results come from the exact definition. An explanation is only returned if the fast model gives the same block and
the steps lead to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np

from ..models.arrays.source import DTYPES
from ..models.exact.binary32 import LARGEST, Special, Value, divide, is_nan, minimum, multiply, value_of
from ..models.exact.encode import decode, element_value
from ..models.exact.nvfp4_decode import decode_block
from ..models.exact.nvfp4_encode import (
    ORDERS,
    Constants,
    block_scale,
    encode_under,
    encoded,
    error,
    largest,
    tensor_constants,
)
from ..models.fast.nvfp4_encode import Constants as ArrayConstants
from ..models.fast.nvfp4_encode import encode_blocks
from ..spec import (
    E2M1,
    FP32,
    BlockFormat,
    Convention,
    FourOverSix,
    NumberFormat,
    Nvfp4Encode,
    Nvfp4Fields,
    Order,
    nvfp4_decoding,
    nvfp4_encoding,
    profile_of,
)
from .explanation import (
    CLASSES,
    Record,
    StepByStep,
    as_float,
    class_of,
    code_fields,
    difference,
    random_numbers,
    require_codes,
    require_same,
)

ONE, SIX = Fraction(1), Fraction(6)


@dataclass(frozen=True, kw_only=True)
class Binary32Step(Record):
    """One binary32 operation, or a few with one result."""

    name: str
    formula: str
    """In the letters of `spec.Order`."""
    pattern: int
    """The result as FP32."""
    value: float


@dataclass(frozen=True, kw_only=True)
class CandidateStep(Record):
    """A candidate scale under `FourOverSix`."""

    largest_becomes: int
    scale: int
    error: float


@dataclass(frozen=True, kw_only=True)
class Nvfp4Element(Record):
    """One element, from its number x to its code."""

    lane: int
    pattern: int
    kind: str
    """One of `CLASSES`."""
    value: float
    """x."""
    y: float
    """The scaled number, rounded to binary32."""
    y_pattern: int
    below: int | None
    """Magnitude of the largest code that is not above |y|; None beyond the largest code."""
    random: int | None
    """The random bits, under the rounding ``sr``."""
    action: str
    """exact, down, up, tie down, tie up, saturated, zero or nan."""
    code: int
    fields: str
    """The code in binary: sign, exponent field and fraction."""
    element: float
    """Value of the code."""
    decoded: float
    """The decoded number, by the decoder of the order's convention."""
    error: float | None
    """``decoded`` minus x; None unless both are finite."""


@dataclass(frozen=True, kw_only=True)
class Nvfp4Explanation(StepByStep):
    """One block with every step of its conversion."""

    numerics: Nvfp4Encode
    given: int
    """Number of given elements; zeros complete the block."""
    classes: dict[str, int]
    tensor: tuple[Binary32Step, ...]
    """a, and the constants of the tensor."""
    block: tuple[Binary32Step, ...]
    """b, t, s and the factor of the numbers."""
    scale: int
    candidates: tuple[CandidateStep, ...]
    """The candidate scales under `FourOverSix`."""
    elements: tuple[Nvfp4Element, ...]

    @property
    def patterns(self) -> list[str]:
        """The source patterns in hexadecimal, as `mxcast explain --values` takes them."""
        digits = -(-self.numerics.source.bits // 4)
        return [f"0x{step.pattern:0{digits}X}" for step in self.elements]

    def to_dict(self) -> dict[str, object]:
        """For JSON. ``values`` contains the block for `mxcast explain --values`."""
        return {"values": ",".join(self.patterns), **super().to_dict()}


Letters = Mapping[str, Value]
Formula = tuple[str, str, Callable[[Letters], Value]]

GLOBAL: tuple[Formula, ...] = (
    ("C / a", "C / a", lambda v: divide(v["C"], v["a"])),
    ("S", "min(C / a, max), or 1", lambda v: ONE if 0 in (v["a"], v["C / a"]) else minimum(v["C / a"], LARGEST)),
)
INVERSE: tuple[Formula, ...] = (("d", "1 / S", lambda v: divide(ONE, v["S"])),)
QUOTIENT: tuple[Formula, ...] = (("k", "a / C", lambda v: divide(v["a"], v["C"])),)
SIXTH: tuple[Formula, ...] = (("b / 6", "b / 6", lambda v: divide(v["b"], SIX)),)
TE_FACTOR: tuple[Formula, ...] = (
    ("s * d", "s * d", lambda v: multiply(v["s"], v["d"])),
    ("f", "min(1 / (s * d), max)", lambda v: minimum(divide(ONE, v["s * d"]), LARGEST)),
)
DIVISOR: tuple[Formula, ...] = (
    ("k", "C * (1 / max(a, 2**-126)), or 1", lambda v: v["k"]),
    ("d", "k", lambda v: v["k"]),
)
AO_BLOCK = (*SIXTH, ("(b / 6) / k", "(b / 6) / k", lambda v: divide(v["b / 6"], v["k"])))
AO_FACTOR: tuple[Formula, ...] = (("f", "d / s", lambda v: divide(v["d"], v["s"])),)

TRACES: dict[Order, tuple[tuple[Formula, ...], tuple[Formula, ...], tuple[Formula, ...]]] = {
    Order.TE: (
        (*GLOBAL, ("k", "S * (1/6)", lambda v: multiply(v["S"], divide(ONE, SIX))), *INVERSE),
        (("b * k", "b * k", lambda v: multiply(v["b"], v["k"])),),
        TE_FACTOR,
    ),
    Order.PAPER: (
        (*GLOBAL, ("k", "S", lambda v: v["S"]), *INVERSE),
        (*SIXTH, ("(b / 6) * k", "(b / 6) * k", lambda v: multiply(v["b / 6"], v["k"]))),
        TE_FACTOR,
    ),
    Order.AO: ((*QUOTIENT, ("d", "1 / k", lambda v: divide(ONE, v["k"]))), AO_BLOCK, AO_FACTOR),
    Order.AO_SINGLE: ((), AO_BLOCK, AO_FACTOR),
    Order.MODELOPT: (
        (*QUOTIENT, ("d", "k", lambda v: v["k"])),
        (
            ("6 * k", "6 * k", lambda v: multiply(SIX, v["k"])),
            ("b / (6 * k)", "b / (6 * k)", lambda v: divide(v["b"], v["6 * k"])),
        ),
        (("f", "s * d, by which x is divided", lambda v: multiply(v["s"], v["d"])),),
    ),
    Order.COMPRESSED_TENSORS: (
        DIVISOR,
        (*SIXTH, ("k * (b / 6)", "k * (b / 6)", lambda v: multiply(v["k"], v["b / 6"]))),
        (("f", "s / d, by which x is divided", lambda v: divide(v["s"], v["d"])),),
    ),
}
"""The operations of each order: for the tensor, for t before it is clamped, and for the factor of the numbers."""


def explain_nvfp4(
    block: Sequence[int],
    format: str | BlockFormat | NumberFormat | Nvfp4Encode,
    profile: str | None = None,
    *,
    tensor_amax: float | None = None,
    constants: tuple[int, ...] | None = None,
    random: Sequence[int] | None = None,
    **rules: Unpack[Nvfp4Fields],
) -> Nvfp4Explanation:
    """Convert one block and keep every step.

    Parameters
    ----------
    block : bit patterns of at most block_size numbers of the source, which zeros complete
    format, profile, rules : the operation, as for `quantize_nvfp4`
    tensor_amax : the largest magnitude of the tensor, by default of the block
    constants : instead of tensor_amax, the binary32 patterns of k and d, as hardware takes them, and with four_over_six
        also of a. Without a, a decoder that takes the largest magnitude gives NaN
    random : random bits of each element under the rounding ``sr``, which zeros complete

    Returns
    -------
    Nvfp4Explanation
        the constants of the tensor, the scale of the block, and each element from its number to its code

    Raises
    ------
    ValueError
        for too many elements, patterns outside the source format, random bits without the rounding ``sr``, an invalid
        tensor_amax, constants together with tensor_amax or of an order without constants, and an unknown name
    AssertionError
        if the fast model or the steps disagree with the exact definition, which is a defect of mxcast

    >>> why = explain_nvfp4([0x40533333], "nvfp4", tensor_amax=10)  # 3.3
    >>> [(step.name, hex(step.pattern)) for step in why.tensor]
    [('a', '0x41200000'), ('C / a', '0x43866666'), ('S', '0x43866666'), ('k', '0x42333333'), ('d', '0x3b73cf3e')]
    >>> hex(why.scale), why.elements[0].y_pattern == 0x40C51EB7, why.elements[0].action
    ('0x71', True, 'saturated')
    """
    numerics = nvfp4_encoding(format, profile, **rules)
    require_codes("patterns", block, numerics.source, numerics.block_size)
    patterns = [*block, *[0] * (numerics.block_size - len(block))]
    drawn = random_numbers(random, numerics.block_size, numerics)
    numbers = [decode(pattern, numerics.source) for pattern in patterns]
    b = largest(numbers, numerics.order)
    if constants is None:
        of_tensor = tensor_constants(b if tensor_amax is None else _magnitude(tensor_amax, numerics), numerics)
    else:
        of_tensor = _given(constants, tensor_amax, numerics)
    scale, codes = encode_under(patterns, numerics, of_tensor, drawn)
    require_same(_fast(patterns, numerics, of_tensor, drawn), (scale, codes))
    tensor = _constant_steps(numerics, of_tensor, is_given=constants is not None)
    of_block = _block_steps(numerics, of_tensor, b, scale)
    decoded = _decoded(scale, codes, numerics, of_tensor)
    factor = ORDERS[numerics.order].factor(value_of(numerics.scale_format.decode(scale)), of_tensor.d)
    elements = tuple(
        _element(lane, patterns[lane], codes[lane], factor, drawn[lane], decoded[lane], numerics)
        for lane in range(len(patterns))
    )
    return Nvfp4Explanation(
        numerics=numerics,
        profile=profile_of(numerics, profile),
        given=len(block),
        classes={kind: [step.kind for step in elements].count(kind) for kind in CLASSES},
        tensor=tensor,
        block=of_block,
        scale=scale,
        candidates=_candidates(patterns, numerics, of_tensor, b),
        elements=elements,
    )


def _magnitude(given: float, numerics: Nvfp4Encode) -> Value:
    with np.errstate(over="ignore"):
        a = float(np.float32(given))
    if a < 0 or (math.isnan(a) and ORDERS[numerics.order].ignores_nan):
        raise ValueError(f"tensor_amax must be a magnitude, not {a}")
    if math.isnan(a):
        return Special.NAN
    return Special.INF if math.isinf(a) else Fraction(a)


def _float(value: Value) -> float:
    if isinstance(value, Fraction):
        return float(value)
    return math.inf if value is Special.INF else math.nan


def _step(name: str, formula: str, value: Value) -> Binary32Step:
    pattern = int(np.array(_float(value), np.float32).view(np.uint32))
    if value is Special.INVALID:
        pattern |= 1 << 31
    return Binary32Step(name=name, formula=formula, pattern=pattern, value=_float(value))


def _given(constants: tuple[int, ...], tensor_amax: float | None, numerics: Nvfp4Encode) -> Constants:
    """Constants by their patterns. The largest magnitude is NaN if it is not given."""
    if tensor_amax is not None:
        raise ValueError("constants follow from tensor_amax: give one of them")
    if numerics.block.tensor_scale is None:
        raise ValueError(f"the order {numerics.order} has no constants of a tensor")
    names = "k, d and a" if numerics.four_over_six is not FourOverSix.OFF else "k and d"
    count = 2 if names == "k and d" else 3
    if len(constants) != count or not all(0 <= pattern <= FP32.magnitude_mask for pattern in constants):
        raise ValueError(f"constants must be patterns of binary32 without a sign, of {names}, not {constants}")
    k, d, *a = (value_of(decode(pattern, FP32)) for pattern in constants)
    return Constants(k, d, a[0] if a else Special.NAN)


def _constant_steps(numerics: Nvfp4Encode, constants: Constants, is_given: bool) -> tuple[Binary32Step, ...]:
    """From the largest magnitude of the tensor to its constants."""
    if is_given:
        return _step("k", "given", constants.k), _step("d", "given", constants.d)
    letters: dict[str, Value] = {"C": numerics.scale_max * E2M1.max_value, "a": constants.a, "k": constants.k}
    first = [] if numerics.block.convention is Convention.NONE else [_step("a", "the tensor's", constants.a)]
    steps = [*first, *_traced(TRACES[numerics.order][0], letters)]
    if (letters["k"], letters.get("d", ONE)) != (constants.k, constants.d):
        raise AssertionError(f"the steps shown do not lead to the constants of {numerics.order}")
    return tuple(steps)


def _block_steps(numerics: Nvfp4Encode, constants: Constants, b: Value, scale: int) -> tuple[Binary32Step, ...]:
    """From the largest magnitude of the block to its scale and to the factor of the numbers."""
    order, (_, of_ratio, of_factor) = ORDERS[numerics.order], TRACES[numerics.order]
    letters: dict[str, Value] = {"k": constants.k, "d": constants.d, "b": b}
    t, s = order.ratio(b, constants.k, numerics.scale_format), value_of(numerics.scale_format.decode(scale))
    steps = [_step("b", "the block's", b), *_traced(of_ratio, letters), _step("t", "clamped", t)]
    letters["s"] = s
    steps += [_step("s", f"0x{scale:02X}", s), *_traced(of_factor, letters)]
    if letters["f"] != order.factor(s, constants.d):
        raise AssertionError(f"the steps shown do not lead to the factor of {numerics.order}")
    return tuple(steps)


def _traced(formulas: Sequence[Formula], letters: dict[str, Value]) -> list[Binary32Step]:
    """The steps of formulas. Each result becomes a letter for the next ones."""
    steps = []
    for name, formula, result in formulas:
        letters[name] = result(letters)
        steps.append(_step(name, formula, letters[name]))
    return steps


def _candidates(
    patterns: Sequence[int], numerics: Nvfp4Encode, constants: Constants, b: Value
) -> tuple[CandidateStep, ...]:
    if numerics.four_over_six is FourOverSix.OFF:
        return ()
    numbers = [decode(pattern, numerics.source) for pattern in patterns]
    t = ORDERS[numerics.order].ratio(b, constants.k, numerics.scale_format)
    found = []
    for becomes, ratio in ((6, t), (4, multiply(t, Fraction(3, 2)))):
        scale, codes = encoded(numbers, block_scale(ratio, numerics), constants, numerics, [Fraction(0)] * len(numbers))
        e = error(numbers, scale, codes, constants, numerics)
        found.append(CandidateStep(largest_becomes=becomes, scale=scale, error=_float(e)))
    return tuple(found)


def _fast(
    patterns: Sequence[int], numerics: Nvfp4Encode, constants: Constants, random: Sequence[int]
) -> tuple[int, list[int]]:
    """The block by the fast model."""
    words = np.array([patterns], f"u{numerics.source.bits // 8}")
    scales, codes = np.empty(1, np.uint8), np.empty((1, len(patterns)), np.uint8)
    given = ArrayConstants(*(np.array(_float(one), np.float32) for one in (constants.k, constants.d, constants.a)))
    drawn = np.array([random], np.uint16) if numerics.random_bits else None
    encode_blocks(words.view(DTYPES[numerics.source.name]), numerics, given, scales, codes, drawn)
    return int(scales[0]), codes[0].tolist()


def _decoded(scale: int, codes: Sequence[int], numerics: Nvfp4Encode, constants: Constants) -> list[float]:
    """The numbers of the block, by the decoder of the order's convention."""
    convention = numerics.block.convention
    rules = nvfp4_decoding(numerics.block, convention=str(convention), scale_max=numerics.scale_max)
    stored = constants.a if convention is Convention.AMAX else constants.k
    words = np.array(decode_block(scale, codes, rules, stored), np.uint32)
    return [float(number) for number in words.view(np.float32)]


def _element(
    lane: int, pattern: int, code: int, factor: Value, random: int, decoded: float, numerics: Nvfp4Encode
) -> Nvfp4Element:
    number = decode(pattern, numerics.source)
    y = ORDERS[numerics.order].scaled(value_of(number), factor)
    x, shown = as_float(numerics.source.decode(pattern)), _step("y", "", y)
    below, action = _action(y, code & E2M1.magnitude_mask)
    return Nvfp4Element(
        lane=lane,
        pattern=pattern,
        kind=class_of(number, pattern, numerics.source),
        value=x,
        y=-shown.value if number.negative else shown.value,
        y_pattern=shown.pattern ^ (number.negative << 31 if not is_nan(y) else 0),
        below=below,
        random=random if numerics.random_bits else None,
        action=action,
        code=code,
        fields=code_fields(code, E2M1),
        element=as_float(E2M1.decode(code)),
        decoded=decoded,
        error=difference(decoded, x),
    )


def _action(y: Value, code: int) -> tuple[int | None, str]:
    """The magnitude of the largest code that is not above y, and the action that leads to the element."""
    if is_nan(y):
        return None, "nan"
    if y == 0:
        return 0, "zero"
    if isinstance(y, Special) or y > E2M1.max_value:
        return None, "saturated"
    below = max(c for c in range(E2M1.max_code + 1) if element_value(c, E2M1) <= y)
    if element_value(below, E2M1) == y:
        return below, "exact"
    middle = (element_value(below, E2M1) + element_value(below + 1, E2M1)) / 2
    return below, ("tie " if y == middle else "") + ("up" if code > below else "down")
