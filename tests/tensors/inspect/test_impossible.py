"""Numbers that no weights are: suspicions of `inspect`, and what `dequantize` says of its results."""

import json
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file

from mxcast.cli import main
from mxcast.models import BlockArray, quantize_nvfp4
from mxcast.spec import E4M3, E8M0, LAYOUTS, Convention
from mxcast.spec.layouts.catalogue import Layout, ScaleByte
from mxcast.spec.layouts.scaled import SCALED_LAYOUTS
from mxcast.tensors.containers.containers import written
from mxcast.tensors.inspect.inspection import inspect_file

from ..stored_files import EVERY, NAME, WEIGHTS, quantized, stored, with_scales, write
from .test_suspicions import NVFP4, ids, kinds

TINY, GARBAGE = float(np.uint32(0x0000_7F3A).view(np.float32)), float(np.uint32(0x7F7F_7F7F).view(np.float32))
"""Patterns that memory has before it is written: a part of an address, and bytes of 0x7F."""


def with_block(q: BlockArray, scale: int, codes: int | None = None) -> BlockArray:
    """One block in the middle with this scale, and with these codes in place of its own."""
    scales, all_codes = q.scales.copy(), q.codes.copy()
    lines, width = np.moveaxis(all_codes, q.axis, -1), q.block.shape[-1]
    np.moveaxis(scales, q.axis, -1)[77, 3] = scale
    if codes is not None:
        lines[77, 3 * width : 4 * width] = codes
    return BlockArray(codes=all_codes, scales=scales, block=q.block, axis=q.axis, tensor_scale=q.tensor_scale)


def of_zeros(q: BlockArray) -> BlockArray:
    """The same scales over zeros."""
    return replace(q, codes=np.zeros_like(q.codes))


@pytest.mark.parametrize("codes", [None, 0], ids=["numbers", "zeros"])
@pytest.mark.parametrize("layout", EVERY, ids=ids(EVERY))
def test_a_scale_that_is_nan(layout, codes, tmp_path):
    for byte in {E8M0: (0xFF,), E4M3: (0x7F, 0xFF)}[layout.block_format.scale]:
        q = with_block(quantized(layout), byte, codes)
        path = write(tmp_path / "a.safetensors", layout, stored(layout, q))
        (found,) = (one for one in inspect_file(path, layout.name).suspicions if one.kind == "nan_scale")
        assert (found.figures["NaN scales"], found.figures["over zeros"]) == (1, codes == 0), layout.name


def test_a_scale_that_is_nan_outside_of_the_sample(tmp_path):
    """Some blocks of a large tensor are counted, and all scales if they have an array of their own."""
    layout = LAYOUTS["compressed_tensors"]["mxfp4_e2m1"]
    q = quantized(layout)
    tall = BlockArray(codes=np.tile(q.codes, (160, 1)), scales=np.tile(q.scales, (160, 1)), block=q.block)
    tall.scales[257, 5] = 0xFF
    found = inspect_file(write(tmp_path / "a.safetensors", layout, stored(layout, tall)), layout.name)
    assert found.tensors[0].tally.blocks < found.tensors[0].blocks == 160 * 128 * 12
    assert found.tensors[0].tally.nan_scales == 0
    (suspicion,) = found.suspicions
    assert suspicion.sentence == "1 of 245760 block scales is NaN"


def test_elements_that_are_nan_or_inf(tmp_path):
    for layout in EVERY:
        codes = {"mxfp8_e4m3": (0x7F, 0xFF), "mxfp8_e5m2": (0x7C, 0xFC, 0x7D)}.get(layout.block, ())
        for code in codes:
            q = with_block(quantized(layout), 127, code)
            path = write(tmp_path / "a.safetensors", layout, stored(layout, q))
            assert "not_finite" in kinds(path, layout), (layout.name, code)


OF_E8M0 = [one for one in EVERY if one.block_format.scale == E8M0 and one.scale_byte is ScaleByte.CODE]


@pytest.mark.parametrize("layout", OF_E8M0, ids=ids(OF_E8M0))
def test_numbers_beyond_float32(layout, tmp_path):
    """2**127 times the largest element is beyond float32; 2**80 times it is not, and no weight is as large."""
    for byte, beyond in ((254, 1), (207, 0)):
        q = with_block(quantized(layout), byte, layout.block_format.element.max_code)
        path = write(tmp_path / "a.safetensors", layout, stored(layout, q))
        (found,) = (one for one in inspect_file(path, layout.name).suspicions if one.kind == "magnitude")
        assert found.figures["blocks beyond float32"] == beyond, layout.name
        zeros = write(tmp_path / "a.safetensors", layout, stored(layout, with_block(quantized(layout), byte, 0)))
        assert "magnitude" not in kinds(zeros, layout), layout.name


def test_scales_that_were_not_written(tmp_path):
    """E8M0 bytes of zeros under numbers, and a tensor of zeros, which has such bytes."""
    for layout in OF_E8M0:
        q = quantized(layout)
        nothing = with_scales(q, np.zeros_like(q.scales))
        path = write(tmp_path / "a.safetensors", layout, stored(layout, nothing))
        assert kinds(path, layout) & {"magnitude", "scale_values"}, layout.name
        path = write(tmp_path / "b.safetensors", layout, stored(layout, of_zeros(nothing)))
        assert kinds(path, layout) == set(), layout.name


def with_tensor_scale(layout: Layout, arrays: Mapping[str, np.ndarray], value: float) -> dict[str, np.ndarray]:
    name = layout.tensor_scale.of(NAME)
    return {**arrays, name: np.full(arrays[name].shape, value, np.float32)}


@pytest.mark.parametrize("layout", NVFP4, ids=ids(NVFP4))
def test_a_tensor_scale_that_was_not_initialised(layout, tmp_path):
    arrays = stored(layout, quantized(layout))
    for value in (GARBAGE, TINY, 3.39e38, 1e-44, 1e30, 1e-30, np.nan, np.inf, -np.inf, 0, -0.001):
        path = write(tmp_path / "a.safetensors", layout, with_tensor_scale(layout, arrays, value))
        assert kinds(path, layout) == {"tensor_scale"}, value


def test_one_tensor_scale_of_several(tmp_path):
    """The other tensors are right."""
    layout = LAYOUTS["modelopt"]["nvfp4"]
    x = WEIGHTS[:96].reshape(3, 32, 384)
    whole = [stored(layout, quantize_nvfp4(one, "nvfp4", "nvfp4_ao")) for one in x]
    arrays = {array: np.stack([one[array] for one in whole]) for array in whole[0]}
    path = write(tmp_path / "a.safetensors", layout, arrays)
    assert kinds(path, layout) == set()
    for value in (3.39e38, np.nan, 0):
        arrays[layout.tensor_scale.of(NAME)][1] = value
        assert kinds(write(tmp_path / "a.safetensors", layout, arrays), layout) == {"tensor_scale"}, value


STORED_OF_ZEROS = {Convention.MULTIPLIER: 0, Convention.DIVISOR: np.inf, Convention.AMAX: 0}
"""The tensor scale of zeros by its formula, under which they stay zeros."""


@pytest.mark.parametrize("layout", NVFP4, ids=ids(NVFP4))
def test_a_tensor_of_zeros(layout, tmp_path):
    q = quantized(layout)
    for scale in (0x00, 0x38):
        zeros = of_zeros(with_scales(q, np.full_like(q.scales, scale)))
        arrays = stored(layout, zeros)
        right = STORED_OF_ZEROS[layout.convention]
        for value in (right, 0.5):
            path = write(tmp_path / "a.safetensors", layout, with_tensor_scale(layout, arrays, value))
            assert kinds(path, layout) == set(), value
        wrong = [np.nan, -1, 0 if right else np.inf] if scale or not right else [np.nan, -1]
        for value in wrong:
            path = write(tmp_path / "a.safetensors", layout, with_tensor_scale(layout, arrays, value))
            assert kinds(path, layout) == {"tensor_scale"}, value


@pytest.mark.parametrize("profile, is_nan", [("nvfp4_ao", True), ("nvfp4_modelopt", True), ("nvfp4_te", False)])
def test_zeros_under_the_rules_of_a_library(profile, is_nan, tmp_path, saved, capsys):
    """torchao and ModelOpt divide by the largest magnitude 0, so all scales and numbers are NaN."""
    path, target = tmp_path / "q.safetensors", tmp_path / "y.safetensors"
    source = saved(np.zeros((4, 64), np.float32))
    assert main(["quantize", str(source), str(path), "-f", "nvfp4", "--profile", profile]) == 0
    capsys.readouterr()
    code = main(["inspect", str(path)])
    text = capsys.readouterr().out
    assert code == is_nan and ("the whole tensor is NaN, as zeros are" in text) == is_nan
    assert main(["dequantize", str(path), str(target)]) == 0
    assert ("not finite: x: 256 results are NaN (256 because the block" in capsys.readouterr().out) == is_nan
    assert np.isnan(load_file(target)["x"]).all() == is_nan


@pytest.mark.parametrize("name", ["l.input_scale", "l.input_global_scale", "l.k_scale", "l.output_scale"])
def test_scales_of_activations(name, tmp_path):
    layout = LAYOUTS["compressed_tensors"]["nvfp4"]
    arrays = stored(layout, quantized(layout))
    for value in (0.02, 448 * 6 / 3.0):
        path = write(tmp_path / "a.safetensors", layout, arrays | {name: np.array(value, np.float32)})
        assert kinds(path, layout) == set(), value
    for value in (GARBAGE, TINY, np.nan, np.inf, 0, -1):
        path = write(tmp_path / "a.safetensors", layout, arrays | {name: np.array(value, np.float32)})
        assert kinds(path, layout) == {"tensor_scale"}, value


NVFP4, MXFP8 = LAYOUTS["modelopt"]["nvfp4"], LAYOUTS["te"]["mxfp8_e5m2"]
TWO_TO_126 = 0xFD
CASES = {
    "block scale": (NVFP4, (0x7F, 0), None, {"nan": {"block_scale": 16}, "inf": {}}),
    "block scale over numbers": (NVFP4, (0xFF, None), None, {"nan": {"block_scale": 16}, "inf": {}}),
    "E8M0": (MXFP8, (0xFF, 0), None, {"nan": {"block_scale": 32}, "inf": {}}),
    "element NaN": (MXFP8, (127, 0x7D), None, {"nan": {"element": 32}, "inf": {}}),
    "element Inf": (MXFP8, (127, 0xFC), None, {"nan": {}, "inf": {"element": 32}}),
    "beyond": (MXFP8, (TWO_TO_126, 0x7B), None, {"nan": {}, "inf": {"range": 32}}),
    "tensor scale": (NVFP4, (0x38, 0), np.nan, {"nan": {"tensor_scale": 128 * 384}, "inf": {}}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_dequantize_says(case, tmp_path, passes):
    layout, block, tensor_scale, counts = CASES[case]
    arrays = stored(layout, with_block(quantized(layout), *block))
    if tensor_scale is not None:
        arrays = with_tensor_scale(layout, arrays, tensor_scale)
    path, target = write(tmp_path / "a.safetensors", layout, arrays), tmp_path / "y.safetensors"
    arguments = "dequantize", path, target, "--from", layout.dialect, "--format", layout.block
    document = json.loads(passes(*arguments, "--json"))
    assert document["not_finite"] == {NAME: counts}
    numbers = load_file(target)[NAME]
    assert np.isnan(numbers).sum() == sum(counts["nan"].values())
    assert np.isinf(numbers).sum() == sum(counts["inf"].values())
    assert passes(*arguments).count("not finite: ") == 1


def test_a_tensor_scale_that_is_beyond(tmp_path, passes):
    """Scales beyond float32 turn numbers into Inf and zeros into NaN."""
    q = quantized(NVFP4)
    path = write(tmp_path / "a.safetensors", NVFP4, with_tensor_scale(NVFP4, stored(NVFP4, q), 3.39e38))
    arguments = "dequantize", path, tmp_path / "y.safetensors", "--from", "modelopt", "--format", "nvfp4"
    (counts,) = json.loads(passes(*arguments, "--json"))["not_finite"].values()
    numbers = load_file(tmp_path / "y.safetensors")[NAME]
    assert counts == {"nan": {"range": np.isnan(numbers).sum()}, "inf": {"range": np.isinf(numbers).sum()}}
    assert min(counts["nan"]["range"], counts["inf"]["range"]) > 1000


def test_a_right_file_has_nothing_of_it(tmp_path, passes):
    path = write(tmp_path / "a.safetensors", NVFP4, stored(NVFP4, quantized(NVFP4)))
    arguments = "dequantize", path, tmp_path / "y.safetensors", "--from", "modelopt", "--format", "nvfp4"
    assert json.loads(passes(*arguments, "--json"))["not_finite"] == {} and "not finite" not in passes(*arguments)


def test_a_file_of_quantize(tmp_path, passes, saved):
    """One block has NaN, one Inf; both become NaN under OCP, and padding is not counted."""
    x = np.ones((3, 70), np.float32)
    x[0, 3], x[1, 69] = np.nan, np.inf
    passes("quantize", saved(x), tmp_path / "q.safetensors", "-f", "e2m1", "--pad")
    document = json.loads(passes("dequantize", tmp_path / "q.safetensors", tmp_path / "y.safetensors", "--json"))
    assert document["not_finite"] == {"x": {"nan": {"block_scale": 32 + 6}, "inf": {}}}


SCALED = SCALED_LAYOUTS["deepseek_v3"]["fp8_e4m3"]


def scaled_file(path, codes: np.ndarray, scales: np.ndarray):
    """FP8 under scales for blocks of 128 x 128."""
    tensors = {NAME: ("F8_E4M3", codes), f"{NAME}_scale_inv": ("F32", scales)}
    header = {name: (dtype, array.shape, array.nbytes) for name, (dtype, array) in tensors.items()}
    with written(path, header, {}) as into:
        for name, (_, array) in tensors.items():
            into(name, 0, array)
    return path


@pytest.mark.parametrize("value", [GARBAGE, TINY, 3.39e38, np.nan, np.inf, 0, -1])
def test_one_scale_number_of_several(value, tmp_path):
    """One wrong scale of an FP8 tensor is found among right ones."""
    scales = np.full((2, 2), 0.01, np.float32)
    scales[0, 1] = value
    codes = np.full((256, 256), 0x38, np.uint8)
    assert kinds(scaled_file(tmp_path / "a.safetensors", codes, scales), SCALED) == {"scale_numbers"}


def test_elements_of_fp8_under_scale_numbers(tmp_path, passes):
    codes = np.full((256, 256), 0x38, np.uint8)
    codes[200, 3] = 0xFF
    path = scaled_file(tmp_path / "a.safetensors", codes, np.full((2, 2), 0.01, np.float32))
    (found,) = inspect_file(path).suspicions
    assert (found.kind, found.sentence) == ("not_finite", "1 element is NaN or Inf")
    arguments = "dequantize", path, tmp_path / "y.safetensors", "--from", "deepseek_v3", "--json"
    assert json.loads(passes(*arguments))["not_finite"] == {NAME: {"nan": {"element": 1}, "inf": {}}}
    codes[200, 3], scales = 0x7E, np.full((2, 2), 0.01, np.float32)
    scales[1, 0], scales[0, 0] = np.nan, 1e36
    scaled_file(path, codes, scales)
    counts = json.loads(passes(*arguments))["not_finite"][NAME]
    assert counts == {"nan": {"block_scale": 128 * 128}, "inf": {}}
    codes[:], scales[1, 1] = 0x7E, np.inf
    counts = json.loads(passes(*(arguments[0], scaled_file(path, codes, scales), *arguments[2:])))["not_finite"][NAME]
    assert counts == {"nan": {"block_scale": 128 * 128}, "inf": {"range": 128 * 128, "block_scale": 128 * 128}}


AMBIGUOUS = [
    "modelopt:nvfp4",
    "comfy:nvfp4",
    "te:mxfp8_e5m2",
    "quark:mxfp6_e3m2",
    "comfy:mxfp8_e4m3",
    "onnx:mxfp6_e2m3",
]


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_an_ambiguous_tensor(name, tmp_path):
    """Impossible numbers in every reading are suspicions, although nothing else is counted."""
    layout = next(one for one in EVERY if one.name == name)
    right = write(tmp_path / "a.safetensors", layout, stored(layout, quantized(layout)))
    found = inspect_file(right)
    assert found.ambiguous and not found.suspicions
    for codes in (None, 0):
        wrong = with_block(quantized(layout), 0xFF, codes)
        found = inspect_file(write(tmp_path / "a.safetensors", layout, stored(layout, wrong)))
        assert found.ambiguous and [str(one.kind) for one in found.suspicions] == ["nan_scale"]
    if layout.tensor_scale:
        for value in (np.nan, 3.39e38, 0):
            arrays = with_tensor_scale(layout, stored(layout, quantized(layout)), value)
            found = inspect_file(write(tmp_path / "a.safetensors", layout, arrays))
            assert found.ambiguous and [str(one.kind) for one in found.suspicions] == ["tensor_scale"]


def test_what_only_one_reading_finds(tmp_path):
    """0x7D is NaN as E5M2 and a number as E4M3, so nothing is reported."""
    layout = next(one for one in EVERY if one.name == "te:mxfp8_e5m2")
    codes = np.full((128, 384), 0x38, np.uint8)
    codes[3, 7] = 0x7D
    q = replace(quantized(layout), codes=codes)
    found = inspect_file(write(tmp_path / "a.safetensors", layout, stored(layout, q)))
    assert found.ambiguous and not found.suspicions
    assert kinds(tmp_path / "a.safetensors", layout) == {"not_finite"}


def test_scale_numbers_of_an_ambiguous_tensor(tmp_path):
    scales = np.full((2, 2), 0.01, np.float32)
    path = tmp_path / "a.safetensors"
    for value, expected in ((0.02, []), (np.nan, ["scale_numbers"])):
        scales[1, 1] = value
        codes = np.full((192, 192), 0x38, np.uint8)
        header = {"l.weight": ("F8_E4M3", codes.shape, codes.nbytes), "l.weight_scale": ("F32", (2, 2), 16)}
        with written(path, header, {}) as into:
            into("l.weight", 0, codes)
            into("l.weight_scale", 0, scales)
        found = inspect_file(path)
        assert found.ambiguous and [str(one.kind) for one in found.suspicions] == expected
