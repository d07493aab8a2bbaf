"""Recognition of every layout, ambiguous files, and declarations of libraries."""

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from mxcast.models import quantize
from mxcast.tensors.inspect.inspection import inspect_file

from ..stored_files import EVERY, NAME, WEIGHTS, quantized, stored, write

DATA = Path(__file__).parents[1] / "data"
SAME_ARRAYS = [
    {"ggml:mxfp4_e2m1", "quark_pack:mxfp4_e2m1", "seed004:mxfp4_e2m1"},
    {"ggml:nvfp4"},
    {"quark_pack:mxfp6_e3m2", "quark_pack:mxfp6_e2m3"},
    {"modelopt:nvfp4", "comfy:nvfp4"},
    {"comfy:mxfp8_e4m3", "onnx:mxfp8_e4m3"},
    *(
        {f"{dialect}:mxfp6_e3m2", f"{dialect}:mxfp6_e2m3"}
        for dialect in ("quark", "torchao", "torchao_swizzled", "onnx")
    ),
    *({f"{dialect}:mxfp8_e5m2", f"{dialect}:mxfp8_e4m3"} for dialect in ("te", "te_columnwise")),
]
"""Layouts whose arrays have the same names, dtypes and shapes, and other numbers; ggml's NVFP4 is one array of bytes,
which need not be quantized."""
SAME_BYTES = [{"compressed_tensors:mxfp8_e4m3", "modelopt:mxfp8_e4m3"}]
"""Layouts that read the same numbers from the same arrays."""


@pytest.mark.parametrize("layout", EVERY, ids=[layout.name for layout in EVERY])
def test_every_layout(layout, tmp_path):
    """The layout is among the readings. An ambiguous tensor is not counted, and the option `--as` decides."""
    path = write(tmp_path / "a.safetensors", layout, stored(layout, quantized(layout)))
    (tensor,) = inspect_file(path).tensors
    readings = [{one.name for one in reading.layouts} for reading in tensor.readings]
    ambiguous = next((names for names in SAME_ARRAYS if layout.name in names), None)
    if ambiguous is None:
        same = next((names for names in SAME_BYTES if layout.name in names), {layout.name})
        assert readings == [same] and not tensor.is_ambiguous
    else:
        assert set().union(*readings) == ambiguous and len(readings) == len(ambiguous)
        assert tensor.is_ambiguous and tensor.tally is None and all(name in tensor.differences for name in ambiguous)
        assert ("not quantized" in tensor.differences) == (layout.scales is None)
    inspection = inspect_file(path, layout.name)
    (tensor,) = inspection.tensors
    assert (tensor.name, tensor.is_ambiguous, inspection.others) == (NAME, False, ("norm",))
    assert layout.name in tensor.readings[0].names
    q = quantized(layout)
    assert tensor.tally.codes.tolist() == np.bincount(q.codes.reshape(-1), minlength=tensor.tally.codes.size).tolist()
    assert tensor.tally.scales.tolist() == np.bincount(q.scales.reshape(-1), minlength=256).tolist()
    values = np.abs(q.dequantize().astype(np.float64))
    assert tensor.amax == pytest.approx(values.max(), rel=1e-6)
    assert tensor.blocks == tensor.tally.blocks == q.scales.size


def test_rows_that_are_completed_are_of_one_library(tmp_path):
    """ComfyUI pads scales to tiles and ModelOpt does not, so shapes decide."""
    for rows, names in ((96, "comfy:nvfp4"), (80, "modelopt:nvfp4")):
        layout = next(one for one in EVERY if one.name == names)
        path = write(tmp_path / "a.safetensors", layout, stored(layout, quantized(layout, rows=rows)))
        (tensor,) = inspect_file(path).tensors
        assert [reading.names for reading in tensor.readings] == [names]


def bytes_of(document: object) -> np.ndarray:
    return np.frombuffer(json.dumps(document).encode(), np.uint8)


def test_the_mark_of_comfyui(tmp_path):
    layout = next(one for one in EVERY if one.name == "comfy:nvfp4")
    mark = NAME.removesuffix("weight") + "comfy_quant"
    arrays = stored(layout, quantized(layout)) | {mark: bytes_of({"format": "nvfp4"})}
    path = write(tmp_path / "a.safetensors", layout, arrays, dtypes={mark: "U8"})
    inspection = inspect_file(path)
    assert [reading.names for reading in inspection.tensors[0].readings] == ["comfy:nvfp4"]
    assert inspection.tensors[0].readings[0].evidence[0] == "{module}comfy_quant says 'nvfp4'"
    assert not inspection.suspicions
    plain = next(one for one in EVERY if one.name == "modelopt:nvfp4")
    arrays = stored(plain, quantized(plain, rows=80)) | {mark: bytes_of({"format": "nvfp4"})}
    (suspicion,) = inspect_file(write(path, plain, arrays, dtypes={mark: "U8"})).suspicions
    assert suspicion.kind == "contradiction" and "shapes fit modelopt:nvfp4" in suspicion.sentence


@pytest.mark.parametrize("text", [b"{", b"[1]", b"\xff\xfe", b"[" * 5000])
def test_a_damaged_mark(text, tmp_path):
    layout = next(one for one in EVERY if one.name == "comfy:nvfp4")
    mark = NAME.removesuffix("weight") + "comfy_quant"
    arrays = stored(layout, quantized(layout)) | {mark: np.frombuffer(text, np.uint8)}
    with pytest.raises(ValueError, match=r"comfy_quant' should be "):
        inspect_file(write(tmp_path / "a.safetensors", layout, arrays, dtypes={mark: "U8"}))


def torchao(kind: str, element: str, is_swizzled: bool) -> dict[str, str]:
    """Metadata as torchao writes them (prototype/safetensors/safetensors_support.py)."""
    fields = {"is_swizzled_scales": is_swizzled, "elem_dtype": {"_type": "torch.dtype", "_data": element}}
    return {"tensor_names": json.dumps([NAME]), NAME: json.dumps({"_type": kind, "_data": fields})}


def test_the_metadata_of_torchao(tmp_path):
    kinds = {"nvfp4": ("NVFP4Tensor", "float4_e2m1fn_x2"), "mxfp6_e3m2": ("MXTensor", "fp6_e3m2")}
    for layout in EVERY:
        if layout.dialect.startswith("torchao") and layout.block in kinds:
            is_swizzled = layout.dialect == "torchao_swizzled"
            arrays = stored(layout, quantized(layout))
            metadata = torchao(*kinds[layout.block], is_swizzled)
            inspection = inspect_file(write(tmp_path / "a.safetensors", layout, arrays, metadata=metadata))
            assert [reading.names for reading in inspection.tensors[0].readings] == [layout.name]
            assert not inspection.suspicions
            other = torchao(*kinds[layout.block], not is_swizzled)
            found = inspect_file(write(tmp_path / "a.safetensors", layout, arrays, metadata=other)).suspicions
            assert [one.kind for one in found] == ["contradiction"]


def test_what_mxcast_writes_itself(passes_quantize):
    """Every block format, those too that no catalogue has, and elements of more than a byte, of which nothing is
    counted.
    """
    for format, more in (("e4m3", ()), ("int8", ()), ("e3m3", ()), ("nvfp4", ()), ("int12", ()), ("e2m1", (16,))):
        path, x = passes_quantize(format, *more)
        inspection = inspect_file(path)
        assert not inspection.suspicions and inspection.others == ("ids",)
        (tensor,) = inspection.tensors
        assert tensor.readings[0].evidence == ("the metadata 'mxcast'",)
        assert (tensor.tally is None) == (format == "int12")
        if tensor.tally and not more and format != "nvfp4":
            assert tensor.amax == np.abs(quantize(x, format).dequantize()).max()


@pytest.fixture
def passes_quantize(tmp_path):
    from safetensors.numpy import save_file

    from mxcast.tensors.convert.files import quantize_file

    def run(format: str, size: int | None = None):
        save_file({"a": WEIGHTS, "ids": np.arange(3)}, tmp_path / "in.safetensors")
        rules = {} if size is None else {"block_size": size}
        quantize_file(tmp_path / "in.safetensors", tmp_path / "q.safetensors", format, **rules)
        return tmp_path / "q.safetensors", WEIGHTS

    return run


def test_scales_of_two_names(tmp_path):
    """The array of codes may belong to two tensors: one sentence, and the layout decides."""
    layout = next(one for one in EVERY if one.name == "compressed_tensors:mxfp4_e2m1")
    arrays = stored(layout, quantized(layout))
    both = arrays | {f"{NAME}_packed_scale": arrays[f"{NAME}_scale"]}
    path = write(tmp_path / "a.safetensors", layout, both, dtypes={f"{NAME}_packed_scale": "U8"})
    with pytest.raises(ValueError, match="may be of the tensor .* or .*: name the layout"):
        inspect_file(path)
    assert len(inspect_file(path, layout.name).tensors) == 1


def test_experts(tmp_path):
    """Three axes: a tensor scale for each expert, and blocks of all of them."""
    layout = next(one for one in EVERY if one.name == "modelopt:nvfp4")
    arrays = stored(layout, quantized(layout, rows=80))
    experts = {name: np.stack([array] * 3) for name, array in arrays.items()}
    (tensor,) = inspect_file(write(tmp_path / "a.safetensors", layout, experts), layout.name).tensors
    assert tensor.blocks == tensor.tally.blocks == 3 * 80 * 24 and len(tensor.tensor_scale) == 3


def test_files_in_order_of_tensors(tmp_path):
    layout = next(one for one in EVERY if one.dialect == "gpt_oss")
    names = ["z", "a", "m"]
    arrays = {array: a for name in names for array, a in stored(layout, quantized(layout), name).items()}
    inspection = inspect_file(write(tmp_path / "a.safetensors", layout, arrays, names=names))
    assert [name for name, _ in groupby(tensor.name for tensor in inspection.tensors)] == names


@pytest.mark.parametrize("file", sorted((*DATA.glob("*/*.gguf"), *DATA.glob("*/*.onnx"))), ids=lambda file: file.name)
def test_containers_with_types_of_their_own(file):
    """Files of libraries have one reading, and all blocks are counted."""
    found = inspect_file(file)
    (tensor,) = found.tensors
    assert not tensor.is_ambiguous and "the type " in tensor.readings[0].evidence[0]
    assert tensor.readings[0].layout.dialect == {".gguf": "ggml", ".onnx": "onnx"}[file.suffix]
    assert tensor.tally.blocks == tensor.blocks > 0 and tensor.amax > 0 and not found.suspicions


def test_the_configuration_beside_a_file(tmp_path):
    """It separates ModelOpt's NVFP4 from ComfyUI's; another library is a contradiction, an unknown one is ignored."""
    layout, config = next(one for one in EVERY if one.name == "modelopt:nvfp4"), tmp_path / "config.json"
    path = write(tmp_path / "model.safetensors", layout, stored(layout, quantized(layout)))
    assert len(inspect_file(path).tensors[0].readings) > 1
    for section, names, contradicted in [
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, ["modelopt:nvfp4"], False),
        ({"quant_method": "mxfp4"}, None, True),
        ({"quant_method": "of nobody"}, None, False),
    ]:
        config.write_text(json.dumps({"quantization_config": section}))
        found = inspect_file(path)
        (tensor,) = found.tensors
        assert tensor.is_ambiguous is (names is None) and bool(found.suspicions) is contradicted, section
        if names is not None:
            assert [reading.names for reading in tensor.readings] == names
            assert tensor.readings[0].evidence[0] == "the configuration next to the file says modelopt:nvfp4"
