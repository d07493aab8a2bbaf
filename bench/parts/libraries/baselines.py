"""Other libraries that convert to MX formats, as functions to time with the golden model.

A baseline is made for an array. Its function is timed; what the function returns is read and compared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from mxcast.conformance.adapters import ADAPTERS, compressed_tensors_blocks, gguf_blocks
from mxcast.models.arrays.packing import unpack
from mxcast.spec import BlockFormat, Encode, Kind, numerics

from . import ggml

Results = tuple[np.ndarray, ...]
"""Codes and scales, or decoded numbers."""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A library's converter of one array."""

    convert: Callable[[], object]
    """The timed function."""
    results: Callable[[], Results]
    """Its results, in the form of `models`."""
    profile: str = "ocp"
    """The profile with its rules."""


ASIDE = "torchao_parts"
"""The baseline that is no library call, but a way of calling one that is found by trying."""

CASTS = {
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e2m1": ml_dtypes.float4_e2m1fn,
}
ROWS = 1024
"""Blocks in a chunk of the ml_dtypes baseline, and of torchao's in `ASIDE`: the fastest powers of two."""
TORCHAO_ROWS = 16 * ROWS


def baselines(x: np.ndarray, block: BlockFormat) -> dict[str, Baseline]:
    """Everything installed that converts (n, 32) finite float32 numbers into this format, by name."""
    under_ocp = {"ml_dtypes": _ml_dtypes(x, block), **_torchao(x, block), **_microxcaling(x, block)}
    return {
        **{name: Baseline(convert=convert, results=convert) for name, convert in under_ocp.items()},
        **_of_layout("gguf", "ggml", gguf_blocks.stored, x, block),
        **_of_layout("compressed_tensors", "compressed_tensors", compressed_tensors_blocks.stored, x, block),
        **_ggml(x, block),
    }


def _ml_dtypes(x: np.ndarray, block: BlockFormat) -> Callable[[], Results]:
    element, codes, scales = block.element, np.empty(x.shape, np.uint8), np.empty(len(x), np.uint8)
    limit = np.float32(element.max_value)

    def convert() -> Results:
        for start in range(0, len(x), ROWS):
            rows = slice(start, start + ROWS)
            byte = np.maximum((np.abs(x[rows]).max(axis=1).view(np.uint32) >> 23).astype(np.int32) - element.emax, 0)
            scaled = x[rows] * np.ldexp(np.float32(1), 127 - byte)[:, None]
            np.clip(scaled, -limit, limit, out=scaled)
            scales[rows] = byte
            if element.kind is Kind.FIXED:
                codes[rows] = np.rint(scaled * np.float32(1 << element.frac_bits)).astype(np.int8).view(np.uint8)
            else:
                codes[rows] = scaled.astype(CASTS[element.name]).view(np.uint8)
        return codes, scales

    return convert


def _torchao(x: np.ndarray, block: BlockFormat) -> dict[str, Callable[[], Results]]:
    """`to_mx` in eager mode: release 0.18 does not compile for a CPU, whose code generator lacks E8M0."""
    try:
        import torch
        from torchao.prototype.mx_formats import constants
        from torchao.prototype.mx_formats.config import ScaleCalculationMode
        from torchao.prototype.mx_formats.mx_tensor import to_mx
    except ImportError:
        return {}
    dtype = {
        "e5m2": torch.float8_e5m2,
        "e4m3": torch.float8_e4m3fn,
        "e3m2": constants.DTYPE_FP6_E3M2,
        "e2m3": constants.DTYPE_FP6_E2M3,
        "e2m1": torch.float4_e2m1fn_x2,
    }.get(block.element.name)
    if dtype is None:
        return {}
    torch.set_num_threads(1)
    tensor = torch.from_numpy(x)

    def convert(rows: int) -> Results:
        parts = [to_mx(part, dtype, block.block_size, ScaleCalculationMode.FLOOR) for part in tensor.split(rows)]
        scales, codes = (
            np.concatenate([part[i].view(torch.uint8).numpy() for part in parts])
            if len(parts) > 1
            else parts[0][i].view(torch.uint8).numpy()
            for i in (0, 1)
        )
        return codes, scales[:, 0]

    return {"torchao": lambda: convert(len(tensor)), ASIDE: lambda: convert(TORCHAO_ROWS)}


def _microxcaling(x: np.ndarray, block: BlockFormat) -> dict[str, Callable[[], Results]]:
    try:
        convert = ADAPTERS["microxcaling"].function(numerics(block))
    except ValueError:  # it is not installed
        return {}
    return {"microxcaling": lambda: (convert(x),)}


def _of_layout(
    name: str,
    profile: str,
    make: Callable[[Encode], Callable[[np.ndarray], Mapping[str, np.ndarray]]],
    x: np.ndarray,
    block: BlockFormat,
) -> dict[str, Baseline]:
    """A library whose results are the tensors of its layout, which has the name of its profile."""
    adapter = ADAPTERS[name]
    if adapter.version is None or block.element.name not in adapter.operations["encode"]:
        return {}
    convert = make(numerics(block, profile))

    def results() -> Results:
        found = unpack(convert(x), profile, block)
        return found.codes, found.scales.reshape(-1)

    return {name: Baseline(convert=lambda: convert(x), results=results, profile=profile)}


def _ggml(x: np.ndarray, block: BlockFormat) -> dict[str, Baseline]:
    """ggml's reference in C, if the environment variable GGML names its sources."""
    if not ggml.is_there() or block.element.name != "e2m1":
        return {}

    def results() -> Results:
        found = unpack({"weight": ggml.quantize(x)}, "ggml", block)
        return found.codes, found.scales.reshape(-1)

    return {"ggml": Baseline(convert=lambda: ggml.quantize(x), results=results, profile="ggml")}
