"""Arrays with the names of a layout that belong to no tensor, and declarations that contradict the command, are
reported.
"""

import json

import numpy as np
import pytest

from mxcast.models import pack, quantize
from mxcast.spec import LAYOUTS
from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.inspect.inspection import inspect_file

X = np.random.default_rng(4).normal(size=(128, 128)).astype(np.float32)
GOOD, BAD = "good.up.weight", "bad.up.weight"


def made(path, dialect, change, metadata=None):
    """A file with a good tensor, and one of which some arrays are changed: dtype and data by name."""
    layout = LAYOUTS[dialect]["mxfp4_e2m1"]
    arrays = {}
    for name in (GOOD, BAD):
        stored = pack(quantize(X, "e2m1"), layout, name=name)
        arrays |= {part.of(name): (part.dtype, stored[part.of(name)]) for part in layout.parts}
    change(arrays, *layout.names(BAD))
    header = {name: (dtype, data.shape, data.nbytes) for name, (dtype, data) in arrays.items()}
    with written(path, header, metadata or {}) as write:
        for name, (_, data) in arrays.items():
            write(name, 0, data)
    return path


def without(arrays, codes, scales):
    del arrays[scales]


def of_another_dtype(arrays, codes, scales):
    arrays[codes] = "I16", arrays[codes][1].view(np.int16)


def of_another_shape(arrays, codes, scales):
    arrays[scales] = arrays[scales][0], arrays[scales][1].T.copy()


def as_numbers(arrays, codes, scales):
    arrays[scales] = "F32", np.ldexp(1, arrays[scales][1].astype(int) - 127).astype(np.float32)


CHANGES = {
    without: "has the name of codes of the layout {}, and there is no",
    of_another_dtype: "have names of the layout {}, and not its dtypes and shapes",
    of_another_shape: "have names of the layout {}, and not its dtypes and shapes",
    as_numbers: "have names of the layout {}, and not its dtypes and shapes",
}


@pytest.mark.parametrize("dialect", ["gpt_oss", "gpt_oss_original", "compressed_tensors"])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_codes_that_belong_to_no_tensor(dialect, change, tmp_path, fails):
    """The damaged tensor is reported although another tensor is right."""
    path = made(tmp_path / "a.safetensors", dialect, change)
    (found,) = inspect_file(path).suspicions
    codes = LAYOUTS[dialect]["mxfp4_e2m1"].codes.of(BAD)
    assert (str(found.kind), found.tensor) == ("contradiction", codes)
    assert CHANGES[change].format(dialect) in found.sentence
    for verb, more in (("convert", ["--layout", "mlx"]), ("dequantize", [])):
        sentence = fails(2, verb, path, tmp_path / "b.safetensors", "--from", dialect, "-f", "e2m1", *more)
        assert str(path) in sentence and BAD in sentence
        assert not (tmp_path / "b.safetensors").exists()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_patterns_leave_it_alone(change, tmp_path, passes):
    path = made(tmp_path / "a.safetensors", "gpt_oss", change)
    own = ["--from", "gpt_oss", "--include", "good*"]
    text = passes("dequantize", path, tmp_path / "b.safetensors", *own)
    assert f"copied unchanged: {BAD}_blocks" in text and set(read(tmp_path / "b.safetensors").tensors) > {GOOD}


def of_integers(arrays, codes, scales):
    """compressed-tensors stores whole numbers of four bits under these names."""
    arrays[codes] = "I32", arrays[codes][1].view(np.int32)
    arrays[scales] = "BF16", np.ones((128, 1), np.uint16)


def test_another_quantization_of_the_same_names(tmp_path, fails, passes):
    """It is refused by name; patterns copy it."""
    path = made(tmp_path / "a.safetensors", "compressed_tensors", of_integers)
    (found,) = inspect_file(path).suspicions
    assert (str(found.kind), found.tensor) == ("unrecognised", f"{BAD}_packed")
    own = ["--from", "compressed_tensors", "-f", "e2m1", "--layout", "gpt_oss"]
    assert f"'{BAD}_packed' I32" in fails(2, "convert", path, tmp_path / "b.safetensors", *own)
    text = passes("convert", path, tmp_path / "b.safetensors", *own, "--exclude", "bad*")
    assert f"copied unchanged: {BAD}_packed, {BAD}_scale" in text


def test_scales_in_another_shard(tmp_path):
    """An index names their shard; without one, or for another file, they are missing."""
    path = made(tmp_path / "a.safetensors", "gpt_oss", without)
    placed = dict.fromkeys(read(path).tensors, "a.safetensors") | {f"{BAD}_scales": "b.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": placed}))
    (found,) = inspect_file(path).suspicions
    assert (str(found.kind), found.tensor) == ("unrecognised", f"{BAD}_blocks")
    assert found.sentence == f"its scales '{BAD}_scales' are in b.safetensors: inspect the folder"
    for text in ("[", json.dumps({"weight_map": {f"{BAD}_scales": "b.safetensors"}})):
        index.write_text(text)
        assert len(inspect_file(path).suspicions) == 1


def test_codes_in_another_shard(tmp_path):
    """The list of unquantized arrays does not contain its scales."""

    def without_codes(arrays, codes, scales):
        del arrays[codes]

    path = made(tmp_path / "a.safetensors", "gpt_oss", without_codes)
    placed = dict.fromkeys(read(path).tensors, "a.safetensors") | {f"{BAD}_blocks": "b.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    inspection = inspect_file(path)
    (found,) = inspection.suspicions
    assert (str(found.kind), found.tensor) == ("unrecognised", f"{BAD}_scales") and not inspection.others
    assert found.sentence == f"its codes '{BAD}_blocks' are in b.safetensors: inspect the folder"


def unchanged(arrays, codes, scales):
    pass


def about(is_swizzled: bool) -> dict[str, str]:
    entry = json.dumps(
        {"_type": "MXTensor", "_data": {"is_swizzled_scales": is_swizzled, "elem_dtype": {"_data": "float4_e2m1fn_x2"}}}
    )
    return {"tensor_names": json.dumps([GOOD, BAD]), GOOD: entry, BAD: entry}


def test_metadata_of_torchao_against_the_command(tmp_path, fails, passes):
    """Scales in order and in tiles have equally many bytes here, so only the metadata decide."""

    def in_the_shape_of_tiles(arrays, codes, scales):
        for name, (dtype, data) in arrays.items():
            if name.endswith("_scale"):
                arrays[name] = dtype, data.reshape(32, 16)

    path = made(tmp_path / "a.safetensors", "torchao", in_the_shape_of_tiles, about(is_swizzled=False))
    own = ["-f", "e2m1", "--from", "torchao_swizzled"]
    sentence = fails(2, "dequantize", path, tmp_path / "b.safetensors", *own)
    assert "with is_swizzled_scales false, which is not the layout torchao_swizzled:mxfp4_e2m1" in sentence
    assert not (tmp_path / "b.safetensors").exists()
    path = made(tmp_path / "a.safetensors", "torchao_swizzled", unchanged, about(is_swizzled=True))
    passes("dequantize", path, tmp_path / "b.safetensors", *own)


def test_the_configuration_beside_a_file(tmp_path, passes, fails):
    """It counts if both layouts use these names; otherwise it may describe another file."""
    from safetensors.numpy import save_file

    save_file({"up.weight": X}, tmp_path / "x.safetensors")
    rules = ["-f", "nvfp4", "--profile", "nvfp4_ao", "--layout", "modelopt"]
    path = tmp_path / "a.safetensors"
    passes("quantize", tmp_path / "x.safetensors", path, *rules)
    section = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": section}))
    arguments = "dequantize", path, tmp_path / "b.safetensors", "-f", "nvfp4"
    sentence = fails(2, *arguments, "--from", "comfy")
    assert sentence == (
        f"tensor 'up.weight': the configuration next to {path} says modelopt:nvfp4, and the command says comfy:nvfp4"
    )
    passes(*arguments, "--from", "modelopt")
    made(path, "gpt_oss", unchanged)
    passes("dequantize", path, tmp_path / "b.safetensors", "--from", "gpt_oss")


def test_the_mark_of_comfy_against_the_command(tmp_path, passes, fails):
    from safetensors.numpy import save_file

    save_file({"up.weight": X}, tmp_path / "x.safetensors")
    rules = ["-f", "nvfp4", "--profile", "nvfp4_ao", "--layout", "comfy"]
    passes("quantize", tmp_path / "x.safetensors", tmp_path / "a.safetensors", *rules)
    own = ["-f", "nvfp4", "--from", "modelopt"]
    sentence = fails(2, "dequantize", tmp_path / "a.safetensors", tmp_path / "b.safetensors", *own)
    assert sentence.endswith("{module}comfy_quant says 'nvfp4', which is not the layout modelopt:nvfp4")
    contents = read(tmp_path / "a.safetensors")
    header = {name: (one.dtype, one.shape, one.data.nbytes) for name, one in contents.tensors.items()}
    with written(tmp_path / "c.safetensors", header, {}) as write:
        for name, one in contents.tensors.items():
            write(name, 0, one.data if name != "up.comfy_quant" else one.data - np.uint8(1))
    for verb in (["inspect"], ["dequantize", *own]):
        more = [tmp_path / "b.safetensors"] if verb != ["inspect"] else []
        sentence = fails(2, verb[0], tmp_path / "c.safetensors", *more, *verb[1:])
        assert "c.safetensors" in sentence and "'up.comfy_quant' should be JSON" in sentence
