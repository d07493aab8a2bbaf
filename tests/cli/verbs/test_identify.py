"""`mxcast identify`: functions of files and shared libraries, adapters, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mxcast.cli import main
from mxcast.conformance.adapters import ADAPTERS

SOURCE = """
import numpy as np
import mxcast

def encode(x):
    q = mxcast.quantize(x, "e2m1", profile="nvidia")
    return q.scales, q.codes

number = 3
"""
LIBRARY = """
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* OCP's rule for E2M1 of finite numbers, by the definition: the nearest of eight values, ties to the even code. */
extern "C" void encode(const float *x, uint8_t *scales, uint8_t *codes, size_t blocks) {
  static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (size_t b = 0; b < blocks; b++) {
    double largest = 0;
    bool special = false;
    for (int i = 0; i < 32; i++) {
      largest = fmax(largest, fabs((double)x[32 * b + i]));
      special |= !isfinite(x[32 * b + i]);
    }
    int exponent;
    frexp(largest, &exponent);
    int byte = largest == 0 ? 0 : exponent - 1 - 2 + 127;
    byte = special ? 255 : byte < 0 ? 0 : byte;
    scales[b] = byte;
    for (int i = 0; i < 32; i++) {
      double v = ldexp(fabs((double)x[32 * b + i]), 127 - byte);
      int best = 0;
      for (int c = 1; c < 8; c++) {
        double d = fabs(values[c] - v), e = fabs(values[best] - v);
        if (d < e || (d == e && c % 2 == 0)) best = c;
      }
      codes[32 * b + i] = special ? 0 : best | (signbit(x[32 * b + i]) ? 8 : 0);
    }
  }
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return path


def test_a_function_of_a_file(file, capsys):
    assert main(["identify", f"{file}:encode", "-f", "e2m1", "--blocks", "1000"]) == 0
    assert "FOLLOWS: " in (said := capsys.readouterr().out) and "follows nvidia" in said
    assert main(["identify", f"{file}:encode", "-f", "e2m1", "--profile", "nvidia", "--blocks", "1000"]) == 0
    assert main(["identify", f"{file}:encode", "-f", "e2m1", "--profile", "te", "--blocks", "1000"]) == 1
    assert "follows nvidia" in (said := capsys.readouterr().out) and "mxcast explain mxfp4_e2m1 --profile te" in said
    assert main(["identify", f"{file}:encode", "-f", "e2m1", "--json", "--blocks", "1000"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "follows" and document["matches"][0]["names"] == ["nvidia", "torchao_rceil"][:1]


def test_a_module_of_this_folder(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert main(["identify", "mine:encode", "-f", "e2m1", "-q", "--blocks", "1000"]) == 0


def test_a_function_of_a_shared_library(tmp_path, capsys):
    (tmp_path / "mx.cpp").write_text(LIBRARY)
    library = tmp_path / "libmx.so"
    subprocess.run(["g++", "-O1", "-shared", "-fPIC", "-o", library, tmp_path / "mx.cpp"], check=True)
    assert main(["identify", f"{library}:encode", "-f", "e2m1", "--profile", "ocp", "--blocks", "1000"]) == 0
    assert "follows ocp" in capsys.readouterr().out
    assert main(["identify", f"{library}:decode", "-f", "e2m1"]) == 2
    assert "has no function 'decode'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["gfloat", "-f", "e2m1", "--op", "decode"], "follows ocp"),
        (["ml_dtypes", "-f", "e5m2", "--op", "cast"], "follows ml_dtypes"),
    ],
)
def test_adapters(arguments, said, capsys):
    assert main(["identify", *arguments, "--blocks", "500"]) == 0
    assert said in capsys.readouterr().out


def test_adapters_are_listed(capsys):
    assert main(["list", "adapters"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ADAPTERS)


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["gfloatt", "-f", "e2m1"], "unknown adapter 'gfloatt': did you mean 'gfloat'?"),
        (["ml_dtypes", "-f", "e2m1"], "the adapter ml_dtypes does not encode e2m1: it has cast: "),
        (["no_such_module:f", "-f", "e2m1"], "no_such_module cannot be imported"),
        (["nowhere.py:f", "-f", "e2m1"], "nowhere.py cannot be read: No such file or directory"),
        (["nowhere.so:f", "-f", "e2m1"], "nowhere.so cannot be loaded"),
        (["json:nothing", "-f", "e2m1"], "json has no 'nothing'"),
        (["json:decoder", "-f", "e2m1"], "json:decoder is no function"),
        (["json:dumps"], "a format is missing"),
        (["json:dumps", "-f", "e2m1", "--set", "rounding=sr"], "called with float32 (10000, 32), uint16 (10000, 32)"),
        (["gfloat", "-f", "e2m1", "--set", "rounding=sr"], "the adapter gfloat takes no random bits"),
        (["json:dumps", "-f", "nvfp4", "--op", "decode"], "functions are identified of encode"),
        (["json:dumps", "-f", "e2m1"], "json:dumps raised TypeError when it was called with float32 (10000, 32)"),
    ],
)
def test_one_sentence(arguments, sentence, capsys):
    assert main(["identify", *arguments]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


def test_an_adapter_without_its_library(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gfloat", None)
    assert main(["identify", "gfloat", "-f", "e2m1"]) == 2
    assert "the adapter gfloat needs gfloat" in capsys.readouterr().err


def test_what_a_function_prints_is_no_result(tmp_path):
    (tmp_path / "prints.py").write_text(
        SOURCE.replace("def encode(x):", "def encode(x):\n    print('hello')\n    os.write(1, b'there')").replace(
            "import mxcast", "import mxcast, os"
        )
    )
    command = [
        sys.executable,
        "-m",
        "mxcast.cli",
        "identify",
        f"{tmp_path / 'prints.py'}:encode",
        "-f",
        "e2m1",
        "--blocks",
        "100",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "follows"
    assert "hello" in done.stderr and "there" in done.stderr


def test_a_function_that_ends_the_interpreter_is_an_error(tmp_path):
    """Not a silent success: in a process of its own, which it would end."""
    (tmp_path / "ends.py").write_text("import os\n\ndef encode(x):\n    os._exit(0)\n")
    command = [sys.executable, "-m", "mxcast.cli", "identify", f"{tmp_path / 'ends.py'}:encode", "-f", "e2m1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert "raised SystemExit" in done.stderr and done.stderr.strip().endswith("os._exit(0)")
