"""`mxcast prove` and `mxcast mutate`: output, files and exit codes."""

import json

import pytest

from mxcast.cli import main
from mxcast.hdl import converter_config, emit, verilog
from mxcast.proof.solve import solver

SMALL = ["--set", "block_size=2"]


def test_a_proof_passes(tmp_path, capsys):
    assert main(["prove", "e2m1", *SMALL, "-o", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert (
        "PASS" in said
        and "equals mxfp4_e2m1 ocp for all 2^64 inputs, as read_verilog and slang read it (bitwuzla" in said
    )
    assert (
        len(list(tmp_path.glob("*/proof/*/proof.json"))) == 1
        and len(list(tmp_path.glob("*/proof/*/*/element.smt2"))) == 2
    )


def test_a_file_is_proved_by_the_json_beside_it(tmp_path, capsys):
    file = emit(converter_config("e3m2", "te", block_size=2), tmp_path)["verilog"]
    assert main(["prove", "--rtl", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (
        document["status"] == "PASS" and document["numerics"]["specials"] == "te" and document["method"] == "composed"
    )


def test_a_wrong_file_fails_with_a_block_that_the_regression_keeps(tmp_path, capsys):
    config = converter_config("e2m1", "ocp", block_size=2)
    file = emit(config, tmp_path)["verilog"]
    name = file.stem
    file.write_text(verilog(config, name).replace("{ x[31], magnitude }", "{ 1'h0, magnitude }"))
    assert main(["prove", "--rtl", str(file)]) == 1
    said = capsys.readouterr().out
    assert f"FAIL: {file.name} differs from mxfp4_e2m1 ocp" in said and "expected 0x" in said and "V / 2^X" in said
    vectors = next(tmp_path.glob("*/*/proof/*/counterexample.npz"))
    assert "mxcast test mxfp4_e2m1 --profile ocp --set block_size=2" in said and f"--vectors {vectors}" in said
    assert main(["test", "e2m1", *SMALL, "--vectors", str(vectors), "-o", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out
    assert "vectors" in said
    assert (
        main(
            [
                "test",
                "e2m1",
                *SMALL,
                "--vectors",
                str(vectors),
                "--rtl",
                str(file),
                "--name",
                name,
                "-o",
                str(tmp_path / "b"),
            ]
        )
        == 1
    )
    assert "vectors: 1 of 1 blocks differ" in capsys.readouterr().out


def test_an_edited_file_is_not_replaced_in_silence(tmp_path, capsys):
    config = converter_config("e2m1", "ocp", block_size=2)
    file = emit(config, tmp_path)["verilog"]
    edited = file.read_text().replace("endmodule", "  // mine\nendmodule", 1)
    file.write_text(edited)
    assert main(["prove", "e2m1", *SMALL, "-o", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and str(file) in error and "--force" in error and file.read_text() == edited
    assert main(["prove", "e2m1", *SMALL, "-o", str(tmp_path), "--force"]) == 2 and file.read_text() == edited
    assert main(["emit", "e2m1", *SMALL, "-o", str(tmp_path), "--force"]) == 0
    assert file.read_text() == verilog(config, file.stem)


def test_no_answer_is_inconclusive(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(solver.SOLVERS, "bitwuzla", ("bitwuzla", "", "print('unknown')"))
    assert main(["prove", "e2m1", *SMALL, "-o", str(tmp_path), "--force"]) == 4
    assert "UNKNOWN" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["prove"], "a format is missing"),
        (["prove", "e2m1", "--solver", "bitwuzle"], "did you mean 'bitwuzla'?"),
        (["prove", "e2m1", *SMALL, "--timeout", "inf"], "Invalid value for '--timeout'"),
        (["prove", "e2m1", *SMALL, "--timeout", "1e12"], "Invalid value for '--timeout'"),
        (["prove", "e2m1", "--netlist", "xcv"], "did you mean 'xcu'?"),
        (["prove", "--rtl", "nowhere.v"], "give a format and a profile"),
        (
            ["prove", "--rtl", "nowhere.v", "--profile", "te"],
            "--profile needs a format: mxcast prove FORMAT --rtl nowhere.v --profile te",
        ),
        (["prove", "--rtl", "nowhere.v", "--set", "rounding=rtz"], "--set needs a format"),
        (["prove", "--rtl", "nowhere.v", "--target", "xcu"], "--target needs a format"),
        (["prove", "e2m1", "--netlist", "lut4"], "unknown netlist 'lut4'"),
        (["prove", "e2m1", "--rtl", "nowhere.v"], "nowhere.v: No such file"),
        (["prove", "all", "--rtl", "nowhere.v"], "give one format"),
        (["test", "e2m1", "--vectors", "nowhere.npz"], "nowhere.npz: No such file"),
    ],
)
def test_wrong_words_are_one_sentence(arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("mxcast: ") and error.count("\n") == 1 and sentence in error


def test_mutants(tmp_path, capsys):
    assert main(["mutate", "e2m1", *SMALL, "--mutants", "12", "-o", str(tmp_path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["mutants"] == 12 == document["killed"] + document["equivalent"] and document["survived"] == 0
    assert document["mistakes"] and all(mistake["refuted_by"] for mistake in document["mistakes"])
