"""Models with weights in several formats: each is converted, decoded, kept with its description, or refused by name."""

import json

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.models import dequantize, pack, quantize, quantize_nvfp4
from mxcast.spec import LAYOUTS
from mxcast.tensors.checkpoint import shard_jobs
from mxcast.tensors.configuration.reading import groups_in
from mxcast.tensors.containers.containers import read
from mxcast.tensors.inspect.inspection import inspect_file

from ..layouts.test_scaled import products, random_codes, random_scales, same
from ..stored_files import filled, write_raw

INDEX, SHARDS = "model.safetensors.index.json", ("a.safetensors", "b.safetensors")
EXPERT, ATTENTION = "layers.0.mlp.experts.3.up.weight", "layers.0.attn.wq.weight"
NORM, HEAD = "norm.weight", "lm_head.weight"
X = np.random.default_rng(7).normal(size=(64, 256)).astype(np.float32)
PLAIN = {NORM: filled("BF16", 256), HEAD: filled("BF16", 8, 256)}
CODES = random_codes((200, 256))
CODES[CODES & 0x7F == 0x7F] = 0


def raw(arrays, dtypes):
    return {name: (dtype, array.shape, array) for (name, array), dtype in zip(arrays.items(), dtypes)}


def fp4(dialect, name=EXPERT):
    """An expert in the layout of a dialect, and its numbers."""
    layout = LAYOUTS[dialect].get("nvfp4") if dialect in ("modelopt",) else LAYOUTS[dialect]["mxfp4_e2m1"]
    if layout.block == "nvfp4":
        q = quantize_nvfp4(X, "nvfp4", "nvfp4_modelopt", tensor_amax=2.0**-7 * 2688)
    else:
        q = quantize(X, "e2m1")
    return raw(pack(q, layout, name=name), [part.dtype for part in layout.parts]), dequantize(q)


def fp8(scales, tile, dtype="F32", name=ATTENTION, suffix="_scale", codes=CODES):
    """An FP8 matrix, and its numbers."""
    array = name + suffix if suffix != ".scale" else name.replace("weight", "scale")
    arrays = {name: ("F8_E4M3", codes.shape, codes), array: (dtype, scales.shape, scales.reshape(-1).view(np.uint8))}
    return arrays, products(codes, "F8_E4M3", scales, tile)


def model(folder, arrays, section, more=None, hf=None):
    """A folder with two shards that separate codes and scales."""
    placed = {name: SHARDS[place % 2] for place, name in enumerate(arrays)}
    for shard in SHARDS:
        write_raw(folder / shard, {name: one for name, one in arrays.items() if placed[name] == shard})
    (folder / INDEX).write_text(json.dumps({"weight_map": placed}))
    (folder / "config.json").write_text(json.dumps({"quantization_config": section} | (more or {})))
    if hf:
        (folder / "hf_quant_config.json").write_text(json.dumps({"quantization": hf}))
    return folder


def arrays_in(folder):
    return {name: one for path in folder.glob("*.safetensors") for name, one in read(path).tensors.items()}


def decoded(folder, name):
    stored = arrays_in(folder)[name]
    assert stored.dtype == "F32"
    return stored.data.reshape(stored.shape)


def mxcast(verb, *arguments):
    assert main([verb, *map(str, arguments), "-q"]) == 0


def section_of(folder):
    path = folder / "config.json"
    return json.loads(path.read_text()).get("quantization_config") if path.exists() else None


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Jobs run in this process, which is faster than a process for each."""

    def run(jobs):
        for job in jobs:
            yield job, shard_jobs._report(shard_jobs.run_job(json.dumps(job.to_dict())))

    monkeypatch.setattr(shard_jobs, "locally", lambda count: run)


DEEPSEEK = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
BLOCK = random_scales((2, 2), "F8_E8M0")


def deepseek(tmp_path, scales=BLOCK, dtype="F8_E8M0", suffix=".scale"):
    experts, of_experts = fp4("deepseek_v4")
    attention, of_attention = fp8(scales, (128, 128), dtype, suffix=suffix)
    folder = model(
        tmp_path / "model", experts | attention | PLAIN, DEEPSEEK, {"expert_dtype": "fp4", "model_type": "x"}
    )
    return folder, of_experts, of_attention


@pytest.mark.parametrize(
    "scales, dtype, suffix",
    [
        (BLOCK, "F8_E8M0", ".scale"),
        (random_scales((2, 2), "F32"), "F32", "_scale_inv"),
        (random_scales((2, 2), "BF16"), "BF16", "_scale_inv"),
        (random_scales((2, 2), "F8_E8M0"), "F8_E8M0", "_scale_inv"),
    ],
    ids=["v4", "FP32", "BF16", "E8M0"],
)
def test_experts_of_fp4_and_attention_of_fp8(scales, dtype, suffix, tmp_path):
    """All tensors of DeepSeek-V4 become numbers, and no document calls them quantized."""
    folder, of_experts, of_attention = deepseek(tmp_path, scales, dtype, suffix)
    for own in [], ["--from", "deepseek_v4"] if suffix == ".scale" else []:
        out = tmp_path / f"out{len(own)}"
        if not out.exists():
            mxcast("dequantize", folder, out, *own)
        assert same(decoded(out, EXPERT), of_experts) and same(decoded(out, ATTENTION), of_attention)
        assert set(arrays_in(out)) == {EXPERT, ATTENTION, NORM, HEAD}
        assert json.loads((out / "config.json").read_text()) == {"model_type": "x"}


def test_to_compressed_tensors_and_back(tmp_path):
    """MXFP4 and FP8 both have a format there; codes and scales stay the same."""
    folder, of_experts, of_attention = deepseek(tmp_path)
    out = tmp_path / "out"
    mxcast("convert", folder, out, "--layout", "compressed_tensors")
    section = section_of(out)
    assert section["format"] == "mixed-precision" and section["ignore"] == ["lm_head"]
    formats = {group["format"]: group["targets"] for group in section["config_groups"].values()}
    assert formats == {"float-quantized": ["layers.0.attn.wq"], "mxfp4-pack-quantized": ["layers.0.mlp.experts.3.up"]}
    stored = arrays_in(out)
    assert (stored[f"{ATTENTION}_scale"].dtype, stored[f"{ATTENTION}_scale"].shape) == ("F32", (2, 2))
    assert not inspect_file(out).suspicions and not inspect_file(out).ambiguous
    mxcast("dequantize", out, tmp_path / "numbers")
    assert same(decoded(tmp_path / "numbers", EXPERT), of_experts)
    assert same(decoded(tmp_path / "numbers", ATTENTION), of_attention)
    mxcast("convert", out, tmp_path / "back", "--layout", "deepseek_v4")
    assert section_of(tmp_path / "back").items() >= (DEEPSEEK | {"expert_dtype": "fp4", "scale_fmt": "ue8m0"}).items()
    first, last = arrays_in(folder), arrays_in(tmp_path / "back")
    assert {name: (one.dtype, one.data.tobytes()) for name, one in first.items()} == {
        name: (one.dtype, one.data.tobytes()) for name, one in last.items()
    }


def test_what_compressed_tensors_reads_of_it(tmp_path):
    """The library reads the section, and finds the scheme of each module."""
    pytest.importorskip("compressed_tensors", reason="compressed-tensors is optional")
    from compressed_tensors.quantization import QuantizationConfig
    from compressed_tensors.utils.match import match_name

    folder, _, _ = deepseek(tmp_path)
    mxcast("convert", folder, tmp_path / "out", "--layout", "compressed_tensors")
    config = QuantizationConfig(**section_of(tmp_path / "out"))
    of = {
        name: [
            group.weights for group in config.config_groups.values() if any(match_name(name, t) for t in group.targets)
        ]
        for name in ("layers.0.mlp.experts.3.up", "layers.0.attn.wq")
    }
    ((expert,), (attention,)) = of.values()
    assert (expert.num_bits, expert.group_size) == (4, 32) and attention.block_structure == [128, 128]


def test_fp8_alone_becomes_mxfp8(tmp_path, fails):
    """``--to`` with one block format leaves the others; scales that are not powers of two are refused."""
    folder, of_experts, of_attention = deepseek(tmp_path)
    out = tmp_path / "out"
    mxcast("convert", folder, out, "--layout", "compressed_tensors", "--to", "fp8_e4m3=mxfp8_e4m3")
    formats = {group["format"] for group in section_of(out)["config_groups"].values()}
    assert formats == {"mxfp8-quantized", "mxfp4-pack-quantized"}
    mxcast("dequantize", out, tmp_path / "numbers")
    assert same(decoded(tmp_path / "numbers", EXPERT), of_experts)
    assert same(decoded(tmp_path / "numbers", ATTENTION), of_attention)
    other = deepseek(tmp_path / "other", random_scales((2, 2), "F32"), "F32", "_scale_inv")[0]
    options = "--layout", "compressed_tensors", "--to", "fp8_e4m3=mxfp8_e4m3"
    sentence = fails(2, "convert", other, tmp_path / "no", *options)
    assert ATTENTION in sentence and "not a power of two" in sentence


def test_another_configuration_cannot_say_it(tmp_path, fails):
    """Copied FP8 tensors, and targets without FP8, are refused."""
    folder, _, _ = deepseek(tmp_path)
    for options, sentence in (
        (["--layout", "fp8", "--include", "*experts*"], "the layout fp8 is of fp8_e4m3, fp8_e5m2, not of mxfp4_e2m1"),
        (["--layout", "compressed_tensors", "--include", "*experts*"], "no configuration describes"),
        (["--layout", "compressed_tensors", "-f", "e2m1"], "no configuration describes"),
        (["--layout", "gpt_oss"], "fp8_e4m3 is not written in the layout gpt_oss"),
        (["--layout", "mlx", "--include", "*experts*"], "no configuration describes"),
    ):
        said = fails(2, "convert", folder, tmp_path / "out", *options)
        assert sentence in said and (ATTENTION in said or EXPERT in said), options
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("layout", ["fbgemm_fp8"])
def test_fp8_without_a_configuration(layout, tmp_path, fails):
    arrays, _ = fp8(random_scales((200, 1), "F32"), (1, 0))
    group = {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}}
    section = {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": {"group_0": group}}
    folder = model(tmp_path / "model", arrays | PLAIN, section)
    assert "no configuration describes" in fails(2, "convert", folder, tmp_path / "out", "--layout", layout)


def modelopt(tmp_path, name="model", expert="NVFP4", **layers):
    experts, of_experts = fp4("modelopt")
    attention, of_attention = fp8(np.float32(2.0**-9).reshape(()), (0, 0))
    cache = {"layers.0.attn.k_scale": filled("F32"), "layers.0.attn.v_scale": filled("F32")}
    inputs = {"layers.0.attn.wq.input_scale": filled("F32")}
    of = {EXPERT[:-7]: {"quant_algo": expert, "group_size": 16}, ATTENTION[:-7]: {"quant_algo": "FP8"}} | layers
    hf = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": "FP8", "quantized_layers": of}
    section = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": of}
    arrays = experts | attention | cache | inputs | PLAIN
    return model(tmp_path / name, arrays, section, hf=hf), of_experts, of_attention


def test_mixed_precision_of_modelopt(tmp_path):
    """NVFP4 experts and FP8 attention with scales for the cache keep their description."""
    folder, of_experts, of_attention = modelopt(tmp_path)
    mxcast("dequantize", folder, tmp_path / "numbers")
    assert same(decoded(tmp_path / "numbers", EXPERT), of_experts)
    assert same(decoded(tmp_path / "numbers", ATTENTION), of_attention)
    assert section_of(tmp_path / "numbers") is None and not (tmp_path / "numbers" / "hf_quant_config.json").exists()
    for dialect in "compressed_tensors", "modelopt":
        out = tmp_path / dialect
        mxcast("convert", folder, out, "--layout", dialect)
        assert section_of(out)["kv_cache_scheme"] == {"num_bits": 8, "type": "float", "dynamic": False}
        assert {name for name in arrays_in(out) if "k_scale" in name} == {"layers.0.attn.k_scale"}
        assert not inspect_file(out).suspicions and not inspect_file(out).ambiguous
        mxcast("dequantize", out, tmp_path / f"{dialect}_numbers")
        assert same(decoded(tmp_path / f"{dialect}_numbers", EXPERT), of_experts)
        assert same(decoded(tmp_path / f"{dialect}_numbers", ATTENTION), of_attention)
    section = section_of(tmp_path / "modelopt")
    algorithms = {name: layer["quant_algo"] for name, layer in section["quantized_layers"].items()}
    assert algorithms == {EXPERT[:-7]: "W4A16_NVFP4", ATTENTION[:-7]: "FP8"}
    hf = json.loads((tmp_path / "modelopt" / "hf_quant_config.json").read_text())["quantization"]
    assert hf["kv_cache_quant_algo"] == "FP8" and hf["quantized_layers"] == section["quantized_layers"]


@pytest.mark.parametrize("part", ["*attn*", "*experts*"])
def test_a_part_that_was_converted_can_be_read(part, tmp_path):
    """The metadata of a new shard name the converted tensors, and the configuration describes the rest."""
    folder, of_experts, of_attention = modelopt(tmp_path)
    mxcast("convert", folder, tmp_path / "out", "--layout", "modelopt", "--include", part)
    assert not inspect_file(tmp_path / "out").suspicions
    mxcast("dequantize", tmp_path / "out", tmp_path / "numbers")
    assert same(decoded(tmp_path / "numbers", EXPERT), of_experts)
    assert same(decoded(tmp_path / "numbers", ATTENTION), of_attention)


def test_a_part_becomes_numbers(tmp_path):
    """The rest keeps a description of its own, and a module without a tensor its name."""
    folder, of_experts, of_attention = modelopt(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"]["ignore"] = ["tied.head", NORM.removesuffix(".weight"), "lm_head"]
    (folder / "config.json").write_text(json.dumps(config))
    out = tmp_path / "out"
    mxcast("dequantize", folder, out, "--include", "*attn.wq*")
    assert same(decoded(out, ATTENTION), of_attention)
    section = section_of(out)
    assert section["quant_algo"] == "W4A16_NVFP4" and section["ignore"] == ["layers.0.attn.wq", "lm_head", "tied.head"]
    mxcast("dequantize", out, tmp_path / "all")
    assert same(decoded(tmp_path / "all", EXPERT), of_experts) and same(
        decoded(tmp_path / "all", ATTENTION), of_attention
    )


def test_a_group_that_is_not_read(tmp_path, fails):
    """The refusal names the tensors and their name in the configuration; nothing is written."""
    experts, _ = fp4("compressed_tensors")
    integers = {f"{ATTENTION}_packed": filled("I32", 64, 32), f"{ATTENTION}_scale": filled("BF16", 64, 2)}
    groups = {
        "a": {"targets": ["re:.*experts.*"], "weights": {"num_bits": 4, "type": "float", "group_size": 32}},
        "b": {"targets": ["Linear"], "weights": {"num_bits": 4, "type": "int"}, "format": "pack-quantized"},
    }
    section = {"quant_method": "compressed-tensors", "format": "mixed-precision", "config_groups": groups}
    folder = model(tmp_path / "model", experts | integers | PLAIN, section | {"ignore": ["lm_head"]})
    for verb in ["dequantize"], ["convert", "--layout", "gpt_oss"], ["dequantize", "--exclude", "*attn*"]:
        sentence = fails(2, *verb, folder, tmp_path / "out")
        assert f"{ATTENTION}_packed" in sentence and "pack-quantized" in sentence
        assert not (tmp_path / "out").exists()
    (found,) = inspect_file(folder).suspicions
    assert str(found.kind) == "unrecognised"


def test_the_configuration_says_something_else(tmp_path, fails):
    """The configuration calls a tensor unquantized, or names another format: the tensor is refused, and not copied."""
    experts, _ = fp4("modelopt")
    attention, _ = fp8(random_scales((), "F32"), (0, 0))
    for section, said in (
        (
            {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["*attn*", "lm_head"]},
            "that it is not quantized",
        ),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, "says modelopt:nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]}, "says modelopt:fp8_e4m3:tensor"),
    ):
        folder = model(tmp_path / "model", experts | attention | PLAIN, section)
        inspection = inspect_file(folder)
        assert [str(one.kind) for one in inspection.suspicions] == ["contradiction"]
        for verb in ["dequantize"], ["convert", "--layout", "comfy"], ["dequantize", "--from", "modelopt"]:
            sentence = fails(2, *verb, folder, tmp_path / "out")
            assert said in sentence and (ATTENTION in sentence or EXPERT in sentence), (verb, sentence)
            assert "not quantized" in said or "--names" not in sentence, "names do not help against a configuration"


CHANGING = "pre_quant_scale", "svdquant_lora_a", "weight_zero_point", "weight_g_idx", "weight_scale_2", "scale_inv"


@pytest.mark.parametrize("array", CHANGING)
def test_arrays_that_change_the_numbers(array, tmp_path, fails, passes):
    """AWQ, SVD, asymmetric quantization, activation order and second scales; zero points of 0 change nothing."""
    arrays, numbers = fp8(random_scales((200, 1), "F32"), (1, 0))
    changing = {ATTENTION.replace("weight", array): filled("F32", 256)}
    path = write_raw(tmp_path / "a.safetensors", arrays | changing)
    for verb in ["dequantize"], ["convert", "--layout", "modelopt"]:
        sentence = fails(2, *verb, path, tmp_path / "b.safetensors", "--from", "compressed_tensors")
        assert f"'{next(iter(changing))}' changes its numbers" in sentence and ATTENTION in sentence
    assert "changes its numbers" in inspect_file(path).suspicions[0].sentence
    if array == "weight_zero_point":
        harmless = {ATTENTION.replace("weight", array): filled("F8_E4M3", 200, 1, byte=0)}
        passes(
            "dequantize", write_raw(path, arrays | harmless), tmp_path / "b.safetensors", "--from", "compressed_tensors"
        )
        assert same(read(tmp_path / "b.safetensors").tensors[ATTENTION].data.reshape(200, 256), numbers)


def test_many_modules_have_short_targets(tmp_path):
    """Targets are expressions with any number, unless they match other modules."""
    arrays = {}
    for place in range(4):
        arrays |= fp4("deepseek_v4", f"layers.{place}.mlp.up.weight")[0]
        arrays |= fp8(BLOCK, (128, 128), "F8_E8M0", f"layers.{place}.attn.wq.weight", ".scale")[0]
    arrays |= fp8(BLOCK, (128, 128), "F8_E8M0", "layers.9.mlp.up.weight", ".scale")[0]
    folder = model(tmp_path / "model", arrays | PLAIN, DEEPSEEK)
    mxcast("convert", folder, tmp_path / "out", "--layout", "compressed_tensors")
    targets = {group["format"]: group["targets"] for group in section_of(tmp_path / "out")["config_groups"].values()}
    assert targets["mxfp4-pack-quantized"] == [f"layers.{place}.mlp.up" for place in range(4)]
    assert targets["float-quantized"] == [r"re:layers\.\d+\.attn\.wq$", "layers.9.mlp.up"]
    found = groups_in(tmp_path / "out")
    for name in arrays:
        if name.endswith("weight"):
            is_fp8 = "attn" in name or "layers.9" in name
            assert ("fp8" in found.of(name).layouts[0].name) == is_fp8, name


def test_one_block_size_and_a_declared_one(tmp_path):
    """192 rows and columns are two blocks of 128 or of 96: the configuration decides."""
    codes, scales = random_codes((192, 192)), random_scales((2, 2), "F32")
    for size in 96, 128:
        arrays, numbers = fp8(scales, (size, size), codes=codes)
        weights = {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [size, size]}
        groups = {"a": {"targets": ["Linear"], "weights": weights}}
        section = {"quant_method": "compressed-tensors", "format": "float-quantized", "config_groups": groups}
        folder = model(tmp_path / f"model{size}", arrays, section)
        assert not inspect_file(folder).ambiguous
        mxcast("dequantize", folder, tmp_path / f"out{size}")
        assert same(decoded(tmp_path / f"out{size}", ATTENTION), numbers)


def test_experts_in_one_array(tmp_path):
    """Experts of transformers have three axes, with blocks for each expert."""
    codes, scales = random_codes((3, 256, 130)), random_scales((3, 2, 2), "F32")
    name = "layers.0.mlp.experts.gate_up_proj"
    arrays, numbers = fp8(scales, (128, 128), name=name, suffix="_scale_inv", codes=codes)
    folder = model(tmp_path / "model", arrays | PLAIN, DEEPSEEK)
    mxcast("dequantize", folder, tmp_path / "out")
    assert same(decoded(tmp_path / "out", name), numbers)


@pytest.mark.parametrize("place, key", [("text_config", "quantization_config"), (None, "compression_config")])
def test_sections_in_other_places(place, key, tmp_path):
    """A section of a part, or under an older key, is read, and removed with its codes."""
    folder, of_experts, of_attention = modelopt(tmp_path)
    mxcast("convert", folder, tmp_path / "ct", "--layout", "compressed_tensors")
    about = {key: section_of(tmp_path / "ct"), "expert_dtype": "fp4"}
    config = {"vision_config": {"depth": 2}} | ({place: about} if place else about)
    (tmp_path / "ct" / "config.json").write_text(json.dumps(config))
    assert not inspect_file(tmp_path / "ct").ambiguous
    mxcast("dequantize", tmp_path / "ct", tmp_path / "numbers")
    assert same(decoded(tmp_path / "numbers", EXPERT), of_experts)
    assert same(decoded(tmp_path / "numbers", ATTENTION), of_attention)
    left = json.loads((tmp_path / "numbers" / "config.json").read_text())
    assert left == {"vision_config": {"depth": 2}} | ({place: {}} if place else {})
    mxcast("convert", tmp_path / "ct", tmp_path / "back", "--layout", "modelopt")
    left = json.loads((tmp_path / "back" / "config.json").read_text())
    assert left.pop("quantization_config")["quant_method"] == "modelopt" and key not in left.get(place, left)


def test_blocks_under_the_name_of_vllm(tmp_path):
    """`weight_block_size` with scales that are called `weight_scale`."""
    scales = random_scales((2, 2), "F32")
    arrays, numbers = fp8(scales, (128, 128))
    folder = model(tmp_path / "model", arrays | PLAIN, DEEPSEEK)
    assert not inspect_file(folder).ambiguous
    mxcast("dequantize", folder, tmp_path / "out")
    assert same(decoded(tmp_path / "out", ATTENTION), numbers)


def test_nothing_that_fits_the_configuration(tmp_path, fails):
    """Scales for rows contradict a configuration with a scale for the tensor: the refusal names the tensor."""
    arrays, _ = fp8(random_scales((200, 1), "BF16"), (1, 0), "BF16")
    folder = model(tmp_path / "model", arrays | PLAIN, {"quant_method": "fp8"})
    sentence = fails(2, "dequantize", folder, tmp_path / "out")
    assert ATTENTION in sentence and "the configuration says deepseek_v3:fp8_e4m3:tensor" in sentence


def test_a_quantized_model_is_not_quantized_again(tmp_path, fails):
    folder, _, _ = deepseek(tmp_path)
    sentence = fails(2, "quantize", folder, tmp_path / "out", "-f", "e2m1", "--include", HEAD)
    assert "has weights in the layout deepseek_v3:fp8_e4m3" in sentence
