"""Configurations of real libraries, module by module: groups, targets, exceptions, and formats that are not read."""

import json

import pytest

from mxcast.tensors.configuration import reading
from mxcast.tensors.configuration.groups import Targets, modules_of, wildcards
from mxcast.tensors.configuration.reading import UnknownQuantization, groups_in

FLOAT8 = {"num_bits": 8, "type": "float", "symmetric": True, "dynamic": False}
NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16, "symmetric": True}
INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128, "symmetric": True}


def groups_of(folder, section, hf=None):
    (folder / "config.json").write_text(json.dumps({} if section is None else {"quantization_config": section}))
    if hf is not None:
        (folder / "hf_quant_config.json").write_text(json.dumps({"quantization": hf}))
    return groups_in(folder)


def said(groups, module):
    """The layouts of a module, None if it is not quantized, or what is not read. FP8 of compressed-tensors and ModelOpt
    may be either element, and is called E4M3 here.
    """
    group = groups.of(f"{module}.weight")
    if group is None:
        return None
    names = {layout.full_name for layout in group.layouts}
    pairs = {name for name in names if name.startswith(("compressed_tensors:fp8_e5m2", "modelopt:fp8_e5m2"))}
    assert all(name.replace("e5m2", "e4m3") in names for name in pairs)
    return sorted(names - pairs) or group.unread


def compressed(groups, **fields):
    return {"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": groups} | fields


def test_groups_of_compressed_tensors(tmp_path):
    """Names come before expressions, and both before classes; ``ignore`` before all. Of two expressions libraries take
    different ones (compressed-tensors the first by the alphabet, vLLM the first in the file).
    """
    groups = {
        "group_0": {"targets": ["Linear"], "weights": NVFP4, "format": "nvfp4-pack-quantized"},
        "group_1": {
            "targets": ["re:.*self_attn.*"],
            "weights": FLOAT8 | {"strategy": "channel"},
            "format": "float-quantized",
        },
        "group_2": {"targets": ["re:.*[qk]_proj$"], "weights": FLOAT8 | {"strategy": "tensor"}},
        "group_3": {"targets": ["a.mlp.down"], "weights": INT4, "format": "pack-quantized"},
        "group_4": {"targets": ["re:.*moe.*"], "weights": FLOAT8 | {"strategy": "block", "block_structure": [64, 128]}},
        "group_5": {"targets": ["re:zz"], "weights": None},
    }
    found = groups_of(tmp_path, compressed(groups, ignore=["lm_head", "re:vision.*"], kv_cache_scheme=FLOAT8))
    assert said(found, "a.mlp.up") == ["compressed_tensors:nvfp4"]
    assert said(found, "a.self_attn.o_proj") == ["compressed_tensors:fp8_e4m3:row"]
    assert said(found, "a.self_attn.q_proj") == [f"compressed_tensors:fp8_e4m3:{tile}" for tile in ("row", "tensor")]
    assert said(found, "a.q_proj") == ["compressed_tensors:fp8_e4m3:tensor"]
    assert said(found, "a.mlp.down") == "pack-quantized"
    assert said(found, "a.moe.up") == ["compressed_tensors:fp8_e4m3:64x128"]
    assert said(found, "lm_head") is said(found, "vision.up") is None
    assert found.kv_cache == FLOAT8 and found.tiles == ((1, 0), (0, 0), (64, 128))


@pytest.mark.parametrize(
    "weights, layout",
    [
        (FLOAT8, "fp8_e4m3:tensor"),
        (FLOAT8 | {"group_size": -1}, "fp8_e4m3:row"),
        (FLOAT8 | {"group_size": 64}, "fp8_e4m3:1x64"),
        (FLOAT8 | {"strategy": "block", "block_structure": [128, 128]}, "fp8_e4m3:128x128"),
        (FLOAT8 | {"strategy": "group", "group_size": 32, "actorder": "static"}, "fp8_e4m3:1x32"),
        (NVFP4, "nvfp4"),
        (NVFP4 | {"strategy": "group", "group_size": 32}, "mxfp4_e2m1"),
        (FLOAT8 | {"symmetric": False}, None),
        (FLOAT8 | {"strategy": "group", "group_size": 32, "actorder": "group"}, None),
        (FLOAT8 | {"strategy": "attn_head"}, None),
        (FLOAT8 | {"type": "int"}, None),
        (FLOAT8 | {"num_bits": 6}, None),
        (NVFP4 | {"group_size": 128}, None),
    ],
    ids=str,
)
def test_weights_without_a_format(weights, layout, tmp_path):
    """Groups of mixed models do not name their formats."""
    others = {"targets": ["b"], "weights": NVFP4, "format": "nvfp4-pack-quantized"}
    found = groups_of(tmp_path, compressed({"a": {"targets": ["Linear"], "weights": weights}, "b": others}))
    assert said(found, "up") == ([f"compressed_tensors:{layout}"] if layout else weights)


@pytest.mark.parametrize("format", ["pack-quantized", "int-quantized", "marlin-24", "of tomorrow"])
def test_one_unknown_group(format, tmp_path):
    """The other groups are read; a configuration without others is unknown."""
    unknown = {"targets": ["re:.*mlp.*"], "weights": INT4, "format": format}
    known = {"targets": ["re:.*attn.*"], "weights": FLOAT8 | {"strategy": "tensor"}, "format": "float-quantized"}
    found = groups_of(tmp_path, compressed({"a": unknown, "b": known}))
    assert said(found, "mlp.up") == format and said(found, "attn.q") == ["compressed_tensors:fp8_e4m3:tensor"]
    assert said(found, "other") is None and "which is not read here" in found.of("mlp.up.weight").in_words
    with pytest.raises(UnknownQuantization, match=f"not known here: '{format}'"):
        groups_of(tmp_path, compressed({"a": unknown}))


def test_groups_without_weights_are_not_quantized(tmp_path):
    groups = {
        "a": {"targets": ["Linear"], "weights": FLOAT8, "format": "dense"},
        "b": {"targets": ["x"], "weights": None},
    }
    assert said(groups_of(tmp_path, compressed(groups)), "up") is None


@pytest.mark.parametrize(
    "fields",
    [{"transform_config": {"config_groups": {"R1": {}}}}, {"sparsity_config": {"format": "sparse-24-bitmask"}}],
)
def test_what_changes_the_numbers_of_compressed_tensors(fields, tmp_path):
    """Rotated and sparse weights are unknown."""
    with pytest.raises(UnknownQuantization, match=next(iter(fields))):
        groups_of(tmp_path, compressed({"a": {"targets": ["Linear"], "weights": NVFP4}}, **fields))
    harmless = {"transform_config": {}, "sparsity_config": {"format": "dense"}}
    assert groups_of(tmp_path, compressed({"a": {"targets": ["Linear"], "weights": NVFP4}}, **harmless)).layouts


ALGORITHMS = {
    "FP8": "fp8_e4m3:tensor",
    "fp8_pb_wo": "fp8_e4m3:128x128",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8_e4m3:row",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "MXFP8": "mxfp8_e4m3",
}


@pytest.mark.parametrize("algorithm, block", ALGORITHMS.items())
def test_modelopt(algorithm, block, tmp_path):
    """Both documents are read, with wildcards for modules that are not quantized."""
    config = {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": ["lm_head", "model.vision*"]}
    hf = {"quant_algo": algorithm, "exclude_modules": ["lm_head", "model.vision*"], "kv_cache_quant_algo": "FP8"}
    for section, other in (
        (config, None),
        (None, hf),
        (config, hf),
        ({"quant_method": "modelopt", "quantization": hf}, None),
    ):
        (tmp_path / "hf_quant_config.json").unlink(missing_ok=True)
        found = groups_of(tmp_path, section, other)
        assert said(found, "model.up") == [f"modelopt:{block}"]
        assert said(found, "lm_head") is said(found, "model.vision_tower.up") is None
        assert said(found, "model.lm_head_2") == [f"modelopt:{block}"]


LAYERS = {
    "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
    "model.layers.0.mlp.experts": {"quant_algo": "NVFP4", "group_size": 16},
    "model.layers.1.mlp.up_proj": {"quant_algo": "W4A8_AWQ", "group_size": 128},
    "model.layers.2.*.down_proj": {"quant_algo": "FP8_PB_WO"},
}


@pytest.mark.parametrize("place", ["config.json", "hf_quant_config.json", "both"])
def test_mixed_precision_of_modelopt(place, tmp_path):
    """Each layer has an entry; a layer without one is not quantized."""
    config = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    hf = None if place == "config.json" else {"quant_algo": "MIXED_PRECISION", "quantized_layers": LAYERS}
    found = groups_of(tmp_path, config | ({"quantized_layers": LAYERS} if place != "hf_quant_config.json" else {}), hf)
    assert said(found, "model.layers.0.self_attn.q_proj") == ["modelopt:fp8_e4m3:tensor"]
    assert [layout.name for layout in found.of("model.layers.0.mlp.experts.gate_up_proj").layouts] == ["modelopt:nvfp4"]
    assert said(found, "model.layers.1.mlp.up_proj") == "W4A8_AWQ"
    assert said(found, "model.layers.2.mlp.down_proj") == ["modelopt:fp8_e4m3:128x128"]
    assert said(found, "model.layers.0.mlp.router") is None


def of_weights(layer: str, **weights) -> dict:
    return {"targets": [layer], "weights": {"dynamic": False, "type": "float", **weights}}


def test_mixed_precision_of_modelopt_in_groups(tmp_path):
    """Without `quantized_layers`; in ModelOpt 0.47 an algorithm without a known form of weights is named."""
    fp8, nvfp4, awq, blocks = LAYERS
    groups = {
        "group_0": of_weights(fp8, num_bits=8),
        "group_1": of_weights(nvfp4, num_bits=4, group_size=16),
        "group_2": of_weights(awq, num_bits=4, group_size=128),
        "group_3": {"targets": [blocks], "quant_algo": "FP8_PB_WO"},
        "group_4": of_weights("a", num_bits=8, strategy="channel"),
        "group_5": of_weights("b", num_bits=8, group_size=32),
        "group_6": of_weights("c", num_bits=[8]),
    }
    section = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "config_groups": groups}
    found = groups_of(tmp_path, section | {"ignore": ["lm_head"]})
    assert said(found, fp8) == ["modelopt:fp8_e4m3:tensor"] and said(found, f"{nvfp4}.gate_up_proj") is None
    assert said(found, nvfp4) == ["modelopt:nvfp4"] and said(found, awq) == groups["group_2"]["weights"]
    assert said(found, "model.layers.2.mlp.down_proj") == ["modelopt:fp8_e4m3:128x128"]
    assert said(found, "a") == ["modelopt:fp8_e4m3:row"] and said(found, "b") == ["modelopt:mxfp8_e4m3"]
    assert said(found, "c") == groups["group_6"]["weights"] and said(found, "lm_head") is None


def test_fp8(tmp_path):
    """Names of unconverted modules in DeepSeek, Qwen, transformers and vLLM are prefixes, suffixes or expressions."""
    section = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"}
    found = groups_of(tmp_path, section | {"modules_to_not_convert": ["lm_head", "mlp.gate", r"model.layers.\d+.norm"]})
    assert {"deepseek_v3:fp8_e4m3:128x128", "deepseek_v4:fp8_e4m3:128x128", "deepseek_v4:mxfp4_e2m1"} < set(
        said(found, "a")
    )
    for module in ("lm_head", "model.layers.3.mlp.gate", "model.layers.12.norm.x"):
        assert said(found, module) is None, module
    assert said(found, "model.layers.3.mlp.gate_proj") is not None
    found = groups_of(tmp_path, {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]})
    assert said(found, "a") == ["deepseek_v3:fp8_e4m3:tensor", "fp8:fp8_e4m3:tensor"] and said(found, "lm_head") is None
    found = groups_of(tmp_path, {"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]})
    assert said(found, "a") == ["fbgemm_fp8:fp8_e4m3:row"] and said(found, "lm_head") is None


def test_what_transformers_does_not_convert(tmp_path):
    """transformers decides for the same modules."""
    utils = pytest.importorskip("transformers.quantizers.quantizers_utils", reason="transformers is optional")
    patterns = ["lm_head", "mlp.gate", "model.layers.1", r"re\.g.*", "fc1", "self_attn"]
    found = groups_of(tmp_path, {"quant_method": "fp8", "modules_to_not_convert": patterns})
    for module in [
        "lm_head",
        "model.layers.1.up",
        "model.layers.11.up",
        "a.mlp.gate",
        "a.mlp.gate_proj",
        "re.gx.y",
        "b.fc1",
    ]:
        assert (said(found, module) is not None) == utils.should_convert_module(module, patterns), module


def test_quark(tmp_path):
    weight = {"dtype": "fp4", "group_size": 32, "scale_format": "e8m0"}
    layers = {
        "*attn*": {"weight": {"dtype": "fp8_e4m3", "qscheme": "per_tensor"}},
        "*.down": {"weight": {"dtype": "int4"}},
    }
    section = {"quant_method": "quark", "global_quant_config": {"weight": weight}, "layer_quant_config": layers}
    found = groups_of(tmp_path, section | {"exclude": ["lm_head", "*gate"]})
    assert said(found, "a.up") == ["quark:mxfp4_e2m1"] and said(found, "a.attn.q") == ["quark:fp8_e4m3:tensor"]
    assert said(found, "a.down") == {"dtype": "int4"} and said(found, "lm_head") is said(found, "mlp.gate") is None


@pytest.mark.parametrize(
    "section, sentence",
    [
        (compressed({"a": 3}), "the group 'a' must have objects of JSON, not 3"),
        (compressed({"a": {"targets": "Linear", "weights": NVFP4}}), "targets of 'a' must be a list of texts"),
        (compressed({"a": {"targets": ["re:["], "weights": NVFP4}}), "'re:\\[' is not a regular expression"),
        (
            compressed({"a": {"targets": ["x"], "weights": FLOAT8 | {"strategy": "block"}}}),
            "block_structure must be two",
        ),
        (compressed({}, ignore=[3]), "ignore must be a list of texts"),
        (
            {"quant_method": "fp8", "weight_block_size": [128, 0]},
            "weight_block_size must be two positive whole numbers",
        ),
        ({"quant_method": "fp8", "fmt": "e4m3fnuz"}, "fmt must be e4m3 or e5m2, not 'e4m3fnuz'"),
        ({"quant_method": "fp8", "modules_to_not_convert": ["("]}, "is not a regular expression"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "quantized_layers must have objects of JSON"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {"a": 1}}, "the layer 'a'"),
    ],
)
def test_damaged_sections(section, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        groups_of(tmp_path, section)


def test_several_sections(tmp_path):
    """Equal sections count as one; the section of a part of the model is read."""
    first, second = {"quant_method": "mxfp4"}, {"quant_method": "fp8"}
    config = {"quantization_config": first, "text_config": {"quantization_config": second}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="several sections about quantization"):
        groups_in(tmp_path)
    config["text_config"] = {"quantization_config": first}
    for _ in range(2):
        (tmp_path / "config.json").write_text(json.dumps(config))
        assert "gpt_oss:mxfp4_e2m1" in said(groups_in(tmp_path), "a")
        config.pop("quantization_config", None)


def test_names():
    assert modules_of("lm_head.weight") == ("lm_head",)
    assert "model.language_model.a" in modules_of("language_model.model.a.weight")
    assert "language_model.model.a" in modules_of("model.language_model.a.weight")
    assert Targets(wildcards(["a.b", "c*"])).names(["a.b.c"]) and not Targets(wildcards(["a.b"])).names(["a.bc"])
    assert not Targets(wildcards(["a.b"], has_subtrees=False)).names(["a.b.c"])
    flags = Targets(("re:(?i)ABC", "re:x"))
    assert flags.names(["abc"]) and flags.names(["x"]) and not flags.names(["y"])
    assert set(reading.METHODS) >= {"fp8", "fbgemm_fp8", "mxfp4", "modelopt", "quark", "compressed-tensors"}
