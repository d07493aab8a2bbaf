"""The profiles nvfp4_ao and nvfp4_ao_single against torchao itself, if it is installed, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.models import quantize_nvfp4

from ..nvfp4_blocks import AMAXIMA, edges, random_blocks, ties

torch = pytest.importorskip("torch", reason="torch is optional: pip install torch torchao")
pytest.importorskip("torchao", reason="torchao is optional: pip install torch torchao")
from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale  # noqa: E402


def torchao(x: np.ndarray, a: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (n,) and codes (n, 16) of blocks (n, 16)."""
    scale = None if a is None else per_tensor_amax_to_scale(torch.tensor(a))
    scales, packed = nvfp4_quantize(torch.from_numpy(x), 16, scale)
    pairs = packed.view(torch.uint8).numpy()  # the even element in the low half
    return scales.view(torch.uint8).numpy().reshape(-1), np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(-1, 16)


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("a", [*AMAXIMA, None])
def test_every_block(a, count, record_property):
    x = np.concatenate([edges(), ties(), random_blocks(count, 11)])
    profile = "nvfp4_ao_single" if a is None else "nvfp4_ao"
    q = quantize_nvfp4(x, "nvfp4", profile, tensor_amax=a)
    scales, codes = torchao(x, a)
    assert np.array_equal(q.scales[:, 0], scales) and np.array_equal(q.codes, codes)
    record_property("blocks", len(x))
