"""The command in this process, and files to convert."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mxcast.cli import main


@pytest.fixture
def passes(capsys) -> Callable[..., str]:
    """Run the command, which must succeed in silence on stderr; returns its stdout."""

    def run(*arguments: object) -> str:
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture
def fails(capsys) -> Callable[..., str]:
    """Run the command, which must fail with this code and one sentence on stderr; returns the sentence. With --json
    it is in the document on stdout too.
    """

    def run(code: int, *arguments: object) -> str:
        got = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert got == code, err
        assert err.startswith("mxcast: ") and err.count("\n") == 1 and err.endswith("\n"), err
        sentence = err[len("mxcast: ") : -1]
        if "--json" in arguments:
            assert json.loads(out) == {"error": sentence, "exit_code": code}
        else:
            assert out == "", "an error must not look like a result"
        return sentence

    return run


@pytest.fixture
def numbers() -> np.ndarray:
    """(6, 64) float32 over many binades, with a block of zeros, a NaN and an Inf."""
    random = np.random.default_rng(7)
    x = (random.standard_normal((6, 64)) * 2.0 ** random.integers(-30, 30, (6, 1))).astype(np.float32)
    x[1, 3], x[2, 40], x[4, :32] = np.nan, np.inf, 0
    return x


@pytest.fixture
def saved(tmp_path) -> Callable[..., Path]:
    """Write an array as `.npy`."""

    def save(array: np.ndarray, name: str = "x.npy") -> Path:
        np.save(tmp_path / name, array)
        return tmp_path / name

    return save


@pytest.fixture
def raw_safetensors(tmp_path) -> Callable[..., Path]:
    """Write a file of tensors of any dtype, given as (dtype, shape, bytes); from the description of the format."""

    def write(
        tensors: dict[str, tuple[str, tuple[int, ...], bytes]],
        metadata: dict[str, str] | None = None,
        name: str = "in.safetensors",
    ) -> Path:
        header, data = ({"__metadata__": metadata} if metadata else {}), b""
        for tensor, (dtype, shape, raw) in tensors.items():
            header[tensor] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        (tmp_path / name).write_bytes(struct.pack("<Q", len(text)) + text + data)
        return tmp_path / name

    return write
