"""Flush-to-zero mode and directed rounding of the processor, which some libraries set, are refused."""

import ctypes
import platform
import subprocess

import numpy as np
import pytest

from mxcast.models import cast, dequantize, quantize

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="sets the control register of x86"
)

MODES = 0x8040
"""Flush-to-zero and denormals-are-zero of the x86 control register."""


@pytest.fixture
def control(tmp_path):
    """Functions to read and write the control register of this thread."""
    (tmp_path / "mode.cpp").write_text(
        '#include <xmmintrin.h>\nextern "C" unsigned get() { return _mm_getcsr(); }\n'
        'extern "C" void set(unsigned value) { _mm_setcsr(value); }\n'
    )
    subprocess.run(["g++", "-shared", "-fPIC", tmp_path / "mode.cpp", "-o", tmp_path / "mode.so"], check=True)
    library = ctypes.CDLL(str(tmp_path / "mode.so"))
    before = library.get()
    yield library
    library.set(before)


@pytest.mark.parametrize("bits", [MODES, 0x8000, 0x0040], ids=["both", "flush to zero", "denormals are zero"])
def test_conversions_are_refused(control, bits):
    x = np.full((1, 32), 0x00400000, np.uint32).view(np.float32)
    q = quantize(x, "e4m3")
    assert q.codes[0, 0] != 0
    control.set(control.get() | bits)
    for convert in (lambda: quantize(x, "e4m3"), lambda: dequantize(q)):
        with pytest.raises(RuntimeError, match="flushes subnormal numbers to zero"):
            convert()
    control.set(control.get() & ~bits)
    np.testing.assert_array_equal(dequantize(q), x)


@pytest.mark.parametrize("bits", [0x2000, 0x4000, 0x6000], ids=["down", "up", "toward zero"])
def test_directed_rounding_is_refused(control, bits):
    """The sums in the conversions need the usual rounding."""
    x = np.linspace(-3, 3, 64, dtype=np.float32)
    q = quantize(x, "e4m3")
    control.set(control.get() | bits)
    try:
        for convert in (lambda: quantize(x, "e4m3"), lambda: dequantize(q, jobs=2), lambda: cast(x, "e4m3")):
            with pytest.raises(RuntimeError, match="does not round to nearest"):
                convert()
    finally:
        control.set(control.get() & ~bits)
    np.testing.assert_array_equal(quantize(x, "e4m3").codes, q.codes)
