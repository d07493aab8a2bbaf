"""Flush-to-zero mode of the processor, which some libraries set for the whole process, is refused."""

import ctypes
import platform
import subprocess

import numpy as np
import pytest

from mxcast.models import dequantize, quantize

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
