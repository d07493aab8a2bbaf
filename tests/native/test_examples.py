"""The examples in C and C++ print the bytes and the loss that the golden model gives for the same numbers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from mxcast import dequantize, pack, quantize
from mxcast.models import philox_random
from mxcast.native.structs import HEADER

from .harness.header import WARNINGS

EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(tmp_path: Path, *command: str) -> list[str]:
    """The lines that a program prints."""
    words = [*command, *WARNINGS, "-I", HEADER.parent, "-o", tmp_path / "example", "-lm"]
    subprocess.run(words, check=True, cwd=EXAMPLES)
    return subprocess.run([tmp_path / "example"], capture_output=True, text=True, check=True).stdout.splitlines()


def decibels(x: np.ndarray, y: np.ndarray) -> float:
    wide = x.astype(np.float64)
    return 10 * np.log10((wide**2).sum() / ((wide - y) ** 2).sum())


def numbers(tmp_path: Path, blocks: int, size: int) -> np.ndarray:
    """The numbers of the examples: sinf is of the C library."""
    (tmp_path / "numbers.c").write_text(
        "#include <math.h>\n#include <stdio.h>\n"
        f"int main(void) {{ for (int i = 0; i < {blocks * size}; i++) {{ float x = sinf((float)i) * "
        f"(float)(1 + i / {size}); fwrite(&x, 4, 1, stdout); }} return 0; }}\n"
    )
    subprocess.run(["gcc", tmp_path / "numbers.c", "-o", tmp_path / "numbers", "-lm"], check=True)
    return np.frombuffer(subprocess.run([tmp_path / "numbers"], capture_output=True, check=True).stdout, np.float32)


def test_blocks_in_c(tmp_path: Path) -> None:
    bytes_, loss = printed(tmp_path, "gcc", "-std=c99", "-O2", "blocks.c")
    x = numbers(tmp_path, 4, 32)
    q = quantize(x[None], "e2m1")
    (expected,) = pack(q, "ggml").values()
    assert bytes.fromhex(bytes_) == expected.tobytes()
    assert loss == f"{decibels(x, dequantize(q)[0]):.1f} dB in 68 bytes"


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_nvfp4_in_cpp(level: str, tmp_path: Path) -> None:
    *rows, loss = printed(tmp_path, "g++", "-std=c++17", level, "nvfp4.cpp")
    x = numbers(tmp_path, 8, 16)
    q = quantize(x[None], "nvfp4", rounding="sr", random=philox_random((1, 128), 7))
    codes = "".join(f"{code:x}" for code in q.codes[0])
    scales = [f"{scale:02x}" for scale in q.scales[0]]
    assert rows == [scale + codes[16 * i : 16 * i + 16] for i, scale in enumerate(scales)]
    assert loss == f"{decibels(x, dequantize(q)[0]):.1f} dB"
