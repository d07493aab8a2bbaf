"""Files that are damaged, or made to do harm: one sentence each, whatever is in them. Mutated real ones, and those that
were found by hand.
"""

from __future__ import annotations

import io
import json
import os
import random
import struct
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.models import quantize
from mxcast.tensors.containers.containers import read

NUMBERS = np.random.default_rng(3).standard_normal((4, 64)).astype(np.float32)
EACH = 2500
"""Mutants of each kind of file: 10,000 in all, of which the quick run has a part."""


def npy(array: np.ndarray = NUMBERS) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **(arrays or {"a": NUMBERS, "b": NUMBERS[0]}))
    return buffer.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def safetensors(header: object, data: bytes = NUMBERS.tobytes()) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(shape=(4, 64), dtype: str = "F32", start: int = 0, end: int = NUMBERS.nbytes) -> dict:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.fixture(scope="module")
def quantized(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("q")
    np.save(folder / "x.npy", NUMBERS)
    assert main(["quantize", str(folder / "x.npy"), str(folder / "q.safetensors"), "--format", "e4m3"]) == 0
    return (folder / "q.safetensors").read_bytes()


def mutated(data: bytes, generator: random.Random) -> bytes:
    """Some bytes changed, left out, repeated, put in from elsewhere or cut off; most of them in the header."""
    data = bytearray(data)
    for _ in range(generator.choice((1, 1, 1, 2, 4, 8))):
        place = generator.randrange(min(len(data), generator.choice((12, 130, 400, len(data)))) or 1)
        kind = generator.randrange(7)
        if kind == 0:
            data[place] ^= 1 << generator.randrange(8)
        elif kind == 1:
            data[place] = generator.choice(b'\x00\xff-0123456789[](){}",: \n\x1b\x80aeNnIiTF')
        elif kind == 2:
            del data[place : place + generator.choice((1, 2, 8, 64))]
        elif kind == 3:
            data[place:place] = data[place : place + generator.choice((1, 4, 40))] * generator.choice((1, 3))
        elif kind == 4:
            data[place:place] = generator.choice(
                (
                    b"-1",
                    b"1e400",
                    b"Infinity",
                    b"NaN",
                    b"9" * 30,
                    b"[" * 3000,
                    b"null",
                    b"True",
                    b"\xed\xa0\x80",
                    b"'O'",
                )
            )
        elif kind == 5:
            data = data[:place]
        else:
            data[place : place + 8] = struct.pack("<q", generator.choice((-1, 0, 1 << 62, len(data), 1 << 31)))
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors", "quantized"])
@pytest.mark.parametrize("each", [EACH // 5, pytest.param(EACH, marks=pytest.mark.slow)])
def test_no_mutant_is_a_traceback(kind, each, tmp_path, quantized, capsys):
    """`read` opens it, or says ValueError; every tenth goes through a command, which ends with a sentence."""
    original = {
        "npy": npy(),
        "npz": npz(),
        "safetensors": safetensors({"w": tensor(), "__metadata__": {"a": "b"}}),
        "quantized": quantized,
    }[kind]
    suffix = "safetensors" if kind == "quantized" else kind
    path, generator, accepted = tmp_path / f"x.{suffix}", random.Random(kind), 0
    for number in range(each):
        path.write_bytes(mutated(original, generator))
        try:
            accepted += bool(read(path).tensors)
        except ValueError as error:
            assert str(error) and path.name in str(error)
        if number % 10 == 0:
            verb = (
                ["dequantize", str(path), str(tmp_path / "y.safetensors")]
                if kind in ("quantized", "npz")
                else ["quantize", str(path), str(tmp_path / "y.safetensors"), "--format", "e2m1", "--pad"]
            )
            code = main(verb)
            out, err = capsys.readouterr()
            assert code in (0, 2) and (code == 0 or (err.startswith("mxcast: ") and err.count("\n") == 1)), err
            assert "\x1b" not in out + err and "Traceback" not in err
    assert each // 50 < accepted < each, "the mutants are all alike"
    assert sorted(file.name for file in tmp_path.iterdir() if file.name not in (path.name, "y.safetensors")) == []


def npy_with_header(text: str) -> bytes:
    header = text.encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + NUMBERS.tobytes()


SHAPE = "{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}"
ABOUT = {
    "version": "0",
    "profile": "ocp",
    "numerics": {"block": "mxfp8_e4m3"},
    "tensors": {"w": {"dtype": "F32", "shape": [4, 64]}},
}


def about(**fields: object) -> bytes:
    text = json.dumps(ABOUT | fields)
    return safetensors(
        {
            "w": tensor((4, 64), "U8", 0, 256),
            "w.scales": tensor((4, 2), "U8", 256, 264),
            "__metadata__": {"mxcast": text},
        },
        bytes(264),
    )


@pytest.mark.parametrize(
    "name, content, sentence",
    [
        ("a.npy", npy() + b"\0", f"it ends at byte {len(npy())}, and more follow"),
        ("b.npy", npy() + npy(2 * NUMBERS), "a file with several arrays must be .npz"),
        ("a.npz", npz() + b"\0", "bytes follow after its end"),
        ("b.npz", zipped(("a.npy", npy()), ("b.npy", npy() + b"\0")), "bytes follow after the array 'b'"),
        ("c.npz", zipped(("a.npy", npy()), ("a", npy())), "'a' is not an array"),
    ],
)
def test_more_than_its_arrays(name, content, sentence, tmp_path, fails):
    """Bytes that no array of a file of NumPy has. NumPy reads the first array of a `.npy` file and ignores the rest."""
    (tmp_path / name).write_bytes(content)
    assert sentence in fails(2, "quantize", tmp_path / name, tmp_path / "y.safetensors", "--format", "e4m3")


def test_two_arrays_of_one_name(tmp_path, fails):
    with pytest.warns(UserWarning, match="Duplicate name"):
        (tmp_path / "x.npz").write_bytes(zipped(("a.npy", npy()), ("a.npy", npy(2 * NUMBERS))))
    said = fails(2, "quantize", tmp_path / "x.npz", tmp_path / "y.safetensors", "--format", "e4m3")
    assert said.endswith("it has two arrays 'a'")


def test_a_comment_at_the_end(tmp_path, passes):
    """The last record of a zip file may have a comment."""
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("a.npy", npy())
        archive.comment = b"made by hand"
    passes("quantize", tmp_path / "x.npz", tmp_path / "y.safetensors", "--format", "e4m3")
    codes = read(tmp_path / "y.safetensors").tensors["a"].data
    np.testing.assert_array_equal(codes, quantize(NUMBERS, "e4m3").codes.reshape(-1))


@pytest.mark.parametrize(
    "name, content",
    [
        ("a.npy", b""),
        ("b.npy", b"\x93NUMPY"),
        ("c.npy", npy()[:60]),
        ("d.npy", npy()[:-1]),
        ("e.npy", npy_with_header(SHAPE.format("(-1,)"))),
        ("f.npy", npy_with_header(SHAPE.format(f"({2**70},)"))),
        ("g.npy", npy_with_header(SHAPE.format(f"({2**40}, {2**40})"))),
        ("h.npy", npy_with_header(SHAPE.format("(1.5,)"))),
        ("i.npy", npy_with_header("(" * 5000 + ")" * 5000)),
        ("j.npy", npy_with_header(SHAPE.format("(4, 64)").replace("<f4", "|O"))),
        ("k.npy", npy_with_header(SHAPE.format("(4, 64)").replace("'<f4'", "[('a', '<f4')]"))),
        ("l.npy", npy_with_header("{")),
        ("m.npy", npy_with_header(SHAPE.format("(True, 64)").replace("<f4", "<U3"))),
        ("n.npy", b"\x93NUMPY\x09\x09" + npy()[8:10] + b"\0\0" + npy()[10:]),
        ("a.npz", b""),
        ("b.npz", npz()[:100]),
        ("c.npz", npz()[:-30]),
        ("d.npz", npz(a=np.array([object()], object))),
        ("a.safetensors", b""),
        ("b.safetensors", struct.pack("<Q", 1 << 63) + b"{}"),
        ("c.safetensors", safetensors(b"[" * 100_000)),
        ("d.safetensors", safetensors({"w": tensor((1 << 62, 1 << 62))})),
        ("e.safetensors", safetensors({"w": tensor((-4, -64))})),
        ("f.safetensors", safetensors({"w": tensor(end=1 << 60)})),
        ("g.safetensors", safetensors({"w": 3})),
        ("h.safetensors", safetensors([])),
        ("i.safetensors", safetensors({"w": tensor(), "v": tensor()})),
        ("j.safetensors", safetensors({"w": tensor(dtype="F31")})),
        ("k.safetensors", safetensors({"__metadata__": {"a": 1}, "w": tensor()})),
    ],
)
def test_what_was_found_by_hand(name, content, tmp_path, fails):
    (tmp_path / name).write_bytes(content)
    said = fails(2, "quantize", tmp_path / name, tmp_path / "y.safetensors", "--format", "e4m3")
    assert name in said or "tensors" in said
    assert name != "n.npy" or said.endswith("its format version 9.9 is unknown")
    assert name in fails(2, "explain", "e4m3", "--values", f"{tmp_path / name}:w[0, 0]")


@pytest.mark.parametrize(
    "content",
    [
        about(tensors={"w": {"dtype": "F32", "shape": [float("inf"), 64]}}),
        about(tensors={"w": {"dtype": "F32", "shape": [1 << 80]}}),
        about(tensors={"w": {"dtype": "F32", "shape": [-4, 64]}}),
        about(tensors={"w": {"dtype": "F32", "shape": "ab"}}),
        about(tensors=[1]),
        about(numerics={"block": {"a": 1}}),
        about(numerics={"block": "mxfp8_e4m3", "block_size": 10**400}),
        about(numerics=None),
        about(numerics={"block": "mxfp8_e4m3", "source": ["fp32"]}),
        about(numerics={"block": "x" * 10_000}),
        about(numerics={"block": "mxfp8_e4m3", "element": {"exp_bits": 4}}),
        about(tensors={"v": {"shape": [4, 64]}}),
        safetensors({"__metadata__": {"mxcast": "[" * 100_000}, "w": tensor()}),
        safetensors({"__metadata__": {"mxcast": "\x00"}, "w": tensor()}),
    ],
    ids=range(14),
)
def test_metadata_that_were_found_by_hand(content, tmp_path, fails):
    (tmp_path / "q.safetensors").write_bytes(content)
    assert "q.safetensors" in fails(2, "dequantize", tmp_path / "q.safetensors", tmp_path / "y.safetensors")


@pytest.mark.parametrize(
    "content, sentence",
    [
        *(
            (
                about(tensors={"w": {"dtype": "F32", "shape": shape}}),
                f"the shape of tensor 'w' must be a list of whole numbers, not {shape!r}",
            )
            for shape in ([4.7, 64], [4, True], ["4", "64"], ["\u0664", 64], [], "ab", {"4": 64}, None, [-4, 64])
        ),
        (about(tensors={}), "tensors must name one tensor or more"),
        (about(tensors=[1]), "tensors must be an object of JSON, not [1]"),
        (about(tensors={"w": [4, 64]}), "tensor 'w' must be an object of JSON, not [4, 64]"),
        (about(numerics=[1]), "numerics must be an object of JSON, not [1]"),
        (about(numerics={}), "numerics must have a block"),
        (about(numerics={"operation": "decode", "block": "mxfp8_e4m3"}), "the operation must be encode, not 'decode'"),
        (about(numerics={"block": "mxfp8_e4m3", "element": [1]}), "a format must have fields by name, not [1]"),
        (
            safetensors({"__metadata__": {"mxcast": "[1]"}, "w": tensor()}),
            "the document must be an object of JSON, not [1]",
        ),
        (
            safetensors({"__metadata__": {"mxcast": f"[{'9' * 5000}]"}, "w": tensor()}),
            "it has a whole number of more than 4300 digits",
        ),
    ],
)
def test_metadata_that_mean_nothing(content, sentence, tmp_path, fails):
    """Files that were once read as something else."""
    path = tmp_path / "q.safetensors"
    path.write_bytes(content)
    assert (
        fails(2, "dequantize", path, tmp_path / "y.safetensors") == f"{path} has damaged 'mxcast' metadata: {sentence}"
    )
    assert not (tmp_path / "y.safetensors").exists()


@pytest.mark.parametrize("number", [0x110000, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("key", ["mxcast", "other"])
def test_what_is_no_unicode_is_no_text(number, key, quantized, tmp_path, fails):
    """NumPy returns a text that Python cannot encode."""
    (tmp_path / "q.safetensors").write_bytes(quantized)
    stored = read(tmp_path / "q.safetensors")
    texts = {name: np.array(text) for name, text in stored.metadata.items()} | {"other": np.array("another")}
    letters = texts[key].reshape(1).view(np.uint32)
    letters[1] = number
    texts[key] = letters.view(texts[key].dtype).reshape(())
    path = tmp_path / "q.npz"
    path.write_bytes(npz(**{name: one.data.reshape(one.shape) for name, one in stored.tensors.items()}, **texts))
    assert f"{path} is no .npz file of numbers, or a damaged one" in fails(2, "dequantize", path, tmp_path / "y.npy")
    assert not (tmp_path / "y.npy").exists()


def test_what_a_library_says_of_a_header_is_cut(tmp_path, fails):
    (tmp_path / "a.npy").write_bytes(npy_with_header("{" + "'a': 1, " * 4000 + "}"))
    assert len(fails(2, "quantize", tmp_path / "a.npy", tmp_path / "b.npz", "--format", "e4m3")) < 400


def test_a_number_of_too_many_digits_beside_a_design(tmp_path, fails):
    (tmp_path / "a.json").write_text("9" * 5000)
    assert (
        fails(2, "prove", "--rtl", tmp_path / "a.v")
        == f"{tmp_path / 'a.json'} does not describe a converter: it has a whole number of more than 4300 digits"
    )


def test_a_zip_of_another_kind(tmp_path, fails):
    for name, method in (("stored", zipfile.ZIP_STORED), ("lzma", zipfile.ZIP_LZMA), ("bzip2", zipfile.ZIP_BZIP2)):
        with zipfile.ZipFile(tmp_path / f"{name}.npz", "w", method) as archive:
            archive.writestr("a.npy", npy())
            archive.writestr("readme.txt", "hello")
        assert f"{name}.npz" in fails(2, "explain", "e4m3", "--values", f"{tmp_path / name}.npz:c[0, 0]")


@pytest.mark.parametrize(
    "verb",
    [
        ["quantize", "{pipe}.npy", "y.npz", "--format", "e4m3"],
        ["dequantize", "{pipe}.safetensors", "y.safetensors"],
        ["explain", "e4m3", "--values", "{pipe}.npy:x[0, 0]"],
        ["emit", "-c", "{pipe}.toml"],
        ["prove", "e4m3", "--rtl", "{pipe}.v"],
        ["prove", "--rtl", "{pipe}.v"],
        ["check-rtl", "{pipe}.v", "--top", "t", "-f", "e4m3"],
        ["test", "e4m3", "--vectors", "{pipe}.npz"],
        ["test", "e4m3", "--rtl", "{pipe}.v"],
        ["verify", "e4m3", "--tensors", "{pipe}.npy"],
        ["explore", "{pipe}.toml"],
        ["explore", "--tensors", "{pipe}.npz"],
    ],
    ids=lambda words: " ".join(words),
)
def test_a_pipe_is_no_file(verb, tmp_path, fails, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for suffix in ("npy", "npz", "safetensors", "toml", "v", "json"):
        os.mkfifo(f"pipe.{suffix}")
    timer = threading.Timer(20, lambda: os._exit(99))  # it would hang
    timer.start()
    try:
        assert "is not a regular file" in fails(2, *(word.format(pipe="pipe") for word in verb))
    finally:
        timer.cancel()


@pytest.mark.parametrize(
    "verb",
    [
        ["prove", "e4m3", "--rtl", "enc.VHD"],
        ["prove", "--rtl", "enc.vhdl"],
        ["check-rtl", "enc.vhd", "--top", "enc", "-f", "e4m3"],
        ["test", "e4m3", "--rtl", "enc.vhd"],
        ["prove", "enc.vhd"],
        ["verify", "enc.VHDL"],
        ["explain", "enc.vhd", "--op", "decode"],
        ["emit", "enc.vhd"],
    ],
    ids=lambda words: " ".join(words),
)
def test_vhdl_is_called_vhdl(verb, tmp_path, fails, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = next(word for word in verb if word.startswith("enc."))
    (tmp_path / file).write_text("entity enc is end;\narchitecture a of enc is begin end;\n")
    assert f"{file} is VHDL, and mxcast reads Verilog and SystemVerilog: translate it first" in fails(2, *verb)


def test_names_do_not_steer_the_terminal(tmp_path, capsys):
    name = "a\x1b[2J\nb\u202e"
    (tmp_path / "x.safetensors").write_bytes(safetensors({name: tensor(), "scalar\x07": tensor((), "F32", 0, 4)}))
    for number, header in enumerate(({name: tensor()}, {name: tensor(), "i\x1b": tensor((0,), "I32", 1024, 1024)})):
        (tmp_path / "x.safetensors").write_bytes(safetensors(header))
        assert (
            main(
                [
                    "quantize",
                    str(tmp_path / "x.safetensors"),
                    str(tmp_path / f"{number}.safetensors"),
                    "--format",
                    "e4m3",
                ]
            )
            == 0
        )
    assert main(["explain", "e4m3", "--values", f"{tmp_path / 'x.safetensors'}:a\x1b"]) == 2
    out, err = capsys.readouterr()
    assert "a\\x1b[2J\\nb\\u202e" in out and not any(character in out + err for character in "\x1b\x07\u202e")


@pytest.mark.parametrize(
    "text, sentence",
    [
        (f"[numerics]\nblock_size = {'9' * 5000}", "c.toml has a whole number of more than 4300 digits"),
        (
            f"[numerics]\nblock_size = 0x{'9' * 5000}",
            "block_size must be a power of two from 2 to 128, not a number of 20000 bits",
        ),
        (
            f"[numerics]\nscale_rule = [0x{'9' * 5000}]",
            "c.toml: scale_rule must be a string or a list of strings, not a value too long to repeat",
        ),
        ('name = "\\u001b[2J"', "c.toml: name must be a Verilog identifier and no keyword, not '\\x1b[2J'"),
        ('name = "module"', "c.toml: name must be a Verilog identifier and no keyword, not 'module'"),
    ],
)
def test_values_of_configurations(text, sentence, tmp_path, fails):
    """A wrong key is reported even if the verb does not use it."""
    (tmp_path / "c.toml").write_text(text)
    assert (
        fails(2, "explain", "e4m3", "--values", "1", "-c", tmp_path / "c.toml").removeprefix(f"{tmp_path}/") == sentence
    )


def test_registers_of_configurations(tmp_path, fails, passes):
    """A verb that takes rules only ignores them."""
    (tmp_path / "c.toml").write_text(f"[microarchitecture]\nlatency = 0x{'9' * 5000}")
    sentence = "latency must be 1 to 12, the number of stage boundaries, not a number of 20000 bits"
    assert fails(2, "verify", "e4m3", "-c", tmp_path / "c.toml") == sentence
    assert "0x78" in passes("explain", "e4m3", "--values", "1", "-c", tmp_path / "c.toml")


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "a = " + "[" * 100_000, "\x00", "\udcff", "numerics = 1", "[numerics]\nblock = {}"]
)
def test_configurations(text, tmp_path, fails):
    Path(tmp_path / "c.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "c.toml" in fails(2, "emit", "-c", tmp_path / "c.toml")
