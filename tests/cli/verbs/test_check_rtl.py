"""`check-rtl`: its output, its files, and one sentence for each refusal."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mxcast.cli import main
from mxcast.hdl import converter_config, verilog

DESIGNS = Path(__file__).parents[2] / "proof" / "designs"
E2M1 = [DESIGNS / "e2m1.sv", "-I", DESIGNS, "--format", "e2m1", "--set", "block_size=4", "--blocks", 1000]
BLOCK = ["--top", "e2m1_block", "--map", "x=in_{i}", "--map", "p=out_{i}", "--map", "scale=shared"]


def test_pass(passes, tmp_path):
    out = passes("check-rtl", *E2M1, *BLOCK, "-o", tmp_path)
    assert (
        "PASS: e2m1_block equals mxfp4_e2m1 ocp for every block (as read_verilog and slang read it; bitwuzla" in out
        and "N(0,1): 0 of 100,000 (0 %) blocks differ" in out
    )


def test_fail_and_its_document(capsys, tmp_path):
    arguments = [str(a) for a in ["check-rtl", *E2M1, *BLOCK, "-o", tmp_path, "-D", "FLUSH"]]
    assert main(arguments) == 1
    out, err = capsys.readouterr()
    assert err == "" and "FAIL: e2m1_block is not mxfp4_e2m1 ocp" in out
    assert (
        "it matches ocp with element_subnormals=flush" in out
        and "minimised counterexample" in out
        and "mxcast explain" in out
    )
    assert main([*arguments, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["status"], document["map"]["x"]) == ("FAIL", "in_{i}")
    assert (
        document["matches"][0]["names"] == ["ocp with element_subnormals=flush"]
        and len(document["counterexamples"][0]["block"]) == 4
    )
    assert {path.name for path in Path(document["folder"]).iterdir()} >= {"counterexample.npz", "report.json"}
    assert json.loads((Path(document["folder"]) / "report.json").read_text()) == {
        k: v for k, v in document.items() if k != "folder"
    }


PRINTS = """
  always @* $display("printed by display");
  always @* $write("printed by write\\n");
  always @* $fdisplay(1, "printed by fdisplay");
  always @* $fwrite(32'h8000_0001, "printed by fwrite\\n");
  initial $monitor("printed by monitor %d", p);
"""


def test_what_a_design_prints_is_not_what_the_command_prints(tmp_path):
    """Stdout is one document. The design is wrong, since Yosys cannot read all that Verilator prints."""
    text = verilog(converter_config("e2m1", block_size=2), "a")
    before, end, after = text.partition("endmodule")
    (tmp_path / "a.v").write_text(before + PRINTS + end + after)
    arguments = ["check-rtl", "a.v", "--top", "a", "--format", "e2m1", "--set", "block_size=2", "--blocks", "100"]
    command = [sys.executable, "-m", "mxcast.cli", *arguments, "--set", "rounding=rtz", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)  # a process, whose streams C has too
    assert json.loads(done.stdout)["status"] == "FAIL" and done.stderr == ""


def test_unknown_with_a_map_file(capsys, tmp_path):
    table = tmp_path / "map.toml"
    table.write_text('[map]\nx = "data"\nscale = "result[23:16]"\np = "result[15:0]"\nclk = "clk"\nlatency = 9\n')
    assert (
        main(
            [
                str(a)
                for a in [
                    "check-rtl",
                    DESIGNS / "e2m1_pipe.sv",
                    *E2M1,
                    "--top",
                    "e2m1_in_turn",
                    "--map-file",
                    table,
                    "--map",
                    "latency=1",
                    "-o",
                    tmp_path,
                ]
            ]
        )
        == 4
    )
    out = capsys.readouterr().out
    assert "UNKNOWN: e2m1_in_turn differs from mxfp4_e2m1 ocp on no block that was simulated; it is not proved" in out
    assert "no proof was possible: a register feeds back into itself" in out


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ([*E2M1], "the module to check is missing: --top MODULE"),
        (
            [*E2M1, "--top", "e2m1"],
            "the files have no module e2m1: they have e2m1_block, e2m1_element, e2m1_max, e2m1_scale, e2m1_vector",
        ),
        (
            [*E2M1, "--top", "e2m1_block"],
            "the map has no entry for x, and e2m1_block has no port of that name: map x=PATTERN; "
            "its inputs are in_0, in_1, in_2, in_3",
        ),
        (
            [*E2M1, *BLOCK, "--map", "en=1"],
            "unknown port of e2m1_block 'en': known are in_0, in_1, in_2, in_3, shared, out_0, out_1, out_2, out_3",
        ),
        ([*E2M1, *BLOCK, "--map", "x=in_0"], "--map gives x twice: in_{i} and in_0"),
        ([*E2M1, *BLOCK, "--param", "EMAX"], "--param takes KEY=VALUE, not 'EMAX'"),
        ([*E2M1, *BLOCK, "--solver", "bitwuzle"], "unknown solver 'bitwuzle': did you mean 'bitwuzla'?"),
        (
            [*E2M1[:-4], *BLOCK],
            "unknown port of e2m1_block 'in_4': did you mean 'in_3'?",
        ),  # a block has 32 elements by default
        (["missing.v", "--top", "t", "-f", "e2m1"], "missing.v: No such file or directory"),
    ],
)
def test_one_sentence(fails, tmp_path, arguments, sentence):
    assert fails(2, "check-rtl", *arguments, "-o", tmp_path) == sentence


def test_files_that_nobody_can_read(fails, tmp_path):
    bad = tmp_path / "bad.sv"
    bad.write_text("module bad(input a; endmodule\n")
    assert f"{bad}:1: expected ')'" in fails(2, "check-rtl", bad, "--top", "bad", "-f", "e2m1", "-o", tmp_path)
    bad.write_text('`include "nothing.svh"\nmodule bad(input a); endmodule\n')
    assert "nothing.svh" in fails(2, "check-rtl", bad, "--top", "bad", "-f", "e2m1", "-o", tmp_path)
    table = tmp_path / "map.toml"
    table.write_text("x = 1")
    assert (
        fails(2, "check-rtl", bad, "--top", "bad", "-f", "e2m1", "--map-file", table)
        == f"{table} must have one table, [map], with the keys of --map"
    )
