"""Files in another block format: the same numbers, or a sentence and nothing written."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mxcast.cli import main
from mxcast.tensors.containers.containers import read
from mxcast.tensors.convert import bridging


@pytest.fixture
def quantized(tmp_path):
    """A function that writes a file of MXFP4 codes of some numbers."""

    def made(numbers):
        save_file({"a.weight": numbers, "bias": np.ones(3, np.float32)}, tmp_path / "in.safetensors")
        run("quantize", tmp_path / "in.safetensors", tmp_path / "q.safetensors", "-f", "e2m1", "--include", "*.weight")
        return tmp_path / "q.safetensors"

    return made


def run(*arguments) -> None:
    assert main([*map(str, arguments), "-q"]) == 0


NUMBERS = np.random.default_rng(3).standard_normal((6, 128)).astype(np.float32)
FAR = NUMBERS.copy()
FAR[:2], FAR[4, 32:64] = 0, NUMBERS[4, 32:64] * 2.0**-25


@pytest.mark.parametrize("to, layout", [("nvfp4", "modelopt"), ("nvfp4", "compressed_tensors"), ("e4m3", "torchao")])
def test_the_numbers_are_the_same(to, layout, quantized, tmp_path, monkeypatch):
    """The numbers are the same in parts, with blocks of zeros, and for a tensor of zeros."""
    monkeypatch.setattr(bridging, "PART", 64)
    for numbers in (NUMBERS, np.where(np.arange(6)[:, None] < 2, 0, NUMBERS).astype(np.float32), 0 * NUMBERS):
        source, target = quantized(numbers), tmp_path / "out.safetensors"
        run("convert", source, target, "--layout", layout, "--to", to)
        run("dequantize", target, tmp_path / "there.safetensors", "--from", layout, "-f", to)
        run("dequantize", source, tmp_path / "here.safetensors")
        there, here = (load_file(tmp_path / name) for name in ("there.safetensors", "here.safetensors"))
        assert all(np.array_equal(there[name].view(np.uint32), here[name].view(np.uint32)) for name in here)


@pytest.mark.parametrize(
    "options, sentence",
    [
        (["--to", "nvfp4"], "block (4, 1) of mxfp4_e2m1 has no counterpart in nvfp4, the first of 1: its scale is"),
        (["--to", "e5m2"], "the layout modelopt is of"),
        (["--to", "nvfp5"], "mxcast: unknown format 'nvfp5': did you mean 'nvfp4'?"),
        (["--to", "fp4_ue5m3"], "a bridge leads to E8M0 scales or to a tensor scale, not to fp4_ue5m3"),
    ],
)
def test_what_is_refused(options, sentence, quantized, tmp_path, capsys):
    target = tmp_path / "out.safetensors"
    assert main(["convert", str(quantized(FAR)), str(target), "--layout", "modelopt", *options]) == 2
    assert sentence in capsys.readouterr().err and not target.exists()


@pytest.mark.parametrize("through", [None, "gpt_oss"])
def test_the_shards_of_a_folder(through, quantized, tmp_path):
    """A shard becomes the same bytes as a file, and the configuration describes it, from either layout."""
    source, model, made = quantized(NUMBERS), tmp_path / "model", tmp_path / "made"
    model.mkdir()
    index = {"weight_map": dict.fromkeys(("a.weight", "a.weight.scales", "bias"), "model-00001-of-00001.safetensors")}
    (model / "model-00001-of-00001.safetensors").write_bytes(source.read_bytes())
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    (model / "config.json").write_text("{}")
    if through is not None:
        run("convert", model, tmp_path / "between", "--layout", through)
        model = tmp_path / "between"
    run("convert", model, made, "--layout", "modelopt", "--to", "nvfp4")
    run("convert", source, tmp_path / "one.safetensors", "--layout", "modelopt", "--to", "nvfp4")
    there, here = read(made / "model-00001-of-00001.safetensors").tensors, read(tmp_path / "one.safetensors").tensors
    assert {name: one.data.tobytes() for name, one in there.items()} == {
        name: one.data.tobytes() for name, one in here.items()
    }
    assert json.loads((made / "config.json").read_text())["quantization_config"]["quant_algo"] == "W4A16_NVFP4"
