"""Arrays that look like codes and scales, under names or dtypes of no layout: they are named and refused."""

import json

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.models import pack, quantize
from mxcast.tensors.containers.contents import Stored
from mxcast.tensors.inspect.inspection import inspect_file
from mxcast.tensors.unrecognised.suggestions import suggestions

from ..stored_files import filled, write_raw

X = np.random.default_rng(5).normal(size=(64, 128)).astype(np.float32)
GOOD = {name: ("U8", a.shape, a) for name, a in pack(quantize(X, "e2m1"), "gpt_oss", name="good.up").items()}
"""A tensor that is read."""
UNKNOWN = {
    "integers": {"l.weight": filled("I8", 64, 128), "l.weight_scale": filled("F32", 64, 1)},
    "integers of a library": {"l.qweight": filled("I32", 16, 128), "l.qzeros": filled("I32", 1, 16)},
    "bitsandbytes": {"l.weight": filled("U8", 4096, 1), "l.weight.absmax": filled("F32", 128)},
    "a name of a format": {"l.mxfp4": filled("U8", 64, 64), "l.e8m0": filled("U8", 64, 4)},
    "exponents": {"l.elements": filled("U8", 64, 128), "l.shared_exponents": filled("U8", 64, 4)},
    "no scale": {"l.weight": filled("F8_E5M2", 64, 128)},
    "scales alone": {"l.weight_scale": filled("F8_E8M0", 64, 4)},
    "fnuz": {"l.weight": filled("F8_E4M3FNUZ", 64, 128), "l.weight_scale": filled("F32")},
    "safetensors F4": {"l.weight": filled("F4", 64, 128), "l.weight_scale": filled("F8_E8M0", 64, 4)},
}


@pytest.mark.parametrize("arrays", UNKNOWN.values(), ids=UNKNOWN)
def test_is_named_and_refused(arrays, tmp_path, fails, passes):
    """The array is refused alone and next to a tensor that is read."""
    for others in {}, GOOD:
        path = write_raw(tmp_path / "a.safetensors", others | arrays)
        inspection = inspect_file(path)
        (found,) = inspection.suspicions
        assert str(found.kind) == "unrecognised" and found.tensor in arrays
        assert all(repr(name) in found.sentence for name in arrays) and not inspection.others
        assert main(["inspect", str(path), "-q"]) == 1
        for verb in ["dequantize"], ["convert", "--layout", "mlx"]:
            sentence = fails(2, *verb, path, tmp_path / "b.safetensors", "--from", "gpt_oss")
            assert not others or all(repr(name) in sentence for name in arrays)
    patterns = [part for name in arrays for part in ("--exclude", name)]
    text = passes("dequantize", path, tmp_path / "b.safetensors", "--from", "gpt_oss", *patterns)
    assert all(name in text for name in arrays)


def test_no_reading_leaves_out_a_scale():
    """A reading without an array that changes the numbers is not suggested."""

    def fit(*scales):
        arrays = {"w": ("U8", (64, 64)), "s": ("F8_E4M3", (64, 8)), "t": ("F32", ()), "b": ("BF16", ())}
        tensors = {name: Stored(dtype=of[0], shape=of[1], data=np.zeros(of[1])) for name, of in arrays.items()}
        return "--names" in suggestions(tensors, ["w", *scales])

    assert fit("s") and fit("s", "t") and not fit("s", "b") and not fit("s", "t", "b")


def test_in_a_model(tmp_path, fails):
    """Patterns do not help, because no configuration would describe the copy."""
    arrays = UNKNOWN["integers"]
    write_raw(tmp_path / "model" / "a.safetensors", GOOD)
    write_raw(tmp_path / "model" / "b.safetensors", arrays)
    placed = dict.fromkeys(GOOD, "a.safetensors") | dict.fromkeys(arrays, "b.safetensors")
    (tmp_path / "model" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": placed}))
    (tmp_path / "model" / "config.json").write_text('{"quantization_config": {"quant_method": "mxfp4"}}')
    for more in [], ["--exclude", "l.*"]:
        for verb in ["dequantize"], ["convert", "--layout", "compressed_tensors"]:
            sentence = fails(2, *verb, tmp_path / "model", tmp_path / "out", *more)
            assert "'l.weight' I8" in sentence and "'l.weight_scale' F32" in sentence
            assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arrays",
    [
        {"l.input_scale": filled("F32"), "attn.k_scale": filled("F32"), "attn.v_scale": filled("F32")},
        {"l.layer_scale": filled("F32", 64), "l.mask": filled("U8", 64, 64), "ids": filled("I64", 4, 4)},
        {"good.input_zero_point": filled("F32"), "good.up_act_scale": filled("F32")},
        {"l.comfy_quant": filled("U8", 20), "l._extra_state": filled("U8", 100)},
    ],
)
def test_numbers_are_left_alone(arrays, tmp_path, passes):
    path = write_raw(tmp_path / "a.safetensors", GOOD | arrays)
    assert not inspect_file(path).suspicions
    assert "copied unchanged" in passes("dequantize", path, tmp_path / "b.safetensors", "--from", "gpt_oss")


def test_scales_are_not_quantized(tmp_path, fails, passes):
    """FP32 scales of FP8 codes that patterns leave out are not weights."""
    arrays = {"l.weight": filled("F8_E4M3", 64, 128), "l.weight_scale_inv": filled("F32", 32, 32)}
    path = write_raw(tmp_path / "a.safetensors", arrays | {"up.weight": ("F32", X.shape, X)})
    own = ["quantize", path, tmp_path / "b.safetensors", "-f", "e2m1"]
    assert "'l.weight_scale_inv' is one of them" in fails(2, *own, "--exclude", "l.weight")
    passes(*own, "--exclude", "l.*")


def test_the_way_forward(tmp_path, fails):
    """Codes without an array that looks like their scales: the options in the sentence read them."""
    arrays = {"l.weight": filled("F8_E5M2", 64, 128), "l.weight_s": filled("BF16", 64, 1)}
    path = write_raw(tmp_path / "a.safetensors", arrays)
    (found,) = inspect_file(path).suspicions
    assert "--names 'codes=l.weight,scale=NAME' names its scales" in found.sentence
    alone = write_raw(tmp_path / "s.safetensors", UNKNOWN["scales alone"])
    assert "--names" not in inspect_file(alone).suspicions[0].sentence
    out = tmp_path / "b.safetensors"
    assert main(["dequantize", str(path), str(out), "--names", "codes=l.weight,scale=l.weight_s", "-q"]) == 0
    out.unlink()
    assert "--from names its layout, and mxcast inspect finds it" in fails(2, "dequantize", path, out)
