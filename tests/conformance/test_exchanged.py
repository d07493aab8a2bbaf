"""A function that returns codes first and scales second gets this message, in whatever form it returns them."""

import shutil
import subprocess
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.cli import main


def of(format, change=lambda scales, codes: (codes, scales), **rules):
    def encode(x):
        q = mxcast.quantize(x, format, **rules)
        return change(q.scales.reshape(-1), q.codes)

    return encode


def packed(codes):
    return codes[:, 0::2] | codes[:, 1::2] << 4


EXCHANGED = {
    "e4m3": ("e4m3", of("e4m3")),
    "a list, scales in a column": ("e2m1", of("e2m1", lambda scales, codes: [codes, scales[:, None]])),
    "two codes in a byte": ("e2m1", of("e2m1", lambda scales, codes: (packed(codes), scales))),
    "wide integers": ("int8", of("int8", lambda scales, codes: (codes.astype(np.int64), scales.astype(np.int32)))),
    "dtypes of ml_dtypes": (
        "e4m3",
        of("e4m3", lambda scales, codes: (codes.view(ml_dtypes.float8_e4m3fn), scales.view(ml_dtypes.float8_e8m0fnu))),
    ),
    "attributes": ("e2m1", of("e2m1", lambda scales, codes: SimpleNamespace(scales=codes, codes=scales))),
    "nvfp4": ("nvfp4", of("nvfp4")),
    "nvfp4 with a tensor scale": ("nvfp4", of("nvfp4", lambda scales, codes: (codes, scales, np.float32(1)))),
}


@pytest.mark.parametrize("case", EXCHANGED)
def test_functions(case):
    format, function = EXCHANGED[case]
    with pytest.raises(ValueError, match="codes and scales seem to be exchanged, and scales come first"):
        mxcast.identify(function, format, blocks=1000)


@pytest.mark.parametrize(
    "change", [lambda s, c: (s[:3], c), lambda s, c: (c, c), lambda s, c: (s, s), lambda s, c: (c, 1)]
)
def test_other_sizes_are_not(change):
    with pytest.raises(ValueError, match="cannot be read: ") as error:
        mxcast.identify(of("e4m3", change), "e4m3", blocks=1000)
    assert "exchanged" not in str(error.value)


SOURCE = """
#include <stddef.h>
#include <stdint.h>
void right(const float *x, uint8_t *scales, uint8_t *codes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    scales[i] = 127;
    for (int j = 0; j < 32; j++) codes[32 * i + j] = x[32 * i + j] < 0 ? 10 : 2;
  }
}
void exchanged(const float *x, uint8_t *codes, uint8_t *scales, size_t n) { right(x, scales, codes, n); }
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no C compiler")
def test_pointers_of_a_shared_library(tmp_path, capsys):
    (tmp_path / "f.c").write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "f.so", tmp_path / "f.c"], check=True)
    options = ["-f", "e2m1", "--blocks", "1000", "-q"]
    assert main(["identify", f"{tmp_path / 'f.so'}:exchanged", *options]) == 2
    assert capsys.readouterr().err.endswith("scales: are the pointers to scales and codes exchanged?\n")
    assert main(["identify", f"{tmp_path / 'f.so'}:right", *options]) == 1
