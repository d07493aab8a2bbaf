"""Places of bytes, against the definitions of the layouts and against the libraries themselves."""

import numpy as np
import pytest

from mxcast.models import dequantize, pack, quantize, quantize_nvfp4, swizzled, unpack, unswizzled
from mxcast.models.arrays.block_array import BlockArray
from mxcast.models.arrays.codes import code_values
from mxcast.spec import BLOCKS, E4M3, LAYOUTS, OTHER_BLOCKS, Convention, layout_named
from mxcast.spec.layouts.catalogue import Layout, Packing, Part

ALL = [layout for layouts in LAYOUTS.values() for layout in layouts.values()]
OF = {"ids": lambda layout: layout.name}
NAME = "model.up.weight"


def block_array(layout: Layout, shape: tuple[int, ...], seed: int = 0) -> BlockArray:
    """Random codes, and scales that all readers take alike; an array of three axes has a tensor scale for each part."""
    rng = np.random.default_rng(seed)
    block, axis = layout.block_format, layout.axis
    scales_shape = list(shape)
    scales_shape[axis] //= layout.width
    tensor_scale = None
    if block.tensor_scale is not None:
        lines = [*scales_shape]
        lines[axis] = 1
        parts = rng.random((shape[0] if len(shape) == 3 else 1, 1, 1)).astype(np.float32)
        tensor_scale = np.broadcast_to(parts, lines).copy() if len(shape) == 3 else parts.reshape(())
    return BlockArray(
        codes=rng.integers(0, 1 << block.element.bits, shape).astype(np.uint8),
        scales=rng.integers(1, 0x7F, scales_shape).astype(np.uint8),
        block=block,
        axis=axis,
        tensor_scale=tensor_scale,
    )


def shapes(layout: Layout) -> list[tuple[int, ...]]:
    unit = layout.width * layout.together
    found = [(16, 2 * unit), (1, unit), (130, 5 * unit), (2, 5, unit), (0, unit), (3, 0)]
    return [(*shape[:-2], shape[-1], shape[-2]) if layout.axis == -2 else shape for shape in found]


@pytest.mark.parametrize("layout", ALL, **OF)
def test_unpacking_is_the_inverse(layout):
    """For all shapes, with complete rows and with padding; packing is also the inverse of unpacking."""
    for shape in shapes(layout):
        q = block_array(layout, shape)
        stored = pack(q, layout.dialect, name=NAME)
        found = unpack(stored, layout.dialect, layout.block, name=NAME, shape=shape)
        assert found == q, shape
        again = pack(found, layout.dialect, name=NAME)
        assert all(np.array_equal(array, again[name]) for name, array in stored.items())


PLACES = {  # of bit b of code i of a block, from the definitions: the byte, and the bit in it
    Packing.BYTES: lambda i, b, width: (i, b),
    Packing.LOW_FIRST: lambda i, b, width: (i // 2, 4 * (i % 2) + b),
    Packing.HIGH_FIRST: lambda i, b, width: (i // 2, 4 - 4 * (i % 2) + b),
    Packing.HALVES: lambda i, b, width: (i % (width // 2), 4 * (i // (width // 2)) + b),
    Packing.LITTLE_ENDIAN: lambda i, b, width: ((6 * i + b) // 8, (6 * i + b) % 8),
    Packing.HIGH_PARTS: lambda i, b, width: (
        (i // 4 * 3, 6 - 2 * (i % 4) + b - 4) if b > 3 else (i // 4 * 3 + 1 + i % 4 // 2, 4 - 4 * (i % 2) + b)
    ),
}


@pytest.mark.parametrize("layout", [one for one in ALL if one.axis == -1], **OF)
def test_each_bit_stands_where_the_packing_says(layout):
    """One code of ones at a time, among zeros."""
    width, count = layout.width, layout.together
    bits = layout.element_bits
    for i in range(width):
        q = block_array(layout, (16, width * count))
        q.codes[...], q.scales[...] = 0, 1
        q.codes[0, i] = (1 << bits) - 1
        stored = pack(q, layout, name=NAME)[layout.codes.of(NAME)]
        found = np.ascontiguousarray(stored[0]).view(np.uint8).reshape(-1).copy()
        start = count if layout.place == "before" else 0
        expected = np.zeros_like(found)
        if layout.place != "apart":
            scale = slice(0, count) if start else slice(-count, None)
            expected[scale] = 1 if layout.scale_byte == "code" else 0x82  # of 2**-126
        for b in range(bits):
            byte, place = PLACES[layout.packing](i, b, width)
            expected[start + byte] |= 1 << place
        assert np.array_equal(found, expected), i


@pytest.mark.parametrize("shape", [(128, 4), (256, 8), (100, 5), (384, 12), (1, 1), (129, 9)])
def test_tiles_of_scales(shape):
    """Against the formula of the offset, r and c a row and a block; what completes the tiles is zero."""
    scales = np.random.default_rng(1).integers(1, 256, shape).astype(np.uint8)
    found = swizzled(scales)
    expected = np.zeros(found.size, np.uint8)
    for (r, c), scale in np.ndenumerate(scales):
        tile = r // 128 * -(-shape[1] // 4) + c // 4
        expected[tile * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scale
    assert np.array_equal(found.reshape(-1), expected)
    assert np.array_equal(unswizzled(found, *shape), scales)


def test_a_padded_tensor_is_stored_whole():
    """ComfyUI's: rows in multiples of 16, scales in whole tiles; the shape of the tensor is not in the arrays."""
    q = quantize_nvfp4(np.ones((20, 40), np.float32), "nvfp4", "nvfp4_ao", pad=True)
    stored = pack(q, "comfy")
    assert {name: array.shape for name, array in stored.items()} == {
        "weight": (32, 24),
        "weight_scale": (128, 4),
        "weight_scale_2": (),
    }
    found = unpack(stored, "comfy", "nvfp4", shape=(20, 40))
    assert found.shape == (20, 40) and np.array_equal(found.codes, q.codes) and np.array_equal(found.scales, q.scales)
    assert unpack(stored, "comfy", "nvfp4").shape == (32, 48)


@pytest.mark.parametrize(
    "dialect, code, codes, refused",
    [
        ("gpt_oss", 0xFF, 0, True),  # ldexp makes 2**128 of it
        ("torchao", 0xFF, 1, False),
        ("te", 0x00, 0, False),  # a factor of zero is right for zeros
        ("te", 0x00, 8, False),
        ("te", 0x00, 1, True),
        ("te", 0xFF, 0, True),
    ],
)
def test_a_scale_that_readers_take_for_another_number(dialect, code, codes, refused):
    layout = next(iter(LAYOUTS[dialect].values()))
    block = layout.block_format
    q = block_array(layout, (2, 64))
    q.codes[0, 32:] = codes if codes != 8 else block.element.sign_mask
    q.scales[0, 1] = code
    if not refused:
        assert unpack(pack(q, dialect), dialect, block) == q
        return
    with pytest.raises(ValueError, match=rf"0x{code:02X} of block \(0, 1\) to another number"):
        pack(q, dialect)


def test_a_tensor_scale_in_another_convention():
    """It is stored where float32 has the same number, and refused elsewhere."""
    ones = np.ones((2, 64), np.float32)
    q = quantize_nvfp4(ones, "nvfp4", "nvfp4_te", tensor_amax=np.float32(2688 / 8))
    assert pack(q, "modelopt")["weight_scale_2"] == np.float32(1 / 8)
    assert pack(q, "compressed_tensors")["weight_global_scale"] == np.float32(8)
    plain = quantize_nvfp4(ones, "nvfp4", "nvfp4_te", tensor_amax=np.float32(2688))
    assert set(pack(plain, "ggml")) == {"weight"}  # a factor of 1 is not written
    assert unpack(pack(plain, "ggml"), "ggml", "nvfp4").tensor_scale == 1
    tried = quantize_nvfp4(ones, "nvfp4", "nvfp4_te_4over6", scale_max=256, tensor_amax=np.float32(1536))
    assert pack(tried, "modelopt")["weight_scale_2"] == 1  # the largest scale of its tensor is 256, not 448
    for amax in (10, np.inf):
        q = quantize_nvfp4(ones, "nvfp4", "nvfp4_te", tensor_amax=np.float32(amax))
        assert pack(q, "te")["weight_amax_rowwise"] == np.float32(amax)
        with pytest.raises(ValueError, match="not a float32 number in the convention multiplier"):
            pack(q, "modelopt")
    rows = quantize_nvfp4(ones * np.float32([[1], [2]]), "nvfp4", "nvfp4_ao", row_scaled=True)
    with pytest.raises(ValueError, match="one tensor scale, or one for each index"):
        pack(rows, "modelopt")


def test_what_cannot_be_packed():
    q = quantize(np.ones((64, 64), np.float32), "e4m3")
    refused = {
        "the layout gpt_oss is of mxfp4_e2m1 .*, not of mxfp8_e4m3": lambda: pack(q, "gpt_oss"),
        "unknown layout 'gpt_os': did you mean": lambda: pack(q, "gpt_os"),
        "has them along axis -2": lambda: pack(quantize(np.ones((64, 64), np.float32), "e4m3", axis=0), "torchao"),
        "is of 2 axes or more": lambda: pack(quantize(np.ones(64, np.float32), "e4m3"), "te"),
        "a multiple of 64 elements in a row, not 32": lambda: pack(
            quantize_nvfp4(np.ones((2, 32), np.float32), "nvfp4", "nvfp4_ao"), "ggml"
        ),
    }
    for sentence, call in refused.items():
        with pytest.raises(ValueError, match=sentence):
            call()
    with pytest.raises(TypeError, match="pack takes what quantize returns"):
        pack(np.ones(32), "ggml")


def test_what_cannot_be_unpacked():
    stored = pack(quantize(np.ones((64, 64), np.float32), "e2m1"), "compressed_tensors")
    codes, scales = "weight_packed", "weight_scale"
    refused = {
        "the block format must be given": (stored, {"block": None}),
        "there is no array 'weight_scale'": ({codes: stored[codes]}, {}),
        "'weight_scale' must be uint8 in the layout .*, not uint16": (
            stored | {scales: stored[scales].astype(np.uint16)},
            {},
        ),
        r"scales of shape \(64, 2\) for these codes, not \(64, 1\)": (stored | {scales: stored[scales][:, :1]}, {}),
        "a multiple of 16 bytes in a row, not 31": (stored | {codes: stored[codes][:, :31]}, {}),
        r"an array of shape \(64, 65\) needs other codes": (stored, {"shape": (64, 65)}),
        "has 0 axes, too few": (stored | {codes: np.array(1, np.uint8)}, {}),
    }
    for sentence, (arrays, more) in refused.items():
        with pytest.raises(ValueError, match=sentence):
            unpack(arrays, "compressed_tensors", **({"block": "e2m1"} | more))
    with pytest.raises(TypeError, match="must be a NumPy array"):
        unpack({codes: [1], scales: [2]}, "compressed_tensors", "e2m1")


def test_layouts_that_make_no_sense_are_refused():
    fields = {"dialect": "own", "source": "a test", "block": "mxfp6_e2m3", "codes": Part(name="{name}", dtype="U8")}
    with pytest.raises(ValueError, match="no packing low_first for elements of 6 bits"):
        Layout(**fields, packing=Packing.LOW_FIRST, place="before")
    with pytest.raises(ValueError, match="scales in their own array must have a name"):
        Layout(**fields, packing=Packing.BYTES)


def numbers(shape=(256, 512)) -> np.ndarray:
    rng = np.random.default_rng(3)
    return (rng.standard_normal(shape) * np.exp2(rng.integers(-6, 7, (shape[0], 1)))).astype(np.float32)


def test_ggml_reads_what_is_packed_and_the_other_way():
    quants = pytest.importorskip("gguf.quants", reason="gguf is optional: pip install gguf")
    kinds = pytest.importorskip("gguf").GGMLQuantizationType
    q = quantize(numbers(), "e2m1")
    assert np.array_equal(quants.dequantize(pack(q, "ggml")["weight"], kinds.MXFP4), dequantize(q))
    theirs = quants.quantize(numbers(), kinds.MXFP4)
    found = unpack({"weight": theirs}, "ggml", "e2m1")
    assert np.array_equal(dequantize(found), quants.dequantize(theirs, kinds.MXFP4))
    assert np.array_equal(pack(found, "ggml")["weight"], theirs)
    q = quantize_nvfp4(numbers(), "nvfp4", "nvfp4_ao")
    unscaled = BlockArray(scales=q.scales, codes=q.codes, block=q.block.scaled_by(Convention.NONE))
    stored = pack(q, "ggml", name="blk.0.up.weight")
    assert np.array_equal(quants.dequantize(stored["blk.0.up.weight"], kinds.NVFP4), dequantize(unscaled))
    assert stored["blk.0.up.scale"] == q.tensor_scale


def test_comfyui_completes_rows_and_columns_of_mxfp8_to_32():
    """comfy-kitchen 0.2.40, tensor/mxfp8.py, get_padded_shape."""
    q = quantize(numbers((20, 40)), "e4m3", pad=True)
    stored = pack(q, "comfy")
    assert stored["weight"].shape == (32, 64) and stored["weight_scale"].shape == (128, 4)
    assert np.array_equal(dequantize(unpack(stored, "comfy", "e4m3", shape=(20, 40))), dequantize(q))


def test_mlx_has_no_global_scale_where_it_multiplies_by_1():
    """MLX 0.32.4, quantize without global_scale."""
    for amax, names in ((2688.0, {"weight", "scales"}), (2687.0, {"weight", "scales", "global_scale"})):
        q = quantize_nvfp4(numbers((2, 32)), "nvfp4", tensor_amax=amax)
        stored = pack(q, "mlx")
        assert set(stored) == names
        found = unpack(stored, "mlx", "nvfp4")
        assert found.tensor_scale == np.float32(amax) and np.array_equal(dequantize(found), dequantize(q))


def test_mlx_itself_without_a_global_scale():
    mlx = pytest.importorskip("mlx.core", reason="MLX is optional: pip install mlx[cpu]")
    x = numbers((4, 64))
    words, scales = mlx.quantize(mlx.array(x), group_size=16, bits=4, mode="nvfp4")
    theirs = np.array(mlx.dequantize(words, scales, group_size=16, bits=4, mode="nvfp4").astype(mlx.float32))
    found = unpack({"weight": np.array(words), "scales": np.array(scales)}, "mlx", "nvfp4")
    assert np.array_equal(dequantize(found, convention="amax"), theirs)


def test_comfyui_itself():
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch comfy-kitchen")
    kitchen = pytest.importorskip("comfy_kitchen", reason="comfy-kitchen is optional: pip install comfy-kitchen")
    x = numbers((20, 40))
    codes, scales = kitchen.quantize_mxfp8(torch.from_numpy(x), True)
    theirs = kitchen.dequantize_mxfp8(codes, scales, torch.float32).numpy()
    arrays = {"weight": codes.view(torch.uint8).numpy(), "weight_scale": scales.view(torch.uint8).numpy()}
    found = unpack(arrays, "comfy", "e4m3", shape=(20, 40))
    assert np.array_equal(dequantize(found), theirs[:20, :40])
    again = pack(found, "comfy")
    assert all(np.array_equal(again[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("dialect", ["torchao", "torchao_swizzled"])
@pytest.mark.parametrize("element", ["e4m3", "e5m2", "e2m1", "nvfp4"])
def test_torchao_stores_the_same(dialect, element):
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch torchao")
    pytest.importorskip("torchao", reason="torchao is optional: pip install torch torchao")
    from torchao.prototype.mx_formats.mx_tensor import MXTensor
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor

    x, is_swizzled, profile = torch.from_numpy(numbers()), dialect != "torchao", None
    if element == "nvfp4":
        g, profile = torch.tensor(float(np.abs(numbers()).max()) / 2688), "nvfp4_ao"
        theirs = NVFP4Tensor.to_nvfp4(x, 16, per_tensor_scale=g, is_swizzled_scales=is_swizzled)
    else:
        dtype = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "e2m1": torch.float4_e2m1fn_x2}[element]
        theirs = MXTensor.to_mx(x, dtype, 32, is_swizzled_scales=is_swizzled)
    arrays = {
        "_weight_qdata": theirs.qdata.contiguous().view(torch.uint8).numpy(),
        "_weight_scale": theirs.scale.contiguous().view(torch.uint8).numpy(),
    }
    if element == "nvfp4":
        arrays["_weight_per_tensor_scale"] = g.numpy()
    found = unpack(arrays, dialect, element)
    assert np.array_equal(dequantize(found, profile=profile), theirs.dequantize(torch.float32).numpy())
    assert all(np.array_equal(array, arrays[name]) for name, array in pack(found, dialect).items())


def test_compressed_tensors_packs_the_same():
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch compressed-tensors")
    reason = "compressed-tensors is optional: pip install compressed-tensors"
    four = pytest.importorskip("compressed_tensors.compressors.nvfp4.helpers", reason=reason).pack_fp4_to_uint8
    six = pytest.importorskip("compressed_tensors.compressors.mxfp6.helpers", reason=reason).pack_fp6_to_uint8
    for element, theirs in (("e2m1", four), ("e2m3", six)):
        q = quantize(numbers(), element)
        values = torch.from_numpy(code_values(q.block.element)[q.codes])
        assert np.array_equal(pack(q, "compressed_tensors")["weight_packed"], theirs(values).numpy())


def test_the_catalogue_is_of_known_formats():
    for layout in ALL:
        assert layout.block in BLOCKS | OTHER_BLOCKS
        assert layout_named(layout.dialect, layout.block_format) is layout
        assert layout.block_format.scale in (E4M3, BLOCKS["mxfp8_e4m3"].scale)
