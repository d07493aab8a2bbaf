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

from mxcast.hdl import configuration
from mxcast.native.folder import c_files
from mxcast.native.structs import HEADER
from mxcast.sim.stimuli.boundary import boundary_blocks
from mxcast.spec import numerics

from .harness.header import LOOPS, WARNINGS, Header
from .harness.model import Answered, difference

CLANG = pytest.mark.skipif(shutil.which("clang") is None, reason="clang is not installed")
COMPILERS = [
    ("gcc", "-std=c99"),
    ("gcc", "-std=c11"),
    ("g++", "-x", "c++", "-std=c++17"),
    pytest.param(("clang", "-std=c99"), marks=CLANG),
]


@pytest.mark.parametrize(
    "compiler, level",
    [*(("gcc", level) for level in ("-O0", "-O1", "-O3", "-Os")), pytest.param("clang", "-O3", marks=CLANG)],
)
def test_no_optimization_changes_a_bit(compiler: str, level: str, survey: Answered, tmp_path: Path) -> None:
    """All other tests compile by gcc -O2."""
    assert difference(Header(tmp_path, flags=(level,), compiler=compiler), survey) is None


@pytest.mark.parametrize("command", COMPILERS, ids=" ".join)
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
from tests.native.harness.header import Header
from tests.native.harness.model import answers

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


BIG_ENDIAN = "s390x-linux-gnu-gcc", "qemu-s390x"
"""A compiler for a big-endian processor, and a program that runs its results (Debian: gcc-s390x-linux-gnu,
libc6-dev-s390x-cross, qemu-user).
"""


PLANTED = """#include <string.h>
static void *planted(void *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((char *)to)[i] = ((const char *)from)[n - 1 - i];
    return to;
}
"""
"""A planted bug: numbers are copied as if the other byte came first."""


NEEDS_BIG_ENDIAN = pytest.mark.skipif(
    not all(map(shutil.which, BIG_ENDIAN)), reason=f"needs {' and '.join(BIG_ENDIAN)}"
)


def big_endian(folder: Path, op: str, format: str, planted: str = "", **rules: str) -> subprocess.CompletedProcess[str]:
    """Run the test in C that `mxcast emit --c` writes on a big-endian processor; ``planted`` copies numbers in place of
    memcpy.
    """
    for path, text in c_files(configuration(op, format, **rules), "model").values():
        place = folder / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(
            planted + text.replace("memcpy(", "planted(") if planted and place.name == HEADER.name else text
        )
    compiler, machine = BIG_ENDIAN
    command = [compiler, "-std=c99", "-O2", "-static", "-o", "model", "test.c"]
    subprocess.run(command, cwd=folder / "c", check=True)
    return subprocess.run([machine, folder / "c" / "model"], capture_output=True, text=True)


@NEEDS_BIG_ENDIAN
@pytest.mark.parametrize(
    "op, format, rules",
    [
        ("encode", "e4m3", {}),
        ("encode", "int8", {"source": "bf16", "rounding": "sr"}),
        ("decode", "e5m2", {}),
        ("decode", "e2m1", {"destination": "bf16"}),
        ("cast", "e4m3", {}),
        ("encode", "nvfp4", {}),
    ],
)
def test_big_endian(op: str, format: str, rules: dict[str, str], tmp_path: Path) -> None:
    done = big_endian(tmp_path, op, format, **rules)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("PASS"), done.stdout


@NEEDS_BIG_ENDIAN
def test_a_wrong_order_of_bytes_is_found(tmp_path: Path) -> None:
    done = big_endian(tmp_path, "encode", "e4m3", PLANTED)
    assert done.returncode != 0 and done.stdout.splitlines()[-1].startswith("FAIL")
