"""Projects for Vivado and Quartus. Without these tools, a Tcl shell runs the scripts and records their commands."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from mxcast.hdl import converter_config, describe, emit
from mxcast.hdl.emission.vendors import DEFAULT_PARTS, FAMILIES, VENDORS, project

CONFIG = converter_config("e2m1,int4", block_size=4, rounding="sr", random_bits=1)  # ports of one bit and of several

needs_tcl = pytest.mark.skipif(
    shutil.which("tclsh") is None, reason="no Tcl shell, no script was run: apt-get install tcl"
)

RECORDER = """
package provide ::quartus::project 1.0
package provide ::quartus::flow 1.0
proc unknown {args} {
  puts "CALL [join $args { }]"
  switch [lindex $args 0] {
    get_parts { return [expr {[lindex $args end] eq "%s" ? "found" : ""}] }
    get_property { return 1.25 }
    default { return [join $args { }] }
  }
}
source [lindex $argv 0]
"""


def ran(script: Path, folder: Path, known: str = "") -> subprocess.CompletedProcess:
    """Run a script from another folder, in a Tcl shell that records all commands that it does not know."""
    (folder / "recorder.tcl").write_text(RECORDER % known)
    return subprocess.run(["tclsh", "recorder.tcl", script], cwd=folder, capture_output=True, text=True)


def calls(done: subprocess.CompletedProcess) -> list[list[str]]:
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("CALL ")]


def constrained(path: Path, folder: Path) -> list[str]:
    return [" ".join(call) for call in calls(ran(path, folder))]


@needs_tcl
def test_vivado(tmp_path):
    files = emit(CONFIG, tmp_path / "o", "top", vendor="vivado")
    made = calls(ran(files["vivado_script"], tmp_path, DEFAULT_PARTS["vivado"]))
    assert [call[0] for call in made if not call[0].startswith(("report", "get_"))] == [
        "create_project",
        "read_verilog",
        "read_xdc",
        "synth_design",
        "opt_design",
        "place_design",
        "phys_opt_design",
        "route_design",
        "write_checkpoint",
    ]
    named = {call[0]: call for call in made}
    assert Path(named["read_verilog"][1]).samefile(files["verilog"])
    assert Path(named["read_xdc"][-1]).samefile(files["vivado_constraints"])
    assert named["synth_design"][1:] == ["-top", "top", "-part", DEFAULT_PARTS["vivado"], "-mode", "out_of_context"]
    reports = [Path(call[-1]) for call in made if call[0].startswith("report")]
    assert len(set(reports)) == 4 and {path.parent for path in reports} == {files["vivado_script"].parent}


@needs_tcl
def test_a_part_that_is_not_installed_ends_the_script(tmp_path):
    files = emit(CONFIG, tmp_path / "o", "top", vendor="vivado", part="xcku040-ffva1156-2-e")
    done = ran(files["vivado_script"], tmp_path, DEFAULT_PARTS["vivado"])
    assert done.returncode and "part xcku040-ffva1156-2-e is not installed: mxcast emit --part" in done.stderr
    assert "synth_design" not in done.stdout


@needs_tcl
def test_quartus(tmp_path):
    files = emit(CONFIG, tmp_path / "o", "top", vendor="quartus", part="10CX220YF780I5G")
    made = calls(ran(files["quartus_script"], tmp_path))
    order = [call[0] for call in made if call[0] not in ("set_global_assignment", "set_instance_assignment")]
    assert order == ["project_new", "export_assignments", "execute_flow", "project_close"]
    assert made.index(["execute_flow", "-compile"]) > max(
        n for n, call in enumerate(made) if call[0].endswith("assignment")
    )
    settings = {call[2]: " ".join(call[3:]) for call in made if call[0] == "set_global_assignment"}
    assert (settings["FAMILY"], settings["DEVICE"], settings["TOP_LEVEL_ENTITY"]) == (
        "Cyclone 10 GX",
        "10CX220YF780I5G",
        "top",
    )
    folder = files["quartus_script"].parent  # the script goes there
    assert (folder / settings["VERILOG_FILE"]).samefile(files["verilog"])
    assert (folder / settings["SDC_FILE"]).samefile(files["quartus_constraints"])
    pins = [call[-1] for call in made if call[0] == "set_instance_assignment"]
    assert pins == [
        port["name"] + (f"[{bit}]" if port["width"] > 1 else "")
        for port in describe(CONFIG)["ports"]
        for bit in range(port["width"])
    ]
    assert "mode" in pins and "x[127]" in pins


@needs_tcl
@pytest.mark.parametrize("vendor", VENDORS)
def test_constraints(tmp_path, vendor):
    """Every port is timed. A Tcl shell resolves the commands in brackets first, as the tools do."""
    found = constrained(
        emit(CONFIG, tmp_path / "o", "top", vendor=vendor, period_ns=7.5)[f"{vendor}_constraints"], tmp_path
    )
    assert found == [
        "create_clock -name clk -period 7.5",  # a virtual clock, without a port
        "get_ports x[*] mode random[*]",
        "set_input_delay -clock clk 0 get_ports x[*] mode random[*]",
        "get_ports scale[*] p[*]",
        "set_output_delay -clock clk 0 get_ports scale[*] p[*]",
    ]


@needs_tcl
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_converter_with_a_clock(tmp_path, vendor):
    ports = [
        {"name": name, "direction": direction, "width": width}
        for name, direction, width in (
            ("clk", "input", 1),
            ("rst", "input", 1),
            ("x", "input", 32),
            ("o_valid", "output", 1),
            ("p", "output", 4),
        )
    ]
    files = project(vendor, {"name": "top", "config_id": "00000000", "ports": ports})
    for path, text in files.values():
        (tmp_path / Path(path).name).write_text(text)
    found = constrained(tmp_path / Path(files[f"{vendor}_constraints"][0]).name, tmp_path)
    assert "create_clock -name clk -period 10 get_ports clk" in found
    assert "get_ports rst x[*]" in found and "get_ports o_valid p[*]" in found
    if vendor == "quartus":  # a clock needs a pin of its own
        pins = [call[-1] for call in calls(ran(tmp_path / "top.tcl", tmp_path)) if call[0] == "set_instance_assignment"]
        assert len(pins) == 1 + 32 + 1 + 4 and "clk" not in pins


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_files_are_in_the_manifest(tmp_path, vendor):
    files = emit(CONFIG, tmp_path, "top", vendor=vendor)
    sums = json.loads(files["manifest"].read_text())["sha256"]
    folder = files["manifest"].parent
    assert set(sums) == {str(path.relative_to(folder)) for kind, path in files.items() if kind != "manifest"}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest for name, digest in sums.items())
    assert sums[f"{vendor}/top.tcl"] and str(tmp_path) not in files[f"{vendor}_script"].read_text()
    assert "vivado_script" not in emit(CONFIG, tmp_path, "top")


def test_projects_of_two_vendors_side_by_side(tmp_path):
    """The manifest names both, unless a file has changed."""

    def sums(vendor):
        return json.loads(emit(CONFIG, tmp_path, "top", vendor=vendor)["manifest"].read_text())["sha256"]

    assert "vivado/top.tcl" in sums("vivado") and {"vivado/top.tcl", "quartus/top.tcl"} <= set(sums("quartus"))
    (script,) = tmp_path.glob("*/vivado/top.tcl")
    script.write_text("changed by hand")
    assert "vivado/top.tcl" not in sums("quartus")
    (tmp_path / script.parts[-3] / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="top.tcl has been edited since it was emitted"):
        sums("vivado")
    script.unlink()
    assert not [file for file in sums("vivado") if file.startswith("quartus")], "what no manifest names"


@pytest.mark.parametrize(
    "part, family",
    [
        ("5CSEBA6U23I7", "Cyclone V"),
        ("10M50DAF484C7G", "MAX 10"),
        ("10AX115S2F45I1SG", "Arria 10"),
        ("10CL025YU256C8G", "Cyclone 10 LP"),
        ("1SX280LU2F50E1VG", "Stratix 10"),
        ("EP4CE115F29C7", "Cyclone IV E"),
        ("5SGXEA7N2F45C2", "Stratix V"),
    ],
)
def test_families(part, family):
    assert f'FAMILY "{family}"' in project("quartus", describe(CONFIG), part=part)["quartus_script"][1]
    assert family in FAMILIES.values()


@pytest.mark.parametrize(
    "vendor, fields, sentence",
    [
        ("quartos", {}, "unknown vendor 'quartos': did you mean 'quartus'?"),
        (
            "vivado",
            {"part": "5CSEBA6U23I7"},
            "part must be one of Vivado, such as xczu7ev-ffvc1156-2-e, not '5CSEBA6U23I7'",
        ),
        ("vivado", {"part": "xczu7ev-ffvc1156-2-e; exit"}, "part must be one of Vivado"),
        ("vivado", {"part": ""}, "part must be one of Vivado"),
        ("quartus", {"part": "xczu7ev-ffvc1156-2-e"}, "part must be one of Quartus of Cyclone V, "),
        ("quartus", {"part": "5CSEBA6U23I7 [exit]"}, "part must be one of Quartus"),
        ("vivado", {"period_ns": 0.0}, "the period must be 0.001 to 1000000 nanoseconds, not 0"),
        ("vivado", {"period_ns": float("nan")}, "the period must be 0.001 to 1000000 nanoseconds, not nan"),
        ("vivado", {"period_ns": 1e-300}, "the period must be 0.001 to 1000000 nanoseconds, not 1e-300"),
        ("quartus", {"period_ns": 1e7}, "the period must be 0.001 to 1000000 nanoseconds, not 1e+07"),
        (None, {"part": "5CSEBA6U23I7"}, "part and period belong to the project of a vendor"),
    ],
)
def test_mistakes(tmp_path, vendor, fields, sentence):
    with pytest.raises(ValueError) as error:
        emit(CONFIG, tmp_path, vendor=vendor, **fields)
    assert str(error.value).startswith(sentence)
    assert not list(tmp_path.rglob("*.v"))
