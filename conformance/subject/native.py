"""A converter in a shared library, with C's calling convention."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...spec import FP32, BlockOperation, Cast, Decode, Encode, FloatFormat, NumberFormat, Nvfp4Encode, Operation

SUFFIXES = (".so", ".dylib", ".dll")

SIGNATURES = {
    "encode": "void f(const float *x, uint8_t *scales, uint8_t *codes, size_t blocks)",
    "two_level_encode": "void f(const float *x, uint8_t *scales, uint8_t *codes, size_t blocks)",
    "decode": "void f(const uint8_t *scales, const uint8_t *codes, float *y, size_t blocks)",
    "cast": "void f(const float *x, uint8_t *codes, size_t count)",
}
"""By the name of an operation. A code is a byte, and the elements of a block follow each other."""


def native(path: Path, name: str, rules: Operation) -> Callable:
    """A function of a shared library with a signature of `SIGNATURES`, as a function on arrays. Raises ValueError if
    the library or the function is missing, and for formats that the signatures do not support.
    """
    if rules.name not in SIGNATURES:
        raise ValueError(
            f"functions of shared libraries are identified of {', '.join(SIGNATURES)}, not of {rules.name}"
        )
    if rules.random_bits:
        raise ValueError("functions of shared libraries take no random bits: --samples judges their distribution")
    numbers = _numbers(rules)
    if numbers != FP32 or any(format.bits > 8 for format in _codes(rules)):
        raise ValueError(
            f"functions of shared libraries take FP32 numbers and codes in bytes: {SIGNATURES[rules.name]}"
        )
    try:
        function = getattr(ctypes.CDLL(str(path.resolve())), name)
    except OSError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    except AttributeError:
        raise ValueError(f"{path} has no function {name!r}") from None
    function.restype = None
    return CALLS[rules.name](function, rules)


def _numbers(rules: Operation) -> FloatFormat:
    if isinstance(rules, Cast):
        return rules.destination if rules.is_back else rules.source
    assert isinstance(rules, Encode | Decode | Nvfp4Encode)
    return getattr(rules, rules.NUMBERS)


def _codes(rules: Operation) -> tuple[NumberFormat, ...]:
    if isinstance(rules, Cast):
        return (rules.scalar,)
    assert isinstance(rules, BlockOperation)
    return rules.block.element, rules.block.scale


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _encoder(function: Callable, rules: Encode | Nvfp4Encode) -> Callable:
    def encode(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.ascontiguousarray(x)
        scales, codes = (
            np.zeros(x.size, np.uint8),
            np.zeros(x.shape, np.uint8),
        )  # room for codes if the pointers are exchanged
        function(_pointer(x), _pointer(scales), _pointer(codes), ctypes.c_size_t(len(x)))
        if scales[len(x) :].any():
            raise ValueError(f"it writes more than {len(x)} scales: are the pointers to scales and codes exchanged?")
        return scales[: len(x)], codes

    return encode


def _decoder(function: Callable, rules: Decode) -> Callable:
    def decode(scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        scales, codes = np.ascontiguousarray(scales), np.ascontiguousarray(codes)
        y = np.zeros(codes.shape, np.float32)
        function(_pointer(scales), _pointer(codes), _pointer(y), ctypes.c_size_t(len(codes)))
        return y

    return decode


def _caster(function: Callable, rules: Cast) -> Callable:
    if rules.is_back:
        raise ValueError("functions of shared libraries are identified of casts from FP32 to codes")

    def cast(x: np.ndarray) -> np.ndarray:
        x = np.ascontiguousarray(x)
        codes = np.zeros(x.shape, np.uint8)
        function(_pointer(x), _pointer(codes), ctypes.c_size_t(x.size))
        return codes

    return cast


CALLS: dict[str, Callable[..., Callable]] = {
    "encode": _encoder,
    "two_level_encode": _encoder,
    "decode": _decoder,
    "cast": _caster,
}
