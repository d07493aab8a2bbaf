"""The reader and writer of `.safetensors` files accept the same files as the library, byte for byte."""

import json
import random
import struct

import numpy as np
import pytest
import safetensors
from safetensors.numpy import save

from mxcast.tensors.containers.containers import read, written
from mxcast.tensors.containers.safetensors import BITS

from ...cli.files.test_damaged_files import mutated

OF_LIBRARY = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "float32": "F32", "float64": "F64", "complex64": "C64",
    "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ", "float8_e5m2fnuz": "F8_E5M2FNUZ", "float4_e2m1fn_x2": "F4",
}  # fmt: skip
"""Names of dtypes in `serialize` of the library, which writes no elements of six bits."""


def file_of(header: object, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def same_as_in_the_library(path):
    """Our reader and the library read the same tensors and metadata."""
    there = dict(safetensors.deserialize(path.read_bytes()))
    contents = read(path)
    assert set(contents.tensors) == set(there)
    for name, stored in contents.tensors.items():
        assert (stored.dtype, list(stored.shape)) == (there[name]["dtype"], there[name]["shape"])
        assert stored.data.tobytes() == bytes(there[name]["data"])
    return contents


def written_again(contents, path):
    """A file with the same tensors in the same order."""
    header = {name: (one.dtype, one.shape, one.data.nbytes) for name, one in contents.tensors.items()}
    with written(path, header, contents.metadata) as write:
        for name, one in contents.tensors.items():
            write(name, 0, one.data)
    return path.read_bytes()


def test_what_the_library_writes_is_what_we_write(tmp_path):
    """One file has all dtypes that the library writes, a name and metadata beyond ASCII, and an empty tensor."""
    rng, arrays, specs = np.random.default_rng(0), [], {}
    for place, (dtype, name) in enumerate(OF_LIBRARY.items()):
        arrays.append(rng.integers(0, 2 if dtype == "bool" else 256, 6 * BITS[name] // 8 * 8, np.uint8))
        stored = (2, 24) if name != "F4" else (2, 12)  # two to a byte
        specs[f"t{place}é\n\x7f"] = safetensors.TensorSpec(
            dtype=dtype, shape=stored, data_ptr=arrays[-1].ctypes.data, data_len=arrays[-1].nbytes
        )
    specs["empty"] = safetensors.TensorSpec(dtype="float32", shape=(0, 3), data_ptr=arrays[-1].ctypes.data, data_len=0)
    path = tmp_path / "library.safetensors"
    path.write_bytes(safetensors.serialize(specs, {"made by": 'ä "library" \\ \u2028'}))
    contents = same_as_in_the_library(path)
    assert {one.dtype for one in contents.tensors.values()} == set(OF_LIBRARY.values())
    assert contents.tensors["t19é\n\x7f"].shape == (2, 24), "the logical shape of F4"
    assert written_again(contents, tmp_path / "ours.safetensors") == path.read_bytes()


@pytest.mark.parametrize("dtype", ["F4", "F6_E2M3", "F6_E3M2", "F8_E8M0"])
def test_elements_that_share_bytes(dtype, tmp_path):
    """`deserialize` reads what `serialize` cannot write."""
    data = np.random.default_rng(1).integers(0, 256, 3 * 8 * BITS[dtype] // 8, np.uint8)
    path = tmp_path / "x.safetensors"
    with written(path, {"w": (dtype, (3, 8), data.size)}, {}) as write:
        write("w", 0, data)
    assert same_as_in_the_library(path).tensors["w"].data.tobytes() == data.tobytes()


ONE = {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}


def one(**fields: object) -> dict:
    return {"w": ONE["w"] | fields}


TWICE = b'{"w":' + json.dumps(ONE["w"]).encode() + b"," + json.dumps(ONE).encode()[1:]


def two(first: int, last: int) -> dict:
    return ONE | {"v": {"dtype": "U8", "shape": [4], "data_offsets": [first, last]}}


DAMAGED = {
    "the length of its header takes 8": b"1234567",
    "and 100000000 are the most": struct.pack("<Q", 100_000_001) + b"{}",
    "its header has 90000000 bytes, and 2 follow": struct.pack("<Q", 90_000_000) + b"{}",
    "must be an object of JSON": file_of(b"[]", b""),
    "not UTF-8": file_of(b'{"\xff":1}', b""),
    "twice": file_of(TWICE, bytes(24)),
    "not JSON": file_of(b'{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":NaN}}', bytes(4)),
    "begin at 4, and those before end at 0": file_of(one(data_offsets=[4, 28]), bytes(28)),
    "begin at 20, and those before end at 24": file_of(two(20, 24), bytes(24)),
    "has data of 20 bytes": file_of(one(data_offsets=[0, 20]), bytes(20)),
    "has data of -4 bytes": file_of(two(24, 20), bytes(24)),
    "F4 of shape (3,), has data of 2 bytes": file_of(one(dtype="F4", shape=[3], data_offsets=[0, 2]), bytes(2)),
    "its tensors have 24 bytes, and 25 follow": file_of(ONE, bytes(25)),
    "the unknown dtype 'F31'": file_of(one(dtype="F31"), bytes(24)),
    "must have a dtype, a shape and data_offsets": file_of({"w": {"dtype": "F32", "shape": [6]}}, bytes(24)),
    "not {'dtype': 'F32', 'shape': [True, 6]": file_of(one(shape=[True, 6]), bytes(24)),
    "not texts by name": file_of(ONE | {"__metadata__": {"a": 1}}, bytes(24)),
}


@pytest.mark.parametrize("said", DAMAGED)
def test_what_is_damaged(said, tmp_path):
    """The library refuses it too, except for a repeated name."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(DAMAGED[said])
    with pytest.raises(ValueError) as found:
        read(path)
    assert said in str(found.value) and f"{path} is no .safetensors file of numbers, or a damaged one" in str(
        found.value
    )
    if said != "twice":
        with pytest.raises(safetensors.SafetensorError):
            safetensors.deserialize(DAMAGED[said])


def test_mutants_are_taken_by_both_or_by_none(tmp_path):
    """Repeated names and shapes beyond NumPy are refused here alone."""
    generator, path, taken = random.Random(4), tmp_path / "x.safetensors", 0
    original = save({"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.arange(3, dtype=np.uint8)}, {"k": "v"})
    for _ in range(600):
        data = mutated(original, generator)
        path.write_bytes(data)
        try:
            safetensors.deserialize(data)
        except safetensors.SafetensorError:
            with pytest.raises(ValueError):
                read(path)
        else:
            try:
                same_as_in_the_library(path)
                taken += 1
            except ValueError as error:
                assert "twice" in str(error) or "axes" in str(error) or "larger than any memory" in str(error)
    assert 5 < taken < 595


def test_what_no_file_can_hold(tmp_path):
    for dtype, metadata, said in (
        ("Q8_0", {}, "tensor 'w' is Q8_0, which a .safetensors file cannot hold"),
        ("U8", {"k": "x" * 100_000_000}, "has a header of 100000000 bytes at most"),
    ):
        with (
            pytest.raises(ValueError, match=said),
            written(tmp_path / "x.safetensors", {"w": (dtype, (1,), 1)}, metadata),
        ):
            pass
    assert not list(tmp_path.iterdir())
