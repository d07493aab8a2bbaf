"""The folder ``c/`` of a design: its test passes and can fail, and its program converts what the model converts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.hdl import HardwareConfig, configuration, emit
from mxcast.native.configured import sides
from mxcast.native.folder import c_files
from mxcast.sim.operations import drawn, golden, of
from mxcast.sim.transactions import Transactions

from .harness.header import WARNINGS

CONFIGURATIONS = {
    "encode": configuration("encode", "e4m3", "te"),
    "encode_sr": configuration("encode", "e2m3", rounding="sr", source="bf16", block_size=8),
    "encode_int16": configuration("encode", "int16", source="fp16", block_size=4),
    "encode_layout": configuration("encode", "e2m1", layout="ggml"),
    "decode": configuration("decode", "e5m2", "te"),
    "decode_sr": configuration("decode", "e3m2", destination="bf16", rounding="sr", random_bits=3, block_size=5),
    "cast": configuration("cast", "e8m0", "ml_dtypes", lanes=4),
    "cast_fp64": configuration("cast", "e4m3", source="fp64"),
    "cast_sr": configuration("cast", "e2m1", rounding="sr", lanes=2),
    "cast_back": configuration("cast", "ue5m3", destination="fp16"),
    "nvfp4": configuration("two_level_encode", "nvfp4"),
    "nvfp4_sr": configuration("two_level_encode", "nvfp4", rounding="sr"),
    "nvfp4_single": configuration("two_level_encode", "nvfp4", "nvfp4_ao_single"),
    "nvfp4_4over6": configuration("two_level_encode", "nvfp4", "nvfp4_paper", four_over_six="mae"),
    "nvfp4_decode": configuration("two_level_decode", "nvfp4", "nvfp4_ao"),
    "nvfp4_decode_single": configuration("two_level_decode", "nvfp4", "nvfp4_ao_single", destination="bf16"),
}


def written(config: HardwareConfig, out: Path, name: str) -> dict[str, Path]:
    return emit(config, out, name, added=c_files(config, name))


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def design(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The name of a configuration, and its folder ``c/``."""
    name = request.param
    return name, written(CONFIGURATIONS[name], tmp_path_factory.mktemp(name), name)["c_test"].parent


@pytest.mark.sampled(6)
def test_the_program_and_the_test_agree_with_the_model(design: tuple[str, Path]) -> None:
    name, folder = design
    config = CONFIGURATIONS[name]
    flags = f"CFLAGS=-O0 {' '.join(WARNINGS)}"
    checked = subprocess.run(["make", "-s", "check", name, flags], cwd=folder, capture_output=True, text=True)
    assert checked.returncode == 0 and checked.stdout.splitlines()[-1].startswith("PASS: "), checked
    given = drawn(config.numerics, of(config.numerics).sample(7), 7)
    typed = "\n".join(_in_hex(config, given, "input"))
    done = subprocess.run([folder / name], input=typed, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == _in_hex(config, golden(config.numerics, given), "output")


def _in_hex(config: HardwareConfig, side: Transactions, direction: str) -> list[str]:
    """Blocks as the program reads and prints them."""
    ports = sides(config.numerics)[direction == "output"]
    rows = ([word for port in ports for word in side[port.role][row].tolist()] for row in range(len(side)))
    return [" ".join(f"{word:x}" for word in words) for words in rows]


@pytest.mark.sampled(2)
def test_the_files_compile_as_cpp(design: tuple[str, Path]) -> None:
    command = ["g++", "-x", "c++", "-std=c++17", "-fsyntax-only", *WARNINGS, "main.c", "test.c"]
    subprocess.run(command, cwd=design[1], check=True)


def test_the_test_fails_where_the_header_is_wrong(tmp_path: Path) -> None:
    files = written(CONFIGURATIONS["encode"], tmp_path, "encode")
    right = files["c_library"].read_text()
    files["c_library"].write_text(right.replace("p.part > MXCAST_HALF ||", "p.part >= MXCAST_HALF ||"))
    done = subprocess.run(["make", "-s", "check"], cwd=files["c_test"].parent, capture_output=True, text=True)
    assert done.returncode != 0 and done.stdout.splitlines()[-1].startswith("FAIL: ")


def test_the_program_refuses_half_a_block(tmp_path: Path) -> None:
    folder = written(CONFIGURATIONS["encode"], tmp_path, "encode")["c_test"].parent
    subprocess.run(["make", "-s", "encode"], cwd=folder, check=True)
    for typed in ("1 2 3", "1 2 x"):
        done = subprocess.run([folder / "encode"], input=typed, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "encode: a block has 32 words in hexadecimal\n")


@pytest.mark.parametrize(
    "config, words",
    [
        (configuration("hadamard", "hadamard16"), "the model in C has no operation hadamard yet"),
        (configuration("encode", "e4m3,e5m2"), "the model in C is of one format and one scale rule, not of 2 modes"),
    ],
)
def test_what_the_header_lacks_is_refused(config: HardwareConfig, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        c_files(config, "top")


def test_emit_writes_it_next_to_the_verilog(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", "e2m1", "--c", "--name", "top", "-o", str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "top").iterdir()) == ["c", "manifest.json", "rtl"]
    assert f"wrote {tmp_path}/top/c/top.h" in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--c", "--dpi"])
def test_emit_refuses_before_it_writes(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emit", "hadamard16", "--op", "hadamard", option, "-o", str(tmp_path)]) != 0
    assert capsys.readouterr().err == "mxcast: the model in C has no operation hadamard yet\n"
    assert not list(tmp_path.iterdir())


def test_an_edited_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["emit", "e2m1", "--c", "--name", "top", "-o", str(tmp_path)]
    assert main(command) == main(command) == 0
    edited = tmp_path / "top" / "c" / "main.c"
    edited.write_text("mine")
    assert main(command) == 2
    assert f"{edited} has been edited since it was emitted" in capsys.readouterr().err
    assert edited.read_text() == "mine"
    assert main([*command, "--force"]) == 0 and edited.read_text() != "mine"


def test_emit_adds_a_scoreboard(tmp_path: Path) -> None:
    assert main(["emit", "e2m1", "--op", "decode", "--dpi", "--name", "top", "-o", str(tmp_path)]) == 0
    found = sorted(path.name for path in (tmp_path / "top" / "dpi").iterdir())
    assert found == ["Makefile", "mxcast.h", "top.h", "top_dpi.c", "top_dpi_pkg.sv", "top_scoreboard.sv"]
