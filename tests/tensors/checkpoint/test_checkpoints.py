"""Models in a folder: shard by shard, the same bytes whoever does the work, and what configurations say."""

import errno
import json
import os
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.host.files import UNFINISHED
from mxcast.models import dequantize, pack, quantize
from mxcast.spec import layout_named
from mxcast.spec.formats.names import block_format
from mxcast.tensors.checkpoint import checkpoints, shard_jobs
from mxcast.tensors.configuration.reading import groups_in
from mxcast.tensors.configuration.writing import configured
from mxcast.tensors.containers.containers import read
from mxcast.tensors.convert.files import quantize_file
from mxcast.tensors.convert.options import ConvertOptions
from mxcast.tensors.convert.repacking import convert_file

INDEX = "model.safetensors.index.json"


def numbers(seed: int, shape=(64, 128)) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    """A folder with two shards; `ONLY` selects tensors of one of them."""
    folder = tmp_path / "model"
    folder.mkdir()
    shards = {
        "model-00001-of-00002.safetensors": {"embed.weight": numbers(0), "norm.weight": numbers(1, (128,))},
        "model-00002-of-00002.safetensors": {
            "l.0.up.weight": numbers(2),
            "l.1.up[0].weight": numbers(3),
            "ids": np.arange(4),
        },
    }
    placed = {}
    for shard, tensors in shards.items():
        save_file(tensors, folder / shard, {"format": "pt"})
        placed |= dict.fromkeys(tensors, shard)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": placed}))
    (folder / "config.json").write_text(json.dumps({"model_type": "x", "hidden_size": 128}))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "pytorch_model.bin").write_text("old weights")
    return folder


ONLY = ["--include", "*up*"]


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shard_by_shard(model, passes, tmp_path):
    """Each shard has the bytes of a conversion of its file alone, in every step, and the index names its tensors."""
    q, there, onward, back, direct = (tmp_path / name for name in ("q", "there", "onward", "back", "direct"))
    assert "model-00002-of-00002.safetensors" in passes("quantize", model, q, "-f", "e2m1", *ONLY)
    first, second = (f"model-0000{n}-of-00002.safetensors" for n in (1, 2))
    quantize_file(model / second, tmp_path / "alone.safetensors", "e2m1", "ocp", include=["*up*"])
    assert (q / second).read_bytes() == (tmp_path / "alone.safetensors").read_bytes()
    assert (q / first).read_bytes() == (model / first).read_bytes()
    assert {path.name for path in q.iterdir()} == {first, second, INDEX, "config.json", "tokenizer.json"}
    passes("convert", q, there, "--layout", "gpt_oss", "-j", 2)
    convert_file(tmp_path / "alone.safetensors", tmp_path / "laid.safetensors", ConvertOptions(layout="gpt_oss"))
    assert (there / second).read_bytes() == (tmp_path / "laid.safetensors").read_bytes()
    passes("quantize", model, direct, "-f", "e2m1", *ONLY, "--layout", "gpt_oss")
    assert content(direct) == content(there)
    index = json.loads((there / INDEX).read_text())
    stored = {name: shard for shard in (first, second) for name in read(there / shard).tensors}
    assert index["weight_map"] == stored
    assert index["metadata"]["total_size"] == sum(
        one.data.nbytes for shard in (first, second) for one in read(there / shard).tensors.values()
    )
    config = json.loads((there / "config.json").read_text())
    assert config == {
        "model_type": "x",
        "hidden_size": 128,
        "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["embed"]},
    }
    passes("convert", there, onward, "--layout", "compressed_tensors")  # the configuration names the layout
    said = {"compressed_tensors:mxfp4_e2m1": ["l.0.up.weight", "l.1.up[0].weight"]}
    assert read(onward / second).metadata == {"format": "pt", "mxcast_layouts": json.dumps(said)}
    passes("dequantize", onward, back)
    found = load_file(back / second)
    for name, seed in (("l.0.up.weight", 2), ("l.1.up[0].weight", 3)):
        assert np.array_equal(found[name], dequantize(quantize(numbers(seed), "e2m1")))
    assert json.loads((back / "config.json").read_text()) == {"model_type": "x", "hidden_size": 128}
    passes("dequantize", q, tmp_path / "own")
    assert np.array_equal(load_file(tmp_path / "own" / second)["l.0.up.weight"], found["l.0.up.weight"])


def test_scales_in_another_shard(passes, tmp_path):
    """Codes and scales may be in different shards."""
    stored = pack(quantize(numbers(2), "e2m1"), "compressed_tensors", name="up.weight")
    (tmp_path / "model").mkdir()
    for shard, name in (("a.safetensors", "up.weight_packed"), ("b.safetensors", "up.weight_scale")):
        save_file({name: stored[name]}, tmp_path / "model" / shard)
    placed = {"up.weight_packed": "a.safetensors", "up.weight_scale": "b.safetensors"}
    (tmp_path / "model" / INDEX).write_text(json.dumps({"weight_map": placed}))
    own = ["--from", "compressed_tensors", "-f", "e2m1"]
    passes("dequantize", tmp_path / "model", tmp_path / "back", *own)
    found = load_file(tmp_path / "back" / "a.safetensors")["up.weight"]
    assert np.array_equal(found, dequantize(quantize(numbers(2), "e2m1")))
    assert not load_file(tmp_path / "back" / "b.safetensors")
    passes("convert", tmp_path / "model", tmp_path / "there", *own, "--layout", "mlx")
    assert set(load_file(tmp_path / "there" / "a.safetensors")) == {"up.weight", "up.scales"}


def test_one_file_without_an_index(model, passes, tmp_path):
    single = tmp_path / "single"
    single.mkdir()
    shutil.copy(model / "model-00002-of-00002.safetensors", single / "model.safetensors")
    passes("quantize", single, tmp_path / "q", "-f", "e2m1", *ONLY, "--layout", "quark")
    assert {path.name for path in (tmp_path / "q").iterdir()} == {"model.safetensors", "config.json"}


def test_a_folder_without_an_index(model, passes, fails, tmp_path):
    """Its files are the shards, and the new folder has no index either. An incomplete model has no index yet."""
    passes("quantize", model, tmp_path / "q", "-f", "e2m1", *ONLY, "--layout", "quark")
    copy = shutil.copytree(tmp_path / "q", tmp_path / "copy")
    (copy / INDEX).unlink()
    assert "no suspicions" in passes("inspect", copy)
    for verb, options in {"dequantize": [], "convert": ["--layout", "compressed_tensors"]}.items():
        for source in "q", "copy":
            passes(verb, tmp_path / source, tmp_path / f"{verb}-{source}", *options)
        right = content(tmp_path / f"{verb}-q")
        assert right.pop(INDEX) and content(tmp_path / f"{verb}-copy") == right
    (copy / UNFINISHED).mkdir()
    assert "is not complete: give the command that makes it again" in fails(2, "dequantize", copy, tmp_path / "y")
    (copy / UNFINISHED).rmdir()
    shutil.copy(copy / "model-00001-of-00002.safetensors", copy / "other.safetensors")
    assert "both have the tensor" in fails(2, "dequantize", copy, tmp_path / "y")


def test_a_cluster_gives_the_same_bytes(model, passes, tmp_path):
    distributed = pytest.importorskip("distributed")
    passes("quantize", model, tmp_path / "here", "-f", "e4m3", *ONLY, "--layout", "modelopt", "-j", 2)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as local:
        arguments = ["-f", "e4m3", *ONLY, "--layout", "modelopt", "--scheduler", local.scheduler_address]
        passes("quantize", model, tmp_path / "there", *arguments)
    assert content(tmp_path / "here") == content(tmp_path / "there")


def test_what_is_refused(model, fails, tmp_path, passes):
    out = tmp_path / "out"
    quantized = ["-f", "e2m1", *ONLY]

    def refused(sentence, verb, *options, source=model, target=out):
        assert sentence in fails(2, verb, source, target, *options)
        assert not (target / INDEX).exists()

    refused("its layout must be given", "convert", "--layout", "mlx")
    refused("no tensor has a name that matches 'zz*'", "quantize", "-f", "e2m1", "--include", "zz*")
    refused("is a folder, not", "quantize", *quantized, target=tmp_path / "x.gguf")
    refused("has no model.safetensors.index.json, and no .safetensors files", "dequantize", source=tmp_path)
    passes("quantize", model, out, *quantized)
    (out / INDEX).unlink()
    refused("is not empty: a model is written into a new folder", "quantize", *quantized)
    file = model / "model-00002-of-00002.safetensors"
    sentence = fails(2, "dequantize", file, tmp_path / "y.safetensors", "--scheduler", "tcp://x")
    assert "--scheduler is for the shards of a folder" in sentence


@pytest.mark.parametrize(
    "index, said",
    [
        ("[", "is not JSON"),
        ("[1]", "has no weight_map"),
        ('{"weight_map": {"a": "../a.safetensors"}}', "has '../a.safetensors' for the shard of 'a'"),
        ('{"weight_map": {"a": 3}}', "has 3 for the shard of 'a'"),
        ('{"weight_map": {"a": "a\\u0000.safetensors"}}', "has 'a\\x00.safetensors' for the shard of 'a'"),
        ('{"weight_map": {"a": "\\ud800.safetensors"}}', "has '\\ud800.safetensors' for the shard of 'a'"),
        (f'{{"weight_map": {{"a": "{"a" * 300}.safetensors"}}}}', "...' for the shard of 'a'"),
        ('{"weight_map": {"a": "/etc/a.safetensors"}}', "has '/etc/a.safetensors' for the shard of 'a'"),
        ('{"weight_map": {"a": "gone.safetensors"}}', "gone.safetensors: No such file or directory"),
        ('{"weight_map": {"a": "model-00001-of-00002.safetensors"}}', "do not agree on the tensor"),
    ],
)
def test_damaged_indices(index, said, model, fails, tmp_path):
    (model / INDEX).write_text(index)
    assert said in fails(2, "quantize", model, tmp_path / "out", "-f", "e2m1")
    assert not (tmp_path / "out").exists()


CONFIGURED = [
    ("gpt_oss", "mxfp4_e2m1"),
    ("compressed_tensors", "mxfp4_e2m1"),
    ("compressed_tensors", "mxfp6_e2m3"),
    ("compressed_tensors", "mxfp8_e4m3"),
    ("compressed_tensors", "nvfp4"),
    ("modelopt", "mxfp8_e4m3"),
    ("modelopt", "nvfp4"),
    ("quark", "mxfp4_e2m1"),
    ("quark", "mxfp6_e3m2"),
    ("quark", "mxfp6_e2m3"),
]


@pytest.mark.parametrize("dialect, block", CONFIGURED, ids=str)
def test_configurations_there_and_back(dialect, block, tmp_path):
    layout = layout_named(dialect, block_format(block))
    documents = configured(tmp_path, {"up.weight": layout}, ["lm_head"])
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document))
    assert groups_in(tmp_path).of("up.weight").layouts == (layout,)
    assert set(documents) == {"config.json"} | ({"hf_quant_config.json"} if dialect == "modelopt" else set())
    if dialect == "modelopt":
        (tmp_path / "config.json").unlink()
        assert groups_in(tmp_path).of("up.weight").layouts == (layout,)
    assert configured(tmp_path, {}, [])["config.json"].keys() == set()


def test_what_compressed_tensors_reads_of_it(tmp_path):
    """The library reads the section, and finds its own preset for these weights."""
    pytest.importorskip("compressed_tensors")
    from compressed_tensors.quantization import QuantizationConfig

    presets = {"mxfp4_e2m1": "MXFP4A16", "mxfp6_e2m3": "MXFP6A16", "mxfp8_e4m3": "MXFP8A16", "nvfp4": "NVFP4A16"}
    for block, preset in presets.items():
        layout = layout_named("compressed_tensors", block_format(block))
        section = configured(tmp_path, {"up.weight": layout}, ["lm_head"])["config.json"]["quantization_config"]
        found = QuantizationConfig(**section)
        wanted = QuantizationConfig(config_groups={preset: ["Linear"]}).config_groups[preset]
        weights = section["config_groups"]["group_0"]["weights"]
        assert wanted.weights.model_dump(mode="json") | weights == wanted.weights.model_dump(mode="json")
        assert found.ignore == ["lm_head"] and found.format == section["format"]


def test_two_configurations_that_do_not_agree(model, fails, passes, tmp_path):
    """A configuration must agree with the command; an unknown one is ignored."""
    there = tmp_path / "there"
    passes("quantize", model, there, "-f", "e4m3", *ONLY, "--layout", "modelopt")
    arguments = "convert", there, tmp_path / "out", "--layout", "mlx"
    kept = (there / "config.json").read_text()
    other = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}
    (there / "config.json").write_text(json.dumps(other))
    sentence = fails(2, *arguments)
    assert sentence.endswith("says modelopt:nvfp4, and hf_quant_config.json says modelopt:mxfp8_e4m3")
    (there / "config.json").write_text(kept)
    sentence = fails(2, *arguments, "--from", "comfy", "-f", "nvfp4")
    assert sentence.endswith("has no quantized tensors in the layout comfy")
    assert not (tmp_path / "out").exists()
    passes(*arguments, "--from", "compressed_tensors", "-f", "e4m3")  # which reads the same arrays the same
    for name in ("config.json", "hf_quant_config.json"):
        (there / name).unlink()
    (there / "config.json").write_text('{"quantization_config": {"quant_method": "awq"}}')
    passes("convert", there, tmp_path / "own", "--from", "modelopt", "-f", "e4m3", "--layout", "modelopt")
    assert content(tmp_path / "own").keys() == content(there).keys() | {"hf_quant_config.json"}


def test_a_full_disk_has_the_name_of_the_shard(model, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfile", full)
    (tmp_path / "q").mkdir()
    shard = "model-00001-of-00002.safetensors"
    job = shard_jobs.Job(source=str(model), target=str(tmp_path / "q"), shard=shard)
    said = json.loads(shard_jobs.run_job(json.dumps(job.to_dict())))
    assert said == {"error": f"{tmp_path / 'q' / shard}: No space left on device"}


def test_what_is_left_out_is_told(model, passes, tmp_path):
    (model / "original").mkdir()
    shutil.copy(model / "model-00001-of-00002.safetensors", model / "consolidated.safetensors")
    os.mkfifo(model / "pipe")
    text = passes("quantize", model, tmp_path / "q", "-f", "e2m1", *ONLY)
    assert "left out: consolidated.safetensors, original/, pipe, pytorch_model.bin\n" in text
    report = json.loads(passes("quantize", model, model / "inside", "-f", "e2m1", *ONLY, "--json"))
    assert report["left_out"] == ["consolidated.safetensors", "original/", "pipe", "pytorch_model.bin"]


def test_a_shard_that_is_gone_is_made_again(model, tmp_path, monkeypatch, passes, fails):
    """An unfinished command recorded a shard as finished, and the shard was removed."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "index")

    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "_index", full)
        assert "No space left" in fails(2, "quantize", model, tmp_path / "q", "-f", "e2m1", *ONLY)
    gone = "model-00002-of-00002.safetensors"
    before = (tmp_path / "q" / gone).read_bytes()
    (tmp_path / "q" / gone).unlink()
    report = json.loads(passes("quantize", model, tmp_path / "q", "-f", "e2m1", *ONLY, "--json"))
    assert report["kept"] == ["model-00001-of-00002.safetensors"]
    assert (tmp_path / "q" / gone).read_bytes() == before


@pytest.mark.parametrize(
    "document, said",
    [
        ("{", "config.json is not JSON"),
        ("[]", "must have objects of JSON"),
        ('{"quantization_config": 3}', "must have objects of JSON, not 3"),
        ('{"quantization_config": {"quant_method": "awq"}}', "a quantization that is not known here: 'awq'"),
        ('{"quantization_config": {"quant_method": ["mxfp4"]}}', "a quantization that is not known here: ['mxfp4']"),
        ('{"quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}}', "known here: 'W4A8_AWQ'"),
        ('{"quantization_config": {"quant_method": "quark"}}', "not known here: None"),
    ],
)
def test_configurations_that_are_refused(document, said, model, fails, tmp_path):
    (model / "config.json").write_text(document)
    assert said in fails(2, "convert", model, tmp_path / "out", "--layout", "mlx")
    assert not (tmp_path / "out").exists()
