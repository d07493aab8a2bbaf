"""The profiles of libraries that write MX blocks, against the libraries, if they are installed: bit for bit, where
docs/numerics.md does not name a difference; and the differences that it names.
"""

from __future__ import annotations

import numpy as np
import pytest

from mxcast.models import quantize
from mxcast.sim import stimuli
from mxcast.spec import numerics

TOP = 0x7F800000


def finite_blocks(rules) -> np.ndarray:
    """FP32 patterns of directed blocks, of blocks on either side of every boundary, and random ones."""
    x = np.concatenate(
        [stimuli.corner_blocks(rules), stimuli.boundary_blocks(rules), stimuli.random_blocks(rules, 20_000, seed=21)]
    )
    return x[((x & 0x7FFFFFFF) < TOP).all(axis=1)]


def nibbles(packed: np.ndarray) -> np.ndarray:
    """The code of even index in the low half of each byte."""
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), -1)


def compared(x: np.ndarray, rules, bytes_: np.ndarray, codes: np.ndarray, same_byte, same_codes, record) -> None:
    """Compare the bytes of the blocks in ``same_byte``, and their codes in ``same_codes``."""
    q = quantize(x.view(np.float32), rules)
    np.testing.assert_array_equal(bytes_[same_byte], q.scales[same_byte, 0])
    same = same_codes & same_byte[:, None]
    np.testing.assert_array_equal(codes[same], q.codes[same])
    assert same_byte.mean() > 0.7 and same.sum() > 100_000
    record("blocks", int(same_byte.sum()))
    record("elements", int(same.sum()))


def maxima(x: np.ndarray) -> np.ndarray:
    return (x & 0x7FFFFFFF).max(axis=1)


def underflows(x: np.ndarray, rules) -> np.ndarray:
    """Numbers other than zero whose quotient by the scale is 0 in FP32."""
    scales = quantize(x.view(np.float32), rules).scales.astype(np.float64) - 127
    quotients = np.abs(x.view(np.float32).astype(np.float64)) / np.exp2(scales)
    return (quotients > 0) & (quotients <= 2.0**-150)


@pytest.mark.parametrize("element", ["e2m1", "e2m3", "e4m3"])
def test_compressed_tensors(element, record_property):
    torch = pytest.importorskip("torch", reason="torch is optional")
    pytest.importorskip("compressed_tensors", reason="compressed-tensors is optional")
    from compressed_tensors.compressors.mx_utils import compress_mx_scale
    from compressed_tensors.quantization.lifecycle.forward import quantize as elements
    from compressed_tensors.quantization.quant_args import QuantizationArgs
    from compressed_tensors.quantization.utils.helpers import calculate_qparams

    rules = numerics(element, "compressed_tensors")
    x, bits = finite_blocks(rules), rules.block.element.bits
    fields = {"num_bits": bits, "type": "float", "group_size": 32, "strategy": "group", "symmetric": True}
    asked = QuantizationArgs(**fields, scale_dtype=torch.uint8, zp_dtype=torch.uint8)
    numbers = torch.from_numpy(x.view(np.float32).copy())
    scales, zeros = calculate_qparams(numbers.amin(1, keepdim=True), numbers.amax(1, keepdim=True), asked)
    # modules have a zero point of 0, to which numbers are added; the compressor of MXFP6 leaves it out
    found = elements(numbers, scales, None if element == "e2m3" else zeros, asked).numpy()
    by_value = {"e4m3": "float8_e4m3fn", "e2m3": "float6_e2m3fn", "e2m1": "float4_e2m1fn"}[element]
    codes = found.astype(getattr(pytest.importorskip("ml_dtypes"), by_value)).view(np.uint8)
    bytes_ = compress_mx_scale(scales, torch.uint8).numpy().reshape(-1)
    top = {"e2m1": 0x7F600000, "e2m3": 0x7F780000, "e4m3": 0x7F600000}[element]  # from here on a rounds up to 2**128
    is_top = maxima(x) >= top
    assert is_top.any() and (bytes_[is_top] == 127).all()
    compared(x, rules, bytes_, codes, ~is_top, ~underflows(x, rules), record_property)


# 0.32.1 and before took a logarithm
@pytest.mark.parametrize("element, mode, lowest", [("e2m1", "mxfp4", 0x00C00000), ("e4m3", "mxfp8", 0x03E00000)])
def test_mlx(element, mode, lowest, record_property):
    mx = pytest.importorskip("mlx.core", reason="MLX is optional")
    rules = numerics(element, "mlx")
    bf16 = np.zeros((0x7F80, 32), np.uint32)  # every largest magnitude of BF16
    bf16[:, 0] = np.arange(0x7F80) << 16
    x = np.concatenate([finite_blocks(rules), bf16])
    words, scales = mx.quantize(mx.array(x.view(np.float32)), mode=mode)
    packed, bytes_ = np.array(words).view(np.uint8), np.array(scales).reshape(-1)
    codes = nibbles(packed) if element == "e2m1" else packed
    a = maxima(x)
    quotients = a.view(np.float32) / np.float32(rules.block.element.max_value)
    low = quotients <= 2.0**-128
    assert lowest <= a[low].max() < lowest * (1 + 2**-20) and (a == 0).any() and (bytes_[quotients == 0] == 127).all()
    exponents = np.ceil(np.log2(quotients[low & (quotients > 0)].astype(np.float64)))
    np.testing.assert_array_equal(bytes_[low & (quotients > 0)], (exponents + 127).astype(int) % 256)
    compared(x, rules, bytes_, codes, ~low, np.ones(x.shape, bool), record_property)


@pytest.mark.parametrize("element", ["e2m1", "e4m3"])
def test_modelopt(element, record_property):
    torch = pytest.importorskip("torch", reason="torch is optional")
    found = pytest.importorskip("modelopt.torch.quantization.qtensor", reason="ModelOpt is optional")
    rules = numerics(element, "modelopt")
    x = finite_blocks(rules)
    numbers = torch.from_numpy(x.view(np.float32).copy())
    if element == "e2m1":
        made, scales = found.MXFP4QTensor.quantize(numbers, 32)
        codes = nibbles(made._quantized_data.numpy())
    else:
        made, scales = found.MXFP8QTensor.quantize(numbers)
        codes = made._quantized_data.view(torch.uint8).numpy()
    bytes_ = scales.numpy().reshape(-1)
    q = quantize(x.view(np.float32), rules)
    less = bytes_ == q.scales[:, 0].astype(int) - 1  # log2 of what is just above a power of two is rounded down
    fractions = maxima(x) & 0x7FFFFF
    beyond = fractions.astype(int) - {"e2m1": 0x400000, "e4m3": 0x600000}[element]
    assert less.any() and ((beyond[less] > 0) & (beyond[less] < 64)).all()
    compared(x, rules, bytes_, codes, ~less, ~underflows(x, rules) | (element == "e4m3"), record_property)


def test_ggml(record_property):
    quants = pytest.importorskip("gguf.quants", reason="gguf is optional")
    rules = numerics("e2m1", "ggml")
    x = finite_blocks(rules)
    made = quants.MXFP4.quantize_blocks(x.view(np.float32))
    bytes_, packed, a = made[:, 0], made[:, 1:], maxima(x)
    codes = np.concatenate([packed & 15, packed >> 4], axis=1)
    more = bytes_ == quantize(x.view(np.float32), rules).scales[:, 0].astype(int) + 1
    low = (a > 0) & (a < 0x01000000)  # below 2**-125
    assert more.any() and ((a[more & ~low] & 0x7FFFFF) >= 0x800000 - 44).all()
    exact = np.frexp(a[low].view(np.float32).astype(np.float64))[1] - 1 - 2 + 127
    assert low.any() and (((bytes_[low] - exact) % 256 == 0) | ((bytes_[low] - exact) % 256 == 1)).all()
    compared(x, rules, bytes_, codes, ~more & ~low, np.ones(x.shape, bool), record_property)
