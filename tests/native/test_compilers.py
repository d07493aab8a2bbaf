"""The header in both languages, at every level of optimization and under sanitizers."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mxcast.native.structs import HEADER
from mxcast.sim.stimuli.boundary import boundary_blocks
from mxcast.spec import numerics

from .header import LOOPS, WARNINGS, Header
from .model import Answered, difference

COMPILERS = [("gcc", "-std=c99"), ("gcc", "-std=c11"), ("g++", "-x", "c++", "-std=c++17"), ("clang", "-std=c99")]
FOUND = [command for command in COMPILERS if shutil.which(command[0])]
"""Compilers that are installed here."""


@pytest.mark.parametrize("level", ["-O0", "-O1", "-O3", "-Os"])
def test_no_optimization_changes_a_bit(level: str, survey: Answered, tmp_path: Path) -> None:
    assert difference(Header(tmp_path, flags=(level,)), survey) is None


@pytest.mark.parametrize("command", FOUND, ids=" ".join)
def test_both_languages_compile_without_a_warning(command: tuple[str, ...], tmp_path: Path) -> None:
    """Also where a program uses no function of the header."""
    (tmp_path / "empty.c").write_text('#include "mxcast.h"\nint main(void) { return 0; }\n')
    for source in (LOOPS, tmp_path / "empty.c"):
        subprocess.run(
            [*command, *WARNINGS, "-Wshadow", "-I", HEADER.parent, "-c", source, "-o", tmp_path / "a.o"], check=True
        )


def test_fast_math_is_refused(tmp_path: Path) -> None:
    command = ["gcc", "-ffast-math", "-I", HEADER.parent, "-c", LOOPS, "-o", tmp_path / "a.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "compile without -ffast-math" in done.stderr


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="sets the control register of x86")
def test_flush_to_zero_changes_no_bit(header: Header, tmp_path: Path) -> None:
    """Subnormal numbers keep their value while the processor flushes them in its own arithmetic."""
    (tmp_path / "mode.c").write_text(
        "#include <xmmintrin.h>\nunsigned get(void) { return _mm_getcsr(); }\n"
        "void set(unsigned value) { _mm_setcsr(value); }\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "mode.c", "-o", tmp_path / "mode.so"], check=True)
    mode, rules = ctypes.CDLL(str(tmp_path / "mode.so")), numerics("int8")
    x = np.concatenate([boundary_blocks(rules)[:200], (np.arange(1, 1601, dtype=np.uint32) << 12).reshape(50, 32)])
    before = header.encode(rules, x)
    usual = mode.get()
    mode.set(usual | 0x8040)  # flush to zero, denormals are zero
    try:
        flushed = header.encode(rules, x)
    finally:
        mode.set(usual)
    assert (before[1][-50:] != 0).any()
    for one, other in zip(before, flushed):
        np.testing.assert_array_equal(one, other)


SANITIZED = """
import sys
from pathlib import Path
from tests.native.header import Header
from tests.native.model import answers

folder = Path(sys.argv[1])
header = Header(folder, (folder / "given.h").read_text(), flags=sys.argv[2:])
print(sum(array.size for _, array in answers(header)))
"""
FLAGS = ["-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def sanitized(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """A survey of all operations under sanitizers, which prints the number of results."""
    (folder / "given.h").write_text(text)
    preloaded = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True)
    environment = {**os.environ, "LD_PRELOAD": preloaded.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, "-c", SANITIZED, folder, *FLAGS]
    return subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True)


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    """Neither undefined behaviour nor an access outside an array in a survey of all operations."""
    done = sanitized(tmp_path, HEADER.read_text())
    assert done.returncode == 0 and int(done.stdout) > 1_000_000, done.stderr


@pytest.mark.parametrize(
    "right, wrong, report",
    [
        ("codes[i] = (uint16_t)mxcast_signed", "codes[i + 1] = (uint16_t)mxcast_signed", "heap-buffer-overflow"),
        ("p.code = (int64_t)(significand << -dropped);", "p.code = (int64_t)significand << dropped;", "shift exponent"),
    ],
)
def test_sanitizers_find_a_planted_mistake(right: str, wrong: str, report: str, tmp_path: Path) -> None:
    text = HEADER.read_text()
    assert right in text
    done = sanitized(tmp_path, text.replace(right, wrong))
    assert done.returncode != 0 and report in done.stderr, done.stderr
