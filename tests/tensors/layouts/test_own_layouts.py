"""A file in the layout of a library that was written here says so: it is not ambiguous, and no command needs --from."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.models import BlockArray
from mxcast.spec import LAYOUTS
from mxcast.spec.layouts.catalogue import Layout
from mxcast.tensors.containers.containers import read
from mxcast.tensors.convert.files import quantize_file
from mxcast.tensors.convert.options import ConvertOptions
from mxcast.tensors.convert.repacking import convert_file
from mxcast.tensors.inspect.inspection import inspect_file

from ..stored_files import EVERY, NAME, PROFILES, WEIGHTS, quantized, stored, write

ROWS = [layout for layout in EVERY if layout.axis == -1]
KEY = "mxcast_layouts"
LINE = "model.norm.weight"
"""A tensor of one axis, which layouts with rows of tiles do not have."""


def written_in(layout: Layout, folder, has_line: bool = True):
    """Weights in a layout, and a line of them where it has lines."""
    is_matrix = (
        not has_line or (layout.padding, layout.scale_padding) != ((1, 1), (1, 1)) or "TILES" in layout.order.name
    )
    tensors = {NAME: WEIGHTS} | ({} if is_matrix else {LINE: WEIGHTS[0]})
    save_file(tensors | {"norm": np.ones(3, np.float32)}, folder / "x.safetensors")
    made, profile = folder / "made.safetensors", PROFILES.get(str(layout.convention))
    patterns = {"exclude": ["norm"]}
    quantize_file(folder / "x.safetensors", made, layout.block, profile, layout=layout.dialect, **patterns)
    return made, tensors.keys()


@pytest.mark.parametrize("layout", ROWS, ids=[layout.name for layout in ROWS])
def test_every_layout(layout, tmp_path):
    path, names = written_in(layout, tmp_path)
    found = inspect_file(path)
    assert {one.name: [reading.names for reading in one.readings] for one in found.tensors} == dict.fromkeys(
        names, [layout.name]
    )
    assert not found.ambiguous and not found.suspicions and "norm" in found.others
    include = tuple(layout.codes.of(name) for name in names)
    given = ConvertOptions(stored_as=layout.dialect, format=layout.block, include=include)
    convert_file(path, tmp_path / "given.safetensors", given)
    convert_file(path, tmp_path / "said.safetensors", ConvertOptions())
    assert (tmp_path / "said.safetensors").read_bytes() == (tmp_path / "given.safetensors").read_bytes()
    assert KEY not in read(tmp_path / "said.safetensors").metadata


def test_the_commands(tmp_path, passes, fails):
    path, _ = written_in(LAYOUTS["modelopt"]["nvfp4"], tmp_path, has_line=False)
    assert "no suspicions" in passes("inspect", path)
    passes("dequantize", path, tmp_path / "y.safetensors")
    passes("convert", path, tmp_path / "c.safetensors", "--layout", "comfy")
    assert "comfy:nvfp4: block format" in passes("inspect", tmp_path / "c.safetensors")
    passes("convert", tmp_path / "c.safetensors", tmp_path / "again.safetensors", "--layout", "modelopt")
    assert (tmp_path / "again.safetensors").read_bytes() == path.read_bytes()
    passes("convert", path, tmp_path / "g.gguf", "--layout", "ggml")
    assert not any(KEY in key for key in read(tmp_path / "g.gguf").metadata)
    sentence = fails(2, "dequantize", path, tmp_path / "z.safetensors", "--from", "comfy", "--format", "nvfp4")
    assert "the metadata of mxcast say modelopt:nvfp4, which is not the layout comfy:nvfp4" in sentence


def test_a_folder(tmp_path, passes):
    model = tmp_path / "model"
    model.mkdir()
    save_file({NAME: WEIGHTS}, model / "model.safetensors")
    passes("quantize", model, tmp_path / "q", "-f", "nvfp4", "--profile", "nvfp4_te", "--layout", "mlx")
    passes("dequantize", tmp_path / "q", tmp_path / "y")
    q = quantized(LAYOUTS["mlx"]["nvfp4"])
    assert np.array_equal(load_file(tmp_path / "y" / "model.safetensors")[NAME], BlockArray.dequantize(q))


def test_two_block_formats_in_one_file(tmp_path):
    """A .gguf file may have both; in torchao their scales have one name."""
    mx, nv = LAYOUTS["ggml"]["mxfp4_e2m1"], LAYOUTS["ggml"]["nvfp4"]
    arrays = stored(mx, quantized(mx), "a.weight") | stored(nv, quantized(nv), "b.weight")
    from ..containers.test_gguf import file_of

    types = {"a.weight": ("MXFP4", (128, 384)), "b.weight": ("NVFP4", (128, 384)), "b.scale": ("F32", (1,))}
    file_of(tmp_path / "a.gguf", {name: (*types[name], array) for name, array in arrays.items()}, {})
    convert_file(tmp_path / "a.gguf", tmp_path / "b.safetensors", ConvertOptions(layout="torchao"))
    readings = {one.name: one.readings[0].names for one in inspect_file(tmp_path / "b.safetensors").tensors}
    assert readings == {"a.weight": "torchao:mxfp4_e2m1", "b.weight": "torchao:nvfp4"}
    for source in ("a.gguf", "b.safetensors"):
        convert_file(tmp_path / source, tmp_path / f"{source}.safetensors", ConvertOptions())
    first, second = (load_file(tmp_path / f"{source}.safetensors") for source in ("a.gguf", "b.safetensors"))
    assert all(np.array_equal(first[name], second[name]) for name in ("a.weight", "b.weight"))


def ambiguous(tmp_path, text: str):
    layout = LAYOUTS["modelopt"]["nvfp4"]
    return write(tmp_path / "a.safetensors", layout, stored(layout, quantized(layout)), metadata={KEY: text})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"modelopt:nvfp4": 3}', '{"modelopt:nvfp4": [3]}', f'{{"no:nvfp4": ["{NAME}"]}}', "[" * 9999],
)
def test_damaged_metadata_say_nothing(text, tmp_path):
    assert inspect_file(ambiguous(tmp_path, text)).ambiguous


def test_metadata_of_another_file(tmp_path, fails):
    """The metadata name a layout that does not fit, or missing arrays."""
    path = ambiguous(tmp_path, json.dumps({"gpt_oss:mxfp4_e2m1": [NAME]}))
    (suspicion,) = inspect_file(path).suspicions
    assert suspicion.kind == "contradiction" and "the metadata of mxcast say gpt_oss:mxfp4_e2m1" in suspicion.sentence
    assert "has no quantized tensors" in fails(2, "dequantize", path, tmp_path / "y.safetensors")
    path = ambiguous(tmp_path, json.dumps({"mlx:mxfp4_e2m1": [NAME]}))
    assert f"has no {NAME.rpartition('.')[0]}.scales" in fails(
        2, "dequantize", path, tmp_path / "y.safetensors"
    ).replace("'", "")
