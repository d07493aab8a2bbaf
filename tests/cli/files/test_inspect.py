"""`mxcast inspect`: its output, exit codes and reports, with good, damaged and hostile files."""

import json
import math
import random
from xml.etree import ElementTree

import numpy as np
import pytest
from safetensors.numpy import save_file

from mxcast.cli import main
from mxcast.models import pack, quantize, quantize_nvfp4
from mxcast.spec import LAYOUTS
from mxcast.tensors.containers.containers import written
from mxcast.tensors.inspect.histogram import line
from mxcast.tensors.inspect.inspection import inspect_file

NAME = "model.layers.0.up.weight"


@pytest.fixture
def right(tmp_path):
    """A file of gpt-oss with one tensor, and one that is not quantized."""
    x = np.random.default_rng(5).normal(size=(128, 256)).astype(np.float32)
    path = tmp_path / "right.safetensors"
    save_file(pack(quantize(x, "e2m1"), "gpt_oss", name=NAME) | {"ids": np.arange(3)}, path)
    return path


@pytest.fixture
def ambiguous(tmp_path):
    """Names, dtypes and shapes of ModelOpt and of ComfyUI."""
    x = np.random.default_rng(5).normal(size=(128, 256)).astype(np.float32)
    arrays = pack(quantize_nvfp4(x, "nvfp4", "nvfp4_ao"), "modelopt", name=NAME)
    dtypes = dict(zip(arrays, ("U8", "F8_E4M3", "F32")))
    path = tmp_path / "ambiguous.safetensors"
    with written(path, {name: (dtypes[name], a.shape, a.nbytes) for name, a in arrays.items()}, {}) as write:
        for name, a in arrays.items():
            write(name, 0, a)
    return path


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main(["inspect", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_a_right_file(right, passes):
    text = passes("inspect", right)
    assert "gpt_oss:mxfp4_e2m1: block format mxfp4_e2m1, block 32" in text
    assert "evidence: arrays {name}_blocks, {name}_scales; dtypes U8, U8; shape: a scale for 32 elements" in text
    assert "16 of 16" in text and "2^-2 " in text and "not quantized: ids" in text
    assert text.endswith("no suspicions\n")
    assert passes("inspect", right, "-q") == ""
    document = json.loads(passes("inspect", right, "--json"))
    (tensor,) = document["tensors"]
    assert tensor["counts"]["blocks"] == tensor["counts"]["blocks_counted"] == 1024
    assert sum(tensor["counts"]["scales_by_binade"].values()) == 1024 and tensor["readings"][0]["evidence"]
    assert (document["others"], document["suspicions"], document["report"]) == (["ids"], [], None)


def test_an_ambiguous_file(ambiguous, capsys, passes):
    code, text, _ = run(capsys, ambiguous)
    assert code == 4
    assert "it is modelopt:nvfp4 (packing low_first" in text and "or comfy:nvfp4 (packing high_first" in text
    assert "comfy_quant would tell; --as chooses" in text
    assert "no suspicions" in passes("inspect", ambiguous, "--as", "modelopt")
    assert run(capsys, ambiguous, "--as", "comfy:nvfp4")[0] in (0, 1)


def test_a_suspicious_file(ambiguous, capsys):
    """The tensor scale of a divisor under the name of a multiplier."""
    data = bytearray(ambiguous.read_bytes())
    data[-4:] = (1 / np.frombuffer(data[-4:], "<f4")).astype("<f4").tobytes()
    ambiguous.write_bytes(data)
    code, text, _ = run(capsys, ambiguous, "--as", "modelopt")
    assert code == 1 and "suspicion (tensor_scale): " in text and "as divisor" in text
    code, text, _ = run(capsys, ambiguous, "--as", "modelopt", "--json")
    (suspicion,) = json.loads(text)["suspicions"]
    assert code == 1 and suspicion["kind"] == "tensor_scale" and suspicion["figures"]["divisor"] < 10


def test_a_file_without_quantized_tensors(tmp_path, passes):
    save_file({"a": np.ones((3, 4), np.float32)}, tmp_path / "a.safetensors")
    assert passes("inspect", tmp_path / "a.safetensors") == "not quantized: a\nno quantized tensors\n"


def test_reports(right, ambiguous, tmp_path, passes, fails, capsys):
    page, picture = tmp_path / "r.html", tmp_path / "r.svg"
    assert f"wrote {page}" in passes("inspect", right, "--report", page)
    text = page.read_text()
    assert NAME in text and "<svg" in text and "No suspicions" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    passes("inspect", right, "--report", picture, "-q")
    assert len(ElementTree.fromstring(picture.read_text()).findall(".//{*}rect")) == 3
    assert run(capsys, ambiguous, "--report", page)[0] == 4 and "Ambiguous" in page.read_text()
    assert fails(2, "inspect", right, "--report", tmp_path / "r.pdf").endswith("r.pdf must be a .html or .svg file")


def test_names_are_no_markup(tmp_path, right, passes):
    from safetensors.numpy import load_file

    name = "<script>&\x1b[2J"
    save_file({array.replace(NAME, name): a for array, a in load_file(right).items()}, right)
    page = tmp_path / "r.html"
    text = passes("inspect", right, "--report", page)
    assert "\x1b" not in text and "<script>" not in page.read_text()
    passes("inspect", right, "--report", tmp_path / "r.svg", "-q")
    ElementTree.fromstring((tmp_path / "r.svg").read_text())


def test_a_terminal_without_blocks(right, passes, monkeypatch):
    monkeypatch.setattr("mxcast.cli.verbs.inspect._is_ascii", lambda: True)
    row = next(row for row in passes("inspect", right).splitlines() if row.startswith(NAME))
    assert row.isascii() and "@" in row
    assert line({}) == "" and line({-3: 5}) == "2^-3 █ 2^-3" and len(line({-127: 1, 127: 9})) < 50


def test_what_is_refused(right, passes, fails, tmp_path):
    assert "unknown layout 'gpt-os'" in fails(2, "inspect", right, "--as", "gpt-os")
    assert "unknown block format of quark" in fails(2, "inspect", right, "--as", "quark:nvfp4")
    assert "has no tensors in the layout mlx" in fails(2, "inspect", right, "--as", "mlx")
    np.save(tmp_path / "x.npy", np.ones((2, 32), np.float32))
    passes("quantize", tmp_path / "x.npy", tmp_path / "q.npz", "--format", "e4m3")
    assert "no suspicions" in passes("inspect", tmp_path / "q.npz")
    assert "it says itself how it is stored" in fails(2, "inspect", tmp_path / "q.npz", "--as", "mlx")
    assert "No such file" in fails(2, "inspect", tmp_path / "no.safetensors")
    (tmp_path / "d.safetensors").write_bytes(right.read_bytes()[:100])
    assert "damaged" in fails(2, "inspect", tmp_path / "d.safetensors")


def huge(shape: tuple[int, ...], scales: tuple[int, ...]) -> dict:
    return {"w_blocks": ("U8", shape, b""), "w_scales": ("U8", scales, b"")}


def one_block(scale: bytes, dtype: str, shape: tuple[int, ...], tensor_scale: bytes) -> dict:
    """A file of NVFP4 in the layout of compressed-tensors, with any tensor scale."""
    return {
        "w_packed": ("U8", (1, 8), bytes(8)),
        "w_scale": ("F8_E4M3", (1, 1), scale),
        "w_global_scale": (dtype, shape, tensor_scale),
    }


@pytest.mark.parametrize(
    "tensors",
    [
        huge((0, 4, 16), (0, 4)),
        huge((4, 0, 16), (4, 0)),
        huge((1 << 40, 0, 16), (1 << 40, 0)),
        huge((0, 1 << 40, 16), (0, 1 << 40)),
        {"w": ("U8", (0, 17 << 30), b"")},
        {"w_packed": ("U8", (0,), b""), "w_scale": ("U8", (0,), b"")},
        {"w": ("U32", (0, 4), b""), "scales": ("U8", (0, 1), b"")},
        {"w": ("U8", (), b"\0"), "w_scale": ("U8", (), b"\0")},
        one_block(b"\x7f", "F32", (0,), b""),
        one_block(b"\x01", "U8", (1,), b"\0"),
        one_block(b"\x01", "F32", (3,), np.ones(3, "<f4").tobytes()),
        one_block(b"\x01", "F32", (1,), np.array([1e-45], "<f4").tobytes()),
    ],
)
def test_nothing_to_count(tensors, raw_safetensors, capsys):
    """Arrays without elements, of any shape, give an answer or one sentence, and JSON."""
    code, text, error = run(capsys, raw_safetensors(tensors), "--json")
    assert code in (0, 1, 4) and json.loads(text)["path"] and error == ""


SIZES = {"U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E8M0": 1, "F8_E5M2": 1, "U32": 4, "F32": 4}


def test_any_shapes(raw_safetensors):
    """Names of every layout, with right and wrong lengths, never give a traceback or a warning."""
    generator = random.Random(3)
    lengths = (0, 1, 2, 3, 16, 17, 32, 36, 64, 130)
    layouts = [layout for layouts in LAYOUTS.values() for layout in layouts.values()]
    answered = 0
    for layout in layouts * 3:
        tensors = {}
        lead = generator.choice(((), (0,), (1,), (3,)))
        shape = (*lead, *generator.choices(lengths, k=generator.choice((1, 2))))
        for part in layout.parts:
            dtype = part.dtype if generator.random() < 0.9 else generator.choice(list(SIZES))
            if part is not layout.codes:
                fitting = [shape[:-1], (*shape[:-1], shape[-1] // 16), (*shape[:-1], shape[-1] // 32), (), (1,)]
                shape_of_part = generator.choice(fitting)
            else:
                shape_of_part = shape
            size = math.prod(shape_of_part) * SIZES[dtype]
            tensors[part.of("a.weight")] = dtype, shape_of_part, generator.randbytes(size)
        try:
            found = inspect_file(raw_safetensors(tensors), layout.name if generator.random() < 0.5 else None)
        except ValueError as error:
            assert "has no tensors in the layout" in str(error) or "must be 0 to 63, not" in str(error)
        else:
            json.dumps(found.to_dict(), allow_nan=False)
            answered += bool(found.tensors)
    assert len(layouts) // 2 < answered < 3 * len(layouts)


def test_shapes_that_no_memory_holds(raw_safetensors, fails):
    path = raw_safetensors(huge((0, 1 << 60, 16), (0, 1 << 60)))
    assert "is larger than any memory" in fails(2, "inspect", path)


def test_a_layout_that_does_not_fit(right, tmp_path, fails):
    """The sentence gives the reason, also if the layout is named."""
    from safetensors.numpy import load_file

    arrays = load_file(right)
    arrays[f"{NAME}_scales"] = arrays[f"{NAME}_scales"].repeat(2, -1)  # of blocks of 16
    save_file(arrays, right)
    sentence = fails(2, "inspect", right, "--as", "gpt_oss")
    assert sentence.endswith("they are U8 of shape (128, 8, 16) and U8 of shape (128, 16)")
    assert "has no tensors in the layout gpt_oss: " in sentence


def test_tensor_scales_of_zeros_are_counted(raw_safetensors, capsys):
    """Three scales for one matrix are wrong, whatever its numbers are."""
    path = raw_safetensors(one_block(b"\x01", "F32", (3,), np.ones(3, "<f4").tobytes()))
    code, text, _ = run(capsys, path, "--as", "compressed_tensors")
    assert code == 1 and "there are 3 tensor scales in 'w_global_scale', for 1 matrices" in text


def test_a_large_file_is_sampled(raw_safetensors, passes):
    """Some blocks of a sparse file of 1 GB are counted, and the output says how many."""
    shape = (1 << 16, 1 << 10, 16)
    path = raw_safetensors({})
    sizes = [int(np.prod(shape)), int(np.prod(shape[:2]))]
    header = json.dumps(
        {
            "w_blocks": {"dtype": "U8", "shape": shape, "data_offsets": [0, sizes[0]]},
            "w_scales": {"dtype": "U8", "shape": shape[:2], "data_offsets": [sizes[0], sum(sizes)]},
        }
    ).encode()
    with open(path, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + sum(sizes))
    counts = json.loads(passes("inspect", path, "--json"))["tensors"][0]["counts"]
    assert counts["blocks"] == 1 << 26 and counts["blocks_counted"] == counts["zero_blocks"] == 1 << 17
    assert f"{1 << 17} of {1 << 26}" in passes("inspect", path)
