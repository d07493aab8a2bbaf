"""FP8 under scales that are numbers, in files: read, counted, decoded, converted to other libraries and to MXFP8."""

import json
import math
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from mxcast.cli import main
from mxcast.spec.layouts.scaled import SCALED_LAYOUTS
from mxcast.tensors.containers.containers import read
from mxcast.tensors.inspect.inspection import inspect_file

from ..stored_files import write_raw

EVERY = [layout for layouts in SCALED_LAYOUTS.values() for layout in layouts.values()]
TILES = {"tensor": (0, 0), "row": (1, 0), "group": (1, 128), "block": (128, 128)}
NUMBERS = {
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "BF16": ml_dtypes.bfloat16,
    "F16": np.float16,
    "F32": np.float32,
}
NAME = "model.layers.0.mlp.up_proj.weight"


def random_codes(shape: tuple[int, ...], seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def random_scales(shape: tuple[int, ...], dtype: str, seed: int = 4) -> np.ndarray:
    """Positive scales of a dtype, as it is stored."""
    exponents = np.random.default_rng(seed).uniform(-12, -4, shape)
    return np.exp2(np.rint(exponents) if dtype == "F8_E8M0" else exponents).astype(NUMBERS[dtype])


def products(codes: np.ndarray, dtype: str, scales: np.ndarray, tile: tuple[int, int]) -> np.ndarray:
    """Codes times repeated scales in float64, which represents every product."""
    lead, (rows, columns) = codes.shape[:-2], codes.shape[-2:]
    counts = [math.ceil(n / size) if size else 1 for n, size in zip((rows, columns), tile)]
    factors = scales.astype(np.float64).reshape(
        *(lead if scales.size > math.prod(counts) else [1] * len(lead)), *counts
    )
    factors = factors.repeat(tile[0] or rows, axis=-2).repeat(tile[1] or columns, axis=-1)[..., :rows, :columns]
    with np.errstate(invalid="ignore", over="ignore"):
        return (codes.view(NUMBERS[dtype]).astype(np.float64) * factors).astype(np.float32)


def shape_of_scales(layout, grain: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the library; a layout that is only read has two axes."""
    forms = layout.forms or {"tensor": "", "row": "r1", "group": "rc", "block": "rc"}
    down, across = (math.ceil(n / size) if size else 1 for n, size in zip(shape[-2:], TILES[grain]))
    return (*shape[:-2], *({"r": down, "c": across, "1": 1}[axis] for axis in forms[grain]))


def write(path, layout, codes, scales, dtype=None, name=NAME, others=()):
    """A file with one FP8 tensor."""
    arrays = {
        layout.codes.of(name): (layout.codes.dtype, codes.shape, codes),
        layout.scales.of(name): (dtype or layout.scales.dtype, scales.shape, scales.reshape(-1).view(np.uint8)),
    }
    return write_raw(path, arrays | dict(others))


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    nan = np.isnan(wanted)
    return np.array_equal(np.isnan(got), nan) and np.array_equal(got[~nan].view("u4"), wanted[~nan].view("u4"))


def numbers_in(path, name=NAME) -> np.ndarray:
    stored = read(path).tensors[name]
    return stored.data.reshape(stored.shape)


CASES = [
    (layout, grain, shape)
    for layout, grain, shape in product(EVERY, TILES, [(300, 388), (2, 130, 260)])
    if not layout.forms or grain in layout.forms
]
WRITTEN = [(layout, str(grain)) for layout in EVERY for grain in layout.forms]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("layout, grain, shape", CASES, ids=lambda value: getattr(value, "name", str(value)))
def test_every_layout(layout, grain, shape, tmp_path, passes):
    """Scales have every dtype of the layout, and the last blocks are partial. Blocks may have powers of two too."""
    tile, codes = TILES[grain], random_codes(shape)
    powers = ("F8_E8M0",) if grain == "block" and layout.forms else ()
    for dtype in dict.fromkeys(layout.dtypes + powers):
        scales = random_scales(shape_of_scales(layout, grain, shape), dtype)
        path = write(tmp_path / "a.safetensors", layout, codes, scales, dtype)
        passes("dequantize", path, tmp_path / "b.safetensors", "--from", layout.name)
        assert same(numbers_in(tmp_path / "b.safetensors"), products(codes, layout.codes.dtype, scales, tile))
        assert list(read(tmp_path / "b.safetensors").tensors) == [NAME]


OF_BLOCKS = {"config_groups": {"g": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}}}
OF_BLOCKS["config_groups"]["g"]["weights"] |= {"strategy": "block", "block_structure": [128, 128]}
SECTIONS = {
    "compressed_tensors": {"quant_method": "compressed-tensors", "format": "float-quantized"} | OF_BLOCKS,
    "modelopt": {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"},
}


@pytest.mark.parametrize("scale", ["F32", "F8_E8M0"])
@pytest.mark.parametrize("element", ["fp8_e4m3", "fp8_e5m2"])
@pytest.mark.parametrize("dialect", SECTIONS)
def test_a_configuration_without_the_element(dialect, element, scale, tmp_path, passes, fails):
    """It says FP8 in blocks, and the dtypes of the arrays say which FP8 and which scales; other tiles are refused."""
    layout, shape = SCALED_LAYOUTS[dialect][element], (300, 388)
    codes, scales = (random_codes(shape), random_scales(shape_of_scales(layout, "block", shape), scale))
    (tmp_path / "m").mkdir()
    write(tmp_path / "m" / "model.safetensors", layout, codes, scales, scale)
    (tmp_path / "m" / "config.json").write_text(json.dumps({"quantization_config": SECTIONS[dialect]}))
    assert f"{dialect}:{element}:128x128" in inspect_file(tmp_path / "m").tensors[0].readings[0].evidence[0]
    passes("dequantize", tmp_path / "m", tmp_path / "y")
    found = numbers_in(tmp_path / "y" / "model.safetensors")
    assert same(found, products(codes, layout.codes.dtype, scales, (128, 128)))
    rows = random_scales((300, 1), scale)
    write(tmp_path / "m" / "model.safetensors", layout, codes, rows, scale)
    fails(2, "dequantize", tmp_path / "m", tmp_path / "z")


def test_without_rows(tmp_path, passes):
    """A tensor of one axis has one scale, or a scale for each group."""
    layout, codes = SCALED_LAYOUTS["compressed_tensors"]["fp8_e4m3"], random_codes((1, 256))
    for scales, tile in ((random_scales((1,), "F32"), (0, 0)), (random_scales((1, 2), "F32"), (1, 128))):
        path = write(tmp_path / "a.safetensors", layout, codes if tile[1] else codes[0], scales)
        passes("dequantize", path, tmp_path / "b.safetensors", "--from", "compressed_tensors")
        assert same(numbers_in(tmp_path / "b.safetensors").reshape(1, 256), products(codes, "F8_E4M3", scales, tile))


@pytest.mark.parametrize("grain, shape", [*product(TILES, [(300, 388), (3, 200, 256)])], ids=str)
def test_counts(grain, shape, tmp_path):
    """Tiles, codes and the largest magnitude are counted over all elements and over a sample."""
    layout, tile, codes = SCALED_LAYOUTS["compressed_tensors"]["fp8_e4m3"], TILES[grain], random_codes(shape)
    codes[codes & 0x7F == 0x7F] = 0x7E
    scales = random_scales(shape_of_scales(layout, grain, shape), "F32")
    codes[..., :128, :128] = 0  # one block, or half a row
    codes[..., 0, :] = 0
    codes[..., -1, -1] = 0x38 if grain == "tensor" else 0xFF
    path = write(tmp_path / "a.safetensors", layout, codes, scales)
    inspection = inspect_file(path, layout.name, whole=True)
    (tensor,) = inspection.tensors
    numbers = np.abs(products(codes, "F8_E4M3", scales, tile)).reshape(-1, *shape[-2:])
    tiles = [
        matrix[row : row + (tile[0] or shape[-2]), column : column + (tile[1] or shape[-1])]
        for matrix in (numbers if scales.size > 1 else [numbers])
        for row in range(0, shape[-2], tile[0] or shape[-2])
        for column in range(0, shape[-1], tile[1] or shape[-1])
    ]
    tally = tensor.tally
    assert tensor.blocks == tally.blocks == len(tiles) == scales.size
    assert tally.codes.tolist() == np.bincount(codes.reshape(-1), minlength=256).tolist()
    assert tally.zero_blocks == sum(not one.any() for one in tiles)
    assert tally.nan_blocks == sum(bool(np.isnan(one).any()) for one in tiles)
    assert tally.saturated == np.count_nonzero(codes & 0x7F == 0x7E)
    assert tensor.amax == pytest.approx(
        max(np.max(one, initial=0) for one in tiles if not np.isnan(one).any()), rel=1e-6
    )
    assert sum(tally.binades.values()) == scales.size and inspect_file(path).tensors[0].amax <= tensor.amax


def test_a_sample(tmp_path):
    """Some tiles of a large tensor are counted."""
    codes, layout = np.full((3072, 3072), 0x38, np.uint8), SCALED_LAYOUTS["deepseek_v3"]["fp8_e4m3"]
    scales = random_scales((24, 24), "F32")
    (tensor,) = inspect_file(write(tmp_path / "a.safetensors", layout, codes, scales)).tensors
    assert 0 < tensor.tally.blocks < tensor.blocks == 576
    assert tensor.amax <= scales.max()


@pytest.mark.parametrize("shape, scales", [((192, 192), (2, 2)), ((64, 192), (64, 2))], ids=str)
def test_blocks_of_two_sizes_are_ambiguous(shape, scales, tmp_path, fails):
    """The shape of the scales allows several block sizes; a layout with one size decides."""
    layout = SCALED_LAYOUTS["compressed_tensors"]["fp8_e4m3"]
    codes = random_codes(shape) & 0xFE  # without NaN
    path = write(tmp_path / "a.safetensors", layout, codes, random_scales(scales, "F32"))
    assert main(["inspect", str(path), "-q"]) == 4
    (tensor,) = inspect_file(path, layout.name).tensors
    assert tensor.is_ambiguous and "of 96" in tensor.differences and "of 128" in tensor.differences
    sentence = fails(2, "dequantize", path, tmp_path / "b.safetensors", "--from", "compressed_tensors")
    sizes = ["128x128", "96x96"] if scales == (2, 2) else ["1x128", "1x96"]
    names = [f"compressed_tensors:fp8_e4m3:{size}" for size in sizes]
    assert sentence.endswith(f"{names[0]} or {names[1]}: --from chooses") and not (tmp_path / "b.safetensors").exists()
    for name, size in zip(names, (128, 96)):
        mxcast("dequantize", path, tmp_path / "b.safetensors", "--from", name)
        tile = (size if scales == (2, 2) else 1, size)
        stored = read(path).tensors[f"{NAME}_scale"].data.reshape(scales)
        assert same(numbers_in(tmp_path / "b.safetensors"), products(codes, "F8_E4M3", stored, tile))
    mxcast("convert", path, tmp_path / "c.safetensors", "--from", names[1], "--layout", "compressed_tensors")
    (tensor,) = inspect_file(tmp_path / "c.safetensors").tensors  # which says the size itself
    assert not tensor.is_ambiguous and tensor.readings[0].layout.tile == tile


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (np.float32(np.nan), "of 4 scales 1 is NaN"),
        (np.float32(np.inf), "of 4 scales 1 is Inf"),
        (np.float32(-0.01), "of 4 scales 1 is negative"),
        (np.float32(0), "of 4 scales 1 is 0 over elements that are not"),
    ],
)
def test_scales_that_no_library_writes(wrong, sentence, tmp_path):
    layout, scales = SCALED_LAYOUTS["deepseek_v3"]["fp8_e4m3"], random_scales((2, 2), "F32")
    scales[1, 0] = wrong
    path = write(tmp_path / "a.safetensors", layout, np.full((256, 256), 0x38, np.uint8), scales)
    (found,) = inspect_file(path).suspicions
    assert (str(found.kind), found.sentence, found.tensor) == ("scale_numbers", sentence, NAME)


def test_scales_of_the_other_direction(tmp_path):
    """A file with the inverse scales under the name weight_scale_inv is suspicious."""
    layout = SCALED_LAYOUTS["deepseek_v3"]["fp8_e4m3"]
    path = write(tmp_path / "a.safetensors", layout, np.full((256, 256), 0x7E, np.uint8), np.full((2, 2), 900, "f4"))
    (found,) = inspect_file(path).suspicions
    assert found.sentence == (
        "the largest magnitude is 4.032e+05 under these scales, and 0.4978 if elements are divided by them"
    )


def mxcast(verb, *arguments):
    assert main([verb, *map(str, arguments), "-q"]) == 0


@pytest.mark.parametrize("layout, grain", WRITTEN, ids=lambda value: getattr(value, "name", str(value)))
def test_to_another_library_and_back(layout, grain, tmp_path):
    """Codes and numbers stay the same, and the last file equals the first."""
    shape = (2, 256, 384) if grain in ("block", "tensor") else (256, 384)
    codes, dtype = random_codes(shape), layout.scales.dtype
    scales = random_scales(shape_of_scales(layout, grain, shape), dtype)
    path = write(tmp_path / "a.safetensors", layout, codes, scales)
    others = [one for one in SCALED_LAYOUTS["compressed_tensors"].values() if one.element == layout.element]
    there = tmp_path / "b.safetensors"
    mxcast("convert", path, there, "--from", layout.name, "--layout", "compressed_tensors")
    found = read(there).tensors
    assert found[NAME].data.tobytes() == codes.tobytes()
    stored = found[f"{NAME}_scale"]
    assert (stored.dtype, stored.shape) == ("F32", shape_of_scales(others[0], grain, shape))
    assert np.array_equal(stored.data.reshape(-1), scales.reshape(-1).astype(np.float32))
    mxcast("convert", there, tmp_path / "c.safetensors", "--from", others[0].name, "--layout", layout.dialect)
    first, last = (read(one).tensors for one in (path, tmp_path / "c.safetensors"))
    assert {name: (one.dtype, one.shape, one.data.tobytes()) for name, one in first.items()} == {
        name: (one.dtype, one.shape, one.data.tobytes()) for name, one in last.items() if "comfy_quant" not in name
    }
    assert first.keys() == last.keys() or layout.dialect == "comfy"


def test_what_another_library_does_not_have(tmp_path, fails):
    layout, codes = SCALED_LAYOUTS["compressed_tensors"]["fp8_e4m3"], random_codes((256, 256))
    target = tmp_path / "b.safetensors"
    for scales, dialect, sentence in (
        (random_scales((256, 1), "F32"), "deepseek_v3", "tensor or block of 128 x 128, not for a row"),
        (random_scales((4, 4), "F32"), "deepseek_v3", "not for a block of 64 x 64"),
        (random_scales((2, 2), "F32"), "deepseek_v4", "is not a power of two of E8M0"),
        (random_scales((2, 2), "F32"), "gpt_oss", "fp8_e4m3 is not written in the layout gpt_oss: --to e4m3"),
        (random_scales((2, 2), "F32"), "torchao", "fp8_e4m3 is not written in the layout torchao"),
    ):
        path = write(tmp_path / "a.safetensors", layout, codes, scales)
        said = fails(2, "convert", path, target, "--from", layout.name, "--layout", dialect)
        assert sentence in said and NAME in said and not target.exists()


@pytest.mark.parametrize("dtype", ["F8_E4M3", "F8_E5M2"])
@pytest.mark.parametrize("grain", TILES)
def test_to_mxfp8(grain, dtype, tmp_path, fails):
    """Scales that are powers of two become the scales of blocks of 32, with the same numbers; others are refused."""
    block = {"F8_E4M3": "fp8_e4m3", "F8_E5M2": "fp8_e5m2"}[dtype]
    layout, codes = SCALED_LAYOUTS["compressed_tensors"][block], random_codes((200, 320))
    shape = shape_of_scales(layout, grain, codes.shape)
    scales = random_scales(shape, "F8_E8M0").astype(np.float32)
    target, element = tmp_path / "b.safetensors", block.removeprefix("fp8_")
    own = ["--from", layout.name, "--layout", "torchao", "--to", element]
    mxcast("convert", write(tmp_path / "a.safetensors", layout, codes, scales), target, *own)
    stored = read(target).tensors[NAME.replace("weight", "_weight_scale")]
    assert stored.shape == (200, 10)
    mxcast("dequantize", target, tmp_path / "c.safetensors", "--from", "torchao", "-f", element)
    assert same(numbers_in(tmp_path / "c.safetensors"), products(codes, dtype, scales, TILES[grain]))
    scales.reshape(-1)[-1] *= np.float32(1.25)
    path = write(tmp_path / "a.safetensors", layout, codes, scales)
    sentence = fails(2, "convert", path, tmp_path / "d.safetensors", *own)
    assert "not a power of two" in sentence and NAME in sentence


def test_rows_that_are_no_blocks_of_32(tmp_path, fails):
    """Nothing is padded with zeros: a model would have another shape."""
    layout = SCALED_LAYOUTS["deepseek_v4"]["fp8_e4m3"]
    path = write(tmp_path / "a.safetensors", layout, random_codes((256, 200)), random_scales((2, 2), "F8_E8M0"))
    own = ["--from", "deepseek_v4", "-f", "fp8_e4m3", "--layout", "modelopt", "--to", "e4m3"]
    assert "rows of 200 elements must be whole blocks of 32" in fails(
        2, "convert", path, tmp_path / "b.safetensors", *own
    )


def test_marks_of_comfyui_and_torchao(tmp_path):
    """ComfyUI and torchao declare FP8; MXFP8 with the same names is a contradiction."""
    layout, codes = SCALED_LAYOUTS["comfy"]["fp8_e4m3"], random_codes((128, 128)) & 0xFE  # without NaN
    mark = NAME.replace("weight", "comfy_quant")
    for format, is_right in (("float8_e4m3fn", True), ("mxfp8", False)):
        text = np.frombuffer(json.dumps({"format": format}).encode(), np.uint8)
        others = {mark: ("U8", text.shape, text)}
        path = write(tmp_path / "a.safetensors", layout, codes, random_scales((), "F32"), others=others)
        inspection = inspect_file(path)
        assert [str(one.kind) for one in inspection.suspicions] == ["contradiction"] * (not is_right)
        assert not is_right or inspection.tensors[0].readings[0].names == "comfy:fp8_e4m3"
    layout, entry = SCALED_LAYOUTS["torchao"]["fp8_e4m3"], {"_type": "Float8Tensor", "_data": {"block_size": [1, 128]}}
    path = write(tmp_path / "a.safetensors", layout, codes, random_scales((128, 1), "F32"))
    arrays = {name: (one.dtype, one.shape, one.data.view(np.uint8)) for name, one in read(path).tensors.items()}
    write_raw(path, arrays, {"tensor_names": json.dumps([NAME]), NAME: json.dumps(entry)})
    inspection = inspect_file(path)
    assert not inspection.suspicions and "'Float8Tensor'" in inspection.tensors[0].readings[0].evidence[0]


@pytest.mark.slow
def test_transformers_reads_the_same(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch transformers")
    finegrained = pytest.importorskip("transformers.integrations.finegrained_fp8", reason="transformers is optional")
    codes, scales = random_codes((200, 300)), random_scales((2, 3), "F32")
    weight = torch.from_numpy(codes).view(torch.float8_e4m3fn)
    theirs = finegrained._dequantize_fp8_weight(weight, torch.from_numpy(scales), [128, 128], torch.float32)
    layout = SCALED_LAYOUTS["deepseek_v3"]["fp8_e4m3"]
    path = write(tmp_path / "a.safetensors", layout, codes, scales)
    mxcast("dequantize", path, tmp_path / "b.safetensors", "--from", "deepseek_v3")
    assert same(numbers_in(tmp_path / "b.safetensors"), theirs.numpy())


@pytest.mark.parametrize("grain", TILES)
def test_compressed_tensors_reads_the_same(grain, tmp_path):
    torch = pytest.importorskip("torch", reason="torch is optional: pip install torch compressed-tensors")
    reason = "compressed-tensors is optional: pip install compressed-tensors"
    forward = pytest.importorskip("compressed_tensors.quantization.lifecycle.forward", reason=reason)
    args_of = pytest.importorskip("compressed_tensors.quantization", reason=reason)
    layout, codes = SCALED_LAYOUTS["compressed_tensors"]["fp8_e4m3"], random_codes((256, 384))
    scales = random_scales(shape_of_scales(layout, grain, codes.shape), "F32")
    weight = torch.from_numpy(codes).view(torch.float8_e4m3fn)
    more = {"group": {"group_size": 128}, "block": {"block_structure": [128, 128]}}.get(grain, {})
    strategy = "channel" if grain == "row" else grain
    args = args_of.QuantizationArgs(num_bits=8, type="float", strategy=strategy, **more)
    theirs = forward.dequantize(weight, torch.from_numpy(scales), args=args)
    path = write(tmp_path / "a.safetensors", layout, codes, scales)
    mxcast("dequantize", path, tmp_path / "b.safetensors", "--from", layout.name)
    assert same(numbers_in(tmp_path / "b.safetensors"), theirs.numpy())
