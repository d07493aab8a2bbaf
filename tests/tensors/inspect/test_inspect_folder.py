"""`mxcast inspect FOLDER`: all files of a model as one."""

import json
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.cli import main
from mxcast.host.files import UNFINISHED
from mxcast.models import pack, quantize, quantize_nvfp4
from mxcast.spec import LAYOUTS, encoding
from mxcast.tensors.checkpoint.checkpoints import quantize_checkpoint
from mxcast.tensors.containers.safetensors import safetensors_header
from mxcast.tensors.convert.options import QuantizeOptions
from mxcast.tensors.inspect.inspection import inspect_file

from ..checkpoint.test_resume import here
from ..layouts.test_what_libraries_wrote import DATA
from ..stored_files import WEIGHTS

INDEX = "model.safetensors.index.json"
NAMES = [f"model.layers.{n}.mlp.up_proj.weight" for n in range(2)]
Q = quantize(WEIGHTS, "e2m1")


@pytest.fixture
def model(tmp_path):
    """Numbers in two shards."""
    (tmp_path / "model").mkdir()
    for n, name in enumerate(NAMES):
        save_file({name: WEIGHTS, f"norm.{n}": WEIGHTS[0]}, tmp_path / "model" / f"{n}.safetensors")
    indexed(tmp_path / "model")
    return tmp_path / "model"


def indexed(folder):
    shards = {name: path.name for path in sorted(folder.glob("*.safetensors")) for name in load_file(path)}
    (folder / INDEX).write_text(json.dumps({"weight_map": shards}))
    return folder


def readings(folder) -> dict[str, list[str]]:
    return {one.name: [reading.names for reading in one.readings] for one in inspect_file(folder).tensors}


@pytest.mark.parametrize("layout", [None, "gpt_oss", "comfy", "torchao", "mlx", "quark_pack"])
def test_what_we_wrote(layout, model, tmp_path, passes):
    block = "mxfp8_e4m3" if layout in ("comfy", "mlx") else "mxfp4_e2m1"
    options = QuantizeOptions(numerics=encoding(block), layout=layout, include=("*proj*",))
    quantize_checkpoint(model, tmp_path / "q", options, run=here)
    assert readings(tmp_path / "q") == dict.fromkeys(NAMES, [f"{layout or 'mxcast'}:{block}"])
    text = passes("inspect", tmp_path / "q")
    assert text.endswith("no suspicions\n") and "not quantized: norm.0, norm.1" in text
    document = json.loads(passes("inspect", tmp_path / "q", "--json"))
    assert [one["name"] for one in document["tensors"]] == NAMES
    (tmp_path / "q" / INDEX).unlink()
    if layout != "quark_pack":  # whose configuration says which of two block formats
        assert readings(tmp_path / "q").keys() == {*NAMES}


def test_numbers(model, passes):
    assert "no quantized tensors" in passes("inspect", model)


def test_scales_in_another_file(tmp_path, passes):
    for n, name in enumerate(NAMES):
        stored = pack(Q, "gpt_oss", name=name)
        save_file({f"{name}_scales": stored[f"{name}_scales"]}, tmp_path / f"{n}.safetensors")
        save_file({f"{name}_blocks": stored[f"{name}_blocks"]}, tmp_path / f"codes{n}.safetensors")
    for prepare in (lambda: None, lambda: indexed(tmp_path)):
        prepare()
        assert readings(tmp_path) == dict.fromkeys(NAMES, ["gpt_oss:mxfp4_e2m1"])
        assert passes("inspect", tmp_path).endswith("no suspicions\n")


def test_a_suspicion_in_the_second_file(tmp_path, capsys):
    for n, name in enumerate(NAMES):
        q = replace(Q, scales=np.where(np.arange(Q.scales.size).reshape(Q.scales.shape) == 7, 255, Q.scales))
        layout = replace(LAYOUTS["gpt_oss"]["mxfp4_e2m1"], reads_otherwise=())
        stored = pack(replace(q, scales=q.scales.astype(np.uint8)) if n else Q, layout, name=name)
        save_file(stored, tmp_path / f"{n}.safetensors")
    assert main(["inspect", str(indexed(tmp_path))]) == 1
    text = capsys.readouterr().out
    assert f"suspicion (nan_scale): {NAMES[1]}: 1 of 1536 block scales is NaN" in text


def test_what_tells(tmp_path):
    """The configuration of the folder decides, and so do the metadata of torchao in each file."""
    q = quantize_nvfp4(WEIGHTS, "nvfp4", "nvfp4_ao")
    stored = pack(q, "modelopt", name=NAMES[0])
    dtypes = dict(zip(stored, ("U8", "F8_E4M3", "F32")))
    header = safetensors_header({name: (dtypes[name], a.shape, a.nbytes) for name, a in stored.items()}, {})
    (tmp_path / "model.safetensors").write_bytes(header + b"".join(a.tobytes() for a in stored.values()))
    assert inspect_file(tmp_path).ambiguous
    section = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
    (tmp_path / "config.json").write_text(json.dumps({"quantization_config": section}))
    assert readings(tmp_path) == {NAMES[0]: ["modelopt:nvfp4"]}
    folder = tmp_path / "torchao"
    folder.mkdir()
    for n, file in enumerate(("torchao/mxfp8.safetensors", "torchao_swizzled/nvfp4.safetensors")):
        data = (
            (DATA / file).read_bytes().replace(b"up.weight", b"up.weigh%d" % n).replace(b"_weight_", b"_weigh%d_" % n)
        )
        (folder / file.replace("/", "-")).write_bytes(data.replace(b"values", b"value%d" % n))
    assert readings(folder) == {"up.weigh0": ["torchao:mxfp8_e4m3"], "up.weigh1": ["torchao_swizzled:nvfp4"]}


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("{", "is not JSON"),
        ('{"quantization_config": {"quant_method": "fp8", "fmt": "e9m9"}}', "fmt must be e4m3 or e5m2"),
        ('{"quantization_config": {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}}', "quantized_layers"),
    ],
)
def test_a_damaged_configuration(text, sentence, model, fails, passes):
    """It is refused for a model, and ignored next to a file, which is said."""
    assert "ignored" not in passes("inspect", model / "0.safetensors")
    (model / "config.json").write_text(text)
    refusal = fails(2, "inspect", model)
    assert f"{model / 'config.json'}" in refusal and sentence in refusal
    assert f"ignored: {refusal.removeprefix('mxcast: ')}\n" in passes("inspect", model / "0.safetensors")
    assert sentence in json.loads(passes("inspect", model / "0.safetensors", "--json"))["ignored"]


def test_files_that_are_no_part_of_the_model(model, passes):
    """Files that the index does not name are not inspected, and are named."""
    assert "left out" not in passes("inspect", model)
    save_file({"other": WEIGHTS}, model / "consolidated.safetensors")
    assert "left out: consolidated.safetensors: not part of the model" in passes("inspect", model)
    assert json.loads(passes("inspect", model, "--json"))["left_out"] == ["consolidated.safetensors"]


def test_what_is_refused(model, tmp_path, fails):
    (tmp_path / "empty").mkdir()
    assert "has no model.safetensors.index.json, and no .safetensors" in fails(2, "inspect", tmp_path / "empty")
    assert fails(2, "inspect", tmp_path / "misspelt").endswith("misspelt: No such file or directory")
    (model / INDEX).unlink()
    (model / "again.safetensors").write_bytes((model / "0.safetensors").read_bytes())
    sentence = fails(2, "inspect", model)
    assert "0.safetensors and again.safetensors of " in sentence and "both have the tensor" in sentence
    (model / "again.safetensors").write_bytes(b"1234")
    assert "again.safetensors is no .safetensors file" in fails(2, "inspect", model)
    (model / UNFINISHED).mkdir()
    assert "is not complete: give the command that makes it again" in fails(2, "inspect", model)
