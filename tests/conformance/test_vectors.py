"""Sets of conformance vectors: their content, their readers, and damaged sets that do not pass."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from mxcast.cli import main
from mxcast.conformance.identify.expected.exact_results import exact_results
from mxcast.conformance.vectors.confirmation import Disagreement, confirmed
from mxcast.conformance.vectors.vector_files import check, write
from mxcast.conformance.vectors.vectors import Category, VectorSet, distinct, least_distinct, made
from mxcast.hdl import converter_config, emit
from mxcast.host.files import sha256
from mxcast.models.exact.encode import decode
from mxcast.models.exact.nvfp4_encode import largest, tensor_constants
from mxcast.sim.operations import golden
from mxcast.sim.transactions import Transactions
from mxcast.spec import FP32, Hadamard, Role
from mxcast.spec.profiles.resolve import operation_of

ROOT = Path(__file__).parents[2]
WEIGHTS = np.random.default_rng(11).normal(0, 0.02, 64 * 32).astype(np.float32)
SMALL = {"block_size": 2}


@pytest.fixture(scope="module")
def small():
    return made(operation_of("encode", "e2m1", "nvidia", **SMALL), WEIGHTS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "op, format, fields, absent",
    [
        ("encode", "e4m3", SMALL, set()),
        pytest.param("encode", "int8", {**SMALL, "source": "bf16"}, set(), marks=pytest.mark.slow),
        ("encode", "e2m1", {**SMALL, "rounding": "sr", "random_bits": 4}, set()),
        ("decode", "e4m3", SMALL, {"boundary", "tie"}),
        pytest.param("decode", "e2m1", {**SMALL, "destination": "bf16"}, {"boundary", "tie"}, marks=pytest.mark.slow),
        ("cast", "e4m3", {}, {"corner"}),
        pytest.param("cast", "e8m0", {}, {"corner"}, marks=pytest.mark.slow),
        ("decode", "nvfp4", {}, {"boundary", "tie"}),
    ],
)
def test_a_set_has_every_category_and_what_the_fast_model_makes_of_it(op, format, fields, absent):
    rules = operation_of(op, format, **fields)
    found = made(rules, WEIGHTS)
    assert set(found.counts) | absent == set(map(str, Category))
    assert sum(found.counts.values()) == len(found) < 4000
    assert not golden(rules, found.given).differ(found.expected).any()
    for port, words in found.ports:
        assert len(np.unique(words)) >= least_distinct(port), port.name


def test_every_code_is_in_a_set(small):
    counts = distinct(small.ports)
    assert counts["p"] == 16 and counts["scale"] > 240


def test_the_seed_makes_the_set(small):
    same, other = (made(small.rules, WEIGHTS, seed=seed) for seed in (0, 1))
    assert np.array_equal(small.given[Role.NUMBERS], same.given[Role.NUMBERS])
    assert not np.array_equal(small.given[Role.NUMBERS][:500], other.given[Role.NUMBERS][:500])


@pytest.mark.parametrize("profile", ["nvfp4_te", pytest.param("nvfp4_ao", marks=pytest.mark.slow)])
def test_the_constants_of_tensors(profile):
    """By rational arithmetic, from all numbers of the tensor that a column names."""
    found = made(operation_of("encode", "nvfp4", profile), WEIGHTS)
    rules, numbers = found.rules, found.given[Role.NUMBERS]
    assert found.tensors is not None and len(np.unique(found.tensors)) > 60
    for tensor in np.unique(found.tensors)[::7]:
        rows = np.flatnonzero(found.tensors == tensor)
        every = [decode(int(pattern), FP32) for pattern in numbers[rows].reshape(-1)]
        constants = tensor_constants(largest(every, rules.order), rules)
        for role, constant in ((Role.SCALE_CONSTANT, constants.k), (Role.ELEMENT_CONSTANT, constants.d)):
            words = found.given.get(role)
            if words is not None and isinstance(constant, Fraction):
                assert set(words[rows].view(np.float32).reshape(-1).tolist()) == {float(constant)}


def test_what_has_no_exact_model_has_no_vectors():
    with pytest.raises(ValueError, match=r"there are no vectors of hadamard: known are encode, decode"):
        made(Hadamard(), WEIGHTS)


def test_the_files_are_the_same_words(small, tmp_path):
    manifest = write(small, tmp_path / "a")
    assert manifest["blocks"] == len(small) and manifest["categories"] == small.counts
    assert manifest == json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert check(tmp_path / "a").faults == []
    again = write(small, tmp_path / "b")
    assert again["sha256"] == manifest["sha256"]  # bytes depend on the set alone
    first = (tmp_path / "a" / "x.mem").read_text().split()[0]
    x = small.given[Role.NUMBERS][0]
    assert int(first, 16) == int(x[1]) << 32 | int(x[0])


def altered(words, row):
    """One bit of one word."""
    words = words.copy()
    words[row, 0] ^= 1
    return words


def rewritten(folder: Path) -> None:
    """The digests of changed files."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"] = {name: sha256((folder / name).read_bytes()) for name in manifest["sha256"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["vectors.csv", "vectors.npz", "x.mem", "scale.mem"])
def test_a_file_that_has_changed(small, tmp_path, name):
    write(small, tmp_path)
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / name).write_bytes(data)
    assert f"{name} is not the file that the manifest was made with" in check(tmp_path).faults


@pytest.mark.parametrize("role", [Role.CODES, Role.SCALE])
def test_a_wrong_result_with_digests_of_its_own(small, tmp_path, role):
    """It is computed again."""
    left = small.expected.with_arrays({role: altered(small.expected[role], 77)})
    write(VectorSet(**{**vars(small), "expected": left}), tmp_path)
    assert f"1 of {len(small)} blocks differ from the exact model" in check(tmp_path).faults


@pytest.mark.parametrize(
    "words", [np.zeros((100, 2), np.uint32), np.full((100, 2), 0x7F000000, np.uint32)], ids=["zeros", "saturated"]
)
def test_a_set_that_tests_nothing(small, tmp_path, words):
    """Results are right, and digests and counts are its own."""
    given = Transactions({Role.NUMBERS: words})
    nothing = VectorSet(
        rules=small.rules,
        size="small",
        seed=0,
        given=given,
        expected=exact_results(small.rules, given),
        categories=np.zeros(100, int),
    )
    write(nothing, tmp_path)
    faults = check(tmp_path).faults
    assert "p has 1 different words, and a set has at least 4" in faults
    assert "scale has 1 different words, and a set has at least 64" in faults


def test_rows_that_are_missing(small, tmp_path):
    write(small, tmp_path)
    lines = (tmp_path / "vectors.csv").read_text().splitlines(keepends=True)
    (tmp_path / "vectors.csv").write_text("".join(lines[:-9]))
    rewritten(tmp_path)
    faults = check(tmp_path).faults
    assert f"there are {len(small) - 9} blocks, and the manifest says {len(small)}" in faults
    assert "vectors.npz has other words of x than vectors.csv" in faults and "x.mem has other words" in str(faults)


def test_the_verilog_confirms_it(small):
    assert confirmed(small)["blocks"] == len(small)
    left = small.expected.with_arrays({Role.CODES: altered(small.expected[Role.CODES], 5)})
    with pytest.raises(Disagreement, match=f"1 of {len(small)} blocks are converted otherwise by the Verilog"):
        confirmed(VectorSet(**{**vars(small), "expected": left}))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a set of blocks of 32, by the command."""
    folder = tmp_path_factory.mktemp("sets")
    assert main(["vectors", "e2m1", "-o", str(folder), "-q"]) == 0
    (found,) = folder.iterdir()
    assert found.name == "mxfp4_e2m1-encode-ocp-small"
    return found


ZEROS = """#include <stdint.h>
void convert(const uint32_t *in, uint32_t *out) { (void)in, (void)out; }
"""
WORDS = {"encode e2m1": (32, 33), "decode e2m1": (33, 32), "cast e5m2": (1, 1), "encode nvfp4": (19, 17)}
"""Words of a row: inputs, and results."""
IN_C = {"encode e2m1": "e2m1.c", "decode e2m1": "e2m1_decoder.c"}


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """The folder of a set of a kind of operation."""
    folder = tmp_path_factory.mktemp("kinds")

    def of(name):
        if not (folder / name).exists():
            write(made(operation_of(*name.split()), WEIGHTS), folder / name)
        return folder / name

    return of


KINDS = [pytest.param(name, marks=pytest.mark.slow if "nvfp4" in name else []) for name in WORDS]
"""Rational arithmetic of NVFP4 takes some seconds."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "name, source",
    [
        *IN_C.items(),
        ("cast e5m2", None),
        ("encode e2m1", None),
        pytest.param("encode nvfp4", None, marks=pytest.mark.slow),
    ],
)
def test_a_reader_in_c(sets, tmp_path, name, source):
    """A converter that is written from the specification gives every block, and one that returns zeros hardly any."""
    path = tmp_path / "zeros.c"
    if source is None:
        path.write_text(ZEROS)
    else:
        path = Path(__file__).parent / "encoders" / source
    defined = [f"-D{side}={count}" for side, count in zip(("IN", "OUT"), WORDS[name])]
    command = ["gcc", "-std=c11", "-Wall", "-Werror", *defined, "-o", tmp_path / "reader"]
    subprocess.run([*command, ROOT / "examples" / "read_vectors.c", path, "-lm"], check=True)
    with open(sets(name) / "vectors.csv") as table:
        done = subprocess.run([tmp_path / "reader"], stdin=table, capture_output=True, text=True)
    blocks = json.loads((sets(name) / "manifest.json").read_text())["blocks"]
    wrong = int(done.stdout.split()[0])
    assert f"of {blocks} blocks differ" in done.stdout
    assert (wrong, done.returncode) == (0, 0) if source else (wrong > 0.7 * blocks and done.returncode == 1)


def reader():
    spec = importlib.util.spec_from_file_location("read_vectors", ROOT / "examples" / "read_vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def decoded(given, leaving):
    """OCP's E2M1 by rational numbers; binary64 has every product."""
    values = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    (scale,) = given["scale"]
    if scale == 255:
        return {"y": [0x7FC00000] * leaving["y"]}
    numbers = [values[code & 7] * 2.0 ** (scale - 127) * (-1) ** (code >> 3) for code in given["p"]]
    with np.errstate(over="ignore"):
        return {"y": np.array(numbers).astype(np.float32).view(np.uint32).tolist()}


@pytest.mark.parametrize("name", KINDS)
def test_a_reader_in_python(sets, name, capsys):
    module = reader()
    assert module.main(str(sets(name))) == 1
    wrong, _, blocks, *_ = (said := capsys.readouterr().out).split()
    assert int(blocks) == json.loads((sets(name) / "manifest.json").read_text())["blocks"]
    assert int(wrong) > 0.7 * int(blocks) and "weights" in said
    if name == "decode e2m1":
        module.convert = decoded
        assert module.main(str(sets(name))) == 0


@pytest.mark.sampled(2)
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus is not installed")
@pytest.mark.parametrize("wrong", [False, True])
def test_a_reader_in_verilog(whole, tmp_path, wrong):
    """With the names and widths of another format, as a user would change them."""
    reader = (ROOT / "examples" / "read_vectors.v").read_text()
    reader = reader.replace("mxfp8_e4m3_encoder", "mine").replace("[255:0]", "[127:0]")
    (tmp_path / "read.v").write_text(reader)
    rules = {"rounding": "rtz"} if wrong else {}
    design = emit(converter_config("e2m1", "ocp", **rules), tmp_path, name="mine")["verilog"]
    blocks = json.loads((whole / "manifest.json").read_text())["blocks"]
    command = ["iverilog", "-g2012", f"-DBLOCKS={blocks}", "-o", tmp_path / "a.out", tmp_path / "read.v", design]
    subprocess.run(command, check=True)
    done = subprocess.run(["vvp", tmp_path / "a.out"], cwd=whole, capture_output=True, text=True)
    differing = int(done.stdout.split(" of ")[0].split()[-1])
    assert differing > 1000 if wrong else differing == 0, done.stdout


def test_the_command_checks(whole, tmp_path, capsys):
    copy = shutil.copytree(whole, tmp_path / "copy")
    assert main(["vectors", "--check", str(copy)]) == 0
    assert "passed" in capsys.readouterr().out
    (copy / "scale.mem").unlink()
    assert main(["vectors", "--check", str(copy)]) == 1
    assert "scale.mem is not the file that the manifest was made with" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ([], "a format is missing: mxcast vectors e4m3"),
        (["e9m9"], "1 to 5 exponent bits and 0 to 10 fraction bits, not e9m9"),
        (["e2m1", "--op", "hadamard"], "vectors does not take --op hadamard yet"),
        (["--check", "."], ". has no manifest.json: mxcast vectors e4m3 -o FOLDER makes one"),
        (["e4m3", "--check", "."], "--check takes the rules from the folder: leave out e4m3"),
    ],
)
def test_one_sentence(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["vectors", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "{",
        "[" * 100_000,
        *({key: value} for key in ("format", "rules", "sha256", "ports") for value in (7, [{}], {"../x": 1})),
    ],
)
def test_a_manifest_of_another_kind(small, tmp_path, text, capsys):
    manifest = write(small, tmp_path)
    if isinstance(text, dict):
        text = json.dumps(manifest | text)
    (tmp_path / "manifest.json").write_text(text)
    assert main(["vectors", "--check", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
