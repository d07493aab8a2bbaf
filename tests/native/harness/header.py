"""The header `mxcast.h` as functions on NumPy arrays, compiled with given flags."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mxcast.native.structs import HEADER, words
from mxcast.spec import Cast, Decode, Encode, Nvfp4Decode, Nvfp4Encode, Operation

LOOPS = Path(__file__).with_name("loops.c")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
C99 = ("gcc", "-std=c99")


def compiled(folder: Path, text: str, flags: Sequence[str] = ("-O2",), compiler: str = C99[0]) -> Path:
    """The shared library of `loops.c` with a header of this text."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mxcast.h").write_text(text)
    library = folder / "loops.so"
    command = [compiler, *C99[1:], *WARNINGS, *flags, "-I", folder, "-shared", "-fPIC", LOOPS, "-o", library]
    subprocess.run(command, check=True)
    return library


def struct(operation: Operation) -> ctypes.Array[ctypes.c_int]:
    """The struct of an operation."""
    members = words(operation)
    return (ctypes.c_int * len(members))(*members)


def pointer(array: np.ndarray | None) -> ctypes.c_void_p | None:
    assert array is None or array.flags.c_contiguous
    return None if array is None else ctypes.c_void_p(array.ctypes.data)


def dtype_of(bits: int) -> np.dtype:
    return np.dtype(f"u{bits // 8}")


class Header:
    """Functions of a compiled header. Numbers are patterns, codes are uint16."""

    def __init__(
        self, folder: Path, text: str | None = None, flags: Sequence[str] = ("-O2",), compiler: str = C99[0]
    ) -> None:
        text = HEADER.read_text() if text is None else text
        self.library = ctypes.CDLL(str(compiled(folder, text, flags, compiler)))

    def encode(self, rules: Encode, x: np.ndarray, random: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Scale bytes (n,) and codes (n, block_size) of patterns (n, block_size)."""
        assert x.dtype == dtype_of(rules.source.bits) and x.shape[1] == rules.block_size
        scales, codes = np.zeros(len(x), np.uint8), np.zeros(x.shape, np.uint16)
        blocks = ctypes.c_size_t(len(x))
        self.library.encode(struct(rules), blocks, pointer(x), pointer(random), pointer(scales), pointer(codes))
        return scales, codes

    def decode(
        self, rules: Decode, scales: np.ndarray, codes: np.ndarray, random: np.ndarray | None = None
    ) -> np.ndarray:
        """Patterns (n, block_size) of scale bytes (n,) and codes (n, block_size)."""
        assert (scales.dtype, codes.dtype) == (np.uint8, np.uint16) and codes.shape == (len(scales), rules.block_size)
        y, blocks = np.zeros(codes.shape, dtype_of(rules.destination.bits)), ctypes.c_size_t(len(codes))
        self.library.decode(struct(rules), blocks, pointer(scales), pointer(codes), pointer(random), pointer(y))
        return y

    def cast(self, rules: Cast, numbers: np.ndarray, random: np.ndarray | None = None) -> np.ndarray:
        """Codes of codes, both uint64."""
        assert numbers.dtype == np.uint64
        results, count = np.zeros(numbers.shape, np.uint64), ctypes.c_size_t(numbers.size)
        self.library.cast(struct(rules), count, pointer(numbers), pointer(random), pointer(results))
        return results

    def nvfp4_encode(
        self, rules: Nvfp4Encode, amax: np.ndarray | int, x: np.ndarray, random: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scales (n,), codes (n, block_size), and the constants k and d (n, 2) of the tensor of each block.

        ``amax`` is a pattern of FP32, or one for each block.
        """
        assert x.dtype == dtype_of(rules.source.bits) and x.shape[1] == rules.block_size
        scales, codes, constants = (
            np.zeros(len(x), np.uint8),
            np.zeros(x.shape, np.uint16),
            np.zeros((len(x), 2), np.uint32),
        )
        maxima = np.ascontiguousarray(np.broadcast_to(np.asarray(amax, np.uint32), len(x)))
        arrays = [pointer(array) for array in (maxima, x, random, scales, codes, constants)]
        self.library.nvfp4_encode(struct(rules), ctypes.c_size_t(len(x)), *arrays)
        return scales, codes, constants

    def nvfp4_decode(self, rules: Nvfp4Decode, tensor_scale: int, scales: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Patterns (n, block_size). ``tensor_scale`` is a pattern of FP32."""
        assert (scales.dtype, codes.dtype) == (np.uint8, np.uint16)
        y, blocks = np.zeros(codes.shape, dtype_of(rules.destination.bits)), ctypes.c_size_t(len(codes))
        arrays = [pointer(array) for array in (scales, codes, y)]
        self.library.nvfp4_decode(struct(rules), blocks, ctypes.c_uint32(tensor_scale), *arrays)
        return y
