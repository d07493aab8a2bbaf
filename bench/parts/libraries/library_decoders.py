"""Other libraries that decode MX formats, as functions to compare with the golden model.

A decoder is made for scale bytes (n,) and codes (n, 32), in the form that the library takes. It takes nothing and
returns the numbers, (n, 32), as an array or a tensor of the library; `patterns` makes NumPy patterns of these.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from mxcast.models.arrays.codes import code_values
from mxcast.spec import BLOCKS, block_format

if TYPE_CHECKING:
    import torch

Decoder = Callable[[], "np.ndarray | torch.Tensor"]

ALL = tuple(block.short_name for block in BLOCKS.values())
FLOATS = tuple(name for name in ALL if name != "int8")
FROM_ML_DTYPES = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}
TO_ML_DTYPES = {"fp32": np.float32, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library that decodes, and the profile that has its rules."""

    name: str
    packages: tuple[str, ...]
    """Python packages that decide the bits."""
    function: str
    """The called function, in words."""
    sources: tuple[str, ...] = ()
    """For sources that are not a Python package: environment variable with their folder, and release."""
    profile: str
    formats: tuple[str, ...]
    destinations: tuple[str, ...]
    make: Callable[[np.ndarray, np.ndarray, str, str], Decoder]
    """From scale bytes, codes, the short name of the format and the destination to the decoder. Raises ImportError
    where the library is not installed."""


def patterns(numbers: np.ndarray | torch.Tensor) -> np.ndarray:
    """The bit patterns of numbers, unsigned, from a NumPy array or a tensor of PyTorch."""
    if not isinstance(numbers, np.ndarray):
        import torch

        numbers = numbers.view({2: torch.int16, 4: torch.int32}[numbers.element_size()]).numpy()
    return numbers.view(f"u{numbers.itemsize}")


def version_of(library: Library) -> str:
    """The versions of what decides the bits; raises ImportError where something is not installed."""
    if library.sources and library.sources[0] not in os.environ:
        raise ImportError(f"{library.sources[0]} does not name a folder with the sources of {library.sources[1]}")
    try:
        return ", ".join([*library.sources[1:], *(f"{package} {version(package)}" for package in library.packages)])
    except PackageNotFoundError as missing:
        raise ImportError(str(missing)) from missing


def packed(codes: np.ndarray) -> np.ndarray:
    """Two codes of four bits to a byte, the even element in the low half."""
    return np.ascontiguousarray(codes[:, 0::2] | codes[:, 1::2] << 4)


def _ml_dtypes(scales: np.ndarray, codes: np.ndarray, name: str, destination: str) -> Decoder:
    elements, factors = codes.view(FROM_ML_DTYPES[name]), scales.view(ml_dtypes.float8_e8m0fnu)
    if destination == "fp32":
        return lambda: elements.astype(np.float32) * factors.astype(np.float32)[:, None]
    to = TO_ML_DTYPES[destination]
    return lambda: (elements.astype(np.float32) * factors.astype(np.float32)[:, None]).astype(to)


def _gfloat(scales: np.ndarray, codes: np.ndarray, name: str, destination: str) -> Decoder:
    from gfloat import decode_block, formats

    format = getattr(formats, f"format_info_{block_format(name).name}")
    rows = np.column_stack([scales, codes]).tolist()
    return lambda: np.array([list(decode_block(format, row)) for row in rows]).astype(np.float32)


def _torchao(scales: np.ndarray, codes: np.ndarray, name: str, destination: str) -> Decoder:
    import torch
    from torchao.prototype.mx_formats.mx_tensor import to_dtype

    torch.set_num_threads(1)
    element = {
        "e5m2": torch.float8_e5m2,
        "e4m3": torch.float8_e4m3fn,
        "e3m2": "fp6_e3m2",
        "e2m3": "fp6_e2m3",
        "e2m1": torch.float4_e2m1fn_x2,
    }[name]
    given = torch.from_numpy(packed(codes) if name == "e2m1" else codes)
    given = given.view(element) if name in ("e5m2", "e4m3") else given
    factors, to = torch.from_numpy(scales).view(torch.float8_e8m0fnu)[:, None], _torch_dtype(destination)
    return lambda: to_dtype(given, factors, element, codes.shape[1], to)


def _torch_dtype(destination: str) -> torch.dtype:
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[destination]


def _ldexp(scales: np.ndarray, codes: np.ndarray, name: str, destination: str) -> Decoder:
    """The arithmetic of gpt-oss: elements of a table in BF16, and `torch.ldexp` with the byte less 127."""
    import torch

    torch.set_num_threads(1)
    table = torch.from_numpy(code_values(block_format(name).element).copy()).to(_torch_dtype(destination))
    places, exponents = torch.from_numpy(codes), torch.from_numpy(scales)
    return lambda: torch.ldexp(table[places.long()], (exponents.int() - 127)[:, None])


def _gguf(scales: np.ndarray, codes: np.ndarray, name: str, destination: str) -> Decoder:
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    half = codes.shape[1] // 2  # the first half of the elements in the low halves of the bytes
    blocks = np.concatenate([scales[:, None], codes[:, :half] | codes[:, half:] << 4], axis=1)

    return lambda: dequantize(blocks, GGMLQuantizationType.MXFP4)


AXI_TYPES = """
package axi_pkg;  // the types that idma_pkg names, which no number depends on
  typedef logic [1:0] burst_t;
  typedef logic [2:0] prot_t;
  typedef logic [3:0] cache_t;
  typedef logic [3:0] qos_t;
  typedef logic [3:0] region_t;
endpackage
"""
IDMA_PAIRS = """
module pairs;
  import idma_float_pkg::*;
  initial begin
    for (int scale = 0; scale < 256; scale++)
      for (int code = 0; code < 256; code++) begin
        automatic logic [31:0] number = mxfp8_byte_to_fp32_prescaled(8'(code), decode_signed_scale(8'(scale)));
        $display("pair %h %h", number, fp32_bits_to_fp16(number));
      end
    $finish;
  end
endmodule
"""
"""Prints the FP32 and FP16 patterns of all pairs by the functions of iDMA's package."""


@lru_cache(maxsize=1)
def _idma_pairs(sources: Path) -> np.ndarray:
    """(256, 256, 2) patterns: for a scale byte and a code those to FP32 and to FP16, by Verilator."""
    from mxcast.sim.run.tools import simulator_environment

    with tempfile.TemporaryDirectory() as folder:
        for name, text in {"axi_pkg.sv": AXI_TYPES, "pairs.sv": IDMA_PAIRS}.items():
            Path(folder, name).write_text(text)
        theirs = [sources / "src" / name for name in ("idma_pkg.sv", "idma_float_pkg.sv")]
        options = ["--binary", "-Wno-fatal", "-Wno-lint", "--top-module", "pairs", "-o", "pairs"]
        command = [
            "verilator",
            *options,
            f"-I{sources / 'target' / 'rtl' / 'include'}",
            "axi_pkg.sv",
            *theirs,
            "pairs.sv",
        ]
        run = {"cwd": folder, "env": simulator_environment(), "check": True, "capture_output": True, "text": True}
        subprocess.run(command, **run)
        lines = subprocess.run([Path(folder, "obj_dir", "pairs")], **run).stdout.splitlines()
    found = [[int(word, 16) for word in line.split()[1:]] for line in lines if line.startswith("pair ")]
    return np.array(found, np.uint32).reshape(256, 256, 2)


def _idma(scales: np.ndarray, codes: np.ndarray, name: str, destination: str) -> Decoder:
    pairs = _idma_pairs(Path(os.environ["IDMA"]).resolve())
    column, dtype = {"fp32": (0, np.uint32), "fp16": (1, np.uint16)}[destination]
    return lambda: pairs[scales[:, None], codes, column].astype(dtype)


LIBRARIES: dict[str, Library] = {
    library.name: library
    for library in (
        Library(
            name="ml_dtypes",
            packages=("ml_dtypes", "numpy"),
            function="both casts to float32, their product, its cast",
            profile="ocp",
            formats=FLOATS,
            destinations=("fp32", "bf16", "fp16"),
            make=_ml_dtypes,
        ),
        Library(
            name="gfloat",
            packages=("gfloat",),
            function="decode_block",
            profile="ocp",
            formats=ALL,
            destinations=("fp32",),
            make=_gfloat,
        ),
        Library(
            name="torchao",
            packages=("torchao", "torch"),
            function="to_dtype",
            profile="torchao",
            formats=FLOATS,
            destinations=("fp32", "bf16", "fp16"),
            make=_torchao,
        ),
        Library(
            name="gpt_oss",
            packages=("torch",),
            function="torch.ldexp, as gpt-oss calls it",
            profile="gpt_oss",
            formats=("e2m1",),
            destinations=("bf16",),
            make=_ldexp,
        ),
        Library(
            name="gguf",
            packages=("gguf",),
            function="dequantize of MXFP4",
            profile="ggml",
            formats=("e2m1",),
            destinations=("fp32",),
            make=_gguf,
        ),
        Library(
            name="idma",
            packages=("verilator",),
            sources=("IDMA", "PULP iDMA v0.7.0"),
            function="mxfp8_byte_to_fp32_prescaled of idma_float_pkg, and fp32_bits_to_fp16",
            profile="idma",
            formats=("e5m2",),
            destinations=("fp32", "fp16"),
            make=_idma,
        ),
    )
}
"""The libraries by name."""
