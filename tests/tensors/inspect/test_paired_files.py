"""`mxcast identify --input --output`: files of which it is known what made them, right and wrong ones.

What is stored is made by ml_dtypes' casts and by Transformer Engine's arithmetic of the tests, not by the models.
"""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

import mxcast
from mxcast.models import BlockArray
from mxcast.spec import LAYOUTS

from ...models.libraries.transformer_engine import quantize as transformer_engine
from ..stored_files import EVERY, NAME, WEIGHTS, quantized, stored, write

CAST = {"e4m3": ml_dtypes.float8_e4m3fn, "e2m1": ml_dtypes.float4_e2m1fn}
LARGEST = {"e4m3": (448.0, 8, 0x600000), "e2m1": (6.0, 2, 0x400000)}
"""The largest element, its exponent, and its fraction in the bits of an FP32 number."""
BLOCK = {"e4m3": "mxfp8_e4m3", "e2m1": "mxfp4_e2m1"}


def encoded(x: np.ndarray, element: str, ceil: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Scales (rows, n / 32) and codes (rows, n), by the formulas of OCP or NVIDIA for the scale and a cast."""
    largest, emax, fraction = LARGEST[element]
    blocks = x.reshape(len(x), -1, 32)
    a = np.abs(blocks).max(axis=-1)
    is_special = ~np.isfinite(a)
    bits = np.where(is_special, np.float32(0), a).view(np.uint32)
    byte = (bits >> 23).astype(int) - emax + (ceil & ((bits & 0x7FFFFF) > fraction) & (bits >> 23 > 0))
    byte = np.where(is_special, 255, np.maximum(byte, 0))
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.clip(np.ldexp(blocks, 127 - byte[..., None]), -largest, largest)
        codes = scaled.astype(CAST[element]).view(np.uint8)
    codes = np.where(is_special[..., None], 0x7F if element == "e4m3" else 0, codes)
    return byte.astype(np.uint8), codes.astype(np.uint8).reshape(x.shape)


def tell_tale() -> np.ndarray:
    """Numbers that separate `nvidia` from `te` (a NaN block), and from `torchao_rceil`."""
    x = np.random.default_rng(5).standard_normal((6, 128)).astype(np.float32)
    x[1, 40] = np.nan
    x[2, 0:32] = 0
    x[2, 7] = np.uint32(0x04600001).view(np.float32)
    x[3, 96] = 0.0
    x[3, 97] = -0.0
    return x


@pytest.fixture
def files(tmp_path):
    """Write the numbers, and the scales and codes, of some tensors in the layout of compressed-tensors."""

    def make(element, tensors, dialect="compressed_tensors"):
        numbers, made, layout = {}, {}, LAYOUTS[dialect][BLOCK[element]]
        for name, (x, scales, codes) in tensors.items():
            numbers[name] = x
            made |= stored(layout, BlockArray(scales=scales, codes=codes, block=layout.block_format), name)
        norm = np.ones(4, np.float32)
        np.savez(tmp_path / "in.npz", **numbers, norm=norm)
        write(tmp_path / "out.safetensors", layout, made, names=tuple(numbers), norm=norm)
        return tmp_path / "in.npz", tmp_path / "out.safetensors"

    return make


def test_the_rules_that_made_a_file(files):
    x = tell_tale()
    found = mxcast.identify_file(*files("e2m1", {NAME: (x, *encoded(x, "e2m1", ceil=True))}))
    assert found.verdict == "unknown" and found.pair == ("nvidia", "torchao_rceil")  # of e2m1 another pattern tells
    assert "0x01400001" in found.remarks[0]
    x[2, 7] = np.uint32(0x01400001).view(np.float32)
    found = mxcast.identify_file(*files("e2m1", {NAME: (x, *encoded(x, "e2m1", ceil=True))}))
    assert (found.verdict, found.names) == ("follows", ("nvidia",)), found.sentence
    assert found.blocks == 24 and found.tensors == {NAME: (24, 0)}


def test_what_the_blocks_do_not_tell_apart_is_unknown(files):
    """All rules that fit are named: finite blocks do not decide about NaN."""
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    found = mxcast.identify_file(*files("e2m1", {NAME: (x, *encoded(x, "e2m1", ceil=True))}))
    assert found.verdict == "unknown" and found.pair == ("nvidia", "te") and not found.names
    assert "torchao_rceil" in found.sentence and "no block of the files tells these two apart" in found.sentence
    zeros = np.zeros((4, 64), np.float32)
    found = mxcast.identify_file(*files("e2m1", {NAME: (zeros, *encoded(zeros, "e2m1"))}))
    assert found.verdict == "unknown"
    assert len(found.matches) > 4  # nearly everything makes zeros of zeros


def test_what_fits_others_does_not_follow_what_it_is_to_follow(files):
    """The named rules win even if the blocks do not separate the others."""
    x = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    paths = files("e2m1", {NAME: (x, *encoded(x, "e2m1", ceil=True))})
    found = mxcast.identify_file(*paths, profile="ocp")
    assert found.verdict == "differs" and "fits nvidia and te, not ocp" in found.sentence and found.witness
    assert mxcast.identify_file(*paths, profile="te").verdict == "unknown"


def changed(x, element, change):
    scales, codes = (array.copy() for array in encoded(x, element))
    scales, codes = change(x, scales, codes)
    return x, scales.astype(np.uint8), codes.astype(np.uint8)


def one_code(x, scales, codes):
    codes[5, 70] ^= 1
    return scales, codes


def ties_away(x, scales, codes):
    """Numbers halfway between two codes of which the lower is even go up."""
    factor = np.ldexp(1.0, scales.astype(int) - 127).repeat(32, axis=1)
    y = np.abs(x) / factor
    for code, half in ((0, 0.25), (2, 1.25), (4, 2.5), (6, 5.0)):
        codes = np.where((y == half) & (codes & 7 == code), codes + 1, codes)
    return scales, codes


def without_signs_of_zero(x, scales, codes):
    return scales, np.where(codes & 7 == 0, 0, codes)


PLANTED = {
    "a code": (one_code, "tensor 'model.layers.0.mlp.gate_proj.weight', row 5, block 2: scale 0x"),
    "the byte off by one": (lambda x, s, c: (s + 1, c), "every scale byte is 1 too large"),
    "nibbles": (lambda x, s, c: (s, c.reshape(-1, 2)[:, ::-1].reshape(c.shape)), "are the halves of a byte swapped?"),
    "-0 lost": (without_signs_of_zero, "only zeros differ: -0 became +0"),
    "zeros": (lambda x, s, c: (s, np.zeros_like(c)), "out.safetensors has zeros"),
    "constant": (lambda x, s, c: (np.full_like(s, 120), np.full_like(c, 3)), "out.safetensors has a constant"),
    "ties away": (ties_away, "follows ocp with rounding=rna"),
    "subnormal elements": (
        lambda x, s, c: (s, np.where(c & 7 == 1, c & 8, c)),
        "follows ocp with element_subnormals=flush",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fault", PLANTED)
def test_planted_departures_are_named(files, fault, passes, capsys):
    change, said = PLANTED[fault]
    x = np.random.default_rng(3).standard_normal((6, 128)).astype(np.float32)
    x[:, ::3] = np.round(x[:, ::3] * 8) / 8  # ties and zeros
    paths = files("e2m1", {NAME: changed(x, "e2m1", change)})
    from mxcast.cli import main

    arguments = ["identify", "--input", str(paths[0]), "--output", str(paths[1])]
    assert main([*arguments, "--profile", "ocp"]) == 1
    text = capsys.readouterr().out
    assert said in text and f"tensor '{NAME}', row " in text and "mxcast explain mxfp4_e2m1" in text
    found = mxcast.identify_file(*paths, profile="ocp")
    assert not found.follows(found.rules) and found.witness and sum(found.causes.values()) == found.tensors[NAME][1]


def test_what_is_said_of_every_block_holds_for_all(files):
    """Only half of the bytes are too small under `nvidia`."""
    x = np.random.default_rng(3).standard_normal((6, 128)).astype(np.float32)
    found = mxcast.identify_file(*files("e2m1", {NAME: (x, *encoded(x, "e2m1"))}), profile="nvidia")
    assert 0 < sum(found.causes.values()) < found.blocks and not any("every" in text for text in found.remarks)


def test_the_simplest_block_is_shown(files):
    x = np.random.default_rng(3).standard_normal((6, 128)).astype(np.float32)
    x[4, 96:] = 0
    x[4, 100] = 1.0
    scales, codes = encoded(x, "e2m1")
    codes[0, 5] ^= 8
    codes[4, 100] ^= 8
    found = mxcast.identify_file(*files("e2m1", {NAME: (x, scales, codes)}))
    assert (found.verdict, found.nearest[0].names[0]) == ("differs", "ocp")
    assert "row 4, block 3" in found.witness and "0x3F800000" in found.witness and sum(found.causes.values()) == 2


def test_one_of_two_tensors_differs(files, capsys):
    x = np.random.default_rng(4).standard_normal((4, 64)).astype(np.float32)
    good, bad = (x, *encoded(x, "e2m1")), changed(x, "e2m1", lambda x, s, c: (s, np.where(c == 7, 6, c)))
    paths = files("e2m1", {"a.weight": good, "b.weight": bad})
    found = mxcast.identify_file(*paths)
    wrong = int((bad[2] != good[2]).reshape(-1, 32).any(axis=1).sum())
    assert wrong and found.tensors == {"a.weight": (8, 0), "b.weight": (8, wrong)} and "'b.weight'" in found.witness
    from mxcast.cli import main

    assert main(["identify", "--input", str(paths[0]), "--output", str(paths[1]), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["tensors"]["b.weight"] == {"blocks": 8, "differing": wrong} and "normal_blocks" not in document


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "layout",
    [
        pytest.param(layout, marks=pytest.mark.slow if layout.dialect == before.dialect else ())
        for before, layout in zip([EVERY[-1], *EVERY], EVERY)
    ],
    ids=lambda layout: layout.name,
)
def test_every_layout_is_read(layout, tmp_path):
    """Every block of real weights fits the profile of the layout, and one changed block does not."""
    x = WEIGHTS if layout.axis == -1 else np.ascontiguousarray(WEIGHTS.T)
    np.save(tmp_path / "in.npy", x)
    arrays = {name: array.copy() for name, array in stored(layout, quantized(layout)).items()}
    path = write(tmp_path / "out.safetensors", layout, arrays)
    found = mxcast.identify_file(tmp_path / "in.npy", path, stored_as=layout.name)
    profile = {"multiplier": "nvfp4_ao", "divisor": "nvfp4_compressed_tensors", "amax": "nvfp4_te"}
    wanted = profile.get(str(layout.convention), "ocp")
    assert any(wanted in one.names for one in found.matches) and found.blocks == WEIGHTS.size // layout.width
    codes = arrays[layout.codes.of(NAME)]
    codes.reshape(-1).view(np.uint8)[-3] ^= 0x11
    found = mxcast.identify_file(tmp_path / "in.npy", write(path, layout, arrays), stored_as=layout.name)
    assert found.verdict == "differs" and found.nearest[0].blocks == 1


def nvfp4(x, amax=None):
    a = float(np.abs(x).max()) if amax is None else amax
    scales, codes = transformer_engine(x.reshape(-1, 16), a)
    block = LAYOUTS["mlx"]["nvfp4"].block_format
    return BlockArray(
        scales=scales.reshape(len(x), -1), codes=codes.reshape(x.shape), block=block, tensor_scale=np.float32(a)
    )


def nvfp4_files(tmp_path, x, q):
    layout = LAYOUTS["mlx"]["nvfp4"]
    np.save(tmp_path / "in.npy", x)
    return tmp_path / "in.npy", write(tmp_path / "out.safetensors", layout, stored(layout, q))


def test_nvfp4(tmp_path):
    """The block of numerics.md, D.3, in a tensor of these maxima: `te` and `paper` round its scale to different bytes,
    and blocks of tiny numbers tell both from torchao's.
    """
    x = np.zeros((2, 32), np.float32)
    x[0, 0] = np.uint32(0x3FB80000).view(np.float32)
    x[0, 16] = np.uint32(0x3F8A0000).view(np.float32)
    x[1, :16] = 1e-6
    found = mxcast.identify_file(*nvfp4_files(tmp_path, x, nvfp4(x)))
    assert found.verdict == "follows" and "nvfp4_te" in found.names and "nvfp4_paper" not in found.names
    found = mxcast.identify_file(*nvfp4_files(tmp_path, x, nvfp4(x)), profile="nvfp4_paper")
    assert found.sentence.endswith("not nvfp4_paper") and "0x3F8A0000" in found.witness


def test_a_tensor_scale_that_is_not_of_the_tensor(tmp_path):
    """Gate and up share a tensor scale: blocks are right under it, and the report calls it another one."""
    x = np.random.default_rng(1).standard_normal((8, 64)).astype(np.float32)
    found = mxcast.identify_file(*nvfp4_files(tmp_path, x, nvfp4(x, amax=8.0)))
    assert found.verdict == "differs" and "under the tensor scales of the file" in found.sentence
    assert "nvfp4_te" in found.sentence and found.causes == {"the scale of the tensor": 1}
    assert any("expected" in text and "got 8 (0x41000000)" in text for text in found.remarks)


@pytest.mark.parametrize("source", ["bf16", "fp16"])
def test_other_sources(tmp_path, source, raw_safetensors):
    x = np.random.default_rng(2).standard_normal((4, 64)).astype(ml_dtypes.bfloat16 if source == "bf16" else np.float16)
    raw = raw_safetensors({NAME: (source.upper().replace("FP", "F"), x.shape, x.tobytes())})
    scales, codes = encoded(x.astype(np.float32), "e4m3", ceil=True)
    layout = LAYOUTS["compressed_tensors"]["mxfp8_e4m3"]
    q = BlockArray(scales=scales, codes=codes, block=layout.block_format)
    found = mxcast.identify_file(raw, write(tmp_path / "out.safetensors", layout, stored(layout, q)))
    assert found.rules.source.name == source and any("nvidia" in one.names for one in found.matches)
    assert any("torchao_rceil" in one.names for one in found.matches)  # of 16 bits the same rules


def test_one_sentence(tmp_path, files, fails, saved):
    x = np.random.default_rng(2).standard_normal((4, 64)).astype(np.float32)
    good = (x, *encoded(x, "e2m1"))
    numbers, made = files("e2m1", {NAME: good})
    other = saved(x[:2], "short.npy")
    both = ["identify", "--input"]
    assert "have the shape (2, 64), and what is stored is of 1 x 4 x 64" in fails(2, *both, other, "--output", made)
    lacking = tmp_path / "other.npz"
    np.savez(lacking, another=x, norm=x[0])
    assert f"has no tensor '{NAME}'" in fails(2, *both, lacking, "--output", made)
    more = tmp_path / "more.npz"
    np.savez(more, **{NAME: x, "gone": x, "norm": x[0]})
    assert "has no tensor 'gone'" in fails(2, *both, more, "--output", made)
    assert "has no F32, F16 or BF16 tensor" in fails(2, *both, saved(x.astype(int), "i.npy"), "--output", made)
    assert "has no quantized tensors" in fails(2, *both, numbers, "--output", saved(x, "same.npy"))
    empty = files("e2m1", {NAME: tuple(array[:0] for array in good)})
    assert "have no block to compare" in fails(2, *both, empty[0], "--output", empty[1])
    numbers, made = files("e2m1", {NAME: good}, dialect="quark")
    assert "has no tensors in the layout torchao" in fails(2, *both, numbers, "--output", made, "--from", "torchao")
    assert "two files" in fails(2, *both, numbers)
    assert "two files" in fails(2, "identify")
    assert "random bits of stochastic rounding" in fails(
        2, *both, numbers, "--output", made, "--from", "quark:mxfp4_e2m1", "--set", "rounding=sr"
    )
    assert "leave out --op and --samples" in fails(2, *both, numbers, "--output", made, "--op", "decode")
    assert "--from is the layout of --output" in fails(2, "identify", "json:dumps", "-f", "e2m1", "--from", "mlx")
    assert "has no tensors of the block format mxfp8_e4m3" in fails(
        2, *both, numbers, "--output", made, "-f", "e4m3", "--from", "quark:mxfp4_e2m1"
    )
    assert "nowhere" in fails(2, *both, tmp_path / "nowhere.npy", "--output", made)


def test_ambiguous_layouts_are_refused_with_their_readings(tmp_path, fails):
    """ComfyUI and ModelOpt have the same names."""
    x = WEIGHTS
    np.save(tmp_path / "in.npy", x)
    layout = LAYOUTS["modelopt"]["nvfp4"]
    path = write(tmp_path / "out.safetensors", layout, stored(layout, quantized(layout)))
    both = ["identify", "--input", tmp_path / "in.npy", "--output", path]
    said = fails(2, *both)
    assert "modelopt:nvfp4" in said and "comfy:nvfp4" in said and "--from chooses" in said
